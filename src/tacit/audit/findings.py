"""What an audit says: findings compare a claim with evidence, checks pass or fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tacit.audit.bounds import Counts, Measure
from tacit.progress import Progress

Show = Callable[[int, int], None]  # (done, total) of one part of an attack

RISK = 0.05  # of a printed lower bound: it holds with 95 % confidence
ALARM = 5e-8  # of a mechanism that is right being called wrong; twenty of them make 1e-6 for a run
ROUNDING = 1.0 + 1e-9  # claims and bounds are doubles


@dataclass(frozen=True)
class Finding:
    """One mechanism: the epsilon it claims, and the largest epsilon that an attack has proved it to
    have.

    Both are at the same `delta` and in the same terms. `ok` is false only when the bound that holds
    with confidence 1 - 5e-8 is above the claim. `exact` findings were computed or searched for, and
    leave nothing to chance.
    """

    name: str
    claimed_epsilon: float
    lower_bound: float
    samples: int
    seconds: float
    ok: bool
    delta: float
    exact: bool
    about: str


@dataclass(frozen=True)
class Check:
    """Something that is right or wrong: a sampler's law, a generator that nobody can predict."""

    name: str
    p_value: float | None
    samples: int
    seconds: float
    ok: bool
    about: str


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started


def part(progress: Progress, name: str, index: int, parts: int) -> Show:
    """Progress of one of several equal parts, shown as progress of the whole."""
    return lambda done, total: progress(name, index * total + done, parts * total)


def sampled(
    name: str,
    claimed: float,
    counts: Counts,
    measure: Measure,
    *,
    samples: int,
    delta: float,
    clock: Clock,
    about: str,
) -> Finding:
    """A finding from counts of `samples` runs on both datasets together, those included that only
    chose the event.

    `claimed` is in the measure's own unit (epsilon, mu or rho).
    """
    return Finding(
        name=name,
        claimed_epsilon=measure.epsilon(claimed, delta),
        lower_bound=measure.epsilon(counts.bound(measure, RISK), delta),
        samples=samples,
        seconds=clock.seconds,
        ok=counts.bound(measure, ALARM) <= claimed * ROUNDING,
        delta=delta,
        exact=False,
        about=about,
    )


def exact(
    name: str,
    claimed: float,
    found: float,
    *,
    delta: float,
    clock: Clock,
    about: str,
    tried: int = 0,
) -> Finding:
    """A finding without chance: `found` was computed, not estimated."""
    ok = found <= claimed * ROUNDING
    return Finding(name, claimed, found, tried, clock.seconds, ok, delta, True, about)
