"""What a table of results says, as facts with their evidence. Nothing here is prose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.names import base_and_variant
from tacit_lab.arena.promise import Promise
from tacit_lab.arena.rate import rate_slope
from tacit_lab.arena.selection import EPOCHS, OURS, PAPER, Selection
from tacit_lab.arena.statistics import Interval, Key, paired

LONG = 3000  # rounds from which the release is meant to be the best
LONG_REGRET = 10_000  # and from which epochs are meant to lose least while learning
SLACK = 0.1  # by which a measured slope may miss the theory's


@dataclass(frozen=True)
class Track:
    """One of the two things that are measured, and from how many rounds on the claim is made."""

    ours: str
    column: str
    least: int
    word: str


FINAL = Track(OURS, "error_rate", LONG, "error")
WHILE_LEARNING = Track(EPOCHS, "cumulative_regret", LONG_REGRET, "regret")


@dataclass(frozen=True)
class Duel:
    """Ours against the best of some others, in one setting. `gap` is ours less theirs, on the same
    seeds."""

    environment: str
    rounds: int
    epsilon: float
    ours: str
    value: Interval
    rival: str
    rival_value: Interval
    gap: Interval

    @property
    def won(self) -> bool:
        return self.value.mean <= self.rival_value.mean

    @property
    def clear(self) -> bool:
        """Whether the paired interval leaves no doubt who is better."""
        return self.gap.seeds > 1 and not self.gap.low <= 0.0 <= self.gap.high


def duels(
    selection: Selection,
    track: Track,
    rivals: Sequence[str],
    wanted: Callable[[str], bool] = lambda environment: True,
) -> list[Duel]:
    """Every setting of enough rounds in which ours met one of `rivals`, at equal epsilon."""
    found = []
    cells = selection.cells
    for key in sorted(cells.rows):
        learner, environment, rounds, epsilon = key
        if learner != track.ours or rounds < track.least or not math.isfinite(epsilon):
            continue
        keys = [(name, environment, rounds, epsilon) for name in rivals]
        met = [other for other in keys if other in cells.rows]
        if met and wanted(environment):
            found.append(_duel(selection, key, met, track.column))
    return found


def _duel(selection: Selection, key: Key, met: list[Key], column: str) -> Duel:
    cells = selection.cells
    best = min(met, key=lambda other: cells.interval(other, column).mean)
    return Duel(
        *key[1:],
        ours=key[0],
        value=cells.interval(key, column),
        rival=best[0],
        rival_value=cells.interval(best, column),
        gap=paired(cells.values(key, column), cells.values(best, column)),
    )


def rivals(selection: Selection, promise: Promise) -> list[str]:
    """Private learners with this kind of promise that are not ours."""
    private = set(selection.private) - set(selection.ours())
    return [name for name in selection.promising(promise) if name in private]


def known_law(environment: str) -> bool:
    """Whether learners were told the true law of contexts."""
    return base_and_variant(environment)[1] == "public"


@dataclass(frozen=True)
class Slope:
    """A measured slope beside the theory's, over the same rounds."""

    learner: str
    environment: str
    rounds: tuple[int, ...]
    measured: Interval
    theory: float

    @property
    def holds(self) -> bool:
        return self.measured.mean <= self.theory + SLACK


def slopes(selection: Selection) -> list[Slope]:
    """Of our learners and the paper's, on the functions for which the rate is computed."""
    found = []
    for environment in selection.with_curves():
        if environment not in RKHS:
            continue
        for learner in (*selection.ours(), PAPER):
            measured = selection.slope(learner, environment)
            if measured is not None:
                rounds = tuple(selection.curve(learner, environment))
                theory = rate_slope(environment, rounds, selection.epsilon)
                found.append(Slope(learner, environment, rounds, measured, theory))
    return found


def against(selection: Selection, learner: str, column: str) -> Interval:
    """Error less a reference of every row, such as `uniform_error`, in the main setting."""
    return selection.over_seeds(learner, lambda row: row["error_rate"] - row[column])


def variants(selection: Selection) -> list[tuple[str, str, str, int, Interval]]:
    """Learner, environment, variant, rounds, and what the variant adds to the error, on the same
    seeds."""
    found = []
    for learner, environment, rounds, epsilon in sorted(selection.cells.rows):
        base, variant = base_and_variant(environment)
        if variant == "public" or epsilon != selection.level(learner):
            continue
        key = (learner, environment, rounds, epsilon)
        informed = (learner, base, rounds, epsilon)
        if informed in selection.cells.rows:
            gap = paired(selection.cells.values(key), selection.cells.values(informed))
            found.append((learner, base, variant, rounds, gap))
    return found
