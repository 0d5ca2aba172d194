"""How much a design pools: the less can be learned, the more of it goes to what all have in common.

The default kernel says how much of the reward all contexts share, what single columns change, and
what only all of them together explain (`tacit.kernels.Pooled`). With few rounds or much noise
nothing but the first can be learned, and what is spent on the rest is lost. So the design is
made for a prior with other weights,

    theta ~ N(0, v P),   P = L^-1 k'(U, U) L^-T,   f = (P^(1/2) phi)' eta,   eta ~ N(0, v I),

and P = I is the usual one. It is public, and any A is private. The decoder weighs priors by the
evidence, whatever the design was made for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.design.features import Features
from tacit.kernels import Kernel, Pooled, Separable
from tacit.numerics import linalg
from tacit.problem import Problem

Weights = tuple[float, float, float]
# Of the common effect, of single columns and of all together, where hardly anything can be learned.
CAUTIOUS = (0.75, 0.22, 0.03)
# Rounds over the multiplier of the noise at which weights are half way between those and the usual
# ones: 3,000 rounds have 230 at epsilon = 0.3 and 710 at epsilon = 1. One of three numbers that
# were tried, on two to four studies each of a few environments of the arena at these settings.
HALF_WAY = 300.0
LEAST_COLUMNS = 2  # a single column is all that personalises


def choose_pooling(problem: Problem, horizon: int, rho: float) -> Weights | None:
    """Weights for a design whose release may add up to this rho; None where the kernel states its
    own, or pools nothing."""
    contexts = _pooled(problem.k)
    if contexts is None or contexts.weights is not None or not math.isfinite(rho):
        return None
    usual = np.array(contexts.shares)
    if len(contexts.spectra) < LEAST_COLUMNS:
        return None
    cautious = np.array(CAUTIOUS)
    if not usual[2]:  # what is not in the kernel has no weight
        cautious = cautious * [1.0, 1.0, 0.0] / sum(CAUTIOUS[:2])
    strength = horizon * math.sqrt(2.0 * rho)
    caution = 1.0 / (1.0 + (strength / HALF_WAY) ** 2)
    common, main, full = (1.0 - caution) * usual + caution * cautious
    return float(common), float(main), float(full)


def pooled_problem(problem: Problem, weights: Sequence[float] | None) -> Problem:
    """The problem whose kernel has these weights; the same one for None."""
    if weights is None:
        return problem
    return replace(problem, kernel=_weighted(problem.k, weights), advantage=False)


def prior_root(features: Features, weights: Sequence[float] | None) -> Floats | None:
    """P^(1/2) on these features; None where P = I."""
    if weights is None:
        return None
    weighted = _weighted(features.kernel, weights)
    half = linalg.solve_lower(features.L, weighted(features.U, features.U))
    P = linalg.solve_lower(features.L, half.T)
    values, V = linalg.eigh((P + P.T) / 2.0)
    # k' lies between multiples of k, by the ratios of weights: the rest is rounding.
    usual = _pooled(features.kernel)
    assert usual is not None
    ratios = [new / old for new, old in zip(weights, usual.shares, strict=True) if old]
    return np.asarray((V * np.sqrt(np.clip(values, min(ratios), max(ratios)))) @ V.T)


def _pooled(kernel: Kernel) -> Pooled | None:
    if isinstance(kernel, Separable) and isinstance(kernel.contexts, Pooled):
        return kernel.contexts
    return None


def _weighted(kernel: Kernel, weights: Sequence[float]) -> Kernel:
    contexts = _pooled(kernel)
    assert contexts is not None
    assert isinstance(kernel, Separable)
    return replace(kernel, contexts=replace(contexts, weights=tuple(weights)))
