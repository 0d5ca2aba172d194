"""A desk at which many callers ask and tell at once: what they bring is one durable transaction.

A call that is repeated with the same event id gets the same answer, whoever repeats it, and one
that brings something else under that id is an error. Errors are of single calls: the others of the
group are served.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from tacit._typing import Floats
from tacit.core.accounts import MANY
from tacit.core.database import perform_in_turn
from tacit.core.users import user_key
from tacit.domains import record_points
from tacit.errors import (
    InputError,
    RequestConflictError,
    StateError,
    TacitError,
    ToldBeforeError,
    TooLateError,
)
from tacit.quiet import quiet
from tacit.study.epoch_store import uncounted_table
from tacit.study.epoch_study import EpochStudy
from tacit.study.store import (
    Asked,
    Round,
    deferred_table,
    rounds_table,
    study_table,
    too_late,
    unknown_round,
)
from tacit.study.study import Study, item
from tacit.tables import number


@dataclass(frozen=True)
class Ask:
    """A decision is wanted. With `defer` the round counts only once it is activated."""

    context: Mapping[str, Any]
    user: Any = None
    id: str | None = None
    defer: bool = False


@dataclass(frozen=True)
class Tell:
    """The reward of a round. Repeated, it changes nothing; another reward is an error."""

    id: str
    reward: Any


@dataclass(frozen=True)
class Activate:
    """A round that was deferred was shown, so it counts. Repeated, it changes nothing."""

    id: str


@dataclass(frozen=True)
class Answer:
    """A decision. `law` is the epoch by whose law it was played, `epoch` the one that it counts in;
    None if it counts in none, or not yet."""

    id: str
    action: dict[str, Any]
    mode: str
    propensity: float
    density: bool
    epoch: int | None
    law: int
    asked: float
    replayed: bool = False


Call = Ask | Tell | Activate
Result = Answer | TacitError | None


class Desk:
    """Serves calls to one study. A process has one, for one thread."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.law = 1  # the epoch that is played, as far as is known here
        self.refresh()

    def refresh(self) -> None:
        """Looks up which epoch is played."""
        if isinstance(self.study, EpochStudy):
            self.law = self.study.present_epoch

    def require(self, ask: Ask) -> None:
        """Fails if a call cannot be served, whatever the others are."""
        names = self.study.problem.contexts.names
        missing = [name for name in names if name not in ask.context]
        if missing:
            raise InputError(
                f"the context lacks {', '.join(map(repr, missing))}: it needs "
                f"{', '.join(map(repr, names))}."
            )
        if ask.user is None and self.by_user:
            raise InputError("this study protects users: say whose round it is with user.")
        if ask.user is not None and not self.by_user:
            raise InputError(
                "this study protects single rounds, which have no users: leave user out."
            )

    def serve(self, calls: Sequence[Call]) -> list[Result]:
        """What became of each call, in order. All that succeeded is on disk when it returns."""
        group = _Group(self, calls)
        while True:
            rounds = self._drawn(group)
            work = partial(group.attempt, rounds, self.law)
            done = perform_in_turn(self._engine, work, study_table)
            if done is not None:
                return done
            self.refresh()

    def _drawn(self, group: _Group) -> dict[int, Round]:
        """A round for each call that asks, by its place in the group."""
        places = list(group.asks)
        if not places:
            return {}
        asks = [group.asks[i] for i in places]
        keys = [None if ask.user is None else user_key(ask.user) for ask in asks]
        rounds = self.study._draw(self.law, group.points, keys)
        now = self.store.clock()
        return {
            i: each._replace(id=group.ids[i], body=group.bodies[i], asked=now)
            for i, each in zip(places, rounds, strict=True)
        }

    def points(self, asks: Sequence[Ask]) -> Floats:
        """Contexts in unit coordinates, each read by itself."""
        contexts = self.study.problem.contexts
        return record_points(contexts, [ask.context for ask in asks], "the context")

    @quiet()
    def scaled(self, rewards: Sequence[Any]) -> list[float | None]:
        """Rewards as they are kept; None for what is no number."""
        values = np.array([number(reward) for reward in rewards], dtype=np.float64)
        found = self.study.problem.scale_reward(values)
        return [None if np.isnan(y) else float(y) for y in found]

    def digest(self, ask: Ask) -> str:
        """What two requests share if they are the same."""
        body = json.dumps([ask.context, ask.user, ask.defer], sort_keys=True, default=repr)
        return hashlib.blake2b(body.encode(), key=self._key, digest_size=16).hexdigest()

    def place(
        self, connection: Connection, law: int, rounds: Sequence[Round]
    ) -> list[Asked | StateError] | None:
        """Writes rounds down; None if they were drawn by a law that is not played any more."""
        if isinstance(self.study, EpochStudy):
            return self.study._epochs.place(connection, law, rounds)
        return self.study._store.place(connection, law, rounds, self.study.horizon)

    def actions(self, rounds: Sequence[Any]) -> list[dict[str, Any]]:
        """The actions of rounds, of which there is one at least, in the user's units."""
        points = np.stack([np.asarray(each, dtype=np.float64) for each in rounds])
        columns = self.study.problem.actions.decode(points)
        return [
            {name: item(column[i]) for name, column in columns.items()} for i in range(len(points))
        ]

    @property
    def store(self) -> Any:
        return self.study._epochs if isinstance(self.study, EpochStudy) else self.study._store

    @property
    def _engine(self) -> Any:
        return self.store.engine

    @cached_property
    def by_user(self) -> bool:
        """Whether the study protects users, so that every call says whose it is."""
        unit = self.study.unit if isinstance(self.study, EpochStudy) else self.study.design.unit
        return unit == "user"

    @cached_property
    def _key(self) -> bytes:
        return self.study.ledger.name.encode()


