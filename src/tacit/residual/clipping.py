"""Where to clip residuals, and what clipping does to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

DEVIATIONS = 1.5  # residuals are clipped at so many of their expected standard deviations
WORTHWHILE = 0.9  # a residual clip above this share of the rewards' own range gains too little


@dataclass(frozen=True)
class Clip:
    """Where residuals are clipped, and what that leaves of a small shift."""

    residual_clip: float
    attenuation: float


REWARDS = Clip(1.0, 1.0)  # no residuals: records add their rewards once more, none of which is cut


def choose_clip(error: float, noise: float, mean_reward: float = 0.0) -> Clip:
    """The clip for residuals with these standard deviations: `error` of what is not learned yet,
    `noise` of rewards around the reward function.

    Where rewards are so noisy that residuals would hardly be smaller, the answer is `REWARDS`: two
    releases of the same sum are worth as much as one for the whole budget. Measured: a closer clip
    is better where privacy noise dominates, until at one deviation too much is cut off.
    `mean_reward` is not 0 where only advantages are learned; then it is part of the rewards' size.
    """
    residual_clip = DEVIATIONS * math.hypot(error, noise)
    if residual_clip >= WORTHWHILE * math.hypot(1.0, mean_reward):
        return REWARDS
    shift, _ = clipping(DEVIATIONS)
    return Clip(residual_clip, shift)


def clipping(deviations: float) -> tuple[float, float]:
    """What clipping a normal variable at so many standard deviations leaves of a small shift of its
    mean, and of its mean square."""
    inside = math.erf(deviations / math.sqrt(2.0))
    density = math.exp(-(deviations**2) / 2.0) / math.sqrt(2.0 * math.pi)
    square = inside - 2.0 * deviations * density + deviations**2 * (1.0 - inside)
    return inside, square
