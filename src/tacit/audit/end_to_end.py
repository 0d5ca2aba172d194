"""Attacks on the whole path: each release has its own request, is charged, drawn, stored and read
back.

The claim is what the ledger charged, so a charge that is forgotten shows as well as noise that is
missing. Few samples: a transaction takes longer than noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import GAUSSIAN, PURE
from tacit.audit.evidence import by_likelihood, count_best_event, count_event
from tacit.audit.findings import Clock, Finding, part, sampled
from tacit.audit.gaussian import direction, neighbour_sums
from tacit.audit.ledger import temporary_ledger
from tacit.audit.selection import Neighbours
from tacit.core import (
    Budget,
    Encoding,
    Ledger,
    PrivateSum,
    Released,
    release_choice,
    release_gaussian,
)
from tacit.progress import Progress, silent

LedgerOf = Callable[[Budget], AbstractContextManager[Ledger]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def spent_in_all(ledger: Ledger) -> float:
    """Everything that a ledger has charged."""
    return ledger.spent


def attack_release(
    name: str = "release through a ledger",
    *,
    encoding: Encoding,
    rho: float,
    delta: float,
    samples: int,
    make: type[PrivateSum] = PrivateSum,
    release: Callable[..., Released] = release_gaussian,
    ledger: LedgerOf = temporary_ledger,
    options: Mapping[str, Any] = NOTHING,
    spent: Callable[[Ledger], float] = spent_in_all,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is what the ledger charged for one release, on average.

    The attacker's threshold lies in the middle between the two sums: known beforehand, so all
    releases count. `ledger` makes the ledger for a budget, `options` are passed on to every
    `release`, and `spent` says what the ledger charged for all of them.
    """
    clock = Clock()
    sums = neighbour_sums(encoding, make)
    towards = direction(*sums)
    middle = float((sums[0]._value() + sums[1]._value()) @ towards) / 2.0
    seen = np.empty((2, samples))
    with ledger(Budget(rho=2 * samples * rho * 1.001)) as account:
        for side, total in enumerate(sums):
            show = part(progress, name, side, 2)
            for i in range(samples):
                released = release(
                    total, Budget(rho=rho), account, f"release {side}-{i}", {}, **options
                )
                seen[side, i] = released.values @ towards
                show(i + 1, samples)
        charged = spent(account) / (2 * samples)
    counts = count_event(seen[0], seen[1], middle)
    about = (
        f"rank {encoding.size}, rho = {rho:g}, every release under its own request; the claim is "
        "what was charged"
    )
    claimed = math.sqrt(2.0 * charged)
    return sampled(
        name, claimed, counts, GAUSSIAN, samples=2 * samples, delta=delta, clock=clock, about=about
    )


def attack_pure_choice(
    name: str = "choice through a ledger",
    *,
    neighbours: Neighbours,
    epsilon: float,
    samples: int,
    progress: Progress = silent,
) -> Finding:
    """Claim: the epsilon that a pure ledger charged for one choice, on average."""
    clock = Clock()
    chosen: NDArray[np.int64] = np.empty((2, samples), dtype=np.int64)
    with temporary_ledger(Budget(epsilon=2 * samples * epsilon * 1.001)) as ledger:
        for side, total in enumerate(neighbours.sums):
            show = part(progress, name, side, 2)
            for i in range(samples):
                request = f"choice {side}-{i}"
                chosen[side, i] = release_choice(
                    total, neighbours.theta, epsilon, ledger, request, {}
                )
                show(i + 1, samples)
        charged = ledger.spent / (2 * samples)
    counts = count_best_event(*by_likelihood(chosen[0], chosen[1]), PURE)
    about = "every choice under its own request; the claim is what was charged"
    return sampled(
        name, charged, counts, PURE, samples=2 * samples, delta=0.0, clock=clock, about=about
    )
