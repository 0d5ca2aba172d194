"""Bisection on the positive numbers. What is returned was itself tried, so nothing has to be
monotone."""

from __future__ import annotations

import math
from collections.abc import Callable


def largest(holds: Callable[[float], bool]) -> float:
    """A number for which `holds` was seen to be true, and not for one a little above it; 0 if for
    none."""
    low = 0.0
    high = 1.0
    while holds(high):
        low = high
        high = 2.0 * high
    return _bisect(holds, low, high)[0]


def smallest(holds: Callable[[float], bool]) -> float:
    """A number for which `holds` was seen to be true, and not for one a little below it; infinity
    if for none."""
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
