"""The feature map `phi(w) = L^-1 k_U(w)`, `Kuu = L L'`, and its moments over public points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace

from tacit._typing import Array, Floats
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.numerics.engine import Engine

CHUNK = 2048
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class KernelMap:
    """w -> k_U(w)' R: one kernel row and one matrix product, on any engine. Features and influences
    are such maps."""

    kernel: Kernel
    U: Array
    R: Array

    def on(self, engine: Engine) -> KernelMap:
        return KernelMap(self.kernel, engine.put(self.U), engine.put(self.R))

    def __call__(self, points: Array) -> Array:
        return self.kernel(points, self.U) @ self.R


@dataclass(frozen=True, eq=False)
class Features:
    """Nystroem features on landmarks `U`: `phi(w)'phi(w')` projects the kernel onto their span."""

    kernel: Kernel
    U: Floats
    L: Floats

    @classmethod
    def on(cls, kernel: Kernel, U: Floats) -> Features:
        return cls(kernel, U, linalg.cholesky(kernel(U, U)))

    @property
    def rank(self) -> int:
        return len(self.U)

    @cached_property
    def map(self) -> KernelMap:
        """phi(w) = L^-1 k_U(w)"""
        return KernelMap(self.kernel, self.U, linalg.solve_lower(self.L, np.eye(self.rank)).T)

    def __call__(self, points: Floats) -> Floats:
        """Rows phi(w)."""
        return self.map(points)


def chunks(total: int, size: int = CHUNK) -> Iterator[int]:
    """How many rows to take at a time until `total` are taken."""
    for start in range(0, total, size):
        yield min(size, total - start)


@dataclass(frozen=True, eq=False)
class Moments:
    """What the law of public points does to the statistic, per record:

    cross = E[q (phi, 1)'],  square = E[q q'],  mean = E[q],  shift = 0

    where q = (q_s, 1): clipped influences, and the 1 that sums up rewards. One released vector is
    `records * cross (theta, level) + noise` (see `tacit.decoder`). Where records add residuals,
    clipping leaves a part `g` of them, and a mean: cross = E[g q (phi, 1)'], shift = E[q shift].
    """

    cross: Floats
    square: Floats
    mean: Floats
    shift: Floats


def moments(
    rows: Array, q: Array, clip: float, response: tuple[Array, Array] | None = None
) -> Moments:
    """All moments from rows of features, or of what they are made of, and influences; `response` is
    what clipping leaves of residuals at each point, and their mean after it."""
    xp = array_namespace(q)
    n = rows.shape[0]
    qs = with_one(clipped(q, clip))
    right = with_one(rows)
    mean = xp.sum(qs, axis=0) / n
    shift = 0.0 * mean
    if response is not None:
        attenuation, moved = response
        right = right * attenuation[:, None]
        shift = qs.T @ moved / n
    return Moments(qs.T @ right / n, qs.T @ qs / n, mean, shift)


def with_one(rows: Array) -> Array:
    """Rows with a 1 at their end."""
    xp = array_namespace(rows)
    return xp.concat([rows, xp.ones_like(rows[:, :1])], axis=1)


def clipped(q: Array, clip: float) -> Array:
    """q_s = q min(1, s / |q|)"""
    return q * shrinkage(q, clip)[:, None]


def shrinkage(q: Array, clip: float) -> Array:
    """min(1, s / |q|)"""
    xp = array_namespace(q)
    norm = xp.sqrt(xp.vecdot(q, q))
    return xp.clip(clip / xp.clip(norm, min=TINY), max=1.0)
