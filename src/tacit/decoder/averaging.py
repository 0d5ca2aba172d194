"""The posterior of the reward function, averaged over what the released vector leaves open.

With one scale for the reward function, intervals say what would be known if that scale were. Where
a release says little, many scales explain it, among them some so small that nothing matters; the
posterior is the average over all of them, weighted by how well they explain the release. For one
kernel this costs one decomposition, whatever the number of scales: in the eigenvectors of what the
kernel makes of the release, every scale has a diagonal covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from tacit._typing import Floats
from tacit.decoder.evidence import SCALE_GUESS, SCALE_WIDTH, Level
from tacit.numerics import linalg

# Scales to average over: from those of which no study would see anything to that of rewards in
# [-1, 1] themselves.
SCALES = np.geomspace(1e-8, 1.0, 65)


@dataclass(frozen=True, eq=False)
class Belief:
    """Mean and covariance of the level `l` and of g(U); g has the prior variance `scale` k."""

    level: float
    mean: Floats
    level_variance: float
    level_covariance: Floats
    covariance: Floats
    scale: float
    evidence: float  # log density of the release


def over_scales(
    K: Floats, M: Floats, z: Floats, level: Level, scales: Floats | None = None
) -> Belief:
    """(l, g(U)) given z = a l + M g(U) + unit noise, averaged over scales v: g(U) ~ N(0, v K).

    With B = I + o a a' and B^-1/2 M K M' B^-1/2 = V diag(s) V', z has the covariance
    B^1/2 V diag(1 + v s) V' B^1/2 at scale v.
    """
    scales = SCALES if scales is None else scales
    a = level.a
    o = level.variance
    size = float(a @ a)
    shrunk = np.expm1(-0.5 * np.log1p(o * size)) / max(size, np.finfo(float).tiny)

    def rooted(x: Floats) -> Floats:
        """B^-1/2 x"""
        return np.asarray(x + shrunk * np.multiply.outer(a, a @ x))

    M = rooted(M)
    s, V = linalg.eigh(M @ K @ M.T)
    s = np.maximum(s, 0.0)
    zeta = V.T @ rooted(z)
    H = V.T @ M @ K
    h = o * V.T @ rooted(a)

    v = scales[:, None]
    spread = 1.0 + v * s  # (scales, directions)
    evidence = -0.5 * np.sum(zeta**2 / spread + np.log(spread), axis=1)
    evidence += _scale_prior(scales)
    total = float(logsumexp(evidence))
    p = np.exp(evidence - total)

    steps = v * zeta / spread  # E[g(U)] = H' steps at each scale
    mean_step = p @ steps
    apart = np.sqrt(p)[:, None] * (steps - mean_step)
    levels = (zeta / spread) @ h
    mean_level = float(p @ levels)
    within = p @ (v**2 / spread)
    scale = float(p @ scales)
    between = apart @ H
    covariance = scale * K - (H.T * within) @ H + between.T @ between
    beside = H.T @ (apart.T @ (np.sqrt(p) * (levels - mean_level)) - (p @ (v / spread)) * h)
    variance = o - float((p @ (1.0 / spread)) @ h**2) + float(p @ (levels - mean_level) ** 2)
    return Belief(mean_level, H.T @ mean_step, max(variance, 0.0), beside, covariance, scale, total)


def mixture(found: Sequence[Belief], logs: Sequence[float]) -> Belief:
    """The moments of several posteriors taken together, with these log weights."""
    p = np.exp(np.asarray(logs) - logsumexp(logs))
    level = float(p @ [each.level for each in found])
    mean = np.asarray(p @ np.array([each.mean for each in found]))
    level_variance = 0.0
    level_covariance = np.zeros_like(mean)
    covariance = np.zeros((len(mean), len(mean)))
    for weight, each in zip(p, found, strict=True):
        off = each.mean - mean
        level_off = each.level - level
        level_variance += weight * (each.level_variance + level_off**2)
        level_covariance += weight * (each.level_covariance + level_off * off)
        covariance += weight * (each.covariance + np.outer(off, off))
    scale = float(p @ [each.scale for each in found])
    evidence = float(logsumexp(logs))
    return Belief(level, mean, level_variance, level_covariance, covariance, scale, evidence)


def _scale_prior(scales: Floats) -> Floats:
    """Log probabilities of the scales."""
    found = -0.5 * ((np.log(scales) - np.log(SCALE_GUESS)) / SCALE_WIDTH) ** 2
    return np.asarray(found - logsumexp(found))
