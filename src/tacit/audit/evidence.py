"""The attacker's last step: choose an event on a quarter of the runs, count it on the others.

Choosing needs fewer runs than counting: the best threshold is flat, and every run that is counted
sharpens the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.audit.bounds import Counts, Measure
from tacit.errors import InputError

Integers = NDArray[np.int64]
CHOOSERS = 4  # one run in so many has a part in choosing the event
CUTS = 255  # thresholds that are tried
# Risks at which events compete, the strictest first: a loose one alone would pick rare events that
# were seen by luck.
CHOOSING = (1e-7, 1e-3, 0.05)


def count_best_event(a: Floats, b: Floats, measure: Measure) -> Counts:
    """Events are `x >= cut`, or `x <= cut` with the two datasets in exchanged roles.

    The cut is the one that proves most on the first quarters, at the strictest risk at which any
    proves something. What is returned was counted on the rest, so the choice costs no confidence.
    """
    n = choosers(a)
    if n < 1 or len(b) != len(a):
        raise InputError(
            f"an attack needs at least 4 runs on each side, as many on both, got {len(a)} and "
            f"{len(b)}."
        )
    sign = 1
    cut = float("-inf")
    for risk in CHOOSING:
        tried = [
            (sign, *_best_cut(sign * x[:n], sign * y[:n], measure, risk))
            for sign, x, y in ((1, a, b), (-1, b, a))
        ]
        sign, cut, proved = max(tried, key=lambda option: option[2])
        if proved > 0.0:
            break
    if sign == 1:
        return count_event(a[n:], b[n:], cut)
    return count_event(-b[n:], -a[n:], cut)


def count_event(a: Floats, b: Floats, cut: float) -> Counts:
    """The event `x >= cut`, which was fixed before any run was seen: all runs count."""
    return Counts(int(np.sum(a >= cut)), int(np.sum(b >= cut)), len(a))


def choosers(a: Floats | Integers) -> int:
    """How many of these runs choose the event, and are not counted."""
    return len(a) // CHOOSERS


def _best_cut(x: Floats, y: Floats, measure: Measure, risk: float) -> tuple[float, float]:
    """The cut at which `x` exceeds it most clearly more often than `y`, and what that proves."""
    values = np.unique(np.concatenate([x, y]))
    if len(values) > CUTS:
        values = np.unique(np.quantile(np.concatenate([x, y]), np.linspace(0.0, 1.0, CUTS)))
    hits_x = len(x) - np.searchsorted(np.sort(x), values, side="left")
    hits_y = len(y) - np.searchsorted(np.sort(y), values, side="left")
    proved = measure.bound(hits_x, hits_y, len(x), risk)
    best = int(np.argmax(proved))
    cut = (values[max(best - 1, 0)] + values[best]) / 2.0  # in the middle of the gap of these runs
    return float(cut), float(proved[best])


def by_likelihood(a: Integers, b: Integers) -> tuple[Floats, Floats]:
    """Outcomes as numbers: how much more often the first quarter of `a` shows each one than that of
    `b`.

    Sets of outcomes then are thresholds: the best set of a given size is made of the largest
    ratios.
    """
    n = choosers(a)
    outcomes = int(max(a.max(), b.max())) + 1
    in_a = np.bincount(a[:n], minlength=outcomes)
    in_b = np.bincount(b[:n], minlength=outcomes)
    score = np.log(in_a + 0.5) - np.log(in_b + 0.5)
    return score[a], score[b]
