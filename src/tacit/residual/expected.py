"""What to expect of residuals, given what was released so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats, Rng
from tacit.decoder.context_law import ContextCounts, points_given
from tacit.decoder.decoding import added_square, by_people
from tacit.decoder.parts import ReleaseParts
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.residual.clipping import unclipped_variance
from tacit.residual.reward_law import NoiseEstimate, ReleasedRewards, ResidualLaw

LEAST_ERROR = 1e-6
POINTS = 4096
# What is not known of the square of the error of an earlier posterior, as a share of it.
UNSURE = 0.5


@dataclass(frozen=True, eq=False)
class Expected:
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


def expect(policy: Policy, problem: Problem, rng: Rng) -> Expected:
    """Of the residuals of a policy, for people like those in the data, played as `problem` says."""
    passes = by_people(policy.releases)[-1]
    points = _points(passes, problem, rng)
    posterior = policy.posterior
    error = max(float(np.mean(posterior.variance(points))), LEAST_ERROR**2) ** 0.5
    learned = posterior.reward(points)
    design = passes[-1].design
    epochs = [each for each in design.earlier if not each.is_prior]
    if problem is design.problem and not epochs:
        laws = released_rewards(passes[0]).laws()
        found = [ResidualLaw.of(law, learned, error) for law in laws]
        square = laws[0].mean_square
    else:
        first = epochs[0].rewards if epochs else released_rewards(passes[0])
        laws = first.laws()
        noise = _noise(policy, passes, rng)
        # The laws differ in their variance: the likeliest has the likeliest noise, and so on.
        variances = np.array([law.variance for law in laws])
        off = (variances - variances[0]) / max(float(variances[1:].std()), LEAST_ERROR)
        found = [
            ResidualLaw.of(law, learned, error, float(each))
            for law, each in zip(laws, noise.deviations(off), strict=True)
        ]
        square = float(np.mean(learned**2)) + error**2 + found[0].noise_variance
    return Expected(
        found,
        signal=math.hypot(error, float(np.std(learned))),
        error=error,
        rewards_square=square,
    )


def noise_estimates(
    policy: Policy, passes: Sequence[ReleaseParts], rng: Rng
) -> tuple[NoiseEstimate, ...]:
    """What the passes over the people of one epoch say of the noise in their rewards."""
    found = []
    first = passes[0]
    if first.adds_rewards:
        design = first.design
        points = _points(passes, design.problem, rng)
        posterior = policy.posterior
        explained = float(np.var(posterior.reward(points)) + np.mean(posterior.variance(points)))
        variances = np.array([law.variance for law in released_rewards(first).laws()])
        std = float(np.hypot(variances[1:].std(), UNSURE * np.mean(posterior.variance(points))))
        found.append(NoiseEstimate(float(variances[0]) - explained, max(std, LEAST_ERROR)))
    for parts in passes:
        residual = parts.design.residual
        if residual is None or parts.adds_rewards or parts.surprising:
            continue  # rewards, or residuals of a world that has changed
        r = residual.residual_clip
        square = added_square(parts)
        std = r**2 * parts.block_noise("square") / parts.records
        spread = [
            unclipped_variance(max(square + move, LEAST_ERROR), r) for move in (-std, 0.0, std)
        ]
        std = float(np.hypot((spread[2] - spread[0]) / 2.0, UNSURE * residual.error**2))
        found.append(NoiseEstimate(spread[1] - residual.error**2, max(std, LEAST_ERROR)))
    return tuple(found)


def _noise(policy: Policy, passes: Sequence[ReleaseParts], rng: Rng) -> NoiseEstimate:
    """What all epochs so far say of it."""
    earlier = [each for epoch in passes[-1].design.earlier for each in epoch.noise]
    return NoiseEstimate.pooled([*earlier, *noise_estimates(policy, passes, rng)])


def _points(passes: Sequence[ReleaseParts], problem: Problem, rng: Rng) -> Floats:
    """Joint points: contexts like those of the records, played as `problem` says."""
    design = passes[-1].design
    counts = ContextCounts.pooled(passes)
    points = None
    if counts is not None:
        points = points_given(design, counts)
    if points is None:
        return problem.public_points(POINTS, rng)
    points = rng.permutation(points)[:POINTS]
    if problem is design.problem:
        return points
    contexts = points[:, problem.actions.dimension :]
    return np.hstack([problem.draw_actions(contexts, rng), contexts])


def released_rewards(first: ReleaseParts) -> ReleasedRewards:
    """What is released of rewards, which only the first pass measures: later ones add residuals."""
    n = first.records
    histogram = first.sums.histogram
    square = first.sums.square
    if first.design.max_weight > 1.0:
        square = None  # a mean square of weighted rewards, for the noise in sums of them
    return ReleasedRewards(
        mean=first.mean,
        mean_noise=first.block_noise("mean") / n,
        mean_square=None if square is None else square / n,
        square_noise=first.block_noise("square") / n,
        histogram=None if histogram is None else histogram / n,
        histogram_noise=first.block_noise("histogram") / n,
    )
