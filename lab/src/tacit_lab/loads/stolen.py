"""How much of the processors' time the host of a virtual machine gave to others.

A percentile of latency says something of a service only where the cores were there for it. Linux
counts the time in which a core was ready to run and did not get to: what was stolen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
TIMES = Path("/proc/stat")
STEAL = 7  # its place among the times of a line: user, nice, system, idle, iowait, irq, softirq


def stolen_share(before: list[int], after: list[int]) -> float:
    """Of all cores' time between two readings of `processor_times`."""
    spent = [late - early for early, late in zip(before, after, strict=True)]
    return spent[STEAL] / max(1, sum(spent))


def processor_times(path: Path = TIMES) -> list[int]:
    """Of all cores together, in ticks, by what they did; zeros where the system does not say."""
    if not path.exists():
        return [0] * (STEAL + 1)
    return [int(each) for each in path.read_text().split("\n", 1)[0].split()[1 : STEAL + 2]]


@dataclass(frozen=True)
class Turns(Generic[T]):
    """What was measured on free cores, and what had to be left out."""

    measured: list[T]
    left_out: int
    stolen: float  # the largest share among those that count


def free_turns(
    take: Callable[[], T],
    wanted: int,
    most_stolen: float,
    most_turns: int,
    times: Callable[[], list[int]] = processor_times,
) -> Turns[T]:
    """Takes turns until enough had free cores.

    Which turns count depends on the stolen time alone, never on what was measured in them. Where
    too few were free after `most_turns`, those with the least stolen time count, and `stolen` says
    how much it was.
    """
    taken: list[tuple[float, int, T]] = []
    while len(taken) < most_turns and sum(each[0] <= most_stolen for each in taken) < wanted:
        before = times()
        found = take()
        taken.append((stolen_share(before, times()), len(taken), found))
    best = sorted(taken, key=lambda each: each[:2])[:wanted]
    return Turns([each[2] for each in best], len(taken) - len(best), best[-1][0])
