"""What records of a residual pass add to the sum instead of their rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats

UNKNOWN = 0.25  # of a clip: the standard deviation of what is not known of the mean after clipping
WHOLE = 0.999  # of a shift is left where nothing is cut off


@dataclass(frozen=True, eq=False)
class Response:
    """What clipping leaves of residuals, where the releases so far expect a reward.

    `attenuation` is what it leaves of a small shift of the residuals, and `shift` is their mean
    after it where they had none before. Both follow from the law of rewards, which depends on
    their mean: rare rewards are skewed.
    """

    predictions: Floats  # increasing
    attenuation: Floats
    shift: Floats

    def at(self, prediction: Floats) -> tuple[Floats, Floats]:
        """Attenuation and shift, interpolated."""
        attenuation = np.interp(prediction, self.predictions, self.attenuation)
        return attenuation, np.interp(prediction, self.predictions, self.shift)

    @classmethod
    def whole(cls) -> Response:
        """Nothing is cut off."""
        return cls(np.zeros(1), np.ones(1), np.zeros(1))


@dataclass(frozen=True, eq=False)
class Residual:
    """Records add `clip((y - level - k_U(w)' weights) / residual_clip, -1, 1)`.

    `weights` and `level` are those of the posterior mean of the releases so far. All numbers are in
    units of half the reward range.
    """

    weights: Floats
    level: float
    residual_clip: float
    response: Response
    # Standard deviations that were expected when it was made: of what was not known, and the
    # largest of residuals that could be. Both are 0 where records add their rewards.
    error: float = 0.0
    deviation: float = 0.0

    @classmethod
    def rewards_of(cls, rank: int) -> Residual:
        """Records add their rewards once more, from which nothing is taken."""
        return cls(np.zeros(rank), 0.0, 1.0, Response.whole())

    @property
    def offset_std(self) -> float:
        """The standard deviation of what is not known of the mean that clipping leaves."""
        if self.response.attenuation.min() > WHOLE:
            return 0.0
        return UNKNOWN * self.residual_clip

    @property
    def rewards(self) -> bool:
        """Whether records add their rewards once more."""
        return self.level == 0.0 and not self.weights.any()
