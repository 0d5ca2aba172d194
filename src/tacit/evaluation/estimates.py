"""A released number with its errors: that of few people, that of the privacy noise, and that of the
window."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import norm
from scipy.stats import t as student

from tacit.errors import InputError

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean reward, or a difference of two, in the user's units. Public: all of it was released.

    | field | what it is |
    |---|---|
    | `value` | the estimate, unbiased |
    | `sampling` | the standard deviation that is left because people were drawn at random |
    | `noise` | the standard deviation of the privacy noise |
    | `level` | how often the interval holds the truth |
    | `freedom` | the degrees of freedom of `sampling`, where that was released with noise, too |
    | `window` | the standard deviation of what rounds near a decision differ from the decision |
    """

    value: float
    sampling: float
    noise: float
    level: float = LEVEL
    freedom: float = math.inf
    window: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level must be between 0 and 1, got {self.level!r}: write 0.95.")

    @property
    def std(self) -> float:
        """The standard deviation of all errors together."""
        return math.hypot(self.sampling, self.noise, self.window)

    @property
    def half_width(self) -> float:
        tail = 0.5 + self.level / 2
        if math.isinf(self.freedom):
            return float(norm.ppf(tail)) * self.std
        return float(student.ppf(tail, self.freedom)) * self.std

    @property
    def low(self) -> float:
        return self.value - self.half_width

    @property
    def high(self) -> float:
        return self.value + self.half_width

    def facts(self) -> dict[str, Any]:
        """The estimate as plain data, with the ends of its interval."""
        found = asdict(self)
        found["freedom"] = None if math.isinf(self.freedom) else self.freedom
        return found | {"low": self.low, "high": self.high}

    @classmethod
    def restore(cls, facts: dict[str, Any]) -> Estimate:
        """The inverse of `facts`."""
        names = ("value", "sampling", "noise", "level")
        freedom = facts.get("freedom")
        return cls(
            **{name: float(facts[name]) for name in names},
            freedom=math.inf if freedom is None else float(freedom),
            window=float(facts.get("window", 0.0)),
        )

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
