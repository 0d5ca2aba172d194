"""Reading a released vector: everything after the release is free.

    bhat = G theta + e,   G = n E[q_s phi'],   Cov e = N = n c E[q_s q_s'] + (2 s m)^2 I,   c = E[reward^2]

With the prior theta ~ N(0, v I), that is f ~ GP(0, v k), the posterior is Gaussian. The scale `v` and the
energy `c` are chosen by the evidence of `bhat`, which touches only released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import linalg
from tacit.core import Released
from tacit.design import Design
from tacit.tables import Floats

ENERGIES = (0.05, 0.1, 0.2, 0.4, 0.8)
SCALES = np.geomspace(1e-4, 3.0, 61)


@dataclass(frozen=True, eq=False)
class Posterior:
    """f given the released numbers, in units of half the reward range around its middle.

    mean(w) = k_U(w)' weights,   var(w) = v k(w, w) - |shrinkage k_U(w)|^2
    """

    weights: Floats
    shrinkage: Floats
    scale: float
    energy: float


def decode(design: Design, released: Released) -> Posterior:
    """The noise-aware Gaussian posterior under the design's kernel."""
    unit = design.clip / 2**released.bits
    b = released.values * unit
    G = released.records * design.moments.signal
    statistical = released.records * design.moments.energy
    privacy = (released.scale * unit) ** 2 * np.eye(design.rank)

    fits = [(*_best_scale(b, G, c * statistical + privacy), c) for c in ENERGIES]
    _, v, c = max(fits)
    # S = v G G' + N = R R';  mean of theta = v G' S^-1 b
    R = linalg.cholesky(v * G @ G.T + c * statistical + privacy)
    gain = linalg.solve_lower(R, v * G)
    theta = gain.T @ linalg.solve_lower(R, b)
    L = design.features.L
    return Posterior(
        weights=linalg.solve_upper(L, theta),
        shrinkage=linalg.solve_upper(L, gain.T).T,
        scale=v,
        energy=c,
    )


def _best_scale(b: Floats, G: Floats, N: Floats) -> tuple[float, float]:
    """The largest log evidence over `v`, and that `v`: one eigendecomposition serves them all.

    In the eigenbasis of N^-1/2 G G' N^-1/2 the evidence is a product of one-dimensional normals.
    """
    L = linalg.cholesky(N)
    M = linalg.solve_lower(L, G)
    g, V = linalg.eigh(M @ M.T)
    z2 = (V.T @ linalg.solve_lower(L, b)) ** 2
    spread = 1.0 + np.outer(SCALES, np.maximum(g, 0.0))
    evidence = -0.5 * np.sum(np.log(spread) + z2 / spread, axis=1) - np.log(np.diag(L)).sum()
    evidence -= 0.5 * (np.log(SCALES / 0.1) / 2.0) ** 2  # a weak prior keeps v sane when the noise hides everything
    best = int(np.argmax(evidence))
    return float(evidence[best]), float(SCALES[best])
