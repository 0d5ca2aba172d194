"""The exact laws of the mechanisms, to hold samplers and prices against."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from tacit._typing import Floats
from tacit.core.events import Exponential, PermuteAndFlip

Integers = NDArray[np.int64]


def discrete_gaussian_mass(at: Integers, scale: float) -> Floats:
    """exp(-z^2 / 2 sigma^2), normalised over all integers (those beyond 40 sigma weigh nothing in a
    double)."""
    every = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    return np.asarray(np.exp(-((at / scale) ** 2) / 2) / np.exp(-((every / scale) ** 2) / 2).sum())


def choice_law(scores: list[int], event: Exponential | PermuteAndFlip, delta: int) -> Floats:
    """The probability of each candidate at the scale 2 delta / epsilon.

    Exponential mechanism: softmax(u / scale). Permute-and-flip: candidates arrive at uniform times
    and accept with probability p_j = exp((u_j - max u) / scale); i is chosen if it accepts and all
    that came before it did not:

        P(i) = p_i * integral over t in [0, 1] of  prod over j != i of (1 - p_j t)

    a polynomial, which Gauss-Legendre quadrature with as many nodes as candidates integrates
    exactly.
    """
    logits = (np.array(scores, dtype=np.float64) - max(scores)) * event.epsilon / (2.0 * delta)
    if isinstance(event, Exponential):
        return np.asarray(special.softmax(logits))
    p = np.exp(logits)
    nodes, weights = np.polynomial.legendre.leggauss(len(p))
    t = (nodes + 1.0) / 2.0
    weights = weights / 2.0
    reject = 1.0 - p[:, None] * t[None, :]
    others = np.array([np.prod(np.delete(reject, i, axis=0), axis=0) for i in range(len(p))])
    return np.asarray(p * (others @ weights))


def composed_epsilon(p: float, q: float, k: int, delta: float) -> float:
    """The exact epsilon at `delta` of telling k draws of Bern(p) from k draws of Bern(q), p > q."""
    c = np.arange(k + 1)
    log_choose = special.gammaln(k + 1) - special.gammaln(c + 1) - special.gammaln(k - c + 1)
    mass = np.exp(log_choose + c * math.log(p) + (k - c) * math.log1p(-p))
    loss = c * math.log(p / q) + (k - c) * (math.log1p(-p) - math.log1p(-q))

    def excess(epsilon: float) -> float:
        """delta(eps) - delta = sum of mass * (1 - e^(eps - loss)) where that is positive, less
        delta."""
        return float(np.sum(mass * -np.expm1(np.minimum(epsilon - loss, 0.0)))) - delta

    if excess(0.0) <= 0.0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, float(loss[-1]), xtol=1e-12))
