"""A second pass at the same records: they tell what the first one got wrong (see
`tacit.design.earlier`).

A share of the budget buys a first policy. The rest buys a second one from the same records,
compared with the first: their residuals are smaller than their rewards, so they can be clipped
closer, and less noise hides them. Where rewards are too noisy for that, records say the same again:
nothing is lost by having looked twice.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core import Budget
from tacit.decoder import Read
from tacit.design import Design, Earlier
from tacit.design.earlier import WHOLE, reach_for
from tacit.errors import InputError, StateError
from tacit.numerics.engine import Engine
from tacit.policy import Policy
from tacit.progress import Progress, silent

QUIETEST = 0.05  # the least standard deviation of rewards that is reckoned with
POINTS = 4096


def refine(
    design: Design,
    policy: Policy,
    *,
    budget: Budget | None = None,
    rng: np.random.Generator | int | None = None,
    device: str | Engine | None = None,
    progress: Progress = silent,
) -> Design:
    """The design of a second pass, after `policy` was released from `design`. Public, like every
    design.

    It spends `budget`, by default what `Design.build(..., passes=2)` kept for it. Add the same
    records again: what they say in both passes is charged to the same ledger and adds up. Its coins
    follow from the first design unless `rng` is given.
    """
    if policy.released is None or not np.array_equal(policy.landmarks, design.features.U):
        raise StateError(
            "a second pass follows a release: pass the policy that this design's release returned."
        )
    if design.earlier is not None:
        raise InputError("this is a second pass already: there is no third one.")
    if not design.layout.energy_share:
        raise InputError(
            "a plain design knows nothing of the noise: build it without plain=True for a second "
            "look."
        )
    if (spend := budget or design.rest) is None:
        raise InputError(
            "nothing is left for a second pass: build the design with passes=2, or pass a budget."
        )
    coins = rng if rng is not None else np.random.default_rng(int(design.fingerprint, 16))
    signal, error, noise = _expected(policy, Read.of(design, policy.released), coins)
    first = policy.posterior
    reach, gain = found = reach_for(error, noise, first.level)
    weights, level, told = (
        (first.weights, first.level, error)
        if found != WHOLE
        else (0.0 * first.weights, 0.0, signal)
    )
    return Design.build(
        design.problem,
        horizon=design.horizon,
        budget=spend,
        rng=coins,
        unit=design.unit,
        landmarks=design.features.U,
        signal=told / reach,
        noise=noise / reach,
        context_share=design.layout.context_share,
        device=device,
        earlier=Earlier(weights, level, reach, gain, policy.guarantee, design, policy.released),
        progress=progress,
    )


def _expected(
    policy: Policy, read: Read, rng: np.random.Generator | int
) -> tuple[float, float, float]:
    """Standard deviations, as far as is known: of the reward function, of the policy's error, of
    rewards around both.

    The mean square of the rewards is that of the noise, of their level, of what the policy has
    learned, and of what it has not. All of it is about who came, as far as that is known.
    """
    design = read.design
    rng = np.random.default_rng(rng)
    came = (
        None
        if read.counts is None
        else design.points_given(read.counts, read.count_noise, read.records)
    )
    points = (
        design.problem.public_points(POINTS, rng)
        if came is None
        else rng.permutation(came)[:POINTS]
    )
    variance = float(np.mean(policy._variance(points)))
    known = variance + float(np.mean(policy._mean(points) ** 2))
    noise = read.c - read.level**2 - known
    return math.sqrt(known), math.sqrt(variance), math.sqrt(max(noise, QUIETEST**2))
