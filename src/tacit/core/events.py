"""What a release is, apart from what it costs: frozen descriptions, and one function that prices them.

| event            | zCDP (rho)          | pure (epsilon)  |
|------------------|---------------------|-----------------|
| `Gaussian`       | Delta^2 / 2 sigma^2 | not supported   |
| `Exponential`    | epsilon^2 / 8       | epsilon         |
| `PermuteAndFlip` | epsilon^2 / 2       | epsilon         |

Prices are exact rationals. The ledger rounds them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.budget import PURE, ZCDP
from tacit.errors import InputError


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
        if measure != ZCDP:
            raise InputError(
                "a pure epsilon budget cannot pay for Gaussian noise: "
                "make the budget Budget(epsilon=1.0, delta=1e-6), or ask for decisions one by one with decide_once."
            )
        return Fraction(event.sensitivity) ** 2 / (2 * Fraction(event.scale) ** 2)
    epsilon = Fraction(event.epsilon)
    if measure == PURE:
        return epsilon
    return epsilon**2 / (8 if isinstance(event, Exponential) else 2)
