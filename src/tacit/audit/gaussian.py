"""The attack on Gaussian releases: two neighbouring sums, noised many times, told apart by one
threshold.

The release adds independent noise of one scale to every coordinate, whatever their number. So n
releases of rank r are one call on n * r coordinates, and a coordinate in which the neighbours agree
tells the attacker nothing: a small rank loses nothing. That noise is like this in every coordinate
is not taken for granted: released.py tests it. The projection on the difference of the two sums is
the likelihood ratio of Gaussian noise, so no other statistic of the released vector would do
better.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.audit.bounds import GAUSSIAN
from tacit.audit.evidence import count_best_event
from tacit.audit.findings import Clock, Finding, Show, part, sampled
from tacit.core.budget import ZCDP
from tacit.core.contribution import Encoding
from tacit.core.events import Gaussian, price
from tacit.core.noise import discrete_gaussian, gaussian_scale
from tacit.core.sums import PrivateSum
from tacit.progress import Progress, silent

Integers = NDArray[np.int64]
Noise = Callable[[Integers, Gaussian], Integers]

CHUNK = 8192  # coordinates noised by one call
OTHERS = 8  # records that both datasets share
RECORDS_OF_A_USER = 6
HUGE = 1e6  # far outside of what a row may hold: the encoding has to bring it back


def neighbour_sums(
    encoding: Encoding, make: type[PrivateSum] = PrivateSum
) -> tuple[PrivateSum, PrivateSum]:
    """Sums of two datasets that differ in one record, or in all the records of one user, as much as
    they can.

    On one side every entry of what differs is huge, on the other side it is huge and negative.
    """
    n = RECORDS_OF_A_USER if make.unit == "user" else 1
    others = np.random.default_rng(0).uniform(-0.3, 0.3, size=(OTHERS, encoding.size))
    users = [f"other {i}" for i in range(OTHERS)] + ["the one"] * n
    up = make(encoding)
    down = make(encoding)
    for total, sign in ((up, 1.0), (down, -1.0)):
        total.add(np.vstack([others, np.full((n, encoding.size), sign * HUGE)]), OTHERS + n, users)
    return up, down


def direction(a: PrivateSum, b: PrivateSum) -> Floats:
    """The unit vector from `b` to `a` (zero if they are the same)."""
    difference = (a._value() - b._value()).astype(np.float64)
    return np.asarray(difference / max(float(np.linalg.norm(difference)), 1e-300))


def attack_gaussian(
    name: str = "Gaussian release",
    *,
    encoding: Encoding,
    rho: float,
    delta: float,
    samples: int,
    make: type[PrivateSum] = PrivateSum,
    noise: Noise = discrete_gaussian,
    progress: Progress = silent,
) -> Finding:
    """Claim: mu = sqrt(2 rho), where rho is the price of the noise. `samples` releases of each
    dataset."""
    clock = Clock()
    event = Gaussian(encoding.sensitivity, gaussian_scale(encoding.sensitivity, rho))
    sums = neighbour_sums(encoding, make)
    towards = direction(*sums)
    seen = []
    for i, total in enumerate(sums):
        show = part(progress, name, i, 2)
        seen.append(_projections(total._value(), towards, event, samples, noise, show))
    counts = count_best_event(seen[0], seen[1], GAUSSIAN)
    about = f"one {make.unit} replaced by its opposite; a threshold on the released vector"
    claimed = math.sqrt(2.0 * float(price(event, ZCDP)))
    return sampled(
        name, claimed, counts, GAUSSIAN, samples=2 * samples, delta=delta, clock=clock, about=about
    )


def _projections(
    total: Integers, towards: Floats, event: Gaussian, samples: int, noise: Noise, show: Show
) -> Floats:
    """`samples` independent releases of `total`, each seen along one direction."""
    at_once = max(1, CHUNK // len(total))
    seen = []
    for start in range(0, samples, at_once):
        n = min(at_once, samples - start)
        seen.append(noise(np.tile(total, n), event).reshape(n, -1) @ towards)
        show(start + n, samples)
    return np.concatenate(seen)
