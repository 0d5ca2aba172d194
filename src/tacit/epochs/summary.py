"""What is kept of the releases about the people of one epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.decoder.context_law import ContextCounts
from tacit.decoder.decoding import added_square, by_people, observe
from tacit.decoder.parts import ReleaseParts, averaged
from tacit.decoder.users import lost_share, skew_of
from tacit.design.earlier import Earlier
from tacit.evaluation.arms import Arm, Comparison, read_arms
from tacit.policy import Policy
from tacit.policy.promise import promise_of
from tacit.policy.visitors import VISITORS, spread
from tacit.residual.expected import noise_estimates, released_rewards
from tacit.residual.reward_law import ReleasedRewards

SHOWN = 256  # visitors whose expected rewards are averaged
# The skew of what a record adds, times this, is the standard deviation of by how much means of arms
# are moved: all rounds of a user are in one length. In simulations of three and ten rounds a user
# they were moved by 2.6 to 3 times the skew, both arms alike.
SHIFTED = 2.5


def sum_up(policy: Policy, rng: Rng) -> Earlier:
    """All passes over the people of the last epoch of a policy, as later ones need them."""
    releases = policy.releases
    passes = by_people(releases)[-1]
    counts = ContextCounts.pooled(passes)
    observed = observe(passes, policy.posterior)
    return Earlier(
        people=releases[-1].people,
        records=passes[-1].records,
        observation=observed.rows,
        features=observed.features,
        rewards=released_rewards(passes[0]),
        noise=noise_estimates(policy, passes, rng),
        mean_square=added_square(passes[-1]),
        guarantee=promise_of(releases),
        retention=policy.posterior.retention,
        counts=None if counts is None else counts.counts,
        count_noise=0.0 if counts is None else counts.noise,
    )


def epoch_facts(policy: Policy, number: int) -> dict[str, Any]:
    """What the history of a study tells of an epoch: released numbers, in the user's units."""
    passes = by_people(policy.releases)[-1]
    told = released_rewards(passes[0])
    low, high = policy.problem.reward_range
    half = (high - low) / 2
    sampling = _reward_variance(passes[0], told) / passes[0].records
    return {
        "number": number,
        "mean_reward": (low + high) / 2 + half * told.mean,
        "mean_reward_std": half * math.sqrt(told.mean_noise**2 + sampling),
        "drift": 1.0 - policy.posterior.retention**2,
        "expected": float(np.mean(_expected(policy))),
    }


def compare_arms(policy: Policy, arms: Sequence[Arm]) -> Comparison:
    """What the arms of the last epoch of a policy earned, given what is public of them. All passes
    over its people released the same sums, with noise of their own."""
    passes = by_people(policy.releases)[-1]
    told = [
        (parts.sums.arms, parts.block_noise("arms"))
        for parts in passes
        if parts.sums.arms is not None
    ]
    if not told:
        return Comparison()
    sums, noise = averaged(told)
    unit = policy.releases[-1].design.unit
    # Nobody is shrunk by a pull where records are protected: it is 0 there.
    variance = _reward_variance(passes[0], released_rewards(passes[0]))
    pull = max(lost_share(parts, variance) for parts in passes)
    shift = SHIFTED * max(skew_of(parts, variance) for parts in passes)
    return read_arms(sums, noise, arms, unit, policy.problem.reward_range, pull, shift)


def _reward_variance(first: ReleaseParts, told: ReleasedRewards) -> float:
    """Of the rewards of an epoch. Where its records add residuals, their mean square says nothing
    of it, and that of the first epoch, whose play is wider, stands for it."""
    if not first.adds_rewards:
        told = next(each.rewards for each in first.design.earlier if not each.is_prior)
    if told.mean_square is None:
        return 1.0 - told.mean**2
    return max(told.mean_square - told.mean**2, 0.0)


def _expected(policy: Policy) -> Floats:
    """The rewards that a policy expects of its own decisions, for people like those in the data."""
    visitors = policy.visitors
    if visitors is None:
        visitors = spread(policy.problem.contexts, VISITORS)
    visitors = visitors[:SHOWN]
    points = np.hstack([policy.decide_points(visitors), visitors])
    return policy.problem.unscale_reward(policy.posterior.reward(points))
