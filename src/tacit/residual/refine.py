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
from tacit.residual.clipping import ClippedResiduals, clip_residuals
from tacit.residual.reward_law import ResidualLaw, ToldRewards
from tacit.residual.target import Residual

LEAST_ERROR = 1e-6
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
    passes = by_people(policy.releases)[-1]
    posterior = policy.posterior
    expected = _expected(posterior, passes, coins)
    clipped = _clipped(expected, passes, spend)
    if clipped is None:
        signal = expected.signal
        residual = Residual.rewards_of(posterior.rank)
    else:
        signal = expected.error
        residual = Residual(
            posterior.weights, posterior.level, clipped.residual_clip, clipped.response
        )

    options = DesignOptions(
        signal=signal / residual.residual_clip,
        noise=expected.noise / residual.residual_clip,
        device=device,
    )
    return design.build_next(
        policy.releases, residual, budget=spend, rng=coins, options=options, progress=progress
    )


@dataclass(frozen=True, eq=False)
class _Expected:
    """What to expect of residuals: laws that they may have, the likeliest first; and standard
    deviations of the reward function around its level, and of the policy's error."""

    laws: list[ResidualLaw]
    signal: float
    error: float
    rewards_square: float

    @property
    def noise(self) -> float:
        """The standard deviation of rewards around the reward function."""
        return math.sqrt(self.laws[0].noise_variance)


def _expected(posterior: Posterior, passes: Sequence[ReleaseParts], rng: Rng) -> _Expected:
    """What is known of them, over the contexts that came."""
    design = passes[-1].design
    counts = ContextCounts.pooled(passes)
    points = None
    if counts is not None:
        points = points_given(design, counts)
    if points is None:
        points = design.problem.public_points(POINTS, rng)
    else:
        points = rng.permutation(points)[:POINTS]
    error = max(float(np.mean(posterior.variance(points))), LEAST_ERROR**2) ** 0.5
    learned = posterior.reward(points)
    laws = _told_rewards(passes[0]).laws()
    return _Expected(
        [ResidualLaw.of(law, learned, error) for law in laws],
        signal=math.hypot(error, float(np.std(learned))),
        error=error,
        rewards_square=laws[0].mean_square,
    )


def _told_rewards(first: ReleaseParts) -> ToldRewards:
    """What is released of rewards, which only the first pass measures: later ones add residuals."""
    n = first.records
    histogram = first.sums.histogram
    square = first.sums.square
    if first.design.max_weight > 1.0:
        square = None  # a mean square of weighted rewards, for the noise in sums of them
    return ToldRewards(
        mean=first.mean,
        mean_noise=first.block_noise("mean") / n,
        mean_square=None if square is None else square / n,
        square_noise=first.block_noise("square") / n,
        histogram=None if histogram is None else histogram / n,
        histogram_noise=first.block_noise("histogram") / n,
    )


def _clipped(
    expected: _Expected, passes: Sequence[ReleaseParts], budget: Budget
) -> ClippedResiduals | None:
    """Where the next pass clips residuals, as far as the releases so far say what they are like."""
    last = passes[-1]
    sampling = last.records * last.design.moments.square[:-1, :-1]  # without that of the mean
    typical = float(np.sum(sampling**2) / np.trace(sampling))
    cheaper = last.design.budget.gaussian / budget.gaussian
    privacy = cheaper * last.influence_noise**2
    return clip_residuals(expected.laws, expected.rewards_square, typical, privacy)
