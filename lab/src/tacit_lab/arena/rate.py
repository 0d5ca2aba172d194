"""The rate that the paper proves, `sqrt(gamma_T / T) + gamma_T / (T eps)`, for a kernel one can
compute with.

`gamma_T` is taken for points as they are played, not for the worst: with `lambda_i` the eigenvalues
of the kernel's operator under `Unif(X) x kappa`,

    gamma_T = 1/2 sum_i log(1 + T lambda_i / tau),   tau = 1.

The eigenvalues are those of `K / n` on `n` points of that law. Beyond the n-th there are none, so
that `gamma_T` is too small where the kernel is rough, the dimension high and `T` far above `n`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tacit._typing import Floats
from tacit_lab.arena.measure import yardstick

POINTS = 2000
TAU = 1.0


@lru_cache(maxsize=32)
def eigenvalues(environment: str) -> Floats:
    """Of the kernel's operator on public points of this environment."""
    problem = yardstick(environment, 0).environment.problem
    points = problem.public_points(POINTS, np.random.default_rng(0))
    return np.maximum(np.linalg.eigvalsh(problem.k(points, points) / POINTS), 0.0)


def gamma(environment: str, rounds: int) -> float:
    """1/2 sum log(1 + T lambda / tau)"""
    return float(0.5 * np.log1p(rounds * eigenvalues(environment) / TAU).sum())


def rate(environment: str, rounds: int, epsilon: float) -> float:
    """sqrt(gamma_T / T) + gamma_T / (T eps), without its constant."""
    g = gamma(environment, rounds)
    return math.sqrt(g / rounds) + g / (rounds * epsilon)


def rate_slope(environment: str, rounds: Sequence[int], epsilon: float) -> float:
    """The slope of log(rate) in log(rounds), by least squares over the same rounds as a measured
    one."""
    rates = [rate(environment, T, epsilon) for T in rounds]
    return float(np.polyfit(np.log(rounds), np.log(rates), 1)[0])
