"""Where a function on a line is highest, from its values at evenly spaced candidates.

Scores of a policy are smooth between candidates, which lie close to each other: the quartic through
five of them is so near that its top is the function's, and nothing else has to be evaluated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats

POINTS = 5
MIDDLE = POINTS // 2
NEWTON_STEPS = 3  # quadratic convergence: from half a candidate's distance to rounding
FLAT = -1e-300
# Values at -2, ..., 2 times this are the coefficients of the quartic's slope, the constant first.
_SLOPE = np.linalg.inv(np.vander(np.arange(POINTS) - float(MIDDLE), increasing=True)).T
_SLOPE = _SLOPE[:, 1:] * np.arange(1.0, POINTS)


def first_of_window(best: NDArray[np.intp], candidates: int) -> NDArray[np.intp]:
    """The number of the first of five candidates around the best one, or beside it where it is near
    an end of the line."""
    return np.minimum(np.maximum(best - MIDDLE, 0), candidates - POINTS)


def top_of_quartic(values: Floats, best: NDArray[np.intp]) -> Floats:
    """Where the quartic through five values a row, at 0 to 4, is highest near the best of them: at
    most 1 away from it, and never beyond the ends. Where it is not bent downwards there, some
    place within these bounds."""
    s0, s1, s2, s3 = (values @ _SLOPE).T
    t = best.astype(np.float64) - MIDDLE
    low = np.maximum(t - 1.0, -MIDDLE)
    high = np.minimum(t + 1.0, MIDDLE)
    for _ in range(NEWTON_STEPS):
        slope = s0 + t * (s1 + t * (s2 + t * s3))
        bend = s1 + t * (2.0 * s2 + t * (3.0 * s3))
        t = t - slope / np.minimum(bend, FLAT)
        t = np.minimum(np.maximum(t, low), high)
    return t + MIDDLE
