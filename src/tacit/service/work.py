"""Long work on a study, as it stands in its database: one at a time, whoever asked for it.

Whoever works on it lets its `beat` grow. Work whose beat stands still was left by a process that
died, and is taken up by another one. What the work does may be repeated without harm: releases are
charged once (see `tacit.core.ledger`).
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update

from tacit.core.database import perform
from tacit.errors import RequestConflictError, StateError
from tacit.service.problems import NotFoundError
from tacit.service.tables import make_tables, work_table

QUEUED = "queued"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
OPEN = (QUEUED, RUNNING)


@dataclass(frozen=True)
class Work:
    """Where one piece of work stands. Public."""

    id: str
    kind: str
    parameters: dict[str, Any]
    state: str
    progress: str
    beat: int
    result: dict[str, Any] | None


class Works:
    """The work of one study."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        make_tables(engine)
        self._engine = engine
        self._clock = clock

    def begin(self, kind: str, parameters: dict[str, Any], key: str | None) -> Work:
        """Writes work down that is to be done, or finds that of the same idempotency key. There is
        one at a time."""
        key = key or secrets.token_hex(12)
        row = {
            "id": secrets.token_hex(8),
            "key": key,
            "kind": kind,
            "parameters": json.dumps(parameters, sort_keys=True),
            "state": QUEUED,
            "progress": "",
            "beat": 0,
            "created": self._clock(),
        }

        def attempt(connection: Connection) -> Work:
            before = connection.execute(
                select(work_table).where(work_table.c.key == key)
            ).one_or_none()
            if before is not None:
                if (before.kind, before.parameters) != (kind, row["parameters"]):
                    raise RequestConflictError(
                        "this idempotency key was used before for another request: choose another."
                    )
                return _work(before)
            busy = select(work_table.c.kind).where(work_table.c.state.in_(OPEN))
            other = connection.execute(busy).scalars().first()
            if other is not None:
                raise StateError(
                    f"there is work on this study under way ({other}): wait until it is done."
                )
            connection.execute(insert(work_table).values(row))
            return Work(str(row["id"]), kind, parameters, QUEUED, "", 0, None)

        return perform(self._engine, attempt, queue=work_table)

    def get(self, id: str) -> Work:
        """Fails if there is none of this id."""
        query = select(work_table).where(work_table.c.id == id)
        row = perform(self._engine, lambda connection: connection.execute(query).one_or_none())
        if row is None:
            raise NotFoundError("there is no such work on this study.")
        return _work(row)

    def open(self) -> Work | None:
        """What is to be done, or is being done."""
        query = select(work_table).where(work_table.c.state.in_(OPEN))
        row = perform(self._engine, lambda connection: connection.execute(query).first())
        return None if row is None else _work(row)

    def claim(self, id: str, beat: int) -> bool:
        """Whether it is this process that works on it from now on: only if nobody else has since
        `beat` was seen."""
        return self._changed(id, beat, {"state": RUNNING, "beat": beat + 1})

    def beat(self, id: str, beat: int, progress: str) -> bool:
        """Says that it goes on. False if another process has taken it up."""
        return self._changed(id, beat, {"beat": beat + 1, "progress": progress})

    def finish(self, id: str, state: str, result: dict[str, Any]) -> None:
        """Writes down what came of it, unless that was done."""
        this = (work_table.c.id == id) & work_table.c.state.in_(OPEN)
        values = {"state": state, "result": json.dumps(result), "finished": self._clock()}
        statement = update(work_table).where(this).values(values)
        perform(self._engine, lambda connection: connection.execute(statement))

    def _changed(self, id: str, beat: int, values: dict[str, Any]) -> bool:
        this = (work_table.c.id == id) & (work_table.c.beat == beat) & work_table.c.state.in_(OPEN)
        statement = update(work_table).where(this).values(values)
        return perform(self._engine, lambda connection: connection.execute(statement).rowcount == 1)


def _work(row: Any) -> Work:
    result = None if row.result is None else json.loads(row.result)
    parameters = json.loads(row.parameters)
    return Work(row.id, row.kind, parameters, row.state, row.progress, row.beat, result)
