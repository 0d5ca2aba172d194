"""What a table of results has to show: its main setting, its private learners, its curves. No name
or number of the table is written here."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.environments.rkhs import KERNELS, SIZE_NAMES
from tacit_lab.arena.job import Row
from tacit_lab.arena.names import base_and_variant, known_learners
from tacit_lab.arena.promise import Promise, promise_named
from tacit_lab.arena.statistics import Cells, Interval, interval, slope

OURS = "tacit"  # the keys of our learners begin with this
EPOCHS = "tacit-epochs"  # ours that uses what it has learned while it learns
PAPER = "usca"  # the key of the paper's
FEWEST = 3  # points that make a curve


@dataclass(frozen=True, eq=False)
class Selection:
    """A results table seen from a distance."""

    rows: Sequence[Row]

    @cached_property
    def cells(self) -> Cells:
        return Cells(self.rows)

    @cached_property
    def environments(self) -> list[str]:
        """Those whose learners know the law of contexts, as in most of the table."""
        return [name for name in self.cells.environments() if base_and_variant(name)[1] == "public"]

    @cached_property
    def busiest(self) -> str:
        """The environment with most learners and numbers of rounds: where cost is compared."""
        times = Counter(name for _, name, _ in {key[:3] for key in self.cells.rows})
        return max(self.environments, key=lambda name: times[name])

    @cached_property
    def private(self) -> list[str]:
        """Learners that have rows at a finite epsilon."""
        return sorted({row["learner"] for row in self.rows if math.isfinite(row["epsilon"])})

    def promising(self, promise: Promise) -> list[str]:
        """Learners of the table with this kind of promise."""
        return [name for name in self.cells.learners() if promise_named(name) is promise]

    @property
    def by_promise(self) -> list[str]:
        """All learners, those with the strongest promise first."""
        return [name for promise in Promise for name in self.promising(promise)]

    @cached_property
    def joint(self) -> list[str]:
        """Private learners that protect context and reward of a round, as is proved here."""
        return [name for name in self.promising(Promise.JOINT) if name in self.private]

    @cached_property
    def open(self) -> list[str]:
        """Learners that protect nothing."""
        return sorted({row["learner"] for row in self.rows} - set(self.private))

    @cached_property
    def epsilon(self) -> float:
        """The finite epsilon of most rows."""
        finite = Counter(row["epsilon"] for row in self.rows if math.isfinite(row["epsilon"]))
        return max(finite, key=lambda epsilon: (finite[epsilon], epsilon), default=math.inf)

    @cached_property
    def rounds(self) -> int:
        """The number of rounds that most learners played on most environments at that epsilon."""
        times = Counter(key[2] for key in self.cells.rows if key[3] in (self.epsilon, math.inf))
        return max(times, key=lambda rounds: (times[rounds], rounds))

    @cached_property
    def common_rounds(self) -> int:
        """The most rounds that every learner played somewhere in the main setting."""
        rounds_of_each = [
            {key[2] for key in self.cells.rows if key[0] == name and key[3] == self.level(name)}
            for name in self.cells.learners()
        ]
        return max(set.intersection(*rounds_of_each), default=self.rounds)

    def level(self, learner: str) -> float:
        """The epsilon to look a learner up under, in the main setting."""
        return self.epsilon if learner in self.private else math.inf

    def ours(self) -> list[str]:
        return [name for name in self.private if name.startswith(OURS)]

    def counterpart(self, learner: str) -> str:
        """What it becomes without privacy; itself where that is not known."""
        known = known_learners().get(learner)
        if known is None or known.counterpart is None:
            return learner
        return known.counterpart

    def curve(
        self, learner: str, environment: str, epsilon: float | None = None
    ) -> dict[int, Interval]:
        """Error rate by rounds."""
        level = self.level(learner) if epsilon is None else epsilon
        rounds = self.cells.rounds(environment, learner, level)
        return {T: self.cells.interval((learner, environment, T, level)) for T in rounds}

    def slope(self, learner: str, environment: str) -> Interval | None:
        """Of log error in log rounds; None where there are too few rounds."""
        level = self.level(learner)
        rounds = self.cells.rounds(environment, learner, level)
        if len(rounds) < FEWEST:
            return None
        return slope({T: self.cells.values((learner, environment, T, level)) for T in rounds})

    def over_seeds(self, learner: str, value: Callable[[Row], float]) -> Interval:
        """A value of the rows of the main setting: for each seed the mean over environments; the
        interval is over seeds."""
        by_seed = defaultdict[int, list[float]](list)
        for environment in self.environments:
            key = (learner, environment, self.rounds, self.level(learner))
            for seed, row in self.cells.rows.get(key, {}).items():
                by_seed[seed].append(value(row))
        return interval([float(np.mean(values)) for values in by_seed.values()])

    def with_curves(self) -> list[str]:
        """Environments on which some private learner played enough different numbers of rounds,
        RKHS ones first."""
        found = [
            name
            for name in self.cells.environments()
            if any(
                len(self.cells.rounds(name, learner, self.epsilon)) >= FEWEST
                for learner in self.private
            )
        ]
        return sorted(found, key=lambda name: (name not in RKHS, name))

    def with_sizes(self) -> list[str]:
        """Kernels whose functions were played in more than one dimension."""
        have = set(self.cells.environments())
        return [
            kernel
            for kernel in KERNELS
            if sum(f"{kernel}-{size}" in have for size in SIZE_NAMES) > 1
        ]

    def with_epsilons(self) -> list[tuple[str, int]]:
        """Environments, and the rounds, at which some private learner met enough different
        epsilons."""
        met = Counter(key[:3] for key in self.cells.rows if math.isfinite(key[3]))
        found: dict[str, int] = {}
        for (_, name, rounds), epsilons in met.items():
            if epsilons >= FEWEST:
                found[name] = max(rounds, found.get(name, 0))
        return sorted(found.items())
