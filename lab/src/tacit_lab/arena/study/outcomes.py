"""What was claimed and does not hold comes first; what did not work comes last."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import OURS, Selection
from tacit_lab.arena.statistics import paired, plus_minus
from tacit_lab.arena.study.claims import (
    LONG,
    SLACK,
    Duel,
    Slope,
    against,
    duels,
    elsewhere,
    on_rkhs,
    others,
    slopes,
)
from tacit_lab.arena.study.markdown import count, listed, signed, table

WHERE = {on_rkhs: "functions of a known kernel", elsewhere: "the other problems"}
FLOOR = "best-fixed"
WHOM = (
    "private learners that protect context and reward",
    "learners that protect less, or only claim to",
)


def first(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """The claims that do not hold, before anything else; then those that do."""
    lost: list[str] = []
    held: list[str] = []
    for wanted, where in WHERE.items():
        for rivals, whom in zip(others(selection), WHOM, strict=True):
            met = duels(selection, OURS, wanted, rivals)
            if met:
                claims = held if all(duel.won for duel in met) else lost
                claims += _won(met, where, whom)
    found = slopes(selection)
    if found:
        claims = held if all(slope.holds for slope in found) else lost
        claims += _rates(found)
    lines: list[str] = []
    if lost:
        lines += ["## First: what does not hold", "", *lost]
    if held:
        lines += ["## What holds", "", *held]
    return lines


def _won(met: list[Duel], where: str, whom: str) -> list[str]:
    won = [duel for duel in met if duel.won]
    lost = [duel for duel in met if not duel.won]
    clear = sum(duel.clear for duel in won)
    settings = count(len(met), "setting")
    if not lost:
        return [
            f"On {where} Tacit's release (`{OURS}`) has a lower mean error than all {whom}, "
            f"at equal `(eps, delta)`, in every one of {settings} with `T >= {LONG}`; "
            f"in {clear} of them the paired interval leaves no doubt.",
            "",
        ]
    rows = [
        [
            f"`{duel.environment}`",
            f"{duel.rounds:,}",
            f"{duel.epsilon:g}",
            f"`{duel.rival}`",
            plus_minus(duel.rival_error),
            plus_minus(duel.error),
            signed(duel.gap),
        ]
        for duel in lost
    ]
    beaten = sum(duel.clear for duel in lost)
    return [
        f"**On {where} Tacit's release (`{OURS}`) is not always better than {whom}**: "
        f"in {len(lost)} of {settings} with `T >= {LONG}` one of them has a lower mean error "
        f"at equal `(eps, delta)`, in {beaten} beyond doubt (the paired interval). "
        f"In the other {len(won)} Tacit has the lowest, in {clear} beyond doubt.",
        *table(["environment", "T", "eps", "best", "its error", "Tacit's", "difference"], rows),
    ]


def _rates(found: list[Slope]) -> list[str]:
    worse = [slope for slope in found if not slope.holds]
    learners = sorted({f"`{slope.learner}`" for slope in found})
    measured = f"{count(len(found), 'measured slope')} of {listed(learners)}"
    if not worse:
        return [
            f"All of {measured} in `T` are within {SLACK:g} of the theory's, "
            "or steeper (see below).",
            "",
        ]
    rows = [
        [
            f"`{slope.learner}`",
            f"`{slope.environment}`",
            signed(slope.measured, "+.2f"),
            f"{slope.theory:+.2f}",
        ]
        for slope in worse
    ]
    return [
        f"**Of {measured} in `T`, {len(worse)} are flatter than the theory's by more than "
        f"{SLACK:g}**:",
        *table(["learner", "environment", "measured slope", "theory's"], rows),
    ]


def did_not_work(selection: Selection, failures: Sequence[Row]) -> list[str]:
    return [
        "## What did not work",
        "",
        *_no_better(selection),
        *_below_the_floor(selection),
        *_short(selection),
        *_failed(failures),
    ]


def _no_better(selection: Selection) -> list[str]:
    """Private learners whose error is not clearly below uniform play's."""
    met = {name: against(selection, name, "uniform_error") for name in selection.private}
    useless = {name: gap for name, gap in met.items() if gap.seeds and not gap.high < 0.0}
    where = (
        f"at {selection.rounds:,} rounds and `eps = {selection.epsilon:g}`, "
        "on average over environments"
    )
    if not useless:
        return [
            f"Every private learner that was run there is better than uniform play {where}.",
            "",
        ]
    rows = [
        [f"`{name}`", signed(gap)]
        for name, gap in sorted(useless.items(), key=lambda item: item[1].mean)
    ]
    return [
        f"Not clearly better than uniform play {where} (error less uniform play's):",
        *table(["learner", "difference"], rows),
    ]


def _below_the_floor(selection: Selection) -> list[str]:
    """How often a fixed action, found without privacy, beats each private learner."""
    cells = selection.cells
    rows = []
    for name in selection.private:
        floors = {key: (FLOOR, *key[1:3], math.inf) for key in cells.rows if key[0] == name}
        gaps = [
            paired(cells.values(key), cells.values(floor))
            for key, floor in floors.items()
            if floor in cells.rows
        ]
        if gaps:
            rows.append([f"`{name}`", f"{sum(gap.mean > 0 for gap in gaps)} of {len(gaps)}"])
    if not rows:
        return []
    return [
        "In how many settings one fixed action for everybody, found without privacy, "
        "has a lower error:",
        *table(["learner", "settings"], rows),
    ]


def _short(selection: Selection) -> list[str]:
    """Learners that were not run at the largest number of rounds."""
    most = {
        name: max(row["rounds"] for row in selection.rows if row["learner"] == name)
        for name in selection.cells.learners()
    }
    top = max(most.values())
    short = [f"`{name}` ({rounds:,})" for name, rounds in most.items() if rounds < top]
    if not short:
        return []
    return [f"Not run at {top:,} rounds, with the most that was: {listed(short)}.", ""]


def _failed(failures: Sequence[Row]) -> list[str]:
    if not failures:
        return ["No job failed.", ""]
    times = Counter((row["learner"], row["failure"]) for row in failures)
    rows = [
        [f"`{learner}`", sentence, str(jobs)] for (learner, sentence), jobs in sorted(times.items())
    ]
    return ["Jobs that failed:", *table(["learner", "why", "jobs"], rows)]
