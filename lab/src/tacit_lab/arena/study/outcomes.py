"""What was claimed and does not hold comes first; what did not work comes last."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import OURS, Selection
from tacit_lab.arena.statistics import paired
from tacit_lab.arena.study.claims import (
    LONG,
    SLACK,
    Duel,
    against,
    duels,
    elsewhere,
    on_rkhs,
    others,
    slopes,
)
from tacit_lab.arena.study.markdown import count, listed, plus_minus, signed, table

WHERE = {on_rkhs: "functions of a known kernel", elsewhere: "the other problems"}
FLOOR = "best-fixed"
WHOM = (
    "private learners that protect context and reward",
    "learners that protect less, or only claim to",
)


def first(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """The claims that do not hold, before anything else; then those that do."""
    lost: list[list[str]] = []
    held: list[list[str]] = []
    for wanted, where in WHERE.items():
        for rivals, whom in zip(others(selection), WHOM, strict=True):
            met = duels(selection, OURS, wanted, rivals)
            if met:
                (held if all(duel.won for duel in met) else lost).append(_won(met, where, whom))
    found = slopes(selection)
    if found:
        (held if all(slope.holds for slope in found) else lost).append(_rates(selection))
    lines = [line for part in lost for line in part]
    if lost:
        lines = ["## First: what does not hold", "", *lines]
    if held:
        lines += ["## What holds", "", *(line for part in held for line in part)]
    return lines


def _won(met: list[Duel], where: str, whom: str) -> list[str]:
    won = [duel for duel in met if duel.won]
    lost = [duel for duel in met if not duel.won]
    clear = sum(duel.clear for duel in won)
    settings = count(len(met), "setting")
    if not lost:
        return [
            f"On {where} Tacit's release (`{OURS}`) has a lower mean error than all {whom}, at "
            "equal `(eps, delta)`, "
            f"in every one of {settings} with `T >= {LONG}`; in {clear} of them the paired "
            "interval leaves no doubt.",
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
        f"**On {where} Tacit's release (`{OURS}`) is not always better than {whom}**: in "
        f"{len(lost)} of {settings} "
        f"with `T >= {LONG}` one of them has a lower mean error at equal `(eps, delta)`, in "
        f"{beaten} beyond doubt (the "
        f"paired interval). In the other {len(won)} Tacit has the lowest, in {clear} beyond doubt.",
        *table(["environment", "T", "eps", "best", "its error", "Tacit's", "difference"], rows),
    ]


def _rates(selection: Selection) -> list[str]:
    found = slopes(selection)
    worse = [slope for slope in found if not slope.holds]
    measured = f"{count(len(found), 'measured slope')} of {listed(sorted({f'`{slope.learner}`' for slope in found}))}"
    if not worse:
        return [
            f"All of {measured} in `T` are within {SLACK:g} of the theory's, or steeper (see "
            "below).",
            "",
        ]
    rows = [
        [f"`{s.learner}`", f"`{s.environment}`", signed(s.measured, "+.2f"), f"{s.theory:+.2f}"]
        for s in worse
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
    where = f"at {selection.rounds:,} rounds and `eps = {selection.epsilon:g}`, on average over environments"
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
        "In how many settings one fixed action for everybody, found without privacy, has a lower "
        "error:",
        *table(["learner", "settings"], rows),
    ]


def _short(selection: Selection) -> list[str]:
    """Learners that were not run at the largest number of rounds."""
    learners = selection.cells.learners()
    most = {
        name: max(row["rounds"] for row in selection.rows if row["learner"] == name)
        for name in learners
    }
    top = max(most.values())
    short = [f"`{name}` ({rounds:,})" for name, rounds in most.items() if rounds < top]
    return (
        [f"Not run at {top:,} rounds, with the most that was: {listed(short)}.", ""]
        if short
        else []
    )


def _failed(failures: Sequence[Row]) -> list[str]:
    if not failures:
        return ["No job failed.", ""]
    told = Counter((row["learner"], row["failure"]) for row in failures)
    rows = [
        [f"`{learner}`", sentence, str(times)]
        for (learner, sentence), times in sorted(told.items())
    ]
    return ["Jobs that failed:", *table(["learner", "why", "jobs"], rows)]
