"""Opening a study's database: durable, private to its owner, one writer at a time."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool

from tacit.errors import InputError

BUSY_SECONDS = 60
RETRY_STATES = {"40001", "40P01"}  # serialisation failure, deadlock
T = TypeVar("T")


def connect(url: str) -> Engine:
    """An engine for any SQLAlchemy URL. A SQLite file is made with mode 0600 and synchronised on every commit."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InputError(
            "expected a database URL such as sqlite:///study.db or postgresql+psycopg://host/name; "
            "this is not one: write sqlite:/// in front of a file name."
        ) from None
    try:
        if parsed.get_backend_name() == "sqlite":
            return _sqlite(parsed)
        return create_engine(parsed, isolation_level="SERIALIZABLE", pool_pre_ping=True)
    except (ImportError, ArgumentError) as error:
        raise InputError(
            f"no driver for {parsed.drivername!r} is installed: for PostgreSQL install tacit[postgres]."
        ) from error


def _sqlite(url: URL) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise InputError("a study needs a file that survives: use sqlite:///study.db, not an in-memory database.")
    assert url.database is not None
    path = Path(url.database)
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist: create it first.")
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves, below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One short transaction: committed durably on leaving, rolled back on any error."""
    with engine.begin() as connection:
        yield connection


def retrying(attempt: Callable[[], T]) -> T:
    """Runs a transaction again when the database asks for it (a serialisation failure, a race for a new key).

    A retry can only follow a rollback, so nothing is done twice.
    """
    for pause in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0):
        try:
            return attempt()
        except DBAPIError as error:
            if not isinstance(error, IntegrityError) and getattr(error.orig, "sqlstate", None) not in RETRY_STATES:
                raise
            time.sleep(pause * (0.5 + random.random()))
    return attempt()
