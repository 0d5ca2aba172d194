"""What the releases of a study will be like, pass by pass, before any data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tacit._typing import Floats
from tacit.decoder.observations import LinearObservation
from tacit.design.allocation import allocate, ridge_amplitudes
from tacit.design.choices import COARSE_RANK, TUNING_POINTS
from tacit.design.options import DesignOptions
from tacit.design.tuning import choose_tau, influence_quantile
from tacit.planning.learner import Learner
from tacit.residual import REWARDS, choose_clip, clipping


class Influences(NamedTuple):
    """q = a phi in the eigenbasis, and where they are clipped. Landmarks are chosen by `tau`."""

    tau: float
    amplitudes: Floats
    clip: float


class Releases(NamedTuple):
    """Influences in the first pass; all passes with and without privacy noise."""

    influences: Influences
    private: list[LinearObservation]
    exact: list[LinearObservation]


def expected_releases(
    learner: Learner,
    rounds: int,
    multipliers: Sequence[float],
    options: DesignOptions,
    max_weight: float,
    ridge: bool = False,
) -> Releases:
    """What the release of each pass will be like, with and without privacy noise. `multipliers` are
    those of the noise of each pass, `max_weight` the largest weight of a record; `ridge` is for the
    influences of the paper."""
    noise = options.noise
    signal = options.signal
    residual = REWARDS
    kept = 1.0
    private: list[LinearObservation] = []
    exact: list[LinearObservation] = []
    tuned: list[Influences] = []
    for multiplier in multipliers:
        if private:  # a residual pass: records add what the passes before it left unexplained
            error = learner.unexplained(private)
            residual = choose_clip(error, noise)
            signal = options.signal if residual == REWARDS else error
            kept = 1.0
            if residual != REWARDS:
                _, kept = clipping(residual.residual_clip / math.hypot(signal, noise))
        r = residual.residual_clip
        found = _tuned(learner, rounds, multiplier, signal / r, noise / r, ridge)
        tuned.append(found)
        mean_square = max_weight * kept * (signal**2 + noise**2)
        sigmas = [2.0 * found.clip * r * multiplier, 0.0]
        noisy, without = learner.observations(
            rounds,
            found.amplitudes,
            found.clip,
            mean_square,
            residual.attenuation,
            sigmas,
            residual == REWARDS,
        )
        private.append(noisy)
        exact.append(without)
    return Releases(tuned[0], private, exact)


def _tuned(
    learner: Learner, rounds: int, multiplier: float, signal: float, noise: float, ridge: bool
) -> Influences:
    top = slice(-COARSE_RANK, None)  # tau hardly depends on the small eigenvalues
    tau = choose_tau(
        learner.Phi[:TUNING_POINTS, top],
        learner.d[top],
        horizon=rounds,
        multiplier=multiplier,
        signal=signal,
        noise=noise,
    )
    if ridge:
        a = ridge_amplitudes(learner.d, rounds, tau)
    else:
        a = allocate(
            learner.d,
            learner.target,
            horizon=rounds,
            multiplier=multiplier,
            variance=signal**2,
            mean_square=signal**2 + noise**2,
        )
    return Influences(tau, a, influence_quantile(learner.Phi * a))
