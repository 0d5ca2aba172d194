"""The largest weight of a record of a log with propensities, chosen before any data.

A record counts with the weight `w = min(u / p, w_max)`, where `p` is its propensity and `u` the
density of uniform play. Noise hides the largest possible record, so it grows with `w_max`; below
`1 / e`, where the log explores uniformly in a share `e` of its rounds, what it tried besides its
usual choices is heard too softly. Nobody tells the share, so several are averaged over.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget
from tacit.design.choices import COARSE_RANK, TUNING_POINTS, choose_landmarks, noise_rho
from tacit.design.features import Features
from tacit.design.options import DesignOptions
from tacit.design.tuning import PredictedRelease, choose_tau
from tacit.numerics import linalg
from tacit.problem import Problem

MAX_WEIGHTS = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
USUAL_WEIGHT = 5.0  # for which `tau` is chosen while weights are compared
EXPLORE_SHARES = (0.5, 0.3, 0.2, 0.1)


def choose_max_weight(
    problem: Problem, horizon: int, budget: Budget, options: DesignOptions
) -> float:
    """`options.max_weight`, or the largest weight that leaves the least predicted error.

    The error is averaged over logs that play uniformly in a share of their rounds, and one narrow
    choice otherwise (see `predicted_error`). Public coins, the same every time.
    """
    if options.max_weight is not None:
        return float(options.max_weight)
    rng = np.random.default_rng(0)
    features = Features.on(problem.k, choose_landmarks(problem, 1.0 / horizon, COARSE_RANK, rng))
    Phi = features(problem.public_points(TUNING_POINTS, rng))
    d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
    d = np.maximum(d, 0.0)
    Phi = Phi @ V
    multiplier = 1.0 / math.sqrt(2.0 * noise_rho(budget))
    tau = options.tau
    if tau is None:
        tau = choose_tau(
            Phi,
            d,
            horizon=horizon,
            multiplier=USUAL_WEIGHT * multiplier,
            signal=options.signal,
            noise=options.noise,
        )
    release = PredictedRelease.of(
        Phi,
        d,
        tau,
        horizon=horizon,
        multiplier=multiplier,
        signal=options.signal,
        noise=options.noise,
    )
    v = options.signal**2

    def error(max_weight: float) -> float:
        errors = [predicted_error(release, d, v, max_weight, e) for e in EXPLORE_SHARES]
        return float(np.mean(errors))

    return min(MAX_WEIGHTS, key=error)


def predicted_error(
    release: PredictedRelease, d: Floats, v: float, max_weight: float, share: float
) -> float:
    """The mean square error of the posterior mean if this share of the log is uniform play. `d` are
    the eigenvalues, `v` the variance of the reward function.

    Uniform actions have the weight w = min(1 / e, w_max), the narrow choice none to speak of. So
    the sum is g G theta with g = e w, sampling noise has the factor E[w^2] = e w^2, and the
    decoder, which knows nothing of g, reads K b with K = v G'(v G G' + N)^-1. With M = K G:

        E |theta - K b|^2_D = v (tr D - (2 g - 1) tr D M - (1 - g^2) tr D M M')
    """
    G = release.G
    w = min(1.0 / share, max_weight)
    g = share * w
    N = share * w**2 * release.sampling + max_weight**2 * release.privacy * np.eye(len(d))
    M = v * np.linalg.solve(v * G @ G.T + N, G).T @ G
    heard = float(np.sum(d * np.diag(M)))
    squared = float(np.sum(d[:, None] * M * M))
    return v * (float(d.sum()) - (2 * g - 1) * heard - (1 - g**2) * squared)
