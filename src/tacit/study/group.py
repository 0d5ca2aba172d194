"""Calls that are served together, in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from tacit.core.accounts import MANY
from tacit.errors import DuplicateRewardError, RequestConflictError, StateError, TooLateError
from tacit.study.calls import Activate, Answer, Ask, Call, Result, Tell
from tacit.study.epoch_store import uncounted_table
from tacit.study.store import (
    Asked,
    Round,
    deferred_table,
    rounds_table,
    too_late,
    unknown_round,
)

if TYPE_CHECKING:
    from tacit.study.desk import Desk


class Group:
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
        refused = self.desk.store.over(connection)
        if refused is not None:
            results[:] = [refused if i in deferred else each for i, each in enumerate(results)]
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


def _told_otherwise(id: str) -> DuplicateRewardError:
    return DuplicateRewardError(
        f"another reward of round {id!r} was told before: the first one stays."
    )
