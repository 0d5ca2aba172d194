"""Hyperparameters by the evidence of the released vector: scale and lengthscales, at no privacy cost.

With landmarks fixed, another kernel k' is another prior covariance of f on the landmarks. In whitened coordinates

    z = N^-1/2 bhat = M f(U) + unit noise,      M = N^-1/2 G L^-1,      f(U) ~ N(0, v k'(U, U))

and only the few directions of z in which the design's own kernel has a signal can tell kernels apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tacit import linalg
from tacit.kernels import Kernel
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.tables import Floats

SIGNAL_FLOOR = 1e-3  # directions with less signal than this (in units of the noise variance) are left out
SCALE_GUESS, SCALE_WIDTH = 0.1, 2.0  # v is log-normal around 0.1: rewards are in [-1, 1]
LENGTH_WIDTH = 0.35  # and each lengthscale log-normal around the design's
STEPS = 40


@dataclass(frozen=True)
class Fit:
    """The kernel and scale that explain the released vector best."""

    kernel: Kernel
    scale: float


def fit(kernel: Kernel, U: Floats, M: Floats, z: Floats, columns: int) -> Fit:
    """Maximises the evidence over the scale and one lengthscale per column, from the design's kernel."""
    whole = spread(kernel, columns)
    start = np.log([SCALE_GUESS, *lengthscales(whole)])
    width = np.array([SCALE_WIDTH] + [LENGTH_WIDTH] * (len(start) - 1))
    Mr, zr = _informative(M, z, kernel(U, U))

    def loss(x: Floats) -> float:
        K = with_lengthscales(whole, np.exp(x[1:]).tolist())(U, U)
        return negative_evidence(Mr, zr, float(np.exp(x[0])) * K) + 0.5 * float(np.sum(((x - start) / width) ** 2))

    bounds = [(s - 4 * w, s + 4 * w) for s, w in zip(start, width, strict=True)]
    best = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}).x
    return Fit(with_lengthscales(whole, np.exp(best[1:]).tolist()), float(np.exp(best[0])))


def negative_evidence(M: Floats, z: Floats, K: Floats) -> float:
    """-log N(z; 0, I + M K M'), up to a constant."""
    C = linalg.cholesky(np.eye(len(z)) + M @ K @ M.T)
    return 0.5 * float(np.sum(linalg.solve_lower(C, z) ** 2)) + float(np.log(np.diag(C)).sum())


def _informative(M: Floats, z: Floats, K: Floats) -> tuple[Floats, Floats]:
    """Rotated to the directions that carry signal under the design's kernel; the rest is noise under any."""
    signal, V = linalg.eigh(M @ K @ M.T)
    V = V[:, signal > SIGNAL_FLOOR] if np.any(signal > SIGNAL_FLOOR) else V[:, -1:]
    return V.T @ M, V.T @ z
