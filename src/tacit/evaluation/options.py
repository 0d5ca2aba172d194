"""How policies are evaluated, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import InputError
from tacit.evaluation.estimates import LEVEL

MAX_WEIGHT = 5.0
GROUP_SHARE = 0.5


@dataclass(frozen=True)
class EvaluationOptions:
    """How `tacit.evaluate` measures. All of it is public.

    | option | what it is |
    |---|---|
    | `window` | rounds count whose action is at most half of this away, as a share of its range |
    | `max_weight` | the largest weight of a round, in weights of uniform play |
    | `level` | how often intervals hold the truth |
    | `by` | a context column to compare by: "gene", or with cuts of numbers {"age": [40, 60]} |
    | `group_share` | the share of what a record may add that goes to its subgroup |
    | `other_people` | True states that nobody of this log was used to learn the policies |

    Without a `window` its width is chosen by a public rule (see docs/evaluation.md).

    >>> options = tacit.EvaluationOptions(level=0.9, by={"age": [40, 60]})
    """

    window: float | None = None
    max_weight: float = MAX_WEIGHT
    level: float = LEVEL
    by: str | Mapping[str, Sequence[float]] | None = None
    group_share: float = GROUP_SHARE
    other_people: bool = False

    def __post_init__(self) -> None:
        if self.window is not None and not 0.0 < self.window <= 1.0:
            raise InputError(
                f"window must be above 0 and at most 1, a share of the range of actions, got "
                f"{self.window!r}: try 0.1."
            )
        if not 1.0 <= self.max_weight <= 1000.0:
            raise InputError(f"max_weight must be from 1 to 1000, got {self.max_weight!r}: try 5.")
        if not 0.5 <= self.level < 1.0:
            raise InputError(
                f"level must be at least 0.5 and below 1, got {self.level!r}: write 0.95."
            )
        if not 0.0 < self.group_share < 1.0:
            raise InputError(
                f"group_share must be between 0 and 1, got {self.group_share!r}: try 0.5."
            )
