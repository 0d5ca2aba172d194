"""What records of a residual pass add to the sum instead of their rewards."""

from __future__ import annotations

from dataclasses import dataclass

from tacit._typing import Floats


@dataclass(frozen=True, eq=False)
class Residual:
    """Records add `clip((y - mean_reward - k_U(w)' weights) / residual_clip, -1, 1)`.

    `weights` are those of the posterior mean of the releases so far. All numbers are in units of
    half the reward range.
    """

    weights: Floats
    mean_reward: float
    residual_clip: float
    attenuation: float  # what clipping leaves of a small shift of the residuals
