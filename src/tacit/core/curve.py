"""The exact privacy curve of Gaussian noise, rounded towards more epsilon and delta. See
accounting.md.

    delta(eps) = Phi(mu / 2 - eps / mu) - e^eps Phi(-mu / 2 - eps / mu)        mu = Delta / sigma

(Balle and Wang 2018, Theorem 8). Gaussian releases compose by adding up `mu^2`, adaptively too, so
a ledger that holds nothing else counts `rho = mu^2 / 2`: the same number as for zCDP, with a
tighter meaning.
"""

from __future__ import annotations

import math
from functools import lru_cache

from tacit.core.search import largest, smallest

# relative margin for rounding, and for the difference between discrete and continuous noise
SLACK = 1e-12
ROUNDING = 1e-11  # relative error of one tail below, at most: tested against 60 digits
LEAST_TAIL = 1e-307  # a tail that underflows is at most this


def gaussian_delta(epsilon: float, rho: float) -> float:
    """An upper bound, tight up to rounding, on the `delta` of Gaussian releases worth `rho` at
    `epsilon`."""
    mu = math.sqrt(2.0 * rho)
    near = max(_upper_tail(epsilon / mu - mu / 2.0), LEAST_TAIL)
    far = _upper_tail(epsilon / mu + mu / 2.0)
    # e^710 overflows. A smaller factor than the true one only raises the bound.
    growth = math.exp(min(epsilon, 700.0))
    return near * (1.0 + ROUNDING) - growth * far * (1.0 - ROUNDING)


def gaussian_epsilon(rho: float, delta: float) -> float:
    """The smallest `epsilon` for which Gaussian releases worth `rho` are `(epsilon, delta)`-DP,
    never less."""
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return math.inf
    found = smallest(lambda epsilon: gaussian_delta(epsilon, rho) <= delta * (1.0 - SLACK))
    return found * (1.0 + SLACK) + SLACK


@lru_cache
def gaussian_rho(epsilon: float, delta: float) -> float:
    """The largest `rho` (up to rounding, never above it) with `gaussian_epsilon(rho, delta) <=
    epsilon`."""
    return largest(lambda rho: gaussian_epsilon(rho, delta) <= epsilon)


def _upper_tail(x: float) -> float:
    """Phi(-x)"""
    return 0.5 * math.erfc(x / math.sqrt(2.0))
