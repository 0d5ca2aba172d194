"""Kernels on single columns as sums of cosines: any number of columns for one matrix product.

On [0, 1] a smooth stationary kernel is close to

    k(c, c') = sum_m s_m cos(pi m c) cos(pi m c'),   m = 0, 1, 2, ...

where `s` is its spectrum, scaled to add up to 1 so that k is at most 1. Labels i = 0 ... n-1, which
sit at i / (n - 1), have the cosines of (i + 1/2) / n for m < n with a flat spectrum: then k is 1
where labels agree, and the same for any two that do not.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace

from tacit._typing import Array, Floats
from tacit.kernels.base import _device
from tacit.kernels.stationary import RBF, Matern, Stationary

FREQUENCIES = 7  # of a number, the constant included: a lengthscale of 0.2 has hardly more
MOST_LABELS = 24  # that have cosines: more of them are cheaper to compare one by one


@lru_cache(maxsize=256)
def features_of(levels: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The column and the frequency of each feature; `levels` are the numbers of labels, 0 for
    numbers. Constants are left out, and so are columns of many labels."""
    columns: list[int] = []
    frequencies: list[int] = []
    for j, n in enumerate(levels):
        if n > MOST_LABELS:
            continue
        most = n or FREQUENCIES
        columns += [j] * (most - 1)
        frequencies += range(1, most)
    return tuple(columns), tuple(frequencies)


def cosines(A: Array, levels: tuple[int, ...]) -> Array:
    """cos(pi m t_j) for each row and feature, t_j being the coordinate, or the place of a label."""
    xp = array_namespace(A)
    where = _device(A)
    shift = xp.asarray([0.5 / n if n else 0.0 for n in levels], dtype=A.dtype, device=where)
    slope = xp.asarray([(n - 1) / n if n else 1.0 for n in levels], dtype=A.dtype, device=where)
    first = xp.cos(math.pi * (shift + slope * A))
    found = [first]
    before = xp.ones_like(first)
    columns, frequencies = features_of(levels)
    for _ in range(1, max(frequencies, default=1)):
        after = 2.0 * first * found[-1] - before
        before = found[-1]
        found.append(after)
    flat = xp.concat(found, axis=1)
    at = [(m - 1) * len(levels) + j for j, m in zip(columns, frequencies, strict=True)]
    return xp.take(flat, xp.asarray(at, dtype=xp.int64, device=where), axis=1)


def spectrum(kernel: Stationary, lengthscale: float) -> tuple[Floats, Floats]:
    """s_0, s_1, ..., and their derivatives by the logarithm of the lengthscale."""
    omega = math.pi * np.arange(FREQUENCIES)
    if isinstance(kernel, RBF):
        logs = -0.5 * (lengthscale * omega) ** 2
        slopes = -((lengthscale * omega) ** 2)
    else:
        nu = kernel.smoothness if isinstance(kernel, Matern) else 2.5
        low = 2.0 * nu / lengthscale**2
        logs = -(nu + 0.5) * np.log(low + omega**2)
        slopes = (nu + 0.5) * 2.0 * low / (low + omega**2)
    logs[1:] += math.log(2.0)
    s = np.exp(logs - logs.max())
    s /= s.sum()
    return s, s * (slopes - s @ slopes)


def label_spectrum(levels: int, similarity: float) -> Floats:
    """The same for labels: 1 where they agree, `similarity` where not."""
    s = np.full(levels, (1.0 - similarity) * 2.0 / levels)
    s[0] = similarity + (1.0 - similarity) / levels
    return s
