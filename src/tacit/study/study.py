"""A study on a database: ask for an action, tell its reward, release one policy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget, Ledger
from tacit.core.curve import gaussian_epsilon
from tacit.core.database import connect
from tacit.core.ledger import measured_in
from tacit.design import Design, DesignOptions
from tacit.domains import record_points
from tacit.epochs import Shares
from tacit.errors import InputError, StateError
from tacit.passes import release_on, release_passes, requests
from tacit.planning import Plan, plan
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.quiet import quiet
from tacit.residual.refine import refine
from tacit.single_decision.decision import release_decision
from tacit.statistic import Statistic
from tacit.study.history import Advance
from tacit.study.spending import RELEASE, Spending, in_words, require_release
from tacit.study.state import StudyState
from tacit.study.store import Round, Store
from tacit.tables import labels, number


@dataclass(frozen=True)
class Decision:
    """What to play in one round: give it to `Study.tell` together with the reward.

    `propensity` is how likely the action was: a probability, or a density in the user's units where
    `density` is true. In a study in epochs `mode` says by which part of the law it was played, and
    `epoch` in which epoch the round counts; None if it counts in none, because its user counts in
    an earlier one.

    >>> decision = study.ask({"age": 61})
    >>> decision.mode, list(decision.action), decision.propensity
    ('explore', ['dose'], 0.01)
    >>> study.tell(decision.id, 0.8)
    """

    id: str
    action: dict[str, Any]
    propensity: float
    mode: str = "explore"
    epoch: int | None = 1
    density: bool = True


class Study:
    """A study in a database: `Study.create(url, problem, ...)` once, `Study.open(url)` ever after.

    What `ask` and `tell` did is on disk when they return. Any number of processes may work on one
    study at the same time.

    >>> study = tacit.Study.create("sqlite:///study.db", problem, horizon=50, budget=budget)
    >>> for age in range(20, 70):
    ...     decision = study.ask({"age": age})
    ...     study.tell(decision, 1 - abs(decision.action["dose"] - age) / 100)
    >>> study.asked
    50
    >>> policy = study.release()  # SPENDS the budget
    >>> tacit.Study.open("sqlite:///study.db").policy.receipt == policy.receipt
    True
    """

    def __init__(self, store: Store, design: Design) -> None:
        self._store = store
        self.design = design
        self.ledger = Ledger.open(store.engine)
        self._spending = Spending(store, self.ledger, design)
        # Fresh coins for every call. A generator kept here would be copied by a fork.
        self._rng: np.random.Generator | None = None

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
        epochs: int | str | Sequence[int] = 1,
        explore: float = 0.05,
        exploit: float = 0.0,
        control: float = 0.0,
        baseline: Any = None,
        wait: timedelta = timedelta(0),
        prior: Policy | None = None,
        progress: Progress = silent,
    ) -> Study:
        """Designs a study (see `Design.build`) and writes it to a database that holds none.

        The design's public coins come from the operating system unless `options` have a seed. At
        its release a study reads its rounds in two `passes`, which is more accurate at the same
        budget than one (see `tacit.refine`).

        `budget` is what the release spends, unless single decisions have left less by then. A
        database that holds a ledger already keeps it, with
        its own, larger budget; what the release leaves is for single decisions. Such a ledger is a
        mixed one:

            tacit.Ledger.create(url, tacit.Budget(epsilon=2.0, delta=1e-6), mixed=True)
            tacit.Study.create(url, problem, horizon=1000, budget=tacit.Budget(1.0, 1e-6))

        With several `epochs` (how many, their sizes, or "auto", which plans them) the study goes
        on: `advance` releases one epoch, which spends the whole budget because each person counts
        in one epoch, and the next is played by what was learned. From the second one on a share
        `explore` of the rounds is played uniformly, `exploit` by the policy's own decision,
        `control` by a public `baseline` (an action, a policy, a function of contexts), and the rest
        by Thompson sampling. An epoch is released at the earliest when `wait` has passed since its
        last round. The first one reads its rounds twice, and later ones once, whatever `passes`
        says. With a `prior`, the policy of another study of the same problem, the first epoch is
        played by what that one has learned: it is public, so that costs nothing.
        """
        if problem.play is not None:
            raise InputError(
                "a Study plays uniformly: `play` is for data that was logged some other way."
            )
        options = options or DesignOptions()
        if options.max_weight not in (None, 1):
            raise InputError("a Study plays uniformly: max_weight is for logs with propensities.")
        if epochs != 1:
            from tacit.study.epoch_study import EpochOptions, EpochStudy

            return EpochStudy.begin(
                url,
                problem,
                horizon=horizon,
                budget=budget,
                unit=unit,
                options=options,
                going=EpochOptions(
                    epochs, Shares(explore, exploit, control), baseline, wait, prior
                ),
                progress=progress,
            )
        if control or exploit or baseline is not None or wait or prior is not None:
            raise InputError(
                "exploit, control, baseline, wait and prior are of studies in epochs: say how many "
                "with epochs=4."
            )
        store = Store(connect(url))
        store.require_no_study()
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
        ledger = store.ledger()
        if ledger is not None and not budget.pure:  # a pure budget pays for decisions alone
            require_release(ledger, design)
        store.create(problem.spec(), design.facts(), design.arrays(), budget)
        return cls(store, design)

    @classmethod
    def open(cls, url: str, *, kernel: Any = None, baseline: Any = None) -> Study:
        """The study in a database. `kernel` and `baseline` are needed only if they are functions of
        one's own, or the baseline a policy."""
        store = Store(connect(url, create=False))
        spec, facts, arrays = store.load()
        if kernel is None and spec["kernel"] == {"type": "custom"}:
            raise InputError(
                "this study has a kernel that is a function of somebody's own, which no database "
                "holds: open it in Python with Study.open(url, kernel=...)."
            )
        problem = Problem.from_spec(spec, kernel=kernel)
        if store.in_epochs():
            from tacit.study.epoch_study import EpochStudy

            return EpochStudy.resume(store, problem, baseline)
        return cls(store, Design.restore(problem, facts, arrays))

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

    @property
    def state(self) -> StudyState:
        """Where the study stands: what is public, and nothing else."""
        closed = self._store.closed()
        released = closed and self._spending.finished()
        planned = self.design.passes_left + 1  # `self.design` is that of the first pass
        least = min(self.ledger.accounts(), key=lambda account: account.remaining)
        budget = self._spending.spent() if released else self._spending.budget()
        spent, left = least.texts(self.ledger.budget)
        return StudyState(
            asked=self.asked,
            horizon=self.horizon,
            budget=str(self.ledger.budget),
            release_budget=in_words(budget, self.ledger.budget),
            counted_in=measured_in(self.ledger.budget),
            spent=self.ledger.spent,
            remaining=self.ledger.remaining,
            spent_text=spent,
            left_text=left,
            closed=closed,
            released=released,
            unit=self.design.unit,
            passes=len(self._spending.charged()) if released else planned,
            planned_passes=planned,
        )

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The receipt of the policy that was released, if it was (see `Policy.receipt`)."""
        if not self.state.released:
            return None
        return self.ledger.receipt(self._spending.charged()[-1])

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
        names = require_users(users, self.design.unit, len(points))
        drawn = actions.sample_points(len(points), self._rng or np.random.default_rng())
        ids = self._store.ask(points, drawn, names, self.horizon)
        columns = actions.decode(drawn)
        decisions = []
        for i, id in enumerate(ids):
            action = {name: item(column[i]) for name, column in columns.items()}
            density = actions.continuous
            decisions.append(Decision(id, action, actions.uniform_density, density=density))
        return decisions

    def _draw(self, law: int, points: Floats, keys: Sequence[str | None]) -> list[Round]:
        """Rounds played uniformly, before they are written down."""
        actions = self.problem.actions
        drawn = actions.sample_points(len(points), self._rng or np.random.default_rng())
        how = ("explore", actions.uniform_density, actions.continuous)
        return [Round(points[i], drawn[i], *how, keys[i]) for i in range(len(points))]

    def tell(self, decision: Decision | str, reward: float) -> None:
        """Records the reward of a decision, which may also be named by its id.

        A reward may come late and out of order; to tell it twice is an error. One outside its range
        is clipped, and one that is no number counts as none.
        """
        self.tell_many([decision], [reward])

    @quiet()
    def tell_many(self, decisions: Sequence[Decision | str], rewards: Iterable[float]) -> None:
        """The same for many rounds: all of them are recorded, or none."""
        ids = [_id(decision) for decision in decisions]
        values = np.array([number(reward) for reward in rewards], dtype=np.float64)
        if len(values) != len(ids) or len(set(ids)) != len(ids):
            raise InputError(
                f"tell_many takes one reward for each of {len(ids)} different decisions, got "
                f"{len(values)}."
            )
        scaled = self.problem.scale_reward(values)
        self._tell(
            {id: None if np.isnan(y) else float(y) for id, y in zip(ids, scaled, strict=True)}
        )

    def _tell(self, rewards: dict[str, float | None]) -> None:
        self._store.tell(rewards)

    def advance(self, *, early: bool = False, progress: Progress = silent) -> Advance:
        """Releases the study if all of its rounds were asked, or with `early` in any case.
        Otherwise it says what is missing. A study in epochs then opens the next one."""
        asked = self.asked
        if asked < self.horizon and not early and not self._store.closed():
            return Advance(False, 1, f"{asked:,} of {self.horizon:,} rounds were asked")
        self.release(progress=progress)
        return Advance(True, 1, finished=True)

    @property
    def policy(self) -> Policy:
        """The policy that was released. Free."""
        if not self.state.released:
            raise StateError("this study was not released yet: call release().")
        return self.release()

    def release(self, budget: Budget | None = None, *, progress: Progress = silent) -> Policy:
        """Closes the study, spends `budget` and returns the policy.

        Without a `budget` it spends what was planned or, where single decisions have left less than
        that, all that is left. What it spends is written down before anything is charged: called
        again, here or in another process, it returns the same policy and charges nothing.

        The policy states what the release itself promises. The study's ledger counts it together
        with all single decisions (`Study.state`).

        A decision that was begun before the study was closed may take what later passes were to
        spend. They spend what it left. Where that is nothing, the policy is that of the passes
        before: `policy.facts["planned_passes"]`, `Study.state` and the logger "tacit" say so.
        """
        design = self._spending.settle(budget)
        policy = release_passes(
            design,
            collect=partial(self._statistic, self._store.close(), progress),
            release=release_on(self.ledger, RELEASE),
            following=partial(self._following, progress),
        )
        planned = design.passes_left + 1
        passes = policy.facts["passes"]
        if passes < planned:
            logging.getLogger("tacit").warning(
                "this study was released in %d of %d passes: single decisions left nothing for "
                "the others.",
                passes,
                planned,
            )
            policy = replace(policy, facts=policy.facts | {"planned_passes": planned})
        delta = self.ledger.budget.delta
        if design.total_budget.rho is None or not delta:
            return policy
        promise = policy.guarantee
        epsilon = gaussian_epsilon(promise.rho, delta)
        return replace(policy, guarantee=replace(promise, epsilon=epsilon, delta=delta))

    def plan(self, budget: Budget | None = None, *, progress: Progress = silent) -> Plan:
        """What a release now would be worth: the plan for the rounds so far and for `budget`, by
        default what `release` would spend. Free."""
        rounds = self.asked
        if not rounds:
            raise StateError(
                "there are no rounds to plan with yet: ask at least one, or plan with tacit.plan."
            )
        layout = self.design.layout
        options = DesignOptions(
            rank=self.design.rank,
            context_share=layout.context_share,
            plain=not layout.square_share,
        )
        if budget is None:
            budget = self._spending.budget()
        return plan(
            self.problem,
            horizon=rounds,
            budget=budget,
            passes=self.design.passes_left + 1,
            options=options,
            progress=progress,
        )

    def release_decision(
        self, context: Any, *, epsilon: float, request: str | None = None, candidates: int = 1024
    ) -> Any:
        """One private decision from the rounds so far, charged `epsilon` (see
        `tacit.release_decision`).

        The study goes on. The same `request` returns the same decision, free of charge.
        """
        if request in requests(self.design, RELEASE):
            raise InputError(
                f"request {request!r} is that of the study's own release: choose another."
            )
        state = self.state
        if state.closed and not state.released:
            raise StateError(
                "a release of this study was begun and is not finished: call release() first, so "
                "that no decision takes what its later passes will spend."
            )
        statistic = self._statistic(state.asked)
        return release_decision(
            statistic,
            context,
            epsilon=epsilon,
            ledger=self.ledger,
            request=request,
            candidates=candidates,
        )

    def _following(self, progress: Progress, policy: Policy) -> Design | None:
        """The design of the next pass; None if nothing is left to pay for it. It is written down
        before it is used, so that a release that goes on after a crash, or in another process,
        uses the same."""
        number = len(policy.releases) + 1
        kept = self._store.design_of_pass(number)
        if kept is None:
            design = refine(policy, progress=progress)
            kept = self._store.keep_design_of_pass(number, design.facts(), design.arrays())
        design = Design.restore(self.problem, *kept)
        rest = self._spending.rest()  # first: another process may charge this pass meanwhile
        if not self._spending.never_paid(design):
            return design
        if rest is None:
            return None
        smaller = _smaller(policy, rest, progress)
        kept = self._store.keep_design_of_pass(number, smaller.facts(), smaller.arrays(), kept[0])
        return Design.restore(self.problem, *kept)

    def _statistic(
        self, rounds: int, progress: Progress = silent, design: Design | None = None
    ) -> Statistic:
        """The private sum of rounds 1 to `rounds`, for the first pass or that of `design`."""
        statistic = (design or self.design).statistic()
        for points, y, users in self._store.rounds(rounds):
            statistic.add_points(points, y, users)
            progress("adding rounds", statistic.records, rounds)
        return statistic

    def __repr__(self) -> str:
        return f"Study({self.state})"


def _smaller(policy: Policy, rest: Budget, progress: Progress) -> Design:
    """The design of a last pass that spends what is left."""
    return refine(policy, budget=rest, progress=progress)


def _id(decision: Any) -> str:
    if isinstance(decision, Decision):
        return decision.id
    if isinstance(decision, str):
        return decision
    raise InputError(
        f"tell takes the Decision that ask returned, or its id, got a {type(decision).__name__}."
    )


def require_users(users: Any, unit: str, n: int) -> list[Any] | None:
    """Names of users, one per round, where the study protects users; None where it does not."""
    if users is None and unit == "user":
        raise InputError("this study protects users: say whose round it is with user=...")
    if users is not None and unit == "record":
        raise InputError(
            "this study protects single rounds, which have no users: leave user out, or create "
            'it with unit="user".'
        )
    return None if users is None else labels(users, n, "users")


def item(value: Any) -> Any:
    """A plain number or text of Python's own."""
    return value.item() if isinstance(value, np.generic) else value
