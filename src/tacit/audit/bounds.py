"""From counts to claims: what an attacker's success proves about a mechanism, with a stated risk of
being wrong.

Every attack ends in one event E, seen `hits_a` times in `n` runs on one dataset and `hits_b` times
on its neighbour. Clopper and Pearson give P(E | a) >= lo and P(E | b) <= hi, and every kind of
privacy bounds how far apart these can be:

    pure epsilon     log(lo / hi)                     <= epsilon
    bounded range    logit(lo) - logit(hi)            <= epsilon   the exponential mechanism's claim
    Gaussian         Phi^-1(lo) - Phi^-1(hi)          <= mu        mu = sqrt(2 rho)
    zCDP             D_a(Bern(lo) || Bern(hi)) / a    <= rho       for every order a >= 1
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from tacit._typing import Floats
from tacit.core.budget import epsilon_of_rho

ORDERS = np.array([1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0])


def at_least(hits: ArrayLike, n: int, risk: float) -> Floats:
    """Clopper-Pearson: a probability below this would show so many hits with probability at most
    `risk`."""
    k = np.asarray(hits, dtype=np.float64)
    return np.where(k == 0, 0.0, special.betaincinv(np.maximum(k, 1.0), n - k + 1.0, risk))


def at_most(hits: ArrayLike, n: int, risk: float) -> Floats:
    """Clopper-Pearson: a probability above this would show so few hits with probability at most
    `risk`."""
    k = np.asarray(hits, dtype=np.float64)
    return np.where(k == n, 1.0, special.betainccinv(k + 1.0, np.maximum(n - k, 1.0), risk))


@dataclass(frozen=True)
class Measure:
    """One way of saying how far apart two probabilities are: in its own unit, and as an epsilon at
    some delta."""

    name: str
    of: Callable[[Floats, Floats], Floats]
    epsilon: Callable[[float, float], float]

    def bound(self, hits_a: ArrayLike, hits_b: ArrayLike, n: int, risk: float) -> Floats:
        """The largest value that the counts prove, wrong with probability at most `risk`; 0 where
        they prove nothing.

        Half of the risk goes to each of the two rates.
        """
        lo = at_least(hits_a, n, risk / 2.0)
        hi = at_most(hits_b, n, risk / 2.0)
        apart = lo > hi
        return np.where(apart, self.of(np.where(apart, lo, 0.5), np.where(apart, hi, 0.5)), 0.0)


def _log_ratio(lo: Floats, hi: Floats) -> Floats:
    return np.asarray(np.log(lo) - np.log(hi))


def _log_odds_ratio(lo: Floats, hi: Floats) -> Floats:
    return np.asarray(special.logit(lo) - special.logit(hi))


def _gaussian_separation(lo: Floats, hi: Floats) -> Floats:
    return np.asarray(special.ndtri(lo) - special.ndtri(hi))


def _concentration(lo: Floats, hi: Floats) -> Floats:
    """max over a of D_a(Bern(lo) || Bern(hi)) / a, the Kullback-Leibler divergence being a = 1."""
    kullback = special.rel_entr(lo, hi) + special.rel_entr(1.0 - lo, 1.0 - hi)
    a = ORDERS.reshape(-1, *[1] * np.ndim(lo))
    inside = a * np.log(lo) + (1.0 - a) * np.log(hi)
    outside = a * np.log1p(-lo) + (1.0 - a) * np.log1p(-hi)
    renyi = np.logaddexp(inside, outside) / ((a - 1.0) * a)
    return np.maximum(kullback, renyi.max(axis=0))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2): the exact profile of Gaussian
    noise."""
    below = -epsilon / mu + mu / 2.0
    above = -epsilon / mu - mu / 2.0
    return float(
        special.ndtr(below) - math.exp(min(700.0, epsilon + float(special.log_ndtr(above))))
    )


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon at which Gaussian noise of separation `mu` is exactly (epsilon, delta)-DP."""
    if mu <= 0.0 or gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2.0
    return float(
        optimize.brentq(lambda epsilon: gaussian_delta(epsilon, mu) - delta, 0.0, high, xtol=1e-12)
    )


def _as_it_is(value: float, delta: float) -> float:
    return value


PURE = Measure("pure", _log_ratio, _as_it_is)
RANGE = Measure("bounded range", _log_odds_ratio, _as_it_is)
GAUSSIAN = Measure("Gaussian", _gaussian_separation, gaussian_epsilon)
ZCDP = Measure("zCDP", _concentration, epsilon_of_rho)


@dataclass(frozen=True)
class Counts:
    """How often the chosen event was seen on each side, in runs that had no part in choosing it."""

    hits_a: int
    hits_b: int
    n: int

    def bound(self, measure: Measure, risk: float) -> float:
        return float(measure.bound(self.hits_a, self.hits_b, self.n, risk))
