"""Choosing `tau`: the ridge that leaves the least posterior variance, predicted before any data.

The paper's influences have it; in every design landmarks are as many as it leaves of use.

All of it happens in the eigenbasis of `Lambda = E[phi phi']`, where `Ztilde = T Lambda + tau I` is
diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.design.allocation import ridge_amplitudes

TAUS = tuple(float(tau) for tau in np.geomspace(1.0, 1000.0, 13))
CLIP_QUANTILE = 0.5
NEGLIGIBLE = 1e-9  # of the largest influence: points with less are like no landmark


@dataclass(frozen=True, eq=False)
class PredictedRelease:
    """What a release of so many rounds would tell of the weights `theta` of the reward function.

    b = G theta + noise,   Cov(noise) = sampling + privacy I
    G = T E[q_s phi'],   sampling = T (E f^2 + R^2) E[q_s q_s'],   privacy = (2 s m)^2
    """

    G: Floats
    sampling: Floats
    privacy: float

    @classmethod
    def of(
        cls,
        Phi: Floats,
        d: Floats,
        tau: float,
        *,
        horizon: int,
        multiplier: float,
        signal: float,
        noise: float,
    ) -> PredictedRelease:
        """`Phi` are features in the eigenbasis, `d` the eigenvalues; `signal` and `noise` are
        standard deviations of the reward function and of the reward around it, in units of half
        the reward range."""
        T = horizon
        a = ridge_amplitudes(d, T, tau)
        q = Phi * a
        norm = np.sqrt(np.vecdot(q, q))
        s = _clip(norm)
        weight = (s / np.maximum(norm, s))[:, None]  # min(1, s / |q|)
        qs = q * weight
        # q_s phi' = D^-1 (w phi phi'): a product of a matrix with itself takes half the time
        root = Phi * np.sqrt(weight)
        return cls(
            G=T * (root.T @ root) / len(q) * a[:, None],
            sampling=T * (signal**2 + noise**2) * (qs.T @ qs) / len(q),
            privacy=(2.0 * s * multiplier) ** 2,
        )


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
    """Mean posterior variance of `f` if the study were run with this `tau`, which would give a
    `PredictedRelease`: over the public points, or over points with the second moment `target` of
    features.

        V = v I - v^2 G'(v G G' + N)^-1 G,   N = sampling + privacy I
    """
    v = signal**2
    release = PredictedRelease.of(
        Phi, d, tau, horizon=horizon, multiplier=multiplier, signal=signal, noise=noise
    )
    G = release.G
    S = v * G @ G.T + (release.sampling + release.privacy * np.eye(len(d)))
    if target is None:
        return float(v * d.sum() - v**2 * np.sum(G * np.linalg.solve(S, G * d)))
    return float(v * np.trace(target) - v**2 * np.sum(G * np.linalg.solve(S, G @ target)))


def influence_quantile(q: Floats) -> float:
    """The clip `s`: half of the public points that have any influence lie above it.

    The predicted variance is flat below the median and rises above it: a few points of large
    influence would set the noise for everybody. Points of no influence are those that are like no
    landmark at all, as labels of which none is one: they add nothing, whatever the clip is. If they
    counted, and were more than half, the clip would be 0, and nobody would add anything.
    """
    return _clip(np.linalg.norm(q, axis=1))


def _clip(norm: Floats) -> float:
    """The same, of norms of influences."""
    norm = norm[norm > NEGLIGIBLE * norm.max(initial=0.0)]
    if not norm.size:
        return 1.0  # nobody adds anything, and any clip will do
    return float(np.quantile(norm, CLIP_QUANTILE))


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
