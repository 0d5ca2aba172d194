"""A study's tables, in the same database as its ledger: the study, its rounds, and the designs of
later passes.

A round holds the context and the played action (both in unit coordinates), the user where there is
one, and the reward once it came. All of that is private. A round that was asked by a request with
an id of its own holds a digest of that request, so that a repeated one gets the same answer.
"""

from __future__ import annotations

import io
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    Row,
    Select,
    Table,
    Text,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)

from tacit._typing import Floats
from tacit.core.accounts import adopted, metadata
from tacit.core.budget import Budget
from tacit.core.database import perform, perform_in_turn, retrying
from tacit.core.ledger import Ledger
from tacit.core.users import user_key
from tacit.errors import (
    DuplicateRewardError,
    InputError,
    StateError,
    TooLateError,
    UnknownRoundError,
)

SCHEMA = 5
PAGE = 8192  # rounds read by one statement: what is in memory at a time

study_table = Table(
    "tacit_study",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("schema", Integer, nullable=False),
    Column("problem", Text, nullable=False),
    Column("design", Text, nullable=False),
    Column("arrays", LargeBinary, nullable=False),
    Column("created", Float, nullable=False),
    Column("closed", Integer),  # the number of rounds at release; no round is asked after it is set
    Column("settings", Text),  # of a study in epochs (see `tacit.study.epoch_store`)
)
# The designs of passes after the first, once the one before was released. Row 1 says what the
# release spends where that is not what was planned: the rest of the first design stays.
_passes = Table(
    "tacit_passes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("design", Text, nullable=False),
    Column("arrays", LargeBinary, nullable=False),
)
rounds_table = Table(
    "tacit_rounds",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("context", LargeBinary, nullable=False),
    Column("action", LargeBinary, nullable=False),
    Column("user", Text),
    Column("told", Integer, nullable=False, default=0),
    Column("reward", Float),
    # Of a study in epochs: the epoch by whose law it was played, by which part of that law, how
    # likely the action was, and when it was asked.
    Column("epoch", Integer),
    Column("mode", Text),
    Column("propensity", Float),
    Column("density", Integer),
    Column("asked", Float),
    Column("body", Text),  # a digest of the request
    Column("counts_in", Integer),  # the epoch, as its user was told
)
# Rounds that were asked and may never be shown: they count once they are activated. Those that were
# not are deleted when nobody can activate them any more.
deferred_table = Table(
    "tacit_deferred_rounds",
    metadata,
    Column("id", Text, primary_key=True),
    Column("context", LargeBinary, nullable=False),
    Column("action", LargeBinary, nullable=False),
    Column("user", Text),
    Column("epoch", Integer, nullable=False),
    Column("mode", Text, nullable=False),
    Column("propensity", Float, nullable=False),
    Column("density", Integer, nullable=False),
    Column("asked", Float, nullable=False),
    Column("body", Text, nullable=False),
)


class Round(NamedTuple):
    """One round to be asked, in unit coordinates. `id` is the caller's own, if there is one, `body`
    a digest of the request, and `asked` the time of it, if it is not now."""

    context: Floats
    action: Floats
    mode: str
    propensity: float
    density: bool
    user: str | None
    id: str | None = None
    body: str | None = None
    asked: float = 0.0

    def row(self, law: int, now: float = 0.0) -> dict[str, Any]:
        """What is kept of it, besides its id and number."""
        return {
            "context": float_bytes(self.context),
            "action": float_bytes(self.action),
            "user": self.user,
            "epoch": law,
            "mode": self.mode,
            "propensity": self.propensity,
            "density": int(self.density),
            "asked": self.asked or now,
            "body": self.body,
        }


class Asked(NamedTuple):
    """What became of one round that was asked: the epoch that it counts in; None if it counts in
    none."""

    id: str
    epoch: int | None


