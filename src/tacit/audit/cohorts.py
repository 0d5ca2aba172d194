"""The attack on cohorts: two groups of people, one ledger, the whole budget for each.

The attacker tries to be counted in both groups, and sees both releases. What one person may pay is
what the account of the person's own cohort was charged; whoever gets into both sums shows in both
releases, which is more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.audit.bounds import GAUSSIAN
from tacit.audit.evidence import count_event
from tacit.audit.findings import Clock, Finding, part, sampled
from tacit.audit.gaussian import HUGE, OTHERS, Integers
from tacit.audit.ledger import WatchedLedger, integers, temporary_ledger
from tacit.core import Budget, Cohort, Encoding, Ledger, PrivateSum, release_gaussian
from tacit.core.budget import UNITS
from tacit.errors import TacitError
from tacit.progress import Progress, silent

SIZE = OTHERS + 1  # records of one cohort
DRAWS = 100  # from each charge: what is attacked is their law


def attack_cohorts(
    name: str = "two cohorts, one ledger",
    *,
    encoding: Encoding,
    rho: float,
    delta: float,
    samples: int,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is the most that any one cohort was charged for its
    releases, on average."""
    clock = Clock()
    sides = [cohort_sums(encoding, 1.0, start=0), cohort_sums(encoding, -1.0, start=2 * SIZE)]
    up = _side_by_side([total._value() for total in sides[0]])
    down = _side_by_side([total._value() for total in sides[1]])
    towards = (up - down) / max(float(np.linalg.norm(up - down)), 1e-300)
    middle = float((up + down) @ towards) / 2.0
    charges = math.ceil(samples / DRAWS)
    seen: list[list[float]] = [[], []]
    with temporary_ledger(Budget(rho=charges * rho * 1.001)) as ledger:
        for side, sums in enumerate(sides):
            show = part(progress, name, side, 2)
            for total in sums:
                assert total.cohort is not None
                ledger.add_cohort(total.cohort)
            for i in range(charges):
                for values in _released(sums, rho, ledger, f"{side}-{i}"):
                    seen[side].append(float(values @ towards))
                show(i + 1, charges)
        charged = max(account.spent for account in ledger.accounts()) / UNITS / charges
    counts = count_event(np.array(seen[0]), np.array(seen[1]), middle)
    about = (
        f"rank {encoding.size}, rho = {rho:g} for each of two cohorts; the claim is what one of "
        "them was charged"
    )
    claimed = math.sqrt(2.0 * charged)
    return sampled(
        name,
        claimed,
        counts,
        GAUSSIAN,
        samples=2 * charges * DRAWS,
        delta=delta,
        clock=clock,
        about=about,
    )


def cohort_sums(encoding: Encoding, sign: float, start: int) -> list[PrivateSum]:
    """The sums of two cohorts from number `start` on. The last record of the first one wants to be
    in both."""
    rng = np.random.default_rng(0)
    one = np.full((1, encoding.size), sign * HUGE)
    number = start + OTHERS
    sums = []
    for i in range(2):
        first = start + i * SIZE
        total = PrivateSum(encoding, Cohort(f"from {first}", first, first + SIZE))
        total.add(rng.uniform(-0.3, 0.3, size=(OTHERS, encoding.size)), OTHERS, first=first)
        with suppress(TacitError):  # the cohort that the record is not of has to refuse it
            total.add(one, 1, first=number)
        sums.append(total)
    return sums


def _released(sums: list[PrivateSum], rho: float, ledger: Ledger, name: str) -> list[Floats]:
    """What is released about all of them, side by side: so many draws of one charge each."""
    drawn = []
    for i, total in enumerate(sums):
        watched: Any = WatchedLedger(ledger, DRAWS - 1)
        release_gaussian(total, Budget(rho=rho), watched, f"{name}, cohort {i}", {})
        drawn.append([integers(stored) for stored in watched.drawn])
    return [_side_by_side(together) for together in zip(*drawn, strict=True)]


def _side_by_side(vectors: Sequence[Integers]) -> Floats:
    return np.concatenate(vectors).astype(np.float64)
