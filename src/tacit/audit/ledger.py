"""A real ledger for made-up releases, and what it charges for many of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tacit.core import Budget, Encoding, Ledger, PrivateSum, integer_weights, release_choice
from tacit.core.events import Exponential


@contextmanager
def temporary_ledger(budget: Budget) -> Iterator[Ledger]:
    """A ledger on disk, with all its durable transactions, that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tacit-audit-") as folder:
        yield Ledger.create(f"sqlite:///{(Path(folder) / 'ledger.db').as_posix()}", budget)


def spent_on_choices(event: Exponential, choices: int) -> float:
    """The rho that a ledger has charged after so many choices, each under a request of its own."""
    total = PrivateSum(Encoding(rank=1, horizon=1))
    theta = integer_weights(np.array([[1.0], [-1.0]]), total.encoding)
    with temporary_ledger(Budget(rho=choices * event.epsilon**2 + 1.0)) as ledger:
        for i in range(choices):
            release_choice(total, theta, event.epsilon, ledger, f"choice {i}", {})
        return ledger.spent
