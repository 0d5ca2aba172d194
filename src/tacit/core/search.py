"""Bisection on the positive numbers. The number that is returned was itself tried, so the condition
need not be monotone for the answer to be safe."""

from __future__ import annotations

import math
from collections.abc import Callable


def largest(holds: Callable[[float], bool]) -> float:
    """A number at which `holds` is true while it is false at the next number tried above it; 0 if
    it is true at none."""
    low = 0.0
    high = 1.0
    while holds(high):
        low = high
        high = 2.0 * high
    return _bisect(holds, low, high)[0]


def smallest(holds: Callable[[float], bool]) -> float:
    """A number at which `holds` is true while it is false at the next number tried below it;
    infinity if it is true at none."""
    if holds(0.0):
        return 0.0
    low = 0.0
    high = 1.0
    while not holds(high):
        low = high
        high = 2.0 * high
        if math.isinf(high):
            return high
    return _bisect(lambda x: not holds(x), low, high)[1]


def _bisect(below: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers, the lower of which is `below` and the upper is not."""
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if below(middle):
            low = middle
        else:
            high = middle
    return low, high
