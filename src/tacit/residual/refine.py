"""The design of another pass over the same records, made from what was released of them so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Rng
from tacit.core import Budget
from tacit.decoder.context_law import ContextCounts, points_given
from tacit.decoder.decoding import by_people
from tacit.decoder.parts import ReleaseParts
from tacit.decoder.posterior import Posterior
from tacit.design import Design, DesignOptions
from tacit.errors import InputError, StateError
from tacit.numerics.engine import Engine
from tacit.policy import Policy
from tacit.progress import Progress, silent
from tacit.residual.clipping import REWARDS, choose_clip
from tacit.residual.target import Residual

LEAST_ERROR = 1e-6
LEAST_NOISE = 0.05  # the least standard deviation of rewards around the reward function
POINTS = 4096


def refine(
    policy: Policy,
    *,
    budget: Budget | None = None,
    rng: np.random.Generator | int | None = None,
    device: str | Engine | None = None,
    progress: Progress = silent,
) -> Design:
    """The design of the next pass over the records that `policy` was released from. Public.

    In that pass records add what the policy got wrong (see `tacit.residual`). Add all of the same
    records to its statistic and release it: both releases are charged to the ledger, and the
    decoder uses them together. It spends `budget`, by default what `Design.build(..., passes=2)`
    kept for it. Its coins follow from the design before it unless `rng` is given.
    """
    if not policy.releases:
        raise StateError(
            "another pass follows a release: pass the policy that a release returned, not one from "
            "a file."
        )
    last = policy.releases[-1]
    design = last.design
    if not design.layout.square_share:
        raise InputError(
            "a plain design says nothing of the noise of rewards: build it without plain=True for "
            "another pass."
        )
    spend = budget or design.next_budget
    if spend is None:
        raise InputError(
            "nothing is left for another pass: build the design with more passes, or pass a budget."
        )
    coins = np.random.default_rng(int(design.fingerprint, 16) if rng is None else rng)
    expected = _expected(policy.posterior, by_people(policy.releases)[-1], coins)
    posterior = policy.posterior
    clip = choose_clip(expected.error, expected.noise, posterior.mean_reward)
    if clip == REWARDS:
        signal = expected.signal
        residual = Residual(0.0 * posterior.weights, 0.0, clip.residual_clip, clip.attenuation)
    else:
        signal = expected.error
        residual = Residual(
            posterior.weights, posterior.mean_reward, clip.residual_clip, clip.attenuation
        )
    options = DesignOptions(
        signal=signal / clip.residual_clip,
        noise=expected.noise / clip.residual_clip,
        device=device,
    )
    return design.build_next(
        policy.releases, residual, budget=spend, rng=coins, options=options, progress=progress
    )


@dataclass(frozen=True)
class _Deviations:
    """Expected standard deviations of the reward function, of the policy's error, and of rewards
    around the reward function."""

    signal: float
    error: float
    noise: float


def _expected(posterior: Posterior, passes: Sequence[ReleaseParts], rng: Rng) -> _Deviations:
    """What is known of the three, over the contexts that came.

    The mean square of the rewards is that of their mean, of the noise, of what the policy has
    learned, and of what it has not. Only the first pass measures it: later ones add residuals.
    """
    first = passes[0]
    design = passes[-1].design
    counts = ContextCounts.pooled(passes)
    points = None
    if counts is not None:
        points = points_given(design, counts)
    if points is None:
        points = design.problem.public_points(POINTS, rng)
    else:
        points = rng.permutation(points)[:POINTS]
    error = max(float(np.mean(posterior.variance(points))), LEAST_ERROR**2)
    signal = error + float(np.mean(posterior.mean(points) ** 2))
    # Of weighted records the mean of (w y)^2 was released, which is at most w_max times that of
    # rewards under uniform play, and close to it where most of what was explored is rare.
    square = first.mean_square / first.design.max_weight
    noise = max(square - first.mean_reward**2 - signal, LEAST_NOISE**2)
    return _Deviations(math.sqrt(signal), math.sqrt(error), math.sqrt(noise))
