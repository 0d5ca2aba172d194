"""What became of the epochs of a study. Public and released facts only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.evaluation.arms import Comparison
from tacit.evaluation.estimates import Estimate


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
    | `kind` | "learning", or "validation" for one that compares the policy with a baseline alone |
    | `policy_value` | what its exploit rounds earned: the policy of the epoch `policy_epoch`,
    | | which is one before, measured; None where there are none |
    | `baseline_value`, `gain` | what its control rounds earned, and how much more the policy did |
    | `baseline` | what control rounds are played by, in words |
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
    kind: str = "learning"
    policy_epoch: int | None = None
    baseline: str | None = None
    policy_value: Estimate | None = None
    baseline_value: Estimate | None = None
    gain: Estimate | None = None

    @property
    def answer(self) -> str:
        """What was measured of the policy, as a sentence; nothing where nothing was."""
        if self.policy_value is None:
            return ""
        whose = "the policy"
        if self.policy_epoch is not None:
            whose += f" of epoch {self.policy_epoch}"
        if self.gain is None:
            return f"{whose} earns {self.policy_value}"
        sign = 1.0 if self.gain.value >= 0.0 else -1.0
        low, high = sorted([sign * self.gain.low, sign * self.gain.high])
        more, less = ("more", "less") if sign > 0 else ("less", "more")
        between = f"{low:.3g} to {high:.3g}"
        if low < 0.0:
            between = f"{-low:.3g} {less} to {high:.3g} {more}"
        return f"{whose} earns {sign * self.gain.value:.3g} {more} than the baseline ({between})"

    def to_json(self) -> dict[str, Any]:
        """As plain data, estimates with the ends of their intervals."""
        found = asdict(self)
        for name in ("policy_value", "baseline_value", "gain"):
            estimate = getattr(self, name)
            found[name] = None if estimate is None else estimate.facts()
        return found | {"answer": self.answer}


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


def released_facts(facts: dict[str, Any], kind: str) -> dict[str, Any]:
    """What the history of an epoch tells of its policy's facts."""
    found = facts.get("validation" if kind == "validation" else "epoch") or {}
    names = ("mean_reward", "mean_reward_std", "expected", "drift", "policy_epoch", "baseline")
    compared = Comparison.restore(found)
    return {name: found.get(name) for name in names} | {
        "policy_value": compared.policy_value,
        "baseline_value": compared.baseline_value,
        "gain": compared.gain,
    }
