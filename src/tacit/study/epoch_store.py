"""The tables of a study in epochs: which epochs there are, who counts in which, and their rounds.

Rounds are numbered from 1 as they are asked. An epoch holds a range of these numbers, which is
fixed when it opens: a round asked while an epoch waits for its last rewards is one of the next. A
user counts in the epoch of their first round; a keyed digest of the name keeps that.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    Table,
    Text,
    func,
    insert,
    select,
    update,
)

from tacit._typing import Floats
from tacit.core.accounts import MANY, adopted, member_digest, metadata, terms_table
from tacit.core.budget import Budget
from tacit.core.database import perform, perform_in_turn, retrying
from tacit.core.ledger import Ledger
from tacit.errors import StateError
from tacit.study.store import (
    PAGE,
    SCHEMA,
    Asked,
    Round,
    asked_in,
    forget_deferred,
    pack,
    require_no_study_in,
    rounds_table,
    study_table,
    told_before,
    too_late,
    unknown_round,
    unpack,
)

epochs_table = Table(
    "tacit_epochs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("first", BigInteger, nullable=False),  # rounds before it
    Column("size", Integer, nullable=False),
    # So many of its rounds are played by the law before, as far as its design reckons: those that
    # were asked before it was opened.
    Column("early", Integer, nullable=False),
    Column("opened", Float, nullable=False),
    Column("law", Text, nullable=False),
    Column("law_arrays", LargeBinary, nullable=False),
    Column("design", Text, nullable=False),
    Column("arrays", LargeBinary, nullable=False),
    Column("closed", Float),  # when: rewards that come later change nothing
    Column("released", Float),
    Column("policy", Text),
    Column("policy_arrays", LargeBinary),
)
# Designs of later passes over the people of an epoch.
_passes = Table(
    "tacit_epoch_passes",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("design", Text, nullable=False),
    Column("arrays", LargeBinary, nullable=False),
)
_users = Table(
    "tacit_epoch_users",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("epoch", Integer, nullable=False),
)
# Rounds of people who count in an earlier epoch: nothing of them is kept but that they were asked.
# Of a request that may be repeated its answer is kept, too.
uncounted_table = Table(
    "tacit_uncounted_rounds",
    metadata,
    Column("id", Text, primary_key=True),
    Column("action", LargeBinary),
    Column("epoch", Integer),
    Column("mode", Text),
    Column("propensity", Float),
    Column("density", Integer),
    Column("asked", Float),
    Column("body", Text),
)

Kept = tuple[dict[str, Any], dict[str, Floats]]  # facts and arrays


@dataclass(frozen=True)
class EpochRow:
    """Where an epoch stands. Public."""

    number: int
    first: int  # rounds before it
    size: int
    early: int
    opened: float
    closed: float | None
    released: float | None

    @property
    def end(self) -> int:
        """The number of its last round."""
        return self.first + self.size


class NewEpoch(NamedTuple):
    """An epoch that is to be opened."""

    number: int
    first: int
    size: int
    early: int
    law: Kept
    design: Kept
    validates: bool = False  # it compares the policy with a baseline, and learns nothing


class EpochStore:
    """The tables of one study in epochs. What a method wrote is on disk when it returns; each write
    is one transaction."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self.clock = clock

    def create(
        self,
        problem: dict[str, Any],
        settings: dict[str, Any],
        budget: Budget,
        first: NewEpoch,
    ) -> None:
        """Writes the study, its ledger and its first epoch down: all or nothing."""
        row = {
            "id": 1,
            "schema": SCHEMA,
            "problem": json.dumps(problem),
            "design": "{}",
            "arrays": b"",
            "created": self.clock(),
            "settings": json.dumps(settings),
        }

        def attempt(connection: Connection) -> None:
            require_no_study_in(connection)
            if adopted(connection) is None:
                Ledger.establish(connection, budget)
            connection.execute(insert(study_table).values(row))
            connection.execute(insert(epochs_table).values(self._opened(first)))

        retrying(lambda: metadata.create_all(self.engine))
        perform(self.engine, attempt, queue=study_table)

    def settings(self) -> dict[str, Any]:
        query = select(study_table.c.settings)
        found = perform(self.engine, lambda connection: connection.execute(query).scalar_one())
        settings: dict[str, Any] = json.loads(found)
        return settings

    def extend(self, sizes: Sequence[int], request: str | None = None) -> None:
        """Adds epochs of these sizes to those that are planned; for the same request once."""

        def attempt(connection: Connection) -> None:
            settings = json.loads(connection.execute(select(study_table.c.settings)).scalar_one())
            done = settings.setdefault("extensions", [])
            if request in done:
                return
            if request is not None:
                done.append(request)
            settings["sizes"] = [*settings["sizes"], *sizes]
            connection.execute(update(study_table).values(settings=json.dumps(settings)))

        perform(self.engine, attempt, queue=study_table)

    def plan_validation(self, terms: dict[str, Any]) -> int:
        """Plans a validation epoch of `terms["rounds"]` rounds right after the present one, and
        returns its number. Planned before on the same terms, and not released yet, it is that one.
        """

        def attempt(connection: Connection) -> int:
            settings = json.loads(connection.execute(select(study_table.c.settings)).scalar_one())
            planned = settings.setdefault("validations", {})
            present = _epochs(connection)[-1]
            for number in (present.number, present.number + 1):
                if str(number) in planned and (number > present.number or not present.released):
                    if planned[str(number)] != terms:
                        raise StateError(_planned_already(number))
                    return number
            number = present.number + 1
            settings["sizes"].insert(number - 1, terms["rounds"])
            planned[str(number)] = terms
            connection.execute(update(study_table).values(settings=json.dumps(settings)))
            return number

        return perform(self.engine, attempt, queue=study_table)

    def epochs(self) -> list[EpochRow]:
        """Every epoch that was opened, in order."""
        return perform(self.engine, _epochs)

    def law(self, number: int) -> Kept:
        return self._kept(number, epochs_table.c.law, epochs_table.c.law_arrays)

    def design(self, number: int) -> Kept:
        return self._kept(number, epochs_table.c.design, epochs_table.c.arrays)

    def policy(self, number: int) -> tuple[dict[str, Any], bytes] | None:
        """The policy that was released of an epoch, as `tacit.policy.files.dump` has it."""
        wanted = select(epochs_table.c.policy, epochs_table.c.policy_arrays)
        query = wanted.where(epochs_table.c.number == number)
        row = perform(self.engine, lambda connection: connection.execute(query).one_or_none())
        if row is None or row.policy is None:
            return None
        return json.loads(row.policy), bytes(row.policy_arrays)

    def _kept(self, number: int, text: Any, arrays: Any) -> Kept:
        query = select(text, arrays).where(epochs_table.c.number == number)
        facts, content = perform(self.engine, lambda connection: connection.execute(query).one())
        return json.loads(facts), unpack(bytes(content))

    def asked(self) -> int:
        """The number of rounds that were asked and count."""
        return perform(self.engine, asked_in)

    def ask(self, law: int, rounds: Sequence[Round]) -> list[Asked] | None:
        """Writes rounds down that were drawn from the law of epoch `law`. None, and nothing is
        written, if that epoch is not the present one any more: its law is not played any more."""

        def attempt(connection: Connection) -> list[Asked] | None:
            found = self.place(connection, law, rounds)
            if found is None:
                return None
            for each in found:
                if isinstance(each, StateError):
                    raise each
            return [each for each in found if isinstance(each, Asked)]

        return perform_in_turn(self.engine, attempt, study_table)

    def place(
        self, connection: Connection, law: int, rounds: Sequence[Round]
    ) -> list[Asked | StateError] | None:
        """Writes rounds down in a transaction of the caller's, who waits in the queue of the study.
        Those that do not fit are errors, and nothing of them is written."""
        epochs = _epochs(connection)
        if epochs[-1].number != law:
            return None
        settings = json.loads(connection.execute(select(study_table.c.settings)).scalar_one())
        sizes = settings["sizes"]
        asked = asked_in(connection)
        users = _Users.of(connection, rounds)
        rows: list[dict[str, Any]] = []
        uncounted: list[dict[str, Any]] = []
        found: list[Asked | StateError] = []
        for each in rounds:
            epoch = _epoch_of(asked + 1, epochs[-1], sizes)
            row = each.row(law, self.clock()) | {"id": each.id or secrets.token_hex(12)}
            if each.user is not None and _counted_in(users, each.user, epoch) != epoch:
                uncounted.append(row if each.body else {"id": row["id"]})
                found.append(Asked(row["id"], None))
            elif epoch is None:
                found.append(StateError(_full(epochs[-1], sizes)))
            else:
                asked += 1
                rows.append(row | {"number": asked, "told": 0, "counts_in": epoch})
                found.append(Asked(row["id"], epoch))
        users.keep(connection)
        if rows:
            connection.execute(insert(rounds_table), rows)
        for row in uncounted:
            kept = {name: value for name, value in row.items() if name in uncounted_table.c}
            connection.execute(insert(uncounted_table).values(kept))
        return found

    def closed_rounds(self, connection: Connection) -> int:
        """Rewards of rounds up to this number come too late."""
        ends = [epoch.end for epoch in _epochs(connection) if epoch.closed is not None]
        return max(ends, default=0)

    def over(self, connection: Connection) -> StateError | None:
        """Why nothing is deferred any more, if so."""
        last = _epochs(connection)[-1]
        if last.released is None:
            return None
        return StateError("the last epoch of this study was released: use its policy.")

    def tell(self, rewards: dict[str, float | None]) -> None:
        """Writes rewards down, all of them or none. Those of closed epochs are refused, and those
        of rounds that count nowhere change nothing."""

        def attempt(connection: Connection) -> None:
            closed = self.closed_rounds(connection)
            for id, reward in rewards.items():
                untold = (rounds_table.c.id == id) & (rounds_table.c.told == 0)
                current = untold & (rounds_table.c.number > closed)
                done = connection.execute(
                    update(rounds_table).where(current).values(told=1, reward=reward)
                )
                if done.rowcount != 1:
                    _explain(connection, id, closed)

        perform_in_turn(self.engine, attempt, study_table)

    def close(self, number: int, asked: int) -> bool:
        """Closes an epoch: rewards that come from now on change nothing. One that is closed early,
        after `asked` rounds of the study, ends with the last of them.

        False, and nothing is written, if more of its rounds were asked meanwhile: they count in
        this epoch, as their users were told, and nobody has waited for their rewards.
        """

        def attempt(connection: Connection) -> bool:
            epoch = next(each for each in _epochs(connection) if each.number == number)
            if epoch.closed is not None:
                return True
            now = asked_in(connection)
            if now < asked:
                raise StateError("rounds of this epoch are missing: the database was changed.")
            if min(now, epoch.end) > asked:
                return False
            size = min(epoch.size, asked - epoch.first)
            closing = {"closed": self.clock(), "size": size}
            connection.execute(
                update(epochs_table).where(epochs_table.c.number == number).values(closing)
            )
            return True

        return perform(self.engine, attempt, queue=study_table)

    def last_asked(self, number: int) -> float:
        """When the round of this number was asked, or one before it, whichever was later."""
        query = select(func.max(rounds_table.c.asked)).where(rounds_table.c.number <= number)
        found = perform(self.engine, lambda connection: connection.execute(query).scalar())
        return float(found or 0.0)

    def release(
        self, number: int, policy: tuple[dict[str, Any], bytes], following: NewEpoch | None
    ) -> bool:
        """Writes down what came of an epoch and opens the next one: both or neither. Whoever comes
        first is right; what others made of the same release is dropped. False, and nothing is
        written, if another kind of epoch was planned meanwhile."""
        about, arrays = policy
        found = {
            "policy": json.dumps(about),
            "policy_arrays": arrays,
            "released": self.clock(),
        }
        this = epochs_table.c.number == number

        def attempt(connection: Connection) -> bool:
            epochs = _epochs(connection)
            opened = following
            if opened is not None and epochs[-1].number >= opened.number:
                opened = None  # by somebody else
            if opened and opened.validates != _validates(connection, opened.number):
                return False
            mine = next(each for each in epochs if each.number == number)
            if mine.released is None:
                connection.execute(update(epochs_table).where(this).values(found))
            if opened:
                connection.execute(insert(epochs_table).values(self._opened(opened)))
            # Who activates a round of the law that was just played is told that it is too late.
            forget_deferred(connection, number if following else None)
            return True

        return perform(self.engine, attempt, queue=study_table)

    def design_of_pass(self, epoch: int, number: int) -> Kept | None:
        """The design of a pass after the first, if it was written down."""
        this = (_passes.c.epoch == epoch) & (_passes.c.number == number)
        query = select(_passes.c.design, _passes.c.arrays).where(this)
        row = perform(self.engine, lambda connection: connection.execute(query).one_or_none())
        return None if row is None else (json.loads(row.design), unpack(bytes(row.arrays)))

    def keep_design_of_pass(self, epoch: int, number: int, design: Kept) -> Kept:
        """Writes it down unless another process did, and returns what is written."""
        facts, arrays = design
        row = {
            "epoch": epoch,
            "number": number,
            "design": json.dumps(facts),
            "arrays": pack(arrays),
        }
        this = (_passes.c.epoch == epoch) & (_passes.c.number == number)

        def attempt(connection: Connection) -> None:
            if connection.execute(select(_passes.c.number).where(this)).first() is None:
                connection.execute(insert(_passes).values(row))

        perform(self.engine, attempt, queue=study_table)
        kept = self.design_of_pass(epoch, number)
        assert kept is not None
        return kept

    def rounds(self, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """Rounds `first` + 1 to `last`, page by page: how many come before a page, and its rows."""
        for start in range(first, last, PAGE):
            stop = min(start + PAGE, last)
            page = (rounds_table.c.number > start) & (rounds_table.c.number <= stop)
            query = select(rounds_table).where(page).order_by(rounds_table.c.number)
            yield start, self._all(query)

    def _all(self, query: Any) -> Any:
        return perform(self.engine, lambda connection: connection.execute(query).all())

    def _opened(self, epoch: NewEpoch) -> dict[str, Any]:
        law, law_arrays = epoch.law
        design, arrays = epoch.design
        return {
            "number": epoch.number,
            "first": epoch.first,
            "size": epoch.size,
            "early": epoch.early,
            "opened": self.clock(),
            "law": json.dumps(law),
            "law_arrays": pack(law_arrays),
            "design": json.dumps(design),
            "arrays": pack(arrays),
        }


def joint_points(rows: Any) -> Floats:
    """Joint points of rounds, in unit coordinates."""
    return np.stack(
        [np.frombuffer(bytes(row.action) + bytes(row.context), dtype="<f8") for row in rows]
    )


def rewards_of(rows: Any) -> Floats:
    """Scaled rewards of rounds; NaN where none came."""
    found = [np.nan if row.reward is None else row.reward for row in rows]
    return np.array(found, dtype=np.float64)


def _epochs(connection: Connection) -> list[EpochRow]:
    names = list(EpochRow.__dataclass_fields__)
    query = select(*(epochs_table.c[name] for name in names)).order_by(epochs_table.c.number)
    return [EpochRow(*row) for row in connection.execute(query)]


def _validates(connection: Connection, number: int) -> bool:
    """Whether a validation epoch is planned under this number."""
    settings = json.loads(connection.execute(select(study_table.c.settings)).scalar_one())
    return str(number) in settings.get("validations", {})


def _planned_already(number: int) -> str:
    return (
        f"epoch {number} of this study is a validation epoch on other terms already: release it "
        "with advance() before another one is planned."
    )


def _epoch_of(number: int, last: EpochRow, sizes: Sequence[int]) -> int | None:
    """The epoch that a round of this number counts in; None if it is beyond what may be asked now:
    the present epoch, and the next while this one waits for its rewards."""
    if last.closed is None and number <= last.end:
        return last.number
    following = last.number + 1
    if following <= len(sizes) and number <= last.end + sizes[following - 1]:
        return following
    return None


@dataclass
class _Users:
    """The epochs that the users of some rounds count in."""

    key: bytes
    known: dict[str, int]  # by digest
    new: dict[str, int]

    @classmethod
    def of(cls, connection: Connection, rounds: Sequence[Round]) -> _Users:
        key = connection.execute(select(terms_table.c.name)).scalar_one().encode()
        digests = sorted(
            {member_digest(each.user, key) for each in rounds if each.user is not None}
        )
        known: dict[str, int] = {}
        for start in range(0, len(digests), MANY):
            these = _users.c.digest.in_(digests[start : start + MANY])
            known |= {
                row.digest: row.epoch for row in connection.execute(select(_users).where(these))
            }
        return cls(key, known, {})

    def keep(self, connection: Connection) -> None:
        """Writes the new ones down."""
        if self.new:
            rows = [{"digest": digest, "epoch": epoch} for digest, epoch in self.new.items()]
            connection.execute(insert(_users), rows)


def _counted_in(users: _Users, user: str, epoch: int | None) -> int | None:
    """The epoch that a user counts in, which is `epoch` for one who is new."""
    digest = member_digest(user, users.key)
    found = users.known.get(digest)
    if found is not None:
        return int(found)
    if epoch is not None:
        users.known[digest] = epoch
        users.new[digest] = epoch
    return epoch


def _full(last: EpochRow, sizes: Sequence[int]) -> str:
    if last.number < len(sizes):
        return (
            f"epoch {last.number} is full and so is the one after it: call advance() before more "
            "rounds are asked."
        )
    return (
        f"all {last.end} rounds of this study were asked: decide with study.policy, or go on "
        "with study.extend(rounds=...)."
    )


def _explain(connection: Connection, id: str, closed: int) -> None:
    """Fails, and says why the reward of a round was not taken, unless the round counts nowhere."""
    if connection.execute(select(uncounted_table.c.id).where(uncounted_table.c.id == id)).first():
        return
    known = select(rounds_table.c.number).where(rounds_table.c.id == id)
    number = connection.execute(known).scalar_one_or_none()
    if number is None:
        raise unknown_round(id)
    if number <= closed:
        raise too_late(id)
    raise told_before(id)
