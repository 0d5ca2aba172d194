"""Opening a study's database: durable, private to its owner, one writer at a time.

Connections are kept for the next call (`KEPT`): to open one costs more than a transaction. A fork
begins with none, and a SQLite file that was replaced meanwhile is opened anew.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, finalize

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError

from tacit.errors import DISTRIBUTION, InputError, StateError

BUSY_SECONDS = 60
LONGEST_PAUSE = 0.5
# Errors after which a transaction is run again.
RETRY_STATES = {
    "40001",  # not serialisable
    "40P01",  # deadlock
    "23505",  # somebody else inserted the same key first
    "42P07",  # somebody else made the same table first
    "42710",  # somebody else made the same type first
    "SQLITE_BUSY",
    "SQLITE_BUSY_RECOVERY",
    "SQLITE_BUSY_SNAPSHOT",
}
# Connections that are kept open; more are opened while all of these are busy.
KEPT: dict[str, Any] = {"pool_size": 4, "max_overflow": 60}
STATES = ("sqlstate", "pgcode", "sqlite_errorname")  # attributes in which drivers name an error
T = TypeVar("T")
_opened: WeakKeyDictionary[Engine, set[Any]] = WeakKeyDictionary()  # connections of this process
_inherited: list[Any] = []  # pools of the process that this one was forked from


def connect(url: str, create: bool = True) -> Engine:
    """An engine for any SQLAlchemy URL, durable on every commit. A SQLite file is made with mode
    0600, if at all.

    Errors and logs show statements without their values, which may be somebody's context or reward.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InputError(
            "expected a database URL such as sqlite:///study.db or postgresql+psycopg://host/name; "
            "this is not one: write sqlite:/// in front of a file name."
        ) from None
    try:
        if parsed.get_backend_name() == "sqlite":
            engine = _sqlite(parsed, create)
        else:
            engine = _server(parsed)
    except (ImportError, ArgumentError) as error:
        raise InputError(
            f"no driver for {parsed.drivername!r} is installed: for PostgreSQL pip install "
            f"'{DISTRIBUTION}[postgres]'."
        ) from error
    _close_with(engine)
    return engine


def _close_with(engine: Engine) -> None:
    """Sees to it that connections are closed when the engine is not used any more."""
    opened: set[Any] = set()
    _opened[engine] = opened
    event.listen(engine, "connect", lambda connection, _record: opened.add(connection))
    event.listen(engine, "close", lambda connection, _record: opened.discard(connection))
    finalize(engine, _close_all, opened)


def _close_all(opened: set[Any]) -> None:
    while opened:
        opened.pop().close()


def _forget_connections() -> None:
    """After a fork: the connections are the parent's. They are not closed either, which would speak
    to the parent's server, or drop locks that it holds on a file."""
    for engine, opened in list(_opened.items()):
        _inherited.append((engine.pool, list(opened)))
        opened.clear()
        engine.pool = engine.pool.recreate()


if hasattr(os, "register_at_fork"):  # there are no forks on Windows
    os.register_at_fork(after_in_child=_forget_connections)


def _sqlite(url: URL, create: bool) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise InputError(
            "a study needs a file that survives: use sqlite:///study.db, not an in-memory database."
        )
    assert url.database is not None
    path = Path(url.database)
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: create it first.")
    if not path.exists() and not create:
        raise StateError(f"there is no file {str(path)!r}: it holds no ledger and holds no study.")
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(
        url, hide_parameters=True, connect_args={"timeout": BUSY_SECONDS}, **KEPT
    )

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, record: Any) -> None:
        record.info["file"] = _identity(path)
        connection.isolation_level = None  # we say BEGIN ourselves, below
        # Where others switch a new file to WAL too, SQLite does not wait: it refuses at once.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            retrying(partial(connection.execute, f"PRAGMA {pragma}"))

    @event.listens_for(engine, "checkout")
    def _same_file(_connection: Any, record: Any, _proxy: Any) -> None:
        # What is written to a file that was replaced or removed is lost.
        if record.info["file"] != _identity(path):
            raise DisconnectionError

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at this path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _server(url: URL) -> Engine:
    # A connection that broke while nobody used it is replaced before it is used.
    engine = create_engine(
        url, isolation_level="SERIALIZABLE", hide_parameters=True, pool_pre_ping=True, **KEPT
    )

    if engine.dialect.name == "postgresql":

        @event.listens_for(engine, "connect")
        def _durable(connection: Any, _record: Any) -> None:
            # Some servers acknowledge commits before they are on disk. A charge that a crash can
            # undo would let the budget be spent twice.
            off = "current_setting('synchronous_commit') = 'off'"
            connection.cursor().execute(
                f"SELECT set_config('synchronous_commit', 'on', false) WHERE {off}"
            )
            connection.commit()

    return engine


def retrying(attempt: Callable[[], T]) -> T:
    """Runs a transaction again when it lost a race: a serialisation failure, a new key or table
    that others made first.

    A retry can only follow a rollback, so nothing is done twice. Gives up after `BUSY_SECONDS`, as
    long as SQLite waits for a busy file.
    """
    started = time.monotonic()
    pause = 0.005
    while True:
        try:
            return attempt()
        except (DBAPIError, sqlite3.OperationalError) as error:
            if _state(error) not in RETRY_STATES or time.monotonic() - started > BUSY_SECONDS:
                raise
        time.sleep(pause * (0.5 + random.random()))
        pause = min(2 * pause, LONGEST_PAUSE)


def perform(engine: Engine, work: Callable[[Connection], T], queue: Table | None = None) -> T:
    """`work` in one short transaction of its own, retried when it lost a race (even one that only
    reads may lose one).

    Writers that update the same row name a table to lock, `queue`, so that they wait in turn: with
    retries alone, fast writers could starve slow ones. SQLite has one lock for the whole file.
    """

    def attempt() -> T:
        with engine.begin() as connection:  # committed durably on leaving, rolled back on any error
            if queue is not None and engine.dialect.name == "postgresql":
                # Before the transaction's first snapshot, so that it sees what others committed.
                connection.exec_driver_sql(f"LOCK TABLE {queue.name} IN EXCLUSIVE MODE")
            return work(connection)

    return retrying(attempt)


def perform_in_turn(engine: Engine, work: Callable[[Connection], T], queue: Table) -> T:
    """`work` in one short transaction, after all others that lock `queue`, a table of one row.

    The same as `perform`, but PostgreSQL locks the row and not the table: readers of the table, and
    those who wait, do not disturb each other. Each statement sees what was committed before it, so
    that nothing is read before the lock is held and no retry is needed for having waited.
    """

    def attempt() -> T:
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                if engine.dialect.name == "postgresql":
                    connection.exec_driver_sql(f"SELECT 1 FROM {queue.name} FOR UPDATE")
                return work(connection)

    return retrying(attempt)


def _state(error: DBAPIError | sqlite3.OperationalError) -> str | None:
    """The five letters by which SQL servers name an error, or SQLite's own name for it."""
    original = getattr(error, "orig", error)
    for name in STATES:
        if state := getattr(original, name, None):
            return str(state)
    return None
