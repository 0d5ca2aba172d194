"""Charts of a study over its epochs: released numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.charts import Bars, Dots, Figure, Intervals, Key, Line, Panel, Scale
from tacit.charts.marks import Mark
from tacit.evaluation.estimates import Estimate
from tacit.study import Epoch

NORMAL_95 = 1.96
ASIDE = 0.16  # of an epoch: arms stand beside each other
WIDTH = 520.0
LEAST = 0.005  # drift that is drawn
ARMS = (
    ("policy_value", "accent", "the policy", -ASIDE),
    ("baseline_value", "middle", "the baseline", ASIDE),
)


def values(epochs: Sequence[Epoch], reward_range: tuple[float, float]) -> str:
    """The mean reward of the rounds of each epoch, and what its arms earned; empty before anything
    was released."""
    told = [epoch for epoch in epochs if epoch.stage == "released"]
    if not told:
        return ""
    marks: list[Mark] = []
    ends: list[float] = []
    keys: list[Key] = []
    all_rounds = [
        (float(epoch.number), epoch.mean_reward, NORMAL_95 * (epoch.mean_reward_std or 0.0))
        for epoch in told
        if epoch.mean_reward is not None
    ]
    if all_rounds:
        x = [at for at, _, _ in all_rounds]
        y = [mean for _, mean, _ in all_rounds]
        low = [mean - half for _, mean, half in all_rounds]
        high = [mean + half for _, mean, half in all_rounds]
        marks += [Line(x, y, "other"), Intervals(x, low, high, "other"), Dots(x, y, "other")]
        ends += [*low, *high]
        keys.append(Key("all rounds", "other"))
    for name, kind, text, aside in ARMS:
        found = [(epoch.number + aside, getattr(epoch, name)) for epoch in told]
        drawn, own = _arm([(at, each) for at, each in found if each is not None], kind)
        marks += drawn
        ends += own
        if drawn:
            keys.append(Key(text, kind))
    low_end, high_end = reward_range
    room = 0.1 * (high_end - low_end)
    clipped = [min(max(end, low_end - room), high_end + room) for end in ends]
    first, last = told[0].number, max(told[-1].number, told[0].number + 1)
    across = Scale(first - 0.5, last + 0.5, "Epoch", whole=True)
    alt = "Mean reward by epoch with 95 % intervals: all rounds, the policy, the baseline."
    up = Scale.around(clipped, "Mean reward")
    return Figure([Panel(across, up, marks)], alt, WIDTH, 250.0, keys=keys).svg()


def _arm(found: Sequence[tuple[float, Estimate]], kind: str) -> tuple[list[Mark], list[float]]:
    if not found:
        return [], []
    at = [place for place, _ in found]
    low = [each.low for _, each in found]
    high = [each.high for _, each in found]
    middle = [each.value for _, each in found]
    return [Intervals(at, low, high, kind), Dots(at, middle, kind)], [*low, *high]


def drift(epochs: Sequence[Epoch]) -> str:
    """How much the reward function changed since the epoch before; empty where it did not."""
    told = [epoch for epoch in epochs if epoch.drift is not None and epoch.number > 1]
    if not any(epoch.drift and epoch.drift >= LEAST for epoch in told):
        return ""
    at = [float(epoch.number) for epoch in told]
    shares = [100.0 * (epoch.drift or 0.0) for epoch in told]
    across = Scale(at[0] - 0.6, max(at[-1], at[0] + 1) + 0.6, "Epoch", whole=True)
    up = Scale(0.0, max(10.0, 1.1 * max(shares)), "Drift, %")
    panel = Panel(across, up, [Bars(at, shares, "low")])
    return Figure([panel], "Drift of the reward function by epoch, in percent.", WIDTH, 150.0).svg()
