"""Choosing `tau`: the regularisation that leaves the least posterior variance, predicted before any
data.

All of it happens in the eigenbasis of `Lambda = E[phi phi']`, where `Ztilde = T Lambda + tau I` is
diagonal.
"""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats
from tacit.design.features import moments

TAUS = tuple(float(tau) for tau in np.geomspace(1.0, 1000.0, 13))
CLIP_QUANTILE = 0.5


def predicted_variance(
    Phi: Floats,
    d: Floats,
    tau: float,
    *,
    horizon: int,
    multiplier: float,
    signal: float,
    noise: float,
    target: Floats | None = None,
) -> float:
    """Mean posterior variance of `f` if the study were run with this `tau`: over the public points,
    or over points with the second moment `target` of features.

    `Phi` are features in the eigenbasis, `d` the eigenvalues; `signal` and `noise` are standard
    deviations of the reward function and of the reward around it, in units of half the reward
    range.

        N = T (E f^2 + R^2) E[q_s q_s'] + (2 s m)^2 I
        V = v I - v^2 G'(v G G' + N)^-1 G,   G = T E[q_s phi']
    """
    v = signal**2
    T = horizon
    q = Phi / np.sqrt(T * d + tau)
    s = influence_quantile(q)
    found = moments(Phi, q, s)
    G = T * found.cross
    N = T * (signal**2 + noise**2) * found.square + (2.0 * s * multiplier) ** 2 * np.eye(len(d))
    S = v * G @ G.T + N
    if target is None:
        return float(v * d.sum() - v**2 * np.sum(G * np.linalg.solve(S, G * d)))
    return float(v * np.trace(target) - v**2 * np.sum(G * np.linalg.solve(S, G @ target)))


def influence_quantile(q: Floats) -> float:
    """The clip `s`: half of the public points lie above it.

    The predicted variance is flat below the median and rises above it: a few points of large
    influence would set the noise for everybody.
    """
    return float(np.quantile(np.linalg.norm(q, axis=1), CLIP_QUANTILE))


def choose_tau(
    Phi: Floats,
    d: Floats,
    *,
    horizon: int,
    multiplier: float,
    signal: float,
    noise: float,
    target: Floats | None = None,
) -> float:
    """The best of a fixed grid of `tau`."""
    return min(
        TAUS,
        key=lambda tau: predicted_variance(
            Phi,
            d,
            tau,
            horizon=horizon,
            multiplier=multiplier,
            signal=signal,
            noise=noise,
            target=target,
        ),
    )
