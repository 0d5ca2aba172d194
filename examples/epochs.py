"""Six epochs of a study in a world that changes, and a picture of how it fares.

    python examples/epochs.py

A shop chooses a discount for each visitor, by how long they were away. For three epochs those who
were away for long need a large one; then a competitor closes, and it is the other way round. Nobody
tells the study. Each epoch is released at epsilon 1, and the next is played by what was learned.

Everything is simulated, also the noise of the releases, from one seed: NOT private.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tacit
from tacit._typing import Floats
from tacit.epochs import Course, Shares
from tacit.epochs.summary import epoch_facts

SIZES = (1500, 3000, 6000, 6000, 6000, 6000)
CHANGE = 3  # the world changes after so many epochs
DAYS = 60.0
MOST = 50.0  # the largest discount, in percent
GRID = 201  # actions among which the best one is looked for
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "epochs.png"

PROBLEM = tacit.Problem(
    actions=tacit.Box.of(discount=(0, MOST)),
    contexts=tacit.Box.of(days_away=(0, DAYS)),
    reward_range=(0.0, 1.0),
)


class EpochRecord(NamedTuple):
    """What became of the rounds of one epoch: mean rewards in the true world."""

    regret: Floats  # of each round
    uniform_regret: Floats  # that uniform play has on average in the same rounds
    played: float
    policy: float  # of the policy that was released after it, had it decided
    uniform: float
    best: float
    released_mean: float
    released_std: float
    drift: float | None


def buys(discount: Floats, days_away: Floats, changed: bool) -> Floats:
    """How likely a visitor buys: most likely at the discount that is right for them."""
    waited = days_away / DAYS
    right = MOST * (0.75 - 0.5 * waited if changed else 0.25 + 0.5 * waited)
    return 0.1 + 0.7 * np.exp(-(((discount - right) / (0.2 * MOST)) ** 2))


def play_epoch(course: Course, size: int, rng: np.random.Generator) -> EpochRecord:
    """Plays one epoch and learns from it."""
    changed = course.epoch > CHANGE
    contexts = PROBLEM.contexts.sample_points(size, rng)
    actions, _ = course.play(contexts)
    days_away = contexts[:, 0] * DAYS
    chance = buys(actions[:, 0] * MOST, days_away, changed)
    bought = rng.random(size) < chance
    number = course.epoch
    policy = course.learn(np.hstack([actions, contexts]), np.where(bought, 1.0, -1.0))
    grid = np.linspace(0.0, MOST, GRID)
    everywhere = buys(grid, days_away[:, None], changed)
    best = everywhere.max(axis=1)
    uniform = everywhere.mean(axis=1)
    decided = policy.decide_points(contexts)[:, 0] * MOST
    released = epoch_facts(policy, number)
    return EpochRecord(
        regret=best - chance,
        uniform_regret=best - uniform,
        played=float(chance.mean()),
        policy=float(buys(decided, days_away, changed).mean()),
        uniform=float(uniform.mean()),
        best=float(best.mean()),
        released_mean=released["mean_reward"],
        released_std=released["mean_reward_std"],
        drift=released.get("drift", (policy.facts.get("epoch") or {}).get("drift")),
    )


def play(rank: int, seed: int) -> list[EpochRecord]:
    """The whole study."""
    rng = np.random.default_rng(seed)
    course = Course(
        PROBLEM,
        SIZES,
        tacit.Budget(epsilon=1.0, delta=1e-6),
        rng,
        shares=Shares(explore=0.1, exploit=0.1),
        options=tacit.DesignOptions(rank=rank),
    )
    return [play_epoch(course, size, rng) for size in SIZES]


def report(records: list[EpochRecord]) -> None:
    """The figures of the picture as a table."""
    print("epoch  rounds  uniform  played  released mean    policy  best  drift")
    for number, (size, each) in enumerate(zip(SIZES, records, strict=True), start=1):
        drift = "" if each.drift is None else f"{each.drift:.2f}"
        print(
            f"{number:5d}  {size:6d}  {each.uniform:7.3f}  {each.played:6.3f}  "
            f"{each.released_mean:.3f} +- {each.released_std:.3f}  {each.policy:.3f}  "
            f"{each.best:.3f}  {drift}"
        )
    share = sum(r.regret.sum() for r in records) / sum(r.uniform_regret.sum() for r in records)
    print(f"regret, as a share of uniform play's: {share:.2f}")


def draw(records: list[EpochRecord], path: Path) -> None:
    """Regret, value and, where it is known, drift."""
    from tacit.report.canvas import WIDTH, blank, drawing, save

    drifts = any(each.drift is not None for each in records)
    rows = 3 if drifts else 2
    with drawing():
        figure = blank(WIDTH, 2.9 * rows)
        axes = figure.subplots(rows, 1, sharex=True)
        _draw_regret(axes[0], records)
        _draw_value(axes[1], records)
        if drifts:
            _draw_drift(axes[2], records)
        axes[-1].set_xlabel("rounds")
        axes[0].yaxis.set_major_formatter("{x:,.0f}")
        axes[-1].xaxis.set_major_formatter("{x:,.0f}")
        for axis in axes:
            _mark_epochs(axis)
        _name_change(axes[0])
        _number_epochs(axes[1])
        figure.align_ylabels(axes)
        save(figure, path)


def _draw_regret(axis: Any, records: list[EpochRecord]) -> None:
    from tacit.report.canvas import ACCENT, OTHER

    rounds = np.arange(1, sum(SIZES) + 1)
    regret = np.cumsum(np.concatenate([each.regret for each in records]))
    uniform = np.cumsum(np.concatenate([each.uniform_regret for each in records]))
    axis.plot(rounds, uniform, color=OTHER, linewidth=2)
    axis.plot(rounds, regret, color=ACCENT, linewidth=2)
    for values, name, colour in ((uniform, "uniform play", OTHER), (regret, "this study", ACCENT)):
        _name(axis, values[-1], name, colour)
    axis.set_title("Cumulative regret: sales lost by not knowing the best discount")
    axis.set_ylabel("sales")
    axis.set_ylim(0, None)


def _draw_value(axis: Any, records: list[EpochRecord]) -> None:
    from tacit.report.canvas import ACCENT, INK, MIDDLE, OTHER, PAPER

    ends = np.cumsum(SIZES)
    starts = ends - SIZES
    for start, end, each in zip(starts, ends, records, strict=True):
        axis.hlines(each.best, start, end, color=INK, linewidth=1, linestyle=":")
        axis.hlines(each.uniform, start, end, color=OTHER, linewidth=2)
        axis.hlines(each.played, start, end, color=ACCENT, linewidth=3)
    axis.errorbar(
        (starts + ends) / 2,
        [each.released_mean for each in records],
        [2 * each.released_std for each in records],
        color=MIDDLE,
        fmt="o",
        markersize=4,
        capsize=3,
        linewidth=1.2,
        label="what was released of it, with two standard deviations",
    )
    axis.plot(
        ends,
        [each.policy for each in records],
        color=ACCENT,
        linestyle="",
        marker="D",
        markersize=6,
        markerfacecolor=PAPER,
        clip_on=False,
        label="value of the policy that was released then",
    )
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.08), fontsize=9)
    last = records[-1]
    _name(axis, last.best, "best possible", INK)
    _name(axis, last.played, "played", ACCENT)
    _name(axis, last.uniform, "uniform play", OTHER)
    axis.set_title("Value: mean reward of the rounds of each epoch")
    axis.set_ylabel("share who buy")
    axis.set_ylim(0, 1)


def _draw_drift(axis: Any, records: list[EpochRecord]) -> None:
    from tacit.report.canvas import LOW

    ends = np.cumsum(SIZES)
    drifts = [each.drift or 0.0 for each in records]
    axis.bar(ends - np.array(SIZES) / 2, drifts, width=0.4 * np.array(SIZES), color=LOW)
    axis.set_title("Drift: how much the releases say that the world changed since the epoch before")
    axis.set_ylabel("drift")
    axis.set_ylim(0, 1)


def _name(axis: Any, height: float, name: str, colour: str) -> None:
    """Writes a name behind the end of a line."""
    axis.annotate(
        name,
        (sum(SIZES), height),
        xytext=(6, 0),
        textcoords="offset points",
        color=colour,
        va="center",
        annotation_clip=False,
    )


def _mark_epochs(axis: Any) -> None:
    """Lines where epochs end, and where the world changes."""
    from tacit.report.canvas import FAINT, LOW

    ends = np.cumsum(SIZES)
    axis.grid(visible=False, axis="x")
    axis.set_xlim(0, ends[-1])
    for number, end in enumerate(ends, start=1):
        changes = number == CHANGE
        colour = LOW if changes else FAINT
        axis.axvline(end, color=colour, linewidth=1.4 if changes else 0.8, zorder=0)


def _name_change(axis: Any) -> None:
    from tacit.report.canvas import LOW

    axis.annotate(
        "the world changes",
        (sum(SIZES[:CHANGE]), 1),
        xycoords=("data", "axes fraction"),
        xytext=(5, -4),
        textcoords="offset points",
        color=LOW,
        va="top",
    )


def _number_epochs(axis: Any) -> None:
    from tacit.report.canvas import MUTED

    for number, end in enumerate(np.cumsum(SIZES), start=1):
        axis.annotate(
            f"epoch {number}" if number > 1 else "1",  # the first one has little room
            (end - SIZES[number - 1] / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            color=MUTED,
            fontsize=8,
            ha="center",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=PICTURE, help="the picture to write")
    parser.add_argument("--rank", type=int, default=100, help="the number of landmarks")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    records = play(options.rank, options.seed)
    report(records)
    draw(records, options.out)


if __name__ == "__main__":
    main()
