"""Real ledgers for made-up releases: what they charge, and what is drawn for a charge."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Budget, Encoding, Ledger, PrivateSum, integer_weights, release_choice
from tacit.core.events import Event, Exponential

# A charge waits for the disk twice. Where there is a folder in memory the same transactions are
# five times faster, and what they would survive is not what the audit asks.
MEMORY = "/dev/shm"


@contextmanager
def temporary_database() -> Iterator[str]:
    """The URL of a database that is gone afterwards."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tacit-audit-", dir=place) as folder:
        yield f"sqlite:///{(Path(folder) / 'audit.db').as_posix()}"


@contextmanager
def temporary_ledger(budget: Budget) -> Iterator[Ledger]:
    """A ledger with all its transactions, that is gone afterwards."""
    with temporary_database() as url:
        yield Ledger.create(url, budget)


class WatchedLedger:
    """A ledger that remembers every event it charged, and that draws more than once for each.

    It charges, draws, stores and answers as the ledger it was made from. But the function that
    draws is called `again` times more, and all its results are kept: many draws of the released law
    for the time of one transaction.
    """

    def __init__(self, ledger: Ledger, again: int) -> None:
        self._ledger: Any = ledger
        self._again = again
        self.events: list[Event] = []
        self.drawn: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def spend(
        self, request: str, event: Event, *about: Any, draw: Callable[[], bytes], **options: Any
    ) -> bytes:
        """Spends as the ledger does, then draws again."""

        def remembered() -> bytes:
            self.drawn.append(draw())
            return self.drawn[-1]

        self.events.append(event)
        stored = self._ledger.spend(request, event, *about, draw=remembered, **options)
        for _ in range(self._again):
            remembered()
        return stored


def integers(stored: bytes) -> NDArray[np.int64]:
    """What a ledger stores for a release or a choice: 64-bit integers, lowest byte first."""
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)


def spent_on_choices(event: Exponential, choices: int) -> float:
    """The rho that a ledger has charged after so many choices, each under a request of its own."""
    total = PrivateSum(Encoding(size=1, horizon=1))
    theta = integer_weights(np.array([[1.0], [-1.0]]), total.encoding)
    with temporary_ledger(Budget(rho=choices * event.epsilon**2 + 1.0)) as ledger:
        for i in range(choices):
            release_choice(total, theta, event.epsilon, ledger, f"choice {i}", {})
        return ledger.spent
