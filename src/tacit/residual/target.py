"""What records of a residual pass add to the sum instead of their rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats

UNKNOWN = 0.25  # of a clip: the standard deviation of what is not known of the mean after clipping
WHOLE = 0.999  # of a shift is left where nothing is cut off
LEAST_STD = 0.01  # of a step of the offsets
# Gauss-Hermite points and weights for a normal variable
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True, eq=False)
class Response:
    """The mean of residuals after clipping, where the mean reward is one of `means` and residuals
    have one of `offsets` as their own mean before it.

    It follows from the law of rewards, which depends on their mean: rare rewards are skewed. It is
    not linear in the offset, and the decoder needs a straight line: `line` is the one that fits
    best where offsets are normal. `offset` and `error` are the mean and the standard deviation of
    offsets as they were expected when residuals were planned.
    """

    means: Floats  # evenly spaced
    offsets: Floats  # evenly spaced, around 0; beyond them the mean is at the clip
    kept: Floats  # (means, offsets)
    offset: float = 0.0
    error: float = 0.0

    def line(
        self, prediction: Floats, offset: Floats | float, std: Floats | float
    ) -> tuple[Floats, Floats]:
        """Slope, and the value at an offset of 0, of the line for offsets with this mean and
        standard deviation, where the releases before expect a reward of `prediction`.

        It is the linear regression of the mean after clipping on the offset (statistical
        linearisation).
        """
        std = np.maximum(std, LEAST_STD * self._step)
        slope = np.zeros_like(prediction)
        value = np.zeros_like(prediction)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            moved = offset + std * node
            kept = self._interpolated(prediction + moved, moved)
            slope += weight * node * kept / std
            value += weight * kept
        return slope, value - slope * offset

    def at(self, prediction: Floats) -> tuple[Floats, Floats]:
        """The line for offsets as they were expected."""
        if self.is_whole:
            return np.ones_like(prediction), np.zeros_like(prediction)
        return self.line(prediction, self.offset, self.error)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut off."""
        return len(self.offsets) < 2

    @cached_property
    def least_slope(self) -> float:
        """The least that clipping is expected to leave of a small shift."""
        return float(self.at(self.means - self.offset)[0].min())

    @property
    def _step(self) -> float:
        return float(self.offsets[1] - self.offsets[0])

    def _interpolated(self, mean: Floats, offset: Floats) -> Floats:
        i, u = _between(self.means, mean)
        j, v = _between(self.offsets, offset)
        low = (1.0 - v) * self.kept[i, j] + v * self.kept[i, j + 1]
        high = (1.0 - v) * self.kept[i + 1, j] + v * self.kept[i + 1, j + 1]
        return np.asarray((1.0 - u) * low + u * high)

    @classmethod
    def whole(cls) -> Response:
        """Nothing is cut off."""
        return cls(np.zeros(1), np.zeros(1), np.zeros((1, 1)))

    @classmethod
    def straight(cls, means: Floats, slope: Floats, value: Floats) -> Response:
        """A line for each mean reward, whatever the offsets are."""
        if len(means) < 2:
            return cls.whole()
        offsets = np.array([-1.0, 1.0])
        return cls(means, offsets, value[:, None] + slope[:, None] * offsets)


def _between(grid: Floats, x: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The place of the last point of an even grid that is not above `x`, and how far `x` is on the
    way to the next one; ends of the grid stand for what is beyond."""
    steps = np.clip((x - grid[0]) / (grid[1] - grid[0]), 0.0, len(grid) - 1.0)
    place = np.minimum(steps.astype(np.intp), len(grid) - 2)
    return place, steps - place


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
        if self.response.least_slope > WHOLE:
            return 0.0
        return UNKNOWN * self.residual_clip

    @property
    def rewards(self) -> bool:
        """Whether records add their rewards once more."""
        return self.level == 0.0 and not self.weights.any()

    def facts(self) -> dict[str, float]:
        """As plain data, without its arrays."""
        return {
            "level": self.level,
            "residual_clip": self.residual_clip,
            "error": self.error,
            "deviation": self.deviation,
            "offset": self.response.offset,
            "offset_error": self.response.error,
        }

    def arrays(self) -> dict[str, Floats]:
        """What goes with `facts()`."""
        return {
            "residual_weights": self.weights,
            "residual_means": self.response.means,
            "residual_offsets": self.response.offsets,
            "residual_kept": self.response.kept,
        }

    @classmethod
    def restore(cls, facts: dict[str, float], arrays: dict[str, Floats]) -> Residual:
        """The inverse of `facts()` and `arrays()`. Designs of earlier versions have a line for each
        mean reward."""
        numbers = dict(facts)
        offset = numbers.pop("offset", 0.0)
        error = numbers.pop("offset_error", 0.0)
        if "residual_response" in arrays:
            response = Response.straight(*arrays["residual_response"])
        else:
            response = Response(
                arrays["residual_means"],
                arrays["residual_offsets"],
                arrays["residual_kept"],
                offset,
                error,
            )
        return cls(arrays["residual_weights"], response=response, **numbers)
