"""Reading a released vector: everything after the release is free.

    bhat = G theta + e,   G = n E[q_s phi'],   Cov e = N = n c E[q_s q_s'] + (2 s m)^2 I,   c = E[reward^2]

With the prior theta ~ N(0, v P), P = L^-1 k'(U, U) L^-T, that is f ~ GP(0, v k') on the landmarks, the posterior is
Gaussian. The expectations are over the contexts that came, as far as the released counts tell; `c` is released too;
the scale `v` and the lengthscales of k' are chosen by the evidence of `bhat`. All of it touches released numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import linalg
from tacit.core import Released
from tacit.decoder.evidence import fit
from tacit.design import Design, Moments
from tacit.kernels.ard import lengthscales
from tacit.tables import Floats


@dataclass(frozen=True, eq=False)
class Posterior:
    """f given the released numbers, in units of half the reward range around its middle.

    mean(w) = k_U(w)' weights,   var(w) = v k(w, w) - k_U(w)' reduction k_U(w)
    """

    weights: Floats
    reduction: Floats
    scale: float
    energy: float
    lengthscales: tuple[float, ...]


def decode(design: Design, released: Released) -> Posterior:
    """The noise-aware Gaussian posterior."""
    unit = 1.0 / 2**released.bits
    noise = released.scale * unit
    total, counts, energy = design.layout.split(released.values * unit)
    law = design.moments if counts is None else _law(design, counts, noise)
    n, s = released.records, design.clip
    c = 0.2 if energy is None else float(np.clip(energy / n, 0.01, 1.0))
    b, G = s * total, n * law.signal
    sigma = s * noise / np.sqrt(design.layout.influence_share)
    N = n * c * law.energy + sigma**2 * np.eye(design.rank)
    return _posterior(design, b, G, N, c)


def _law(design: Design, counts: Floats, noise: float) -> Moments:
    """The law of the statistic under the contexts that came."""
    cells = design.layout.cells
    assert cells is not None
    return design.moments_under(cells.generator(counts, design.layout.count_noise(noise)))


def _posterior(design: Design, b: Floats, G: Floats, N: Floats, c: float) -> Posterior:
    U, L, k = design.features.U, design.features.L, design.problem.k
    R = linalg.cholesky(N)
    M = linalg.solve_upper(L, linalg.solve_lower(R, G).T).T
    best = fit(k, U, M, linalg.solve_lower(R, b), design.problem.dimension)
    v, K = best.scale, best.kernel(U, U)
    # f(U) ~ N(0, v K), z = M f(U) + noise:  gain = v K M' (I + v M K M')^-1;  weights = Kuu^-1 E[f(U)]
    S = linalg.cholesky(np.eye(len(b)) + v * M @ K @ M.T)
    half = linalg.solve_lower(S, v * M @ K)
    mean = half.T @ linalg.solve_lower(S, linalg.solve_lower(R, b))
    inverse = linalg.solve_upper(L, linalg.solve_lower(L, np.eye(len(L))))  # Kuu^-1
    covariance = v * K - half.T @ half
    return Posterior(
        weights=inverse @ mean,
        reduction=v * inverse - inverse @ covariance @ inverse,
        scale=v,
        energy=c,
        lengthscales=tuple(lengthscales(best.kernel)),
    )
