"""The bandit: ask, tell, release, on a database that survives anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget, Ledger
from tacit.core.database import connect
from tacit.design import Design, DesignOptions
from tacit.domains import record_points
from tacit.errors import InputError
from tacit.passes import release_on, release_passes, require_room
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.quiet import quiet
from tacit.residual.refine import refine
from tacit.single_decision.decision import release_decision
from tacit.statistic import Statistic
from tacit.study.store import Store
from tacit.tables import labels, number

RELEASE = "release"


@dataclass(frozen=True)
class Decision:
    """What to play in one round. `propensity` is the density of the draw (a probability on finite
    actions)."""

    id: str
    action: dict[str, Any]
    propensity: float


class Study:
    """A study in a database: `Study.create(url, problem, ...)` once, `Study.open(url)` ever after.

    Everything that `ask` and `tell` return from is on disk. Any number of processes may share a
    study.
    """

    def __init__(self, store: Store, design: Design) -> None:
        self._store = store
        self.design = design
        self.ledger = Ledger.open(store.engine)
        self._rng: np.random.Generator | None = (
            None  # fresh coins for every call, also after a fork
        )

    @classmethod
    def create(
        cls,
        url: str,
        problem: Problem,
        *,
        horizon: int,
        budget: Budget,
        unit: str = "record",
        passes: int = 2,
        options: DesignOptions | None = None,
        progress: Progress = silent,
    ) -> Study:
        """Builds the design (see `Design.build`) and the study that will follow it.

        The design's public coins come from the operating system unless `options` have a seed. At
        its release a study reads its rounds in two `passes`, which is more accurate at the same
        budget than one (see `tacit.refine`).
        """
        if problem.play is not None:
            raise InputError(
                "a Study plays uniformly: `play` is for data that was logged some other way."
            )
        options = options or DesignOptions()
        store = Store(connect(url))
        store.require_empty()
        design = Design.build(
            problem,
            horizon=horizon,
            budget=budget,
            rng=options.coins(),
            unit=unit,
            passes=passes,
            options=options,
            progress=progress,
        )
        store.create(problem.spec(), design.facts(), design.arrays(), budget)
        return cls(store, design)

    @classmethod
    def open(cls, url: str, *, kernel: Any = None) -> Study:
        """The study in a database, as it was left. `kernel` is needed only if it is a function of
        one's own."""
        store = Store(connect(url, create=False))
        spec, facts, arrays = store.load()
        return cls(store, Design.restore(Problem.from_spec(spec, kernel=kernel), facts, arrays))

    @property
    def problem(self) -> Problem:
        return self.design.problem

    @property
    def horizon(self) -> int:
        return self.design.horizon

    @property
    def asked(self) -> int:
        """How many rounds were asked. Public; how many rewards came back is not."""
        return self._store.asked()

    def ask(self, context: Any, *, user: Any = None) -> Decision:
        """A uniformly random action for one context, written down before it is returned.

        In a study with `unit="user"` say whose round it is.
        """
        self.problem.require_apart(context)
        points = record_points(self.problem.contexts, context, "the context", single=True)
        if len(points) != 1:
            raise InputError(f"ask takes one context, got {len(points)}: use ask_many for a table.")
        return self._ask(points, None if user is None else [user])[0]

    def ask_many(self, contexts: Any, *, users: Any = None) -> list[Decision]:
        """The same for every row of a table, in one transaction. A row that lacks a column has a
        missing cell."""
        self.problem.require_apart(contexts)
        return self._ask(record_points(self.problem.contexts, contexts, "the context"), users)

    def _ask(self, points: Floats, users: Any) -> list[Decision]:
        actions = self.problem.actions
        if users is None and self.design.unit == "user":
            raise InputError("this study protects users: say whose round it is with user=...")
        names = None if users is None else labels(users, len(points), "users")
        played = actions.sample_points(len(points), self._rng or np.random.default_rng())
        ids = self._store.ask(points, played, names, self.horizon)
        columns = actions.decode(played)
        return [
            Decision(
                name, {key: _item(column[i]) for key, column in columns.items()}, actions.density
            )
            for i, name in enumerate(ids)
        ]

    def tell(self, id: str, reward: float) -> None:
        """Records a reward, durably. Late and out of order is normal; twice is an error.

        A reward outside its range is clipped; one that is no number counts as none.
        """
        self.tell_many([id], [reward])

    @quiet()
    def tell_many(self, ids: Sequence[str], rewards: Iterable[float]) -> None:
        """The same for many rounds: all of them are recorded, or none."""
        values = np.array([number(reward) for reward in rewards], dtype=np.float64)
        if len(values) != len(ids) or len(set(ids)) != len(ids):
            raise InputError(
                f"tell_many takes one reward for each of {len(ids)} different ids, got "
                f"{len(values)}."
            )
        scaled = self.problem.scale_reward(values)
        self._store.tell(
            {name: None if np.isnan(y) else float(y) for name, y in zip(ids, scaled, strict=True)}
        )

    def release(self, progress: Progress = silent) -> Policy:
        """Closes the study, spends its budget and returns the policy.

        Called again, here or in another process, it returns the same policy: never a fresh draw,
        never a second charge.
        """
        if not self._store.closed():
            require_room(self.ledger, self.design, RELEASE)  # fails before closing
        rounds = self._store.close()
        return release_passes(
            self.design,
            collect=partial(self._statistic, rounds, progress),
            release=release_on(self.ledger, RELEASE),
            following=partial(self._following, progress),
        )

    def release_decision(
        self, context: Any, *, epsilon: float, request: str | None = None, candidates: int = 1024
    ) -> Any:
        """One private decision from the rounds so far, charged `epsilon` (see
        `tacit.release_decision`).

        The study goes on. The same `request` returns the same decision, free of charge.
        """
        statistic = self._statistic(self.asked, silent, self.design)
        return release_decision(
            statistic,
            context,
            epsilon=epsilon,
            ledger=self.ledger,
            request=request,
            candidates=candidates,
        )

    def _following(self, progress: Progress, policy: Policy) -> Design:
        """The design of the next pass, written down before it is used: every process has the same."""
        number = len(policy.releases) + 1
        kept = self._store.design_of_pass(number)
        if kept is None:
            design = refine(policy, progress=progress)
            kept = self._store.keep_design_of_pass(number, design.facts(), design.arrays())
        return Design.restore(self.problem, *kept)

    def _statistic(self, rounds: int, progress: Progress, design: Design) -> Statistic:
        statistic = design.statistic()
        for points, y, users in self._store.rounds(rounds):
            statistic.add_points(points, y, users)
            progress("adding rounds", statistic.records, rounds)
        return statistic

    def __repr__(self) -> str:
        state = (
            "released" if self._store.closed() else f"{self.asked} of {self.horizon} rounds asked"
        )
        return f"Study({state}, {self.ledger.budget})"


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
