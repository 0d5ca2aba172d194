"""What a table of results says, as facts with their evidence. Nothing here is prose."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.names import base_and_variant, known_learners
from tacit_lab.arena.rate import rate_slope
from tacit_lab.arena.selection import PAPER, Selection
from tacit_lab.arena.statistics import Interval, interval, paired

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
        _, environment, rounds, epsilon = key
        if key[0] != ours or rounds < LONG or not math.isfinite(epsilon) or not wanted(environment):
            continue
        met = [
            (name, environment, rounds, epsilon)
            for name in rivals
            if (name, *key[1:]) in cells.rows
        ]
        if met:
            best = min(met, key=lambda other: cells.interval(other).mean)
            gap = paired(cells.values(key), cells.values(best))
            found.append(
                Duel(*key[1:], ours, cells.interval(key), best[0], cells.interval(best), gap)
            )
    return found


def others(selection: Selection) -> tuple[list[str], list[str]]:
    """Private learners that are not ours: those that protect as much, and those that protect less
    or only claim to."""
    rivals = [name for name in selection.private if name not in selection.ours()]
    return [name for name in rivals if protects_all(name)], [
        name for name in rivals if not protects_all(name)
    ]


def protects_all(learner: str) -> bool:
    """Context and reward, from everybody."""
    known = known_learners().get(learner)
    words = known.protects if known is not None else "context and reward"
    return ("context and reward" in words) and "other agents" not in words


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
        for learner in (*selection.ours(), PAPER):
            measured = selection.slope(learner, environment) if environment in RKHS else None
            if measured is not None:
                rounds = tuple(selection.curve(learner, environment))
                theory = rate_slope(environment, rounds, selection.epsilon)
                found.append(Slope(learner, environment, rounds, measured, theory))
    return found


def against(selection: Selection, learner: str, column: str) -> Interval:
    """Error less a reference that every row carries (such as `uniform_error`), in the main setting.

    For each seed the mean over environments; the interval is over seeds.
    """
    level = selection.level(learner)
    by_seed = defaultdict[int, list[float]](list)
    for environment in selection.environments:
        for seed, row in selection.cells.rows.get(
            (learner, environment, selection.rounds, level), {}
        ).items():
            by_seed[seed].append(row["error_rate"] - row[column])
    return (
        interval([sum(gaps) / len(gaps) for gaps in by_seed.values()])
        if by_seed
        else paired({}, {})
    )


def variants(selection: Selection) -> list[tuple[str, str, str, int, Interval]]:
    """Learner, environment, variant, rounds, and what the variant adds to the error, on the same
    seeds."""
    found = []
    for learner, environment, rounds, epsilon in sorted(selection.cells.rows):
        base, variant = base_and_variant(environment)
        told = (learner, base, rounds, epsilon)
        if (
            variant != "public"
            and told in selection.cells.rows
            and epsilon == selection.level(learner)
        ):
            key = (learner, environment, rounds, epsilon)
            gap = paired(selection.cells.values(key), selection.cells.values(told))
            found.append((learner, base, variant, rounds, gap))
    return found
