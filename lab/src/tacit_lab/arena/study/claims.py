"""What a table of results says, as facts with their evidence. Nothing here is prose."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.names import base_and_variant, known_learners
from tacit_lab.arena.rate import rate_slope
from tacit_lab.arena.selection import PAPER, Selection
from tacit_lab.arena.statistics import Interval, paired

LONG = 3000  # rounds from which the release is meant to be the best
SLACK = 0.1  # by which a measured slope may miss the theory's


@dataclass(frozen=True)
class Duel:
    """Ours against the best other private learner, in one setting. `gap` is ours less theirs, on
    the same seeds."""

    environment: str
    rounds: int
    epsilon: float
    ours: str
    error: Interval
    rival: str
    rival_error: Interval
    gap: Interval

    @property
    def won(self) -> bool:
        return self.error.mean <= self.rival_error.mean

    @property
    def clear(self) -> bool:
        """Whether the paired interval leaves no doubt who is better."""
        return self.gap.seeds > 1 and not self.gap.low <= 0.0 <= self.gap.high


def duels(
    selection: Selection, ours: str, wanted: Callable[[str], bool], rivals: list[str]
) -> list[Duel]:
    """Every setting of at least `LONG` rounds in which `ours` met one of `rivals`."""
    found = []
    cells = selection.cells
    for key in sorted(cells.rows):
        learner, environment, rounds, epsilon = key
        if learner != ours or rounds < LONG or not math.isfinite(epsilon):
            continue
        if not wanted(environment):
            continue
        keys = [(name, environment, rounds, epsilon) for name in rivals]
        met = [other for other in keys if other in cells.rows]
        if met:
            best = min(met, key=lambda other: cells.interval(other).mean)
            found.append(
                Duel(
                    environment,
                    rounds,
                    epsilon,
                    ours=ours,
                    error=cells.interval(key),
                    rival=best[0],
                    rival_error=cells.interval(best),
                    gap=paired(cells.values(key), cells.values(best)),
                )
            )
    return found


def others(selection: Selection) -> tuple[list[str], list[str]]:
    """Private learners that are not ours: those that protect as much, and those that protect less
    or only claim to."""
    rivals = [name for name in selection.private if name not in selection.ours()]
    as_much = [name for name in rivals if protects_all(name)]
    less = [name for name in rivals if not protects_all(name)]
    return as_much, less


def protects_all(learner: str) -> bool:
    """Context and reward, from everybody. Somebody's own learner is believed to."""
    known = known_learners().get(learner)
    if known is None:
        return True
    return "context and reward" in known.protects and "other agents" not in known.protects


def on_rkhs(environment: str) -> bool:
    return environment in RKHS


def elsewhere(environment: str) -> bool:
    base, variant = base_and_variant(environment)
    return base not in RKHS and variant == "public"


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
