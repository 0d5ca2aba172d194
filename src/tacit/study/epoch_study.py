"""A study that goes on: it decides by what it has learned so far, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget, Guarantee, Ledger
from tacit.core.database import connect
from tacit.core.ledger import measured_in
from tacit.core.users import user_key
from tacit.design import Design, DesignOptions
from tacit.epochs import (
    MODES,
    EpochPlay,
    Shares,
    cohort_of,
    epoch_sizes,
    first_epoch,
    learn_from,
)
from tacit.epochs.prior import require_same_problem
from tacit.epochs.spread import rounds_later
from tacit.errors import InputError, StateError
from tacit.passes import require_room
from tacit.planning.epochs import planned_sizes
from tacit.play import PlayLaw, as_baseline
from tacit.policy import Policy, files
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.study.baselines import baseline_facts, restored_baseline
from tacit.study.epoch_reader import EpochReader
from tacit.study.epoch_release import EpochReleases, request_of
from tacit.study.epoch_store import EpochRow, EpochStore, NewEpoch
from tacit.study.export import write_rounds
from tacit.study.history import Advance, Epoch, released_facts
from tacit.study.state import StudyState
from tacit.study.store import Round, Store
from tacit.study.study import Decision, Study, item, require_users
from tacit.study.validation import Validation


@dataclass(frozen=True)
class EpochOptions:
    """How a study in epochs goes on.

    `epochs` is how many there are, their sizes, or "auto": those of a plan. `shares` are those of
    the traffic from the second epoch on, and `baseline` is what its control share plays. `wait` is
    how long after the last round of an epoch its rewards are waited for.
    """

    epochs: int | Sequence[int] | str
    shares: Shares
    baseline: Any = None
    wait: timedelta = timedelta(0)
    prior: Policy | None = None  # of another study of the same problem

    def __post_init__(self) -> None:
        if not isinstance(self.wait, timedelta) or self.wait < timedelta(0):
            raise InputError(
                f"wait must be a timedelta of at least 0, got {self.wait!r}: write "
                "timedelta(days=7)."
            )


class EpochStudy(Study):
    """A study in epochs: `Study.create(url, problem, ..., epochs=4)` makes one, `Study.open(url)`
    opens it.

    Each round, or user, counts in one epoch, so that every epoch may spend the whole budget. The
    rounds of an epoch are played by a public law that depends on the releases before it.
    """

    def __init__(
        self, store: EpochStore, problem: Problem, baseline: PlayLaw | None, given: Any = None
    ) -> None:
        self._epochs = store
        self._problem = problem
        self._baseline = baseline
        self._given = given  # a baseline that no database holds, as it was passed
        self.ledger = Ledger.open(store.engine)
        self._rng: np.random.Generator | None = None
        self._laws: dict[int, EpochPlay] = {}
        self._reader = EpochReader(store.engine)

    @classmethod
    def begin(
        cls,
        url: str,
        problem: Problem,
        *,
        horizon: int,
        budget: Budget,
        unit: str,
        options: DesignOptions,
        going: EpochOptions,
        progress: Progress = silent,
    ) -> EpochStudy:
        """Designs the first epoch and writes the study to a database that holds none."""
        if budget.pure:
            raise InputError(
                "a study in epochs releases policies, which need a delta: write "
                "Budget(epsilon=1.0, delta=1e-6)."
            )
        baseline = None if going.baseline is None else as_baseline(going.baseline)
        store = Store(connect(url))
        store.require_no_study()
        ledger = store.ledger()
        if ledger is not None and (ledger.spent or ledger.accounts()[0].cohort is not None):
            raise StateError(
                "the ledger in this database was spent from already: a study in epochs needs one "
                "of its own; choose another database."
            )
        sizes = planned_sizes(
            problem, horizon, budget, going.epochs, going.shares, options, progress
        )
        coins = options.coins()
        learned = None
        shares = going.shares
        if going.prior is not None:
            require_same_problem(going.prior, problem)
            learned, shares = learn_from(going.prior, shares, coins, rounds_later(sizes, 1))
        play = EpochPlay(problem, shares, learned, baseline, private=_private(going.prior))
        design = first_epoch(
            problem,
            play,
            cohort_of(1, 0, sizes[0]),
            horizon=horizon,
            budget=budget,
            rng=coins,
            prior=going.prior,
            unit=unit,
            options=options,
            progress=progress,
        )
        if ledger is not None:
            require_room(ledger, design, request_of(1))
        settings = {
            "sizes": sizes,
            "shares": asdict(going.shares),
            "baseline": baseline_facts(baseline),
            "wait": going.wait.total_seconds(),
            "budget": asdict(budget),
            "unit": unit,
        }
        first = NewEpoch(
            number=1,
            first=0,
            size=sizes[0],
            early=0,
            law=(play.facts(), play.arrays()),
            design=(design.facts(), design.arrays()),
        )
        epochs = EpochStore(store.engine)
        epochs.create(problem.spec(), settings, budget, first)
        return cls(epochs, problem, play.baseline)

    @classmethod
    def resume(cls, store: Store, problem: Problem, baseline: Any = None) -> EpochStudy:
        """The study in epochs that a database holds."""
        epochs = EpochStore(store.engine)
        kept = epochs.settings()["baseline"]
        return cls(epochs, problem, restored_baseline(kept, baseline, problem), baseline)

    # -- what is known of it -----------------------------------------------------------------------

    @property
    def problem(self) -> Problem:
        return self._problem

    @property
    def design(self) -> Design:  # type: ignore[override]
        """The design of the first pass over the present epoch, or over the last one that learned
        where the present one validates."""
        return self._releases.design(self._releases.learning(self._present.number))

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return self._epochs.settings()

    @property
    def sizes(self) -> list[int]:
        """The rounds of each epoch that is planned, or was."""
        return list(self._epochs.settings()["sizes"])

    @property
    def unit(self) -> str:
        return str(self._settings["unit"])

    @property
    def wait(self) -> timedelta:
        return timedelta(seconds=self._settings["wait"])

    @property
    def horizon(self) -> int:
        """The most rounds that can be asked. An epoch that was closed early gives none back."""
        present = self._shown
        return present.end + sum(self.sizes[present.number :])

    @property
    def asked(self) -> int:
        """How many rounds were asked that count. Public; how many rewards came back is not."""
        return self._epochs.asked()

    @property
    def _releases(self) -> EpochReleases:
        return EpochReleases(
            self._epochs, self._problem, self._baseline, self.ledger, self._laws, self._given
        )

    @property
    def _coins(self) -> np.random.Generator:
        """Fresh coins for every call, unless a test has set them."""
        return self._rng or np.random.default_rng()

    @property
    def _present(self) -> EpochRow:
        return self._epochs.epochs()[-1]

    @property
    def _shown(self) -> EpochRow:
        """The same for those who only look: what is not needed is not read."""
        return self._reader.rows()[-1]

    @property
    def present_epoch(self) -> int:
        """The number of the epoch that is played now, or was played last."""
        return self._shown.number

    def warm(self, epoch: int) -> None:
        """Loads the law of an epoch, so that its first round need not wait for it."""
        law = self._releases.law(epoch)
        law.draw_modes(np.full((1, self._problem.contexts.dimension), 0.5), self._coins)

    @property
    def finished(self) -> bool:
        """Whether the last epoch that is planned was released."""
        present = self._shown
        return present.released is not None and present.number >= len(self.sizes)

    @property
    def policy(self) -> Policy:
        """The best there is so far: that of the last epoch that was released."""
        for epoch in reversed(self._epochs.epochs()):
            if epoch.released is not None:
                return self.policy_of(epoch.number)
        raise StateError(
            "no epoch of this study was released yet: call advance() once the first one is full."
        )

    def policy_of(self, epoch: int) -> Policy:
        """The policy that was released of an epoch. That of a validation epoch is the one that was
        validated: `policy.facts["validation"]` holds what was found."""
        policy = self._releases.stored_policy(epoch)
        if policy is None:
            raise StateError(f"epoch {epoch} of this study was not released.")
        return policy

    @property
    def history(self) -> list[Epoch]:
        """Every epoch so far. Free: public and released facts only."""
        return self._told(self._reader.rows())

    @property
    def present(self) -> Epoch:
        """The epoch that is played now, or was played last."""
        return self._told([self._shown])[0]

    @property
    def play(self) -> EpochPlay:
        """How rounds are played now: the law of the present epoch. Public."""
        return self._releases.law(self._present.number)

    @property
    def missing(self) -> str:
        """What `advance` waits for, in words; nothing if it would release the present epoch. It
        does not depend on which rewards came."""
        if self.finished:
            return "the last epoch was released"
        present = self._shown
        return "" if present.closed is not None else self._missing(present, self.asked, False)

    def _told(self, rows: Sequence[EpochRow]) -> list[Epoch]:
        """Epochs with what is written about their laws and policies: no arrays are read."""
        asked = self.asked
        validations = self._epochs.settings().get("validations", {})
        texts = self._reader.texts([row.number for row in rows])
        kinds = ["validation" if str(row.number) in validations else "learning" for row in rows]
        return [
            self._about(row, asked, kind, *texts[row.number])
            for row, kind in zip(rows, kinds, strict=True)
        ]

    def _about(
        self,
        row: EpochRow,
        asked: int,
        kind: str,
        law: dict[str, Any],
        policy: dict[str, Any] | None,
    ) -> Epoch:
        about: dict[str, Any] = {}
        if row.released is not None and policy is not None:
            promise = Guarantee(**policy["guarantee"])
            about = released_facts(policy["facts"], kind) | {"guarantee": str(promise)}
        return Epoch(
            number=row.number,
            size=row.size,
            asked=int(np.clip(asked - row.first, 0, row.size)),
            stage=self._stage(row, asked),
            opened=row.opened,
            closed=row.closed,
            released=row.released,
            play=Shares(**law["shares"]).description,
            kind=kind,
            **about,
        )

    def _stage(self, row: EpochRow, asked: int) -> str:
        if row.released is not None:
            return "released"
        if row.closed is not None:
            return "closed"
        return "waiting" if asked >= row.end else "open"

    @property
    def state(self) -> StudyState:
        """Where the study stands: what is public, and nothing else."""
        present = self._shown
        least = min(self.ledger.accounts(), key=lambda account: account.remaining)
        spent, left = least.texts(self.ledger.budget)
        budget = Budget(**self._settings["budget"])
        return StudyState(
            asked=self.asked,
            horizon=self.horizon,
            budget=str(self.ledger.budget),
            release_budget=str(budget),
            counted_in=measured_in(self.ledger.budget),
            spent=self.ledger.spent,
            remaining=self.ledger.remaining,
            spent_text=spent,
            left_text=left,
            closed=present.closed is not None,
            released=self.finished,
            unit=self.unit,
            passes=1,
            planned_passes=1,
            epoch=present.number,
            epochs=len(self.sizes),
        )

    # -- rounds ------------------------------------------------------------------------------------

    def _ask(self, points: Floats, users: Any) -> list[Decision]:
        names = require_users(users, self.unit, len(points))
        keys = [None] * len(points) if names is None else [user_key(name) for name in names]
        while True:
            number = self._present.number
            rounds = self._draw(number, points, keys)
            asked = self._epochs.ask(number, rounds)
            if asked is not None:
                break
        columns = self.problem.actions.decode(np.stack([each.action for each in rounds]))
        decisions = []
        for i, (id, epoch) in enumerate(asked):
            action = {name: item(column[i]) for name, column in columns.items()}
            decisions.append(
                Decision(id, action, rounds[i].propensity, rounds[i].mode, epoch, rounds[i].density)
            )
        return decisions

    def _draw(self, law: int, points: Floats, keys: Sequence[str | None]) -> list[Round]:
        """Rounds played by the law of an epoch, before they are written down."""
        play = self._releases.law(law)
        actions, modes = play.draw_modes(points, self._coins)
        propensities = play.propensities(points, actions, modes)
        return [
            Round(points[i], actions[i], MODES[modes[i]], *propensities[i], keys[i])
            for i in range(len(points))
        ]

    def _tell(self, rewards: dict[str, float | None]) -> None:
        self._epochs.tell(rewards)

    def advance(self, *, early: bool = False, progress: Progress = silent) -> Advance:
        """Closes the present epoch if it is full and its rewards were waited for, SPENDS its
        budget, and opens the next one. Otherwise it says what is missing.

        With `early` an epoch is closed that is not full. It may be killed anywhere and called
        again, here or in another process: what was released stays released, and nothing is charged
        twice.
        """
        present = self._present
        if present.released is not None and present.number >= len(self.sizes):
            raise StateError(
                "the last epoch of this study was released: go on with study.extend(rounds=...)."
            )
        if present.closed is None:
            asked = self.asked
            missing = self._missing(present, asked, early)
            if missing:
                return Advance(False, present.number, missing)
            if not self._epochs.close(present.number, asked):
                return self.advance(early=early, progress=progress)  # there are new rounds
            # The same one, as it was closed: others may have released it and opened the next.
            present = self._epochs.epochs()[present.number - 1]
        policy = self._releases.released(present, progress)
        if not self._open_following(present, policy, progress):
            return Advance(True, present.number, finished=True)
        return Advance(True, self._present.number)

    def _open_following(self, present: EpochRow, policy: Policy, progress: Progress) -> bool:
        """Writes down what came of an epoch and opens the next one. False if none is planned."""
        while True:
            following = None
            if present.number < len(self.sizes):
                following = self._releases.following(present, policy, self._coins, progress)
            # Not written where a validation epoch was planned meanwhile: that one is opened then.
            if self._epochs.release(present.number, files.dump(policy), following):
                return following is not None

    def _missing(self, present: EpochRow, asked: int, early: bool) -> str:
        if asked < present.end and not early:
            return f"{asked - present.first:,} of {present.size:,} rounds were asked"
        if asked <= present.first:
            return "no round was asked yet"
        ready = self._epochs.last_asked(min(asked, present.end)) + self.wait.total_seconds()
        left = ready - self._epochs.clock()
        if left > 0:
            return f"rewards are waited for, {_duration(left)} more"
        return ""

    def extend(
        self,
        *,
        rounds: int,
        epochs: int | Sequence[int] = 1,
        request: str | None = None,
        progress: Progress = silent,
    ) -> None:
        """Adds so many rounds in further epochs. Each person counts in one epoch, as before. The
        same `request` adds them once, however often it comes."""
        sizes = epoch_sizes(rounds, epochs)
        self._epochs.extend(sizes, request)
        present = self._present
        if present.released is not None and present.number < len(self.sizes):
            self._open_next(present, progress)

    def validate(
        self,
        *,
        rounds: int = 2000,
        baseline: Any = None,
        split: float = 0.5,
        progress: Progress = silent,
    ) -> int:
        """Plans a validation epoch right after the present one: fresh people, of whom a coin gives
        the share `split` to the policy that the study then has, and the others to a baseline, by
        default the study's own. Spends nothing yet. Returns the number of the epoch.

        It lives like any epoch: `ask`, `tell`, and `advance`, which SPENDS the whole budget of
        these people on what the two earn. `study.history` then holds both values and the
        difference, with intervals. The policy stays the same, and epochs that are planned after it
        go on. Where the last epoch was released already, this one is opened now. To plan it twice
        on the same terms changes nothing.
        """
        law = self._baseline if baseline is None else as_baseline(baseline).on(self.problem.actions)
        terms = Validation.of(rounds, split, law)
        own = self._settings["baseline"] or {"spec": None}
        if baseline is not None and "spec" not in terms.baseline and "spec" not in own:
            raise InputError(
                "this study has a baseline that no database holds, and only one of them can be "
                "given when it is opened: validate against an action, or leave the baseline out."
            )
        if baseline is not None:
            self._given = baseline
        present = self._present
        number = self._epochs.plan_validation(terms.facts())
        # Also where somebody who has planned it did not come to open it.
        if present.released is not None and number > present.number:
            self._open_next(present, progress)
        return number

    def _open_next(self, present: EpochRow, progress: Progress) -> None:
        """Opens the epoch after the last one, which was released: what that costs was paid."""
        policy = self._releases.released(present, progress)
        self._open_following(present, policy, progress)

    def export(self, path: str | Path) -> Path:
        """Writes the rounds of closed epochs to a Parquet file, with their propensities. PRIVATE:
        for their owner."""
        closed = [row for row in self._epochs.epochs() if row.closed is not None]
        if not closed:
            raise StateError("no epoch of this study is closed yet: there is nothing to export.")
        pages = self._epochs.rounds(0, closed[-1].end)
        return write_rounds(path, self._problem, closed, (rows for _, rows in pages))

    # -- what only a study with one release can do -------------------------------------------------

    def release(self, budget: Budget | None = None, *, progress: Progress = silent) -> Policy:
        """A study in epochs is released by `advance`."""
        raise StateError("this study goes on in epochs: call advance(), and look at study.policy.")

    def release_decision(self, context: Any, **options: Any) -> Any:
        """A study in epochs has no single decisions: its budget is for releases alone."""
        raise StateError(
            "this study goes on in epochs, without single decisions: use study.policy."
        )

    def plan(self, budget: Budget | None = None, *, progress: Progress = silent) -> Any:
        """Plans of studies in epochs are made before them, by `tacit.plan`."""
        raise StateError(
            "this study goes on in epochs: study.history says what it was worth so far."
        )

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The receipt of the policy that was released last, if one was."""
        try:
            return self.policy.receipt
        except StateError:
            return None


def _private(prior: Policy | None) -> bool:
    return prior is None or prior.private


def _duration(seconds: float) -> str:
    """In words: "3 days", "5 minutes"."""
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
