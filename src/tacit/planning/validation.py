"""How many rounds of a validation epoch tell a gain from nothing, before any of them.

The difference of two arms of n1 and n2 rounds has the variance

    v / n1 + v / n2 + sigma^2 (1 + mu^2) (1 / n1^2 + 1 / n2^2),

where `v` and `mu` are the variance and the mean of rewards in [-1, 1] and sigma is the standard
deviation of the privacy noise (see `tacit.evaluation.arms`). A gain is detected if its interval
lies above 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from tacit.core import Budget, Encoding, release_event
from tacit.core.sums import UNITS_OF_PRIVACY
from tacit.design.layout import ARM_ENTRIES
from tacit.design.options import require_rounds
from tacit.errors import InputError
from tacit.evaluation.arms import IMAGINED, arm_sums
from tacit.evaluation.estimates import LEVEL

POWER = 0.8
MOST_ROUNDS = 10**9


@dataclass(frozen=True)
class ValidationPlan:
    """What a validation epoch will tell, in the user's units of reward. Public: it needs no data.

    | field | what it is |
    |---|---|
    | `budget` | of each person of the epoch |
    | `reward_range` | that of the problem |
    | `reward_std` | the standard deviation of the rewards of an arm; half the range if it is not
    | | known, which is the most that there can be |
    | `reward_mean` | the mean of the rewards of an arm; where it is not known, it is taken for as
    | | far from the middle as `reward_std` allows |
    | `split` | the share of the rounds that the policy plays |
    | `unit` | who is protected; of "user"s a round is one user, whose further rounds add little |
    """

    budget: Budget
    reward_range: Sequence[float] = (0.0, 1.0)
    reward_std: float | None = None
    reward_mean: float | None = None
    split: float = 0.5
    unit: str = "record"

    def __post_init__(self) -> None:
        low, high = self.reward_range
        half = (high - low) / 2
        if self.budget.pure:
            raise InputError(
                "a validation epoch is released with Gaussian noise, which needs a delta: write "
                "Budget(epsilon=1.0, delta=1e-6)."
            )
        if self.reward_std is not None and not 0.0 <= self.reward_std <= half:
            raise InputError(
                f"reward_std must be from 0 to half the range of rewards, {half:g}, got "
                f"{self.reward_std!r}."
            )
        if self.reward_mean is not None and not low <= self.reward_mean <= high:
            raise InputError(
                f"reward_mean must be in the range of rewards, {low:g} to {high:g}, got "
                f"{self.reward_mean!r}."
            )
        if self.unit not in UNITS_OF_PRIVACY:
            raise InputError(f"unit must be record or user, got {self.unit!r}.")
        if not 0.0 < self.split < 1.0:
            raise InputError(
                f"split is the share of rounds that the policy plays, between 0 and 1, got "
                f"{self.split!r}: write 0.5."
            )

    def half_width(self, rounds: int, level: float = LEVEL) -> float:
        """Of the interval of the difference, with so many rounds in both arms together."""
        return float(ndtri(0.5 + level / 2)) * self.std(rounds)

    def std(self, rounds: int) -> float:
        """The standard deviation of the difference: sampling and privacy noise together."""
        rounds = require_rounds(rounds)
        v = self._std**2
        noise = self._noise(rounds)
        found = 0.0
        for share in (self.split, 1.0 - self.split):
            n = max(share * rounds, 1.0)
            variance = (n * v + IMAGINED) / (n + IMAGINED)
            found += variance / n + noise**2 * (1.0 + self._mean_square) / n**2
        return self._half * math.sqrt(found)

    def power(self, rounds: int, gain: float) -> float:
        """How likely the interval of the difference lies above 0 if the policy earns so much more
        than the baseline."""
        _require_gain(gain)
        deviations = float(ndtri(0.5 + LEVEL / 2))
        return float(ndtr(gain / self.std(rounds) - deviations))

    def rounds_for(self, gain: float, power: float = POWER) -> int:
        """The fewest rounds, in both arms together, that detect such a gain so likely."""
        _require_gain(gain)
        if not 0.0 < power < 1.0:
            raise InputError(f"power must be between 0 and 1, got {power!r}: 0.8 is usual.")
        if self.power(MOST_ROUNDS, gain) < power:
            raise InputError(
                f"a gain of {gain:g} is not detected within {MOST_ROUNDS:,} rounds: ask for a "
                "larger one."
            )
        few = 1
        enough = MOST_ROUNDS
        while few < enough:
            middle = (few + enough) // 2
            if self.power(middle, gain) >= power:
                enough = middle
            else:
                few = middle + 1
        return enough

    def to_json(self, gain: float, power: float, rounds: int | None = None) -> dict[str, Any]:
        """The answer to one question as plain data; with `rounds`, their power as well."""
        needed = self.rounds_for(gain, power)
        found: dict[str, Any] = {
            "detect": gain,
            "power": power,
            "rounds_to_detect": needed,
            "half_width": self.half_width(needed),
            "reward_std": self._half * self._std,
            "reward_std_is_worst_case": self.reward_std is None,
            "split": self.split,
            "budget": str(self.budget),
        }
        if rounds is not None:
            found["rounds"] = rounds
            found["power_of_rounds"] = self.power(rounds, gain)
            found["half_width_of_rounds"] = self.half_width(rounds)
        return found

    def explain(self, gain: float, power: float = POWER, rounds: int | None = None) -> str:
        """The same in words."""
        needed = self.rounds_for(gain, power)
        spread = f"rewards of standard deviation {self._half * self._std:.3g}"
        if self.reward_std is None:
            spread += ", the most that there can be (say what it is with --reward-std)"
        lines = [
            f"A validation epoch of {needed:,} rounds detects a gain of {gain:g} with a "
            f"probability of {power:.0%}: its 95 % interval is {gain:g} ± "
            f"{self.half_width(needed):.3g}.",
            f"That is for {spread}, {self.budget}, and {self.split:.0%} of the rounds played by "
            "the policy.",
        ]
        if rounds is not None:
            lines.insert(
                1,
                f"{rounds:,} rounds detect it with a probability of {self.power(rounds, gain):.0%} "
                f"(± {self.half_width(rounds):.3g}).",
            )
        return "\n".join(lines)

    @property
    def _half(self) -> float:
        low, high = self.reward_range
        return (high - low) / 2

    @property
    def _std(self) -> float:
        """Of rewards in [-1, 1]."""
        return 1.0 if self.reward_std is None else self.reward_std / self._half

    @property
    def _mean_square(self) -> float:
        """Of the mean of rewards in [-1, 1]; their variance is at most 1 less that."""
        if self.reward_mean is None:
            return 1.0 - self._std**2
        middle = sum(self.reward_range) / 2
        return ((self.reward_mean - middle) / self._half) ** 2

    def _noise(self, rounds: int) -> float:
        """The standard deviation of the noise in a sum, in units of one record."""
        encoding = Encoding(size=ARM_ENTRIES, horizon=rounds)
        released = release_event(encoding, self.budget).scale / encoding.bound
        return float(arm_sums(np.zeros(ARM_ENTRIES // 2), released, rounds, self.unit).noise)


def _require_gain(gain: Any) -> None:
    if not (math.isfinite(gain) and gain > 0):
        raise InputError(
            f"a gain to detect must be positive, got {gain!r}: it is in units of reward, such as "
            "0.05."
        )