class _Group:
    """The calls of one transaction."""

    def __init__(self, desk: Desk, calls: Sequence[Call]) -> None:
        self.desk = desk
        self.calls = calls
        self.asks = {i: call for i, call in enumerate(calls) if isinstance(call, Ask)}
        self.points = desk.points(list(self.asks.values())) if self.asks else np.empty((0, 0))
        self.ids = {i: ask.id or secrets.token_hex(12) for i, ask in self.asks.items()}
        self.bodies = {i: desk.digest(ask) for i, ask in self.asks.items()}
        tells = {i: call for i, call in enumerate(calls) if isinstance(call, Tell)}
        values = desk.scaled([tell.reward for tell in tells.values()]) if tells else []
        self.tells = dict(zip(tells, values, strict=True))
        self._tried = False

    def attempt(
        self, rounds: dict[int, Round], law: int, connection: Connection
    ) -> list[Result] | None:
        """None, and nothing is written, if the law that rounds were drawn by is not played any
        more. It may be run again: what a lost connection may have written is found."""
        known = self._known(connection)
        results: list[Result] = [None] * len(self.calls)
        first: dict[str, int] = {}  # the first call of this group under an id
        for i, id in self.ids.items():
            first.setdefault(id, i)
        new = [i for id, i in first.items() if id not in known]
        fresh = {i: rounds[i] for i in new}
        counted = {i: each for i, each in fresh.items() if not self.asks[i].defer}
        counted |= self._activated(known, law, results)
        placed = self.desk.place(connection, law, list(counted.values()))
        if placed is None:
            return None
        self._answer(counted, placed, law, results, connection)
        self._defer(fresh, law, results, connection)
        self._replay(known, first, results)
        self._tell(known, results, connection)
        return results

    def _known(self, connection: Connection) -> dict[str, Any]:
        """Rounds that calls name, by id. Ids that were made up here are unknown at first."""
        wanted = {call.id for call in self.calls if call.id is not None}
        if self._tried:
            wanted |= set(self.ids.values())
        self._tried = True
        ids = sorted(wanted)
        found: dict[str, Any] = {}
        for start in range(0, len(ids), MANY):
            these = ids[start : start + MANY]
            for table in (rounds_table, deferred_table, uncounted_table):
                rows = connection.execute(select(table).where(table.c.id.in_(these)))
                found |= {row.id: (table, row) for row in rows}
        return found

    def _activated(
        self, known: dict[str, Any], law: int, results: list[Result]
    ) -> dict[int, Round]:
        """Deferred rounds that count from now on, by the place of the call that activates them."""
        found: dict[int, Round] = {}
        seen: set[str] = set()
        for i, call in enumerate(self.calls):
            if not isinstance(call, Activate) or call.id in seen:
                continue
            seen.add(call.id)
            table, row = known.get(call.id, (None, None))
            if table is None:
                results[i] = unknown_round(call.id)
            elif table is deferred_table and row.epoch != law:
                results[i] = TooLateError(
                    f"round {call.id!r} was played by a law that is not played any more: it was "
                    "activated too late and does not count."
                )
            elif table is deferred_table:
                found[i] = _round(row, self.desk.store.clock())
        return found

    def _answer(
        self,
        counted: dict[int, Round],
        placed: Sequence[Asked | StateError],
        law: int,
        results: list[Result],
        connection: Connection,
    ) -> None:
        activated = []
        actions = self.desk.actions([each.action for each in counted.values()]) if counted else []
        for (i, each), where, action in zip(counted.items(), placed, actions, strict=True):
            if isinstance(where, StateError):
                results[i] = where
            elif i in self.asks:
                results[i] = _answer(where.id, action, each, where.epoch, law)
            else:
                activated.append(where.id)
        if activated:
            connection.execute(delete(deferred_table).where(deferred_table.c.id.in_(activated)))

    def _defer(
        self, fresh: dict[int, Round], law: int, results: list[Result], connection: Connection
    ) -> None:
        deferred = {i: each for i, each in fresh.items() if self.asks[i].defer}
        if not deferred:
            return
        rows = [each.row(law) | {"id": each.id} for each in deferred.values()]
        connection.execute(insert(deferred_table), rows)
        actions = self.desk.actions([each.action for each in deferred.values()])
        for (i, each), action in zip(deferred.items(), actions, strict=True):
            results[i] = _answer(self.ids[i], action, each, None, law)

    def _replay(self, known: dict[str, Any], first: dict[str, int], results: list[Result]) -> None:
        """Answers that were given before: to an earlier group, or to an earlier call of this."""
        for i, id in self.ids.items():
            if id in known:
                results[i] = self._kept(i, *known[id])
            elif first[id] != i:
                results[i] = self._same(i, first[id], results[first[id]])

    def _kept(self, i: int, table: Table, row: Any) -> Result:
        if row.body != self.bodies[i]:
            return _conflict(row.id)
        (action,) = self.desk.actions([np.frombuffer(bytes(row.action), dtype="<f8")])
        deferred = self.asks[i].defer  # it was not known then whether it would count
        epoch = row.counts_in if table is rounds_table and not deferred else None
        density = bool(row.density)
        return Answer(
            row.id, action, row.mode, row.propensity, density, epoch, row.epoch, row.asked, True
        )

    def _same(self, i: int, first: int, answer: Result) -> Result:
        if self.bodies[i] != self.bodies[first]:
            return _conflict(self.ids[i])
        return replace(answer, replayed=True) if isinstance(answer, Answer) else answer

    def _tell(self, known: dict[str, Any], results: list[Result], connection: Connection) -> None:
        if not self.tells:
            return
        closed = self.desk.store.closed_rounds(connection)
        told: dict[str, float | None] = {}
        new: list[dict[str, Any]] = []
        for i, reward in self.tells.items():
            call = self.calls[i]
            assert isinstance(call, Tell)
            table, row = known.get(call.id, (None, None))
            if table is None:
                results[i] = unknown_round(call.id)
            elif table is deferred_table:
                results[i] = StateError(
                    f"round {call.id!r} was not activated: activate it before its reward is told."
                )
            elif table is rounds_table:
                before = told.get(call.id, row.reward if row.told else MISSING)
                if before is not MISSING:
                    results[i] = None if before == reward else _told_otherwise(call.id)
                elif row.number <= closed:
                    results[i] = too_late(call.id)
                else:
                    told[call.id] = reward
                    new.append({"of": row.number, "value": reward})
        if new:
            this = rounds_table.c.number == bindparam("of")
            written = update(rounds_table).where(this).values(told=1, reward=bindparam("value"))
            connection.execute(written, new)


MISSING: Any = object()


def _round(row: Any, now: float) -> Round:
    """A deferred round as it was drawn. Its reward is waited for from now on."""
    return Round(
        np.frombuffer(bytes(row.context), dtype="<f8"),
        np.frombuffer(bytes(row.action), dtype="<f8"),
        row.mode,
        row.propensity,
        bool(row.density),
        row.user,
        row.id,
        row.body,
        now,
    )


def _answer(id: str, action: dict[str, Any], each: Round, epoch: int | None, law: int) -> Answer:
    return Answer(id, action, each.mode, each.propensity, each.density, epoch, law, each.asked)


def _conflict(id: str) -> RequestConflictError:
    return RequestConflictError(
        f"event id {id!r} was used before for another request: choose another id."
    )


def _told_otherwise(id: str) -> ToldBeforeError:
    return ToldBeforeError(f"another reward of round {id!r} was told before: the first one stays.")
