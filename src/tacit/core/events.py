"""What a release is, apart from what it costs: frozen descriptions, and one function that prices
them.

| event            | zCDP (rho)          | Gaussian releases alone (rho) | pure (epsilon)  |
|------------------|---------------------|-------------------------------|-----------------|
| `Gaussian`       | Delta^2 / 2 sigma^2 | Delta^2 / 2 (sigma^2 - r^2)   | not supported   |
| `Exponential`    | epsilon^2 / 8       | not supported                 | epsilon         |
| `PermuteAndFlip` | epsilon^2 / 2       | not supported                 | epsilon         |

Prices are exact rationals. The ledger rounds them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.budget import GAUSSIAN, PURE
from tacit.errors import InputError

# r: discrete noise of scale sigma is continuous noise of scale sqrt(sigma^2 - r^2), rounded at
# random with scale r. At r = 3 the probabilities of the two differ by a factor of 1 + 1e-76 in a
# coordinate (gaussian.md).
ROUNDING_SCALE = 3


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise of this scale on an integer vector of this L2 sensitivity."""

    sensitivity: int
    scale: float


@dataclass(frozen=True)
class Exponential:
    """One choice by the exponential mechanism, epsilon-DP of bounded range."""

    epsilon: float


@dataclass(frozen=True)
class PermuteAndFlip:
    """One choice by permute-and-flip, epsilon-DP: more accurate once, dearer when composed."""

    epsilon: float


Event = Gaussian | Exponential | PermuteAndFlip


def price(event: Event, measure: str) -> Fraction:
    """What an event costs in the ledger's measure, exactly."""
    if isinstance(event, Gaussian):
        return _gaussian_price(event, measure)
    if measure == GAUSSIAN:
        raise InputError(
            "the curve of Gaussian noise does not cover single decisions: count in zCDP."
        )
    epsilon = Fraction(event.epsilon)
    if measure == PURE:
        return epsilon
    return epsilon**2 / (8 if isinstance(event, Exponential) else 2)


def _gaussian_price(event: Gaussian, measure: str) -> Fraction:
    if measure == PURE:
        raise InputError(
            "a pure epsilon budget cannot pay for Gaussian noise: make the budget "
            "Budget(epsilon=1.0, delta=1e-6), or ask for decisions one by one with "
            "release_decision."
        )
    variance = Fraction(event.scale) ** 2
    if measure == GAUSSIAN:
        variance -= ROUNDING_SCALE**2
    if variance <= 0:
        raise InputError(
            f"noise of scale {event.scale:g} is too small to be priced: use more bits or a smaller "
            "budget."
        )
    return Fraction(event.sensitivity) ** 2 / (2 * variance)
