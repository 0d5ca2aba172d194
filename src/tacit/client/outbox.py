"""Rewards on their way: on disk until the service has taken them.

A reward is sent until it is answered. The service takes the same reward of the same round once, so
it is there exactly once, whatever was lost on the way.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

TAKEN = (204,)
FINAL = (400, 401, 403, 404, 409, 410, 413, 422)  # no further try would change these
LOST_KEY = (401, 403)  # but another key would


class Outbox:
    """A file of rewards that are to be delivered. Private: as private as the study."""

    def __init__(self, path: str | Path) -> None:
        if not Path(path).exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=30
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS rewards (id TEXT PRIMARY KEY, value REAL NOT NULL, "
            "refused INTEGER)"
        )

    def put(self, id: str, value: float) -> None:
        """Keeps a reward. The first one of a round stays, as in the service."""
        self._execute("INSERT OR IGNORE INTO rewards (id, value) VALUES (?, ?)", id, value)

    def waiting(self, most: int = 100) -> list[tuple[str, float]]:
        """Some that were not delivered yet."""
        query = "SELECT id, value FROM rewards WHERE refused IS NULL ORDER BY rowid LIMIT ?"
        return [(id, value) for id, value in self._execute(query, most)]

    def refused(self) -> list[tuple[str, int]]:
        """Those that the service will not take, and its statuses."""
        query = "SELECT id, refused FROM rewards WHERE refused IS NOT NULL ORDER BY rowid"
        return [(id, status) for id, status in self._execute(query)]

    def __len__(self) -> int:
        query = "SELECT COUNT(*) FROM rewards WHERE refused IS NULL"
        return int(self._execute(query)[0][0])

    def settle(self, id: str, status: int) -> bool:
        """What the service said of one: whether it is over."""
        if status in TAKEN:
            self._execute("DELETE FROM rewards WHERE id = ?", id)
        elif status in FINAL and status not in LOST_KEY:
            self._execute("UPDATE rewards SET refused = ? WHERE id = ?", status, id)
        else:
            return False
        return True

    def close(self) -> None:
        self._connection.close()

    def _execute(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()
