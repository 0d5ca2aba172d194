"""A statistic as plain arrays and back. PRIVATE: for files and machines that may hold the data."""

from __future__ import annotations

from tacit.core.saved import Arrays, dump_sum, load_sum
from tacit.design import Design
from tacit.statistic import Statistic


def dump(statistic: Statistic) -> Arrays:
    """The private sum as arrays."""
    return dump_sum(statistic._sum)


def load(design: Design, arrays: Arrays, device: str | None = None) -> Statistic:
    """The inverse of `dump`. What no records of this design can have summed to is a ValueError."""
    total = load_sum(design.encoding, design.unit, arrays)
    statistic = design.statistic(device, total.cohort)
    statistic._sum = total
    return statistic


def drain(statistic: Statistic) -> Statistic:
    """Moves what a statistic holds into a new one. It is empty afterwards, and need not be prepared
    again."""
    taken = statistic.design.statistic(cohort=statistic._sum.cohort)
    held = statistic._sum
    statistic._sum = taken._sum
    taken._sum = held
    return taken
