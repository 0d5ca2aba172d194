"""Landmarks: a few public points that span what the kernel can say.

Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2022) with blocks and rejection
(Epperly, Tropp and Webber, 2024): each pivot is drawn with probability proportional to what the
earlier ones leave unexplained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.errors import InputError
from tacit.kernels import Kernel

ZERO = 1e-12  # residuals up to here are rounding errors of kernels that are at most 1


def pivots(
    kernel: Kernel, pool: Floats, *, most: int, tolerance: float, rng: Rng, block: int = 32
) -> tuple[np.ndarray[Any, np.dtype[np.intp]], Floats]:
    """Row numbers of the landmarks in `pool`, in the order drawn, and the mean residual after each.

    Stops at `most` landmarks, as soon as the mean of `k(w, w) - k_U(w)' Kuu^-1 k_U(w)` over the
    pool is at most `tolerance`, or when nothing but rounding errors is left of it; never before the
    first. Memory: the pool times the rank.
    """
    residual = np.array(kernel.diagonal(pool), dtype=np.float64)
    if not (residual >= 0).all():
        raise InputError(
            "the kernel has a k(w, w) that is negative or NaN: it must be positive definite."
        )
    F = np.empty((len(pool), most))  # Nystroem factor: K is close to F F'
    chosen: list[int] = []
    decay: list[float] = []
    while len(chosen) < most and residual.any() and (not chosen or residual.mean() > tolerance):
        drawn = np.unique(rng.choice(len(pool), size=block, p=residual / residual.sum()))
        drawn = rng.permutation(drawn)
        G = kernel(pool, pool[drawn]) - F[:, : len(chosen)] @ F[drawn, : len(chosen)].T
        # What is left of a drawn point, exactly: a point that is all rounding error is never drawn
        # again.
        left = G[drawn, np.arange(len(drawn))]
        residual[drawn] = np.where(left > ZERO, np.minimum(left, residual[drawn]), 0.0)
        kept = _accept(G[drawn], residual[drawn], rng)[: most - len(chosen)]
        if not kept:
            continue
        accepted = drawn[kept]
        C = np.linalg.cholesky(G[accepted][:, kept])
        new = np.linalg.solve(C, G[:, kept].T).T
        F[:, len(chosen) : len(chosen) + len(kept)] = new
        for column in new.T:
            residual = np.maximum(residual - column**2, 0.0)
            decay.append(float(residual.mean()))
        residual[accepted] = 0.0
        residual[residual <= ZERO] = 0.0
        chosen.extend(accepted.tolist())
    enough = 1 + int(np.count_nonzero(np.asarray(decay) > tolerance))  # a block may overshoot
    return np.asarray(chosen[:enough], dtype=np.intp), np.asarray(decay[:enough])


def _accept(H: Floats, diagonal: Floats, rng: Rng) -> list[int]:
    """Walks through a block and keeps pivot j with probability (what is left of it now) / (what it
    had when drawn)."""
    H = H.copy()
    kept = []
    for j in range(len(H)):
        if H[j, j] > rng.random() * diagonal[j] and H[j, j] > ZERO:
            column = H[:, j] / np.sqrt(H[j, j])
            H -= np.outer(column, column)
            kept.append(j)
    return kept
