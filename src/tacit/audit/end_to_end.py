"""Attacks on the whole path: each release has its own request, is charged on disk, drawn, stored and read back.

The claim is what the ledger charged, so a charge that is forgotten shows as well as noise that is missing. Few samples:
a durable transaction takes longer than noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import GAUSSIAN, PURE
from tacit.audit.evidence import by_likelihood, count_best_event
from tacit.audit.findings import Clock, Finding, part, sampled
from tacit.audit.gaussian import direction, neighbour_sums
from tacit.audit.ledger import temporary_ledger
from tacit.audit.selection import Neighbours
from tacit.core import Budget, Encoding, PrivateSum, Released, release_choice, release_gaussian
from tacit.progress import Progress, silent


def attack_release(
    name: str = "release through a ledger",
    *,
    encoding: Encoding,
    rho: float,
    delta: float,
    samples: int,
    make: type[PrivateSum] = PrivateSum,
    release: Callable[..., Released] = release_gaussian,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is what the ledger charged for one release, on average."""
    clock = Clock()
    sums = neighbour_sums(encoding, make)
    towards = direction(*sums)
    seen = np.empty((2, samples))
    with temporary_ledger(Budget(rho=2 * samples * rho * 1.001)) as ledger:
        for side, total in enumerate(sums):
            show = part(progress, name, side, 2)
            for i in range(samples):
                released = release(total, Budget(rho=rho), ledger, f"release {side}-{i}", {})
                seen[side, i] = released.values @ towards
                show(i + 1, samples)
        charged = ledger.spent / (2 * samples)
    counts = count_best_event(seen[0], seen[1], GAUSSIAN)
    about = f"rank {encoding.rank}, rho = {rho:g}, every release under its own request; the claim is what was charged"
    return sampled(name, math.sqrt(2.0 * charged), counts, GAUSSIAN, delta=delta, clock=clock, about=about)


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
                chosen[side, i] = release_choice(total, neighbours.theta, epsilon, ledger, request, {})
                show(i + 1, samples)
        charged = ledger.spent / (2 * samples)
    counts = count_best_event(*by_likelihood(chosen[0], chosen[1]), PURE)
    about = "every choice under its own request; the claim is what was charged"
    return sampled(name, charged, counts, PURE, delta=0.0, clock=clock, about=about)
