"""Reading a released vector: everything after the release is free.

    bhat = G theta + e,   G = n E[q_s phi'],   Cov e = N = n c E[q_s q_s'] + (2 s m)^2 I,   c = E[reward^2]

With the prior f ~ GP(0, v k' + o) on the landmarks, f(U) = L theta, the posterior is Gaussian; `o` is the variance of
the level of all rewards together. The expectations are over the contexts that came, as far as the released counts tell;
`c` is released too; the scale `v`, the lengthscales of k' and its kind are chosen by the evidence of `bhat`. All of it
touches released numbers only.

Where records were compared with an earlier policy f1 = phi' theta1 and residuals clipped at `r`, the vector is about
what f1 got wrong, r bhat = G (theta - theta1) + r e, and what the earlier release said counts too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import linalg
from tacit.core import Released
from tacit.decoder.evidence import choose
from tacit.decoder.kinds import kinds
from tacit.design import Design, Moments, Seen
from tacit.kernels.ard import lengthscales
from tacit.tables import Floats

OFFSET = 0.25  # rewards are in [-1, 1]: the standard deviation of their level is half of that


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
    seen: Seen | None = None  # what was released, for a later look; not kept in files


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
    if (earlier := design.earlier) is None:
        return _posterior(design, _seen(b, G, N), c)
    r, theta1 = earlier.reach, design.features.L.T @ earlier.weights
    return _posterior(design, earlier.seen + _seen(r * b + G @ theta1, G, r**2 * N), r**2 * c)


def _seen(b: Floats, G: Floats, N: Floats) -> Seen:
    """b = G theta + noise of covariance N, whitened."""
    R = linalg.cholesky(N)
    return Seen(linalg.solve_lower(R, G), linalg.solve_lower(R, b))


def usca_weights(design: Design, released: Released) -> Floats:
    """USCA's own estimate mubar(w) = q(w)' bhat as weights on k_U(w): no prior, no law of contexts."""
    total, _, _ = design.layout.split(released.values / 2**released.bits)
    return np.asarray(design.influence_map.T @ (design.clip * total))


def _law(design: Design, counts: Floats, noise: float) -> Moments:
    """The law of the statistic under the contexts that came."""
    cells = design.layout.cells
    assert cells is not None
    return design.moments_under(cells, cells.laws(counts, design.layout.count_noise(noise)))


def _posterior(design: Design, seen: Seen, c: float) -> Posterior:
    U, L, k = design.features.U, design.features.L, design.problem.k
    M, z = linalg.solve_upper(L, seen.A.T).T, seen.z  # f(U) = L theta
    offset = 0.0 if design.problem.advantage else OFFSET
    kernels, actions = kinds(k, design.problem.dimension), design.problem.actions.dimension
    best = choose(kernels, U, M, z, offset, actions)
    v = best.scale
    K = v * best.kernel(U, U) + offset
    # f(U) ~ N(0, K), z = M f(U) + noise:  gain = K M' (I + M K M')^-1;  weights = Kuu^-1 E[f(U)]
    S = linalg.cholesky(np.eye(len(z)) + M @ K @ M.T)
    half = linalg.solve_lower(S, M @ K)
    mean = half.T @ linalg.solve_lower(S, z)
    inverse = linalg.solve_upper(L, linalg.solve_lower(L, np.eye(len(L))))  # Kuu^-1
    covariance = K - half.T @ half
    return Posterior(
        weights=inverse @ mean,
        reduction=v * inverse - inverse @ covariance @ inverse,
        scale=v,
        energy=c,
        lengthscales=tuple(lengthscales(best.kernel)),
        seen=seen,
    )
