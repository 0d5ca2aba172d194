"""The finite feature map `phi(w) = L^-1 k_U(w)`, `Kuu = L L'`, and its moments over public points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit import linalg
from tacit.kernels import Kernel
from tacit.tables import Floats

CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Features:
    """Nystroem features on landmarks `U`: `phi(w)'phi(w')` is the kernel projected onto their span."""

    kernel: Kernel
    U: Floats
    L: Floats

    @classmethod
    def on(cls, kernel: Kernel, U: Floats) -> Features:
        return cls(kernel, U, linalg.cholesky(kernel(U, U)))

    @property
    def rank(self) -> int:
        return len(self.U)

    def __call__(self, points: Floats) -> Floats:
        """Rows phi(w)."""
        return linalg.solve_lower(self.L, self.kernel(points, self.U).T).T


def chunks(total: int, size: int = CHUNK) -> Iterator[int]:
    """How many rows to take at a time until `total` are taken."""
    for start in range(0, total, size):
        yield min(size, total - start)


@dataclass(frozen=True, eq=False)
class Moments:
    """What the law of public points does to the statistic, per record:

    signal = E[q_s phi'],  energy = E[q_s q_s']

    One released vector is `records * signal theta + noise` (see `tacit.decoder`).
    """

    signal: Floats
    energy: Floats


def moments(Phi: Floats, q: Floats, clip: float) -> Moments:
    """Both moments from rows of features and their influences."""
    qs = clipped(q, clip)
    return Moments(signal=qs.T @ Phi / len(Phi), energy=qs.T @ qs / len(Phi))


def clipped(q: Floats, clip: float) -> Floats:
    """q_s = q min(1, s / |q|)"""
    norm = np.linalg.norm(q, axis=1, keepdims=True)
    return q * np.minimum(1.0, clip / np.maximum(norm, np.finfo(float).tiny))