class Store:
    """The tables of one study. What a method wrote is on disk when it returns; each write is one
    transaction."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self.clock = clock

    def create(
        self,
        problem: dict[str, Any],
        facts: dict[str, Any],
        arrays: dict[str, Floats],
        budget: Budget,
    ) -> None:
        """Writes the study down, and its ledger unless there is one already: both or neither."""
        row = {
            "id": 1,
            "schema": SCHEMA,
            "problem": json.dumps(problem),
            "design": json.dumps(facts),
            "arrays": pack(arrays),
            "created": time.time(),
        }

        def attempt(connection: Connection) -> None:
            require_no_study_in(connection)
            if adopted(connection) is None:
                Ledger.establish(connection, budget)
            connection.execute(insert(study_table).values(row))

        retrying(lambda: metadata.create_all(self.engine))
        perform(self.engine, attempt, queue=study_table)

    def require_no_study(self) -> None:
        """Fails if there is a study already."""
        if inspect(self.engine).has_table(study_table.name):
            perform(self.engine, require_no_study_in)

    def ledger(self) -> Ledger | None:
        """The ledger that the database holds, if any."""
        with suppress(StateError):
            return Ledger.open(self.engine)
        return None

    def load(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Floats]]:
        """The problem's spec, and the facts and arrays of the design."""
        if not self._has_study():
            raise StateError(
                "this database holds no study: make one with Study.create(url, problem, ...)."
            )
        query = select(study_table)
        row = perform(self.engine, lambda connection: connection.execute(query).one())
        if row.schema != SCHEMA:
            raise InputError(
                f"this study has schema {row.schema}; this version of Tacit reads {SCHEMA}: run "
                "tacit db upgrade, or use the version that wrote it."
            )
        arrays = unpack(bytes(row.arrays)) if row.arrays else {}
        return json.loads(row.problem), json.loads(row.design), arrays

    def in_epochs(self) -> bool:
        """Whether the study goes on in epochs (see `tacit.study.epoch_store`)."""
        query = select(study_table.c.settings)
        return perform(self.engine, lambda c: c.execute(query).scalar_one()) is not None

    def ask(
        self, contexts: Floats, actions: Floats, users: Sequence[Any] | None, horizon: int
    ) -> list[str]:
        """Writes rounds down and returns their ids."""
        ids = [secrets.token_hex(12) for _ in contexts]
        keys: list[str | None] = [None] * len(ids)
        if users is not None:
            keys = [user_key(user) for user in users]

        def attempt(connection: Connection) -> list[str]:
            asked = _asked_while_open(connection)
            if asked + len(ids) > horizon:
                raise StateError(
                    f"the horizon is {horizon} rounds and {asked} were asked: {len(ids)} more do "
                    "not fit; release the policy, or plan a new study with a larger horizon."
                )
            rows = [
                {
                    "number": asked + i + 1,
                    "id": ids[i],
                    "context": float_bytes(contexts[i]),
                    "action": float_bytes(actions[i]),
                    "user": keys[i],
                    "told": 0,
                }
                for i in range(len(ids))
            ]
            connection.execute(insert(rounds_table), rows)
            return ids

        return perform_in_turn(self.engine, attempt, study_table)

    def tell(self, rewards: dict[str, float | None]) -> None:
        """Writes rewards down, all of them or none. An unknown or already told id is an error."""

        def attempt(connection: Connection) -> None:
            for id, reward in rewards.items():
                untold = (rounds_table.c.id == id) & (rounds_table.c.told == 0)
                done = connection.execute(
                    update(rounds_table).where(untold).values(told=1, reward=reward)
                )
                if done.rowcount == 1:
                    continue
                known = select(rounds_table.c.number).where(rounds_table.c.id == id)
                if connection.execute(known).first() is None:
                    raise unknown_round(id)
                raise told_before(id)

        perform(self.engine, attempt)

    def place(
        self, connection: Connection, law: int, rounds: Sequence[Round], horizon: int
    ) -> list[Asked | StateError]:
        """Writes rounds down in a transaction of the caller's. Those that do not fit are errors."""
        closed = connection.execute(select(study_table.c.closed)).scalar_one() is not None
        asked = asked_in(connection)
        rows: list[dict[str, Any]] = []
        found: list[Asked | StateError] = []
        for each in rounds:
            if closed or asked == horizon:
                found.append(_closed() if closed else _full(horizon))
                continue
            asked += 1
            id = each.id or secrets.token_hex(12)
            row = each.row(law, self.clock()) | {"number": asked, "id": id, "told": 0}
            rows.append(row | {"counts_in": 1})
            found.append(Asked(id, 1))
        if rows:
            connection.execute(insert(rounds_table), rows)
        return found

    def closed_rounds(self, connection: Connection) -> int:
        """Rewards of rounds up to this number come too late."""
        return connection.execute(select(study_table.c.closed)).scalar_one() or 0

    def over(self, connection: Connection) -> StateError | None:
        """Why nothing is deferred any more, if so."""
        return _closed() if self.closed_rounds(connection) else None

    def asked(self) -> int:
        """The number of rounds asked."""
        return perform(self.engine, asked_in)

    def close(self, spends: dict[str, Any] | None = None) -> int:
        """Fixes the number of rounds, once and for all, and returns it.

        `spends` is the budget of the release where it is not the planned one. It is written down
        with the closing, or not at all if another process closed the study before.
        """

        def attempt(connection: Connection) -> int:
            closed = connection.execute(select(study_table.c.closed)).scalar_one()
            if closed is None:
                closed = asked_in(connection)
                if closed == 0:
                    raise StateError(
                        "there is nothing to release yet: ask and tell at least one round first."
                    )
                connection.execute(update(study_table).values(closed=closed))
                forget_deferred(connection)
                if spends is not None:
                    connection.execute(insert(_passes).values(_pass(1, spends, {})))
            return int(closed)

        return perform(self.engine, attempt, queue=study_table)

    def closed(self) -> bool:
        """Whether a release was begun."""
        query = select(study_table.c.closed)
        rounds = perform(self.engine, lambda connection: connection.execute(query).scalar_one())
        return rounds is not None

    def design_of_pass(self, number: int) -> tuple[dict[str, Any], dict[str, Floats]] | None:
        """The design of a pass after the first, as facts and arrays, if it was written down."""
        query = select(_passes).where(_passes.c.number == number)
        row = perform(self.engine, lambda connection: connection.execute(query).one_or_none())
        if row is None:
            return None
        return json.loads(row.design), unpack(bytes(row.arrays))

    def keep_design_of_pass(
        self,
        number: int,
        facts: dict[str, Any],
        arrays: dict[str, Floats],
        instead_of: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Writes it down unless another process did, and returns what is written: all processes go
        on with the same design. One that is there is replaced only if its facts are `instead_of`.
        """
        row = _pass(number, facts, arrays)
        this = _passes.c.number == number

        def attempt(connection: Connection) -> None:
            there = connection.execute(select(_passes.c.design).where(this)).scalar_one_or_none()
            if there is None:
                connection.execute(insert(_passes).values(row))
            elif instead_of is not None and json.loads(there) == instead_of:
                connection.execute(update(_passes).where(this).values(row))

        perform(self.engine, attempt, queue=study_table)
        kept = self.design_of_pass(number)
        assert kept is not None
        return kept

    def rounds(self, last: int) -> Iterator[tuple[Floats, Floats, list[str | None]]]:
        """Joint points, scaled rewards (NaN where none came) and users of rounds 1 to `last`, page
        by page."""
        wanted = (
            rounds_table.c.action,
            rounds_table.c.context,
            rounds_table.c.reward,
            rounds_table.c.user,
        )
        for start in range(1, last + 1, PAGE):
            page = (rounds_table.c.number >= start) & (
                rounds_table.c.number < min(start + PAGE, last + 1)
            )
            rows = self._all(select(*wanted).where(page).order_by(rounds_table.c.number))
            points = np.stack(
                [np.frombuffer(bytes(r.action) + bytes(r.context), dtype="<f8") for r in rows]
            )
            rewards = [np.nan if r.reward is None else r.reward for r in rows]
            yield points, np.array(rewards, dtype=np.float64), [r.user for r in rows]

    def _all(self, query: Select[Any]) -> Sequence[Row[Any]]:
        return perform(self.engine, lambda connection: connection.execute(query).all())

    def _has_study(self) -> bool:
        return (
            inspect(self.engine).has_table(study_table.name) and perform(self.engine, _studies) == 1
        )


def forget_deferred(connection: Connection, before: int | None = None) -> None:
    """Deletes deferred rounds that nobody has activated: all of them, or those that were played by
    the laws of epochs before this one."""
    unused = delete(deferred_table)
    if before is not None:
        unused = unused.where(deferred_table.c.epoch < before)
    connection.execute(unused)


def _studies(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(study_table)).scalar_one())


def require_no_study_in(connection: Connection) -> None:
    if _studies(connection):
        raise StateError("this database already holds a study: open it with Study.open(url).")


def _asked_while_open(connection: Connection) -> int:
    """The number of rounds asked. Fails after a release was begun."""
    if connection.execute(select(study_table.c.closed)).scalar_one() is not None:
        raise _closed()
    return asked_in(connection)


def _closed() -> StateError:
    return StateError(
        "this study is closed since its release: use policy.decide, or plan a new study."
    )


def _full(horizon: int) -> StateError:
    return StateError(
        f"all {horizon} rounds of this study were asked: release the policy, or plan a new study "
        "with a larger horizon."
    )


def unknown_round(id: str) -> UnknownRoundError:
    return UnknownRoundError(f"there is no round {id!r}: tell takes what ask returned, or its id.")


def too_late(id: str) -> TooLateError:
    return TooLateError(
        f"the epoch of round {id!r} is closed: its reward came too late and changes nothing."
    )


def told_before(id: str) -> DuplicateRewardError:
    return DuplicateRewardError(f"round {id!r} was told before: a reward is told once.")


def asked_in(connection: Connection) -> int:
    """Rounds are numbered from 1 without gaps, so the largest number is how many there are."""
    largest = func.coalesce(func.max(rounds_table.c.number), 0)
    return int(connection.execute(select(largest)).scalar_one())


def _pass(number: int, facts: dict[str, Any], arrays: dict[str, Floats]) -> dict[str, Any]:
    return {"number": number, "design": json.dumps(facts), "arrays": pack(arrays)}


def float_bytes(row: Floats) -> bytes:
    return np.ascontiguousarray(row, dtype="<f8").tobytes()


def pack(arrays: dict[str, Floats]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, Floats]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
