"""One odd record beside a crowd of plain ones: does it change how the others are read?

The bound of one record's integers is worth nothing if that record changes the integers of others: a
table that is read as text, or as nothing, because of one cell; a column that is scaled by its
largest value; a batch that is refused. So the whole path is run on a crowd with a plain record and
on the same crowd with an odd one in its place, in every kind of table, and the two sums are
compared in exact integers. With `unit="user"` all records of one user are odd at once.

An error or a warning that depends on a record is seen by everybody, and nothing was added: it
counts as the way from the sum of the crowd to the empty sum, and is red however long that is. So is
a public number of records that depends on a cell.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from tacit.audit.contribution import Vector, verdict
from tacit.audit.crowd import Crowd, Oddity
from tacit.audit.findings import Clock, Finding
from tacit.audit.made_up import temporary_study
from tacit.design import Design
from tacit.errors import StateError
from tacit.progress import Progress, silent
from tacit.statistic import Statistic
from tacit.study import Study

Add = Callable[..., Any]  # called like Statistic.add
Ask = Callable[..., Any]  # called like Study.ask_many

CROWD = 200  # plain records beside the odd one
ASKED = 48  # of a crowd that is asked: each is a row of a database

# (design, crowd, oddities) -> the sum of the crowd with each oddity in it, of the plain crowd for
# the oddity None; None where the oddity was noticed.
Sums = Callable[[Design, Crowd, Sequence[Oddity | None]], list[Vector | None]]


class Tally:
    """The squared ways that sums moved, and how many oddities were noticed by an error, a warning
    or a count."""

    def __init__(self) -> None:
        self.moves: list[tuple[int, int]] = []
        self.noticed = 0
        self._longest = 0.0
        self._worst = "none moved it"

    def compare(self, sensitivity: int, plain: Vector, odd: Vector | None, oddity: Oddity) -> None:
        """`odd` is None where the oddity was noticed: then nothing was added."""
        self.noticed += odd is None
        move2 = sum((x - y) ** 2 for x, y in zip(plain, odd or [0] * len(plain), strict=True))
        self.moves.append((move2, sensitivity))
        ratio = math.sqrt(move2) / sensitivity
        if ratio > self._longest:
            self._longest = ratio
            self._worst = f"{oddity}: {ratio:.2f} times the sensitivity"

    def finding(
        self,
        name: str,
        epsilon_if_moved: Callable[[float], float],
        delta: float,
        clock: Clock,
        size: int,
    ) -> Finding:
        about = (
            f"among {size} plain records; {self.noticed} raised, warned or were not counted; "
            f"worst: {self._worst}"
        )
        found = verdict(name, self.moves, epsilon_if_moved, delta, clock, about, len(self.moves))
        return replace(found, ok=found.ok and not self.noticed)


def attack_crowd(
    name: str = "odd record in a crowd",
    *,
    designs: Sequence[Design],
    epsilon_if_moved: Callable[[float], float],
    every: int = 1,
    delta: float = 0.0,
    size: int = CROWD,
    add: Add = Statistic.add,
    progress: Progress = silent,
) -> Finding:
    """Claim: the sensitivity. Found: how far an odd record moved the sum of a crowd that was added
    by `Statistic.add`.

    `every` takes one oddity of so many.
    """
    clock = Clock()
    sums = partial(_added_sums, add=add)
    places = ("actions", "contexts", "rewards")
    tally = _try_oddities(name, sums, places, designs, every, size, progress)
    return tally.finding(name, epsilon_if_moved, delta, clock, size)


def attack_asking(
    name: str = "odd context in a crowd",
    *,
    designs: Sequence[Design],
    epsilon_if_moved: Callable[[float], float],
    every: int = 1,
    delta: float = 0.0,
    size: int = ASKED,
    ask: Ask = Study.ask_many,
    progress: Progress = silent,
) -> Finding:
    """The same for `Study.ask_many`: contexts as a temporary study has written them down, summed as
    a release would."""
    clock = Clock()
    sums = partial(_asked_sums, ask=ask)
    tally = _try_oddities(name, sums, ("contexts",), designs, every, size, progress)
    return tally.finding(name, epsilon_if_moved, delta, clock, size)


def _try_oddities(
    name: str,
    sums: Sums,
    places: tuple[str, ...],
    designs: Sequence[Design],
    every: int,
    size: int,
    progress: Progress,
) -> Tally:
    """For each design, a plain crowd against the same crowd with each of the oddities in these
    places (and in user ids, where they matter)."""
    tally = Tally()
    for i, design in enumerate(designs):
        crowd = Crowd(design, size)
        known = islice(crowd.oddities(*places, *crowd.ids), i % every, None, every)
        oddities = [oddity for oddity in known if crowd.can_hold(oddity)]
        plain, *odd = sums(design, crowd, [None, *oddities])
        if plain is None:
            raise StateError(
                "a crowd of plain records was not read: an audit cannot say what an odd one "
                "changes."
            )
        for oddity, found in zip(oddities, odd, strict=True):
            tally.compare(design.encoding.sensitivity, plain, found, oddity)
        progress(name, i + 1, len(designs))
    return tally


# -- adding ---------------------------------------------------------------------------------------


def _added_sums(
    design: Design, crowd: Crowd, oddities: Sequence[Oddity | None], add: Add
) -> list[Vector | None]:
    sums: list[Vector | None] = []
    for oddity in oddities:
        statistic = design.statistic()
        arguments = crowd.arguments(oddity)
        quiet = _silently(partial(add, statistic, **arguments))
        counted = statistic.records == crowd.size
        sums.append(_integers(statistic) if quiet and counted else None)
    return sums


def _silently(call: Callable[[], Any]) -> bool:
    """Whether a call neither raised nor warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except Exception:
            return False
    return True


def _integers(statistic: Statistic) -> Vector:
    return [int(value) for value in statistic._sum._value()]


# -- asking ---------------------------------------------------------------------------------------


def _asked_sums(
    design: Design, crowd: Crowd, oddities: Sequence[Oddity | None], ask: Ask
) -> list[Vector | None]:
    """Actions are drawn afresh for every question, so the sums are made with actions and rewards
    that are always the same."""
    with temporary_study(design, len(oddities) * crowd.size) as study:
        asked = [_asked(study, crowd, oddity, ask) for oddity in oddities]
        stored = list(study._store.rounds(study.asked))
    points = np.vstack([page[0] for page in stored])
    users = [user for page in stored for user in page[2]]
    at = design.problem.actions.dimension
    actions = design.problem.actions.sample_points(crowd.size, np.random.default_rng(0))
    sums: list[Vector | None] = []
    start = 0
    for written, right in asked:
        mine = slice(start, start + written)
        start += written
        if not right:
            sums.append(None)
            continue
        statistic = design.statistic()
        W = np.hstack([actions, points[mine, at:]])
        statistic.add_points(W, np.ones(crowd.size), users[mine])
        sums.append(_integers(statistic))
    return sums


def _asked(study: Study, crowd: Crowd, oddity: Oddity | None, ask: Ask) -> tuple[int, bool]:
    """How many rounds were written down for a crowd, and whether all was quiet and everybody was
    answered."""
    before = study.asked
    arguments = crowd.arguments(oddity)
    decisions: list[Any] = []
    quiet = _silently(
        lambda: decisions.extend(ask(study, arguments["contexts"], users=arguments["users"]))
    )
    written = study.asked - before
    return written, quiet and written == len(decisions) == crowd.size
