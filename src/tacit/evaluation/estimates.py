"""A released number with its errors: that of few people, that of the privacy noise, and that of the
window."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from tacit.errors import InputError

LEVEL = 0.95
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)  # of a normal number


@dataclass(frozen=True)
class Estimate:
    """A mean reward, or a difference of two, in the user's units. Public: all of it was released.

    | field | what it is |
    |---|---|
    | `value` | the estimate, unbiased |
    | `sampling` | the standard deviation that is left because people were drawn at random |
    | `noise` | the standard deviation of the privacy noise |
    | `level` | how often the interval holds the truth |
    | `unsure` | the standard deviation of the square of `sampling`, which was released, too |
    | `window` | the standard deviation of what rounds near a decision differ from the decision |
    | `limits` | what is possible at all; the interval lies within |
    """

    value: float
    sampling: float
    noise: float
    level: float = LEVEL
    unsure: float = 0.0
    window: float = 0.0
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level must be between 0 and 1, got {self.level!r}: write 0.95.")

    @property
    def std(self) -> float:
        """The standard deviation of all errors together."""
        return math.hypot(self.sampling, self.noise, self.window)

    @property
    def half_width(self) -> float:
        return self._deviations * self.std

    @cached_property
    def _deviations(self) -> float:
        """How many standard deviations make the level, if their square is not known exactly."""
        if not self.unsure or not self.std:
            return float(ndtri(0.5 + self.level / 2))
        known = self.noise**2 + self.window**2
        return deviations(self.level, known, self.sampling**2, self.unsure)

    @property
    def low(self) -> float:
        return self._possible(self.value - self.half_width)

    @property
    def high(self) -> float:
        return self._possible(self.value + self.half_width)

    def _possible(self, end: float) -> float:
        if self.limits is None:
            return end
        return min(max(end, self.limits[0]), self.limits[1])

    def facts(self) -> dict[str, Any]:
        """The estimate as plain data, with the ends of its interval."""
        limits = None if self.limits is None else list(self.limits)
        return asdict(self) | {"limits": limits, "low": self.low, "high": self.high}

    @classmethod
    def restore(cls, facts: dict[str, Any]) -> Estimate:
        """The inverse of `facts`."""
        names = ("value", "sampling", "noise", "level")
        later = {name: float(facts.get(name, 0.0)) for name in ("unsure", "window")}
        limits = facts.get("limits")
        return cls(
            **{name: float(facts[name]) for name in names},
            **later,
            limits=None if limits is None else (float(limits[0]), float(limits[1])),
        )

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def deviations(level: float, known: float, sampling: float, unsure: float) -> float:
    """The number z for which value +- z sqrt(known + S) holds the truth at this level, where S is
    the variance `sampling` as it was estimated, with a normal error of `unsure`, and at least 0.

    Without that error it would be the quantile of a normal law, and it is never less.
    """
    tail = 0.5 + level / 2
    least = float(ndtri(tail))
    total = known + sampling
    ratio = np.sqrt((known + np.maximum(sampling + unsure * NODES, 0.0)) / total)
    weights = WEIGHTS / WEIGHTS.sum()

    def missing(z: float) -> float:
        return float(weights @ ndtr(z * ratio)) - tail

    if missing(least) >= 0.0:
        return least
    most = 20.0 * least  # an estimate of S that may well be 0, and nothing else is known
    return most if missing(most) < 0.0 else float(brentq(missing, least, most, xtol=1e-6))
