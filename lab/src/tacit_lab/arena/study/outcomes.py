"""What was claimed and does not hold comes first; what did not work comes last."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tacit_lab.arena.job import Row
from tacit_lab.arena.promise import Promise, promise_named
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import paired, plus_minus
from tacit_lab.arena.study.claims import (
    FINAL,
    SLACK,
    WHILE_LEARNING,
    Duel,
    Slope,
    Track,
    against,
    duels,
    known_law,
    rivals,
    slopes,
)
from tacit_lab.arena.study.content import Study
from tacit_lab.arena.study.markdown import count, listed, signed, table

MOST_SHOWN = 5  # lost settings in a table, unless more are beyond doubt
FLOOR = "best-fixed"
AT_EQUAL_PROMISE = "the other learners with joint privacy"
WEAKER = "learners with a weaker or another promise"


def first(study: Study) -> list[str]:
    """The claims that do not hold, before anything else; then those that do."""
    lost: list[str] = []
    held: list[str] = []
    selection = study.selection
    for track in (FINAL, WHILE_LEARNING):
        for promise, whom in ((Promise.JOINT, AT_EQUAL_PROMISE), (Promise.OTHER, WEAKER)):
            met = duels(selection, track, rivals(selection, promise), known_law)
            if met:
                claims = held if all(duel.won for duel in met) else lost
                claims += _won(met, track, whom)
    found = slopes(selection)
    if found:
        claims = held if all(slope.holds for slope in found) else lost
        claims += _rates(found)
    claims = lost if _surprises(study) else held
    claims += _attacked(study)
    lines: list[str] = []
    if lost:
        lines += ["## First: what does not hold", "", *lost]
    if held:
        lines += ["## What holds", "", *held]
    return lines


def _won(met: list[Duel], track: Track, whom: str) -> list[str]:
    won = [duel for duel in met if duel.won]
    lost = [duel for duel in met if not duel.won]
    clear = sum(duel.clear for duel in won)
    settings = count(len(met), "setting")
    if not lost:
        return [
            f"`{track.ours}` has a lower mean {track.word} than all of {whom}, "
            f"at equal epsilon and delta, in every one of {settings} with at least "
            f"{track.least:,} rounds; in {clear} of them the paired interval leaves no doubt.",
            "",
        ]
    beaten = [duel for duel in lost if duel.clear]
    words = (
        f"**`{track.ours}` does not always have a lower {track.word} than {whom}**: "
        f"in {len(lost)} of {settings} with at least {track.least:,} rounds one of them has a "
        f"lower mean {track.word} at equal epsilon and delta, in {len(beaten)} beyond doubt (the "
        f"paired interval). In the other {len(won)} `{track.ours}` has the lowest, in {clear} "
        "beyond doubt."
    )
    worst = sorted(lost, key=lambda duel: (not duel.clear, -duel.gap.mean / _size(duel)))
    shown = max(len(beaten), min(len(lost), MOST_SHOWN))
    if shown < len(lost):
        words += f" The {shown} clearest:"
    return [words, *table(_columns(track), [_row(duel) for duel in worst[:shown]])]


def _size(duel: Duel) -> float:
    return duel.gap.margin if duel.gap.seeds > 1 and duel.gap.margin > 0 else math.inf


def _columns(track: Track) -> list[str]:
    return ["environment", "rounds", "eps", "best", f"its {track.word}", "ours", "difference"]


def _row(duel: Duel) -> list[str]:
    return [
        f"`{duel.environment}`",
        f"{duel.rounds:,}",
        f"{duel.epsilon:g}",
        f"`{duel.rival}`",
        plus_minus(duel.rival_value),
        plus_minus(duel.value),
        signed(duel.gap),
    ]


def _surprises(study: Study) -> list[str]:
    """Learners whose claim an attack refuted, though their class says that it holds."""
    return [
        name
        for name, found in study.attacks.items()
        if found.refuted and promise_named(name) is not Promise.NONE
    ]


def _attacked(study: Study) -> list[str]:
    if not study.attacks:
        return []
    surprises = _surprises(study)
    if surprises:
        words = listed([f"`{name}`" for name in surprises])
        return [f"**An attack proved more than was claimed**: {words} (see below).", ""]
    refuted = [f"`{name}`" for name, found in study.attacks.items() if found.refuted]
    held = len(study.attacks) - len(refuted)
    words = f"No attack proved more than the claim of {count(held, 'private learner')}"
    if refuted:
        words += f"; it did for {listed(refuted)}, which therefore stand in no ranking"
    return [f"{words} (see [below](#is-it-private)).", ""]


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


def did_not_work(study: Study) -> list[str]:
    selection = study.selection
    return [
        "## What did not work",
        "",
        *_no_better(selection),
        *_below_the_floor(selection),
        *_short(selection),
        *_failed(study.failures),
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
