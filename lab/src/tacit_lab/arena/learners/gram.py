"""What linear learners collect of a round: one bounded vector, whose sum is a Gram matrix and a
response vector.

    g(w, y) = ( phi phi', phi y )        |phi| <= 1, |y| <= 1

The matrix is packed so that lengths of packed vectors are Frobenius norms (its off-diagonal entries
stand once, times the root of 2). Replacing a round moves g by at most 3 / sqrt(2): for unit vectors
with t = phi'psi the squared distance is at most 2 - 2 t^2 + 2 + 2 t, whose maximum, at t = 1/2, is
9/2; shorter vectors and smaller rewards are closer.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.mechanisms import gaussian

Indices = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
SENSITIVITY = 3.0 / math.sqrt(2.0)


def contribution(phi: Floats, y: float) -> Floats:
    """What one round adds: the packed matrix, then the vector."""
    rows, columns, weights = _triangle(len(phi))
    return np.concatenate([phi[rows] * phi[columns] * weights, phi * min(1.0, max(-1.0, y))])


def unpack(packed: Floats, size: int) -> tuple[Floats, Floats]:
    """A packed sum, back to the matrix and the vector."""
    rows, columns, weights = _triangle(size)
    upper = packed[: len(rows)] / weights
    G = np.empty((size, size))
    G[rows, columns] = upper
    G[columns, rows] = upper
    return G, packed[len(rows) :]


def packed_size(size: int) -> int:
    return size * (size + 1) // 2 + size


@lru_cache
def _triangle(size: int) -> tuple[Indices, Indices, Floats]:
    """The places of the packed entries, and what each is multiplied by."""
    rows, columns = np.triu_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))


def shift_for(sigma: float, size: int) -> float:
    """What is added to the diagonal, so that no eigenvalue of the noise is left negative: twice a
    bound on its norm, as Shariff and Sheffet do.

    Unpacked, the noise has variance sigma^2 on the diagonal and half of it beside it: its norm is
    about sigma sqrt(2 size), give or take sigma.
    """
    return 2.0 * sigma * (math.sqrt(2.0 * size) + 2.0)


def noisy_gram(G: Floats, sigma: float, rng: Rng) -> Floats:
    """The matrix with noise of this standard deviation in each of its packed entries."""
    size = len(G)
    packed = gaussian(packed_size(size) - size, sigma, rng)
    return G + unpack(np.concatenate([packed, np.zeros(size)]), size)[0]
