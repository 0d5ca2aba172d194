"""The private sum of scores, and its one way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.core import Budget, Cohort, Ledger, private_sum, release_gaussian, simulate_gaussian
from tacit.core.users import user_key
from tacit.domains import record_points
from tacit.errors import StateError
from tacit.evaluation.design import EvaluationDesign
from tacit.evaluation.evaluation import Evaluation
from tacit.quiet import quiet
from tacit.tables import labels, vector

ROWS = 1024  # records scored at a time: always so many, so that one cannot change another


class ScoreSum:
    """The sum of what records write for an evaluation. Private: it shows its size, nothing else.

    Of users the mean psi over all usable rounds of a user counts, so that each user counts once,
    as one record does; a user is of the subgroup of the first usable round.
    """

    def __init__(self, design: EvaluationDesign, cohort: Cohort | None = None) -> None:
        self.design = design
        self.cohort = cohort
        self._sum = private_sum(design.encoding, design.unit, cohort)
        self._users: dict[str, int] = {}
        self._scores: Floats = np.zeros((0, design.layout.policies))
        self._rounds: Floats = np.zeros(0)
        self._groups: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @quiet()
    def add(
        self,
        table: Any,
        rewards: Any,
        *,
        propensity: Any = None,
        users: Any = None,
        first: int = 0,
    ) -> None:
        """Adds rounds: a table of actions and contexts, and their rewards. `first` is the row of
        the first of them in the log.

        Nothing in a cell raises: a record that cannot be read counts, and is not usable.
        """
        problem = self.design.scorer.problem
        X = record_points(problem.actions, table, "actions")
        C = record_points(problem.contexts, table, "contexts")
        n = len(C)
        y = problem.scale_reward(vector(rewards, n, "rewards"))
        p = None if propensity is None else vector(propensity, n, "propensity")
        ids = None if users is None else labels(users, n, "users")
        self.add_points(X, C, y, p, ids, first)

    @quiet()
    def add_points(
        self,
        X: Floats,
        C: Floats,
        y: Floats,
        p: Floats | None = None,
        users: Sequence[Any] | None = None,
        first: int = 0,
    ) -> None:
        """The same in unit coordinates, with rewards scaled to [-1, 1]."""
        for start in range(0, len(y), ROWS):
            at = slice(start, min(start + ROWS, len(y)))
            psi, usable, group = self._scored(X[at], C[at], y[at], None if p is None else p[at])
            if self.design.unit == "user":
                assert users is not None
                self._collect(users[at], psi, usable, group)
            else:
                number = None if self.cohort is None else self.cohort.first + first + start
                rows = self.design.rows(psi, usable, group)
                self._sum.add(rows, len(rows), first=number)

    def _scored(self, X: Floats, C: Floats, y: Floats, p: Floats | None) -> tuple[Any, Any, Any]:
        """A block, padded to one height with records that cannot be used."""
        n = len(y)
        blank = ROWS - n
        X = np.vstack([X, np.full((blank, X.shape[1]), np.nan)])
        C = np.vstack([C, np.full((blank, C.shape[1]), np.nan)])
        y = np.append(y, np.full(blank, np.nan))
        if p is not None:
            p = np.append(p, np.full(blank, np.nan))
        psi, usable = self.design.scorer.scores(X, C, y, p)
        group = None
        if self.design.groups is not None:
            group = self.design.groups.of(np.where(usable[:, None], C, 0.5))[:n]
        return psi[:n], usable[:n], group

    def _collect(
        self, users: Sequence[Any], psi: Floats, usable: NDArray[np.bool_], group: Any
    ) -> None:
        """Adds up what each user's rounds score."""
        known = len(self._users)
        places = [self._users.setdefault(user_key(user), len(self._users)) for user in users]
        new = len(self._users) - known
        if new:
            self._scores = np.vstack([self._scores, np.zeros((new, psi.shape[1]))])
            self._rounds = np.append(self._rounds, np.zeros(new))
            self._groups = np.append(self._groups, np.full(new, -1))
        if group is not None:
            for place, can, own in zip(places, usable, group, strict=True):
                if can and self._groups[place] < 0:
                    self._groups[place] = own
        np.add.at(self._scores, places, psi * usable[:, None])
        np.add.at(self._rounds, places, usable.astype(float))

    def _close(self) -> None:
        """Writes one row for each user."""
        if self.design.unit != "user" or not self._users:
            return
        usable = self._rounds > 0
        psi = self._scores / np.maximum(self._rounds, 1.0)[:, None]
        group = None if self.design.groups is None else self._groups
        rows = self.design.rows(psi, usable, group)
        first = None if self.cohort is None else self.cohort.first
        self._sum.add(rows, len(rows), users=list(self._users), first=first)
        self._users = {}

    def release(self, ledger: Ledger, request: str, about: dict[str, Any]) -> Evaluation:
        """Spends the budget of the design from `ledger`, and returns the evaluation."""
        self._close()
        if not self._sum.records:
            raise StateError("there are no records to evaluate on: add at least one first.")
        told = {"evaluation": self.design.fingerprint, "budget": str(self.design.budget)}
        told |= {"policies": ", ".join(each.name for each in self.design.scorer.candidates)}
        released = release_gaussian(self._sum, self.design.budget, ledger, request, told)
        return self.design.read(released, about)

    def simulate_release(
        self, rng: np.random.Generator, budget: Budget | None = None
    ) -> Evaluation:
        """A simulated release, from a seeded generator: free, reproducible, and marked
        NOT private."""
        self._close()
        released = simulate_gaussian(self._sum, budget or self.design.budget, rng)
        return self.design.read(released, {"people": "simulated"})

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError("a sum of scores is not pickled in the clear: release it.")

    def __repr__(self) -> str:
        return f"ScoreSum(<private>, policies={self.design.layout.policies})"
