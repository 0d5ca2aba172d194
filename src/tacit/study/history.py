"""What became of the epochs of a study. Public and released facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """One epoch of a study.

    | field | what it is |
    |---|---|
    | `number` | 1 for the first |
    | `size`, `asked` | rounds that it holds, and how many of them were asked |
    | `stage` | "open", "waiting" for rewards, "closed", or "released" |
    | `opened`, `closed`, `released` | when, in seconds since 1970; None if not yet |
    | `play` | how its rounds were, or are, played |
    | `mean_reward`, `mean_reward_std` | of its rounds as released, in the user's units, and the
    | | standard deviation of privacy and sampling noise in it; None before the release |
    | `expected` | the mean reward that its policy expects of its own decisions |
    | `drift` | how much the reward function changed since the epoch before, from 0 to 1 |
    | `guarantee` | what the release promises, as text |
    """

    number: int
    size: int
    asked: int
    stage: str
    opened: float
    closed: float | None
    released: float | None
    play: str
    mean_reward: float | None = None
    mean_reward_std: float | None = None
    expected: float | None = None
    drift: float | None = None
    guarantee: str | None = None


@dataclass(frozen=True)
class Advance:
    """What `Study.advance` did: `advanced` says whether an epoch was released, `missing` what that
    waits for if not, and `epoch` is the present one."""

    advanced: bool
    epoch: int
    missing: str = ""
    finished: bool = False

    def __str__(self) -> str:
        if self.finished:
            return "released; this was the last epoch: study.policy decides, study.extend goes on"
        if self.advanced:
            return f"released; epoch {self.epoch} is open"
        return f"epoch {self.epoch}: {self.missing}"


def released_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """What the history of an epoch tells of its policy's facts."""
    found = facts.get("epoch") or {}
    names = ("mean_reward", "mean_reward_std", "expected", "drift")
    return {name: found.get(name) for name in names}
