"""What a table of results has to show: its main setting, its private learners, its curves. Nothing
here is typed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.job import Row
from tacit_lab.arena.names import base_and_variant, known_learners
from tacit_lab.arena.statistics import Cells, Interval, slope

# learners are ours or the paper's if their keys begin with this
OURS = "tacit"
PAPER = "usca"
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
        played = Counter(name for _, name, _ in {key[:3] for key in self.cells.rows})
        return max(self.environments, key=lambda name: played[name])

    @cached_property
    def private(self) -> list[str]:
        """Learners that have rows at a finite epsilon."""
        return sorted({row["learner"] for row in self.rows if math.isfinite(row["epsilon"])})

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
        played = Counter(key[2] for key in self.cells.rows if key[3] in (self.epsilon, math.inf))
        return max(played, key=lambda rounds: (played[rounds], rounds))

    @cached_property
    def common_rounds(self) -> int:
        """The most rounds that every learner played somewhere in the main setting."""
        played = [
            {key[2] for key in self.cells.rows if key[0] == name and key[3] == self.level(name)}
            for name in self.cells.learners()
        ]
        return max(set.intersection(*played), default=self.rounds)

    def level(self, learner: str) -> float:
        """The epsilon to look a learner up under, in the main setting."""
        return self.epsilon if learner in self.private else math.inf

    def ours(self) -> list[str]:
        return [name for name in self.private if name.startswith(OURS)]

    def counterpart(self, learner: str) -> str:
        """What it becomes without privacy; itself where that is not known."""
        known = known_learners().get(learner)
        return (known.counterpart if known is not None else None) or learner

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

    def with_epsilons(self) -> list[tuple[str, int]]:
        """Environments, and the rounds, at which some private learner met enough different
        epsilons."""
        met = Counter(key[:3] for key in self.cells.rows if math.isfinite(key[3]))
        found: dict[str, int] = {}
        for (_, name, rounds), epsilons in met.items():
            if epsilons >= FEWEST:
                found[name] = max(rounds, found.get(name, 0))
        return sorted(found.items())
