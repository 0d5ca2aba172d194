"""Reading a released vector: everything after the release is free.

    bhat = G theta + e,   G = n E[q_s phi'],   Cov e = N = n c E[q_s q_s'] + (2 s m)^2 I,   c =
    E[reward^2]

With the prior f ~ GP(0, v k' + o) on the landmarks, f(U) = L theta, the posterior is Gaussian; `o`
is the variance of the level of all rewards together. The expectations are over the contexts that
came, as far as the released counts tell; `c` is released too; the scale `v`, the lengthscales of k'
and its kind are chosen by the evidence of `bhat`. All of it touches released numbers only.

Where records were compared with an earlier policy f1 = phi' theta1 and residuals clipped at `r`,
the vector is about what f1 got wrong, r bhat = g G (theta - theta1) + r e, and what the earlier
release said counts too.

Where only advantages are learned, rewards have a level `m` besides: clipped influences are not
centred over the actions any more, so it leaves m n E[q_s] in the vector, which is taken out. The
level is released for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.core import Released
from tacit.decoder.evidence import choose
from tacit.decoder.kinds import kinds
from tacit.design import Design, Moments
from tacit.design.earlier import shared_noise
from tacit.kernels.ard import action_lengthscales, lengthscales
from tacit.numerics import linalg

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
    level: float = 0.0  # of rewards, where f is an advantage


@dataclass(frozen=True, eq=False)
class Seen:
    """What releases say about f = phi' theta:  z = A theta + unit noise."""

    A: Floats
    z: Floats

    def __add__(self, other: Seen) -> Seen:
        """Both, in as many rows as one: rotating observations of unit noise changes nothing."""
        Q, R = np.linalg.qr(np.vstack([self.A, other.A]))
        return Seen(R, Q.T @ np.concatenate([self.z, other.z]))


@dataclass(frozen=True, eq=False)
class Read:
    """A released vector, taken apart: the sum of q_s y, counts of contexts, mean and mean square of
    y, and noise."""

    design: Design
    records: int
    b: Floats
    counts: Floats | None
    count_noise: float
    level: float
    level_noise: float
    c: float
    sigma: float

    @classmethod
    def of(cls, design: Design, released: Released) -> Read:
        unit = 1.0 / 2**released.bits
        noise = released.scale * unit
        # nobody may have come
        layout = design.layout
        n = max(1, released.records)
        s = design.clip
        total, counts, level, energy = layout.split(released.values * unit)
        return cls(
            design,
            n,
            s * total,
            counts,
            count_noise=0.0 if counts is None else layout.count_noise(noise),
            level=0.0 if level is None else float(np.clip(level / n, -1.0, 1.0)),
            level_noise=0.0 if level is None else noise / np.sqrt(layout.level_share) / n,
            c=0.2 if energy is None else float(np.clip(energy / n, 0.01, 1.0)),
            sigma=s * noise / np.sqrt(layout.influence_share),
        )

    def told(self, law: Moments) -> Told:
        """b = G theta + e; in a second pass r b = g G (theta - theta1) + r e, `g` what clipping
        leaves of residuals."""
        G = self.records * law.signal
        N = self.records * self.c * law.energy + self.sigma**2 * np.eye(len(self.b))
        leak = self.records * law.mean
        b = self.b - self.level * leak
        N = N + self.level_noise**2 * np.outer(leak, leak)
        if (earlier := self.design.earlier) is None:
            return Told(b, G, N, self.c)
        theta1 = self.design.features.L.T @ earlier.weights
        r = earlier.reach
        G = earlier.gain * G
        return Told(r * b + G @ theta1, G, r**2 * N, r**2 * self.c)


@dataclass(frozen=True, eq=False)
class Told:
    """b = G theta + e, Cov e = N, of which n c E[q_s q_s'] is from who came and how noisy their
    rewards were."""

    b: Floats
    G: Floats
    N: Floats
    c: float

    def seen(self) -> Seen:
        R = linalg.cholesky(self.N)
        return Seen(linalg.solve_lower(R, self.G), linalg.solve_lower(R, self.b))

    def beside(self, first: Told, X: Floats) -> Told:
        """What this tells that `first` did not: with Cov(e1, e) = X it is b - X'N1^-1 b1, whose
        noise is its own."""
        R = linalg.cholesky(first.N)
        half = linalg.solve_lower(R, X)
        b, G = (linalg.solve_lower(R, known) for known in (first.b, first.G))
        return Told(self.b - half.T @ b, self.G - half.T @ G, self.N - half.T @ half, self.c)


def decode(design: Design, released: Released) -> Posterior:
    """The noise-aware Gaussian posterior."""
    reads = [Read.of(design, released)]
    earlier = design.earlier
    if earlier is not None:
        reads.insert(0, Read.of(earlier.design, earlier.released))
    laws = _laws(reads)
    told = [read.told(law) for read, law in zip(reads, laws, strict=True)]
    seen = told[0].seen()
    if len(told) == 2:
        n = reads[1].records
        shared = shared_noise((told[0].c, told[1].c), (n * laws[0].energy, n * laws[1].energy))
        seen += told[1].beside(told[0], shared).seen()
    return _posterior(design, seen, told[-1].c, reads[0].level)


def _laws(reads: Sequence[Read]) -> list[Moments]:
    """The law of each statistic under the contexts that came. Both passes counted the same people:
    counts are pooled."""
    counted = [read for read in reads if read.counts is not None]
    if not counted:
        return [read.design.moments for read in reads]
    weights = np.array([read.count_noise**-2 for read in counted])
    counts = sum(w * read.counts for w, read in zip(weights, counted, strict=True)) / weights.sum()
    noise = float(weights.sum() ** -0.5)
    return [
        r.design.moments if r.counts is None else r.design.moments_given(counts, noise, r.records)
        for r in reads
    ]


def usca_weights(design: Design, released: Released) -> Floats:
    """USCA's own estimate mubar(w) = q(w)' bhat as weights on k_U(w): no prior, no law of contexts."""
    total, *_ = design.layout.split(released.values / 2**released.bits)
    return np.asarray(design.influence_map.T @ (design.clip * total))


def _posterior(design: Design, seen: Seen, c: float, level: float) -> Posterior:
    U = design.features.U
    L = design.features.L
    k = design.problem.k
    # f(U) = L theta
    M = linalg.solve_upper(L, seen.A.T).T
    z = seen.z
    offset = 0.0 if design.problem.advantage else OFFSET
    kernels = kinds(k, design.problem.dimension)
    actions = action_lengthscales(kernels[0], design.problem.actions.dimension)
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
        level=level,
    )
