"""Where to clip residuals, and what clipping does to them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.residual.reward_law import ResidualLaw
from tacit.residual.target import Response

DEVIATIONS = 1.5  # residuals are clipped at so many of their expected standard deviations at least
CLOSER = 0.75  # of a clip is the next one that is tried
# A clip above this share of the rewards' own range gains too little. Neither does one that says
# less than that much more than a wider one: what clipping leaves is never known exactly.
WORTHWHILE = 0.9
LARGEST_VARIANCE = 4.0  # of residuals of rewards in [-1, 1]
HALVINGS = 60
NODES = 41
SMALL = 0.05  # of a clip
OFFSETS = 129  # of residuals, for which it is computed what clipping leaves
UNCERTAIN = 0.15  # what clipping leaves must be known up to this share of it


@dataclass(frozen=True)
class Clip:
    """Where normal residuals are clipped, and what that leaves of a small shift of them."""

    residual_clip: float
    attenuation: float


REWARDS = Clip(1.0, 1.0)  # no residuals: records add their rewards once more, none of which is cut


def choose_clip(error: float, noise: float) -> Clip:
    """The clip for normal residuals with these standard deviations: `error` of what is not learned
    yet, `noise` of rewards around the reward function.

    Where rewards are so noisy that residuals would hardly be smaller, the answer is `REWARDS`: two
    releases of the same sum are worth as much as one for the whole budget. Measured: a closer clip
    is better where privacy noise dominates, until at one deviation too much is cut off.
    """
    residual_clip = DEVIATIONS * math.hypot(error, noise)
    if residual_clip >= WORTHWHILE:
        return REWARDS
    inside, _ = clipping(DEVIATIONS)
    return Clip(residual_clip, inside)


def clipping(deviations: float) -> tuple[float, float]:
    """What clipping a normal variable at so many standard deviations leaves of a small shift of its
    mean, and of its mean square."""
    inside = math.erf(deviations / math.sqrt(2.0))
    density = math.exp(-(deviations**2) / 2.0) / math.sqrt(2.0 * math.pi)
    square = inside - 2.0 * deviations * density + deviations**2 * (1.0 - inside)
    return inside, square


def unclipped_variance(square: float, residual_clip: float) -> float:
    """The variance of a normal residual whose mean square after clipping is this."""
    low = square
    high = LARGEST_VARIANCE
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        _, kept = clipping(residual_clip / math.sqrt(middle))
        if middle * kept < square:
            low = middle
        else:
            high = middle
    return low


def secant_response(mean: float, square: float, residual_clip: float) -> float:
    """The mean of normal residuals after clipping, as a share of their `mean` before it; for a mean
    near 0 what clipping leaves of a small one. Their mean square after clipping is `square`."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    mean = math.copysign(max(abs(mean), SMALL * residual_clip), mean)

    def clipped(deviation: float) -> Any:
        return np.clip(mean + deviation * nodes, -residual_clip, residual_clip)

    low = SMALL * residual_clip
    high = LARGEST_VARIANCE**0.5
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        # Where the mean is far beyond the clip, a wider spread makes the mean square smaller.
        wider = (weights @ clipped(middle) ** 2 < square) == (abs(mean) < residual_clip)
        low, high = (middle, high) if wider else (low, middle)
    return float(weights @ clipped(low)) / mean


@dataclass(frozen=True, eq=False)
class ClippedResiduals:
    """Residuals of a law, clipped: what is left of them at each prediction."""

    residual_clip: float
    response: Response
    mean_square: float
    attenuation: float  # on average

    def information(self, sampling: float, privacy: float) -> float:
        """About a small shift of residuals, where records have the noise `sampling` for each unit
        of their mean square and the privacy noise of a clip at 1 has the variance `privacy`."""
        noise = self.mean_square * sampling + self.residual_clip**2 * privacy
        return self.attenuation**2 / noise


def clip_residuals(
    laws: Sequence[ResidualLaw], rewards_square: float, sampling: float, privacy: float
) -> ClippedResiduals | None:
    """The clip that says most (`information`), or None where rewards as they are say as much;
    `rewards_square` is their mean square.

    The first law is the likeliest, the others are those that residuals could have instead: a clip
    must leave about the same of all of them. Clips are tried from one that cuts nothing off to
    `DEVIATIONS` standard deviations. For rewards of two values clipping gains little: they are best
    told as they are, or their residuals whole.
    """
    best = None
    most = 1.0 / (rewards_square * sampling + privacy)
    for residual_clip in _clips(laws[0]):
        clipped = [_clipped(law, residual_clip) for law in laws]
        left = np.array([each.attenuation for each in clipped])
        if left.std() > UNCERTAIN * left.mean():
            break
        found = clipped[0].information(sampling, privacy)
        if found > most / WORTHWHILE:
            best = clipped[0]
            most = found
    return best


def _clips(law: ResidualLaw) -> Iterator[float]:
    """From a clip that cuts nothing off to the closest one."""
    residual_clip = law.largest
    closest = DEVIATIONS * law.deviation
    while residual_clip > closest:
        yield residual_clip
        residual_clip *= CLOSER
    yield closest


def _clipped(law: ResidualLaw, residual_clip: float) -> ClippedResiduals:
    """What clipping leaves."""
    response = law_response(law, residual_clip)
    slope, _ = response.at(law.predictions)
    square = np.zeros(len(law.predictions))
    for error, share in law.errors:
        kept = np.clip(law.noise + error, -residual_clip, residual_clip)
        square += share * np.sum(law.probabilities * kept**2, axis=1)
    return ClippedResiduals(
        residual_clip,
        response,
        mean_square=float(law.shares @ square),
        attenuation=float(law.shares @ slope),
    )


def law_response(law: ResidualLaw, residual_clip: float) -> Response:
    """The mean of residuals after clipping, for mean rewards like those of the law.

    The law of rewards moves with their mean as in an exponential family: binary rewards stay
    binary, exponential ones exponential, and normal ones are shifted.
    """
    beyond = residual_clip + float(np.abs(law.noise).max())
    offsets = np.linspace(-beyond, beyond, OFFSETS)
    kept = np.empty((len(law.predictions), OFFSETS))
    for j, offset in enumerate(offsets):
        clipped = np.clip(law.noise + offset, -residual_clip, residual_clip)
        kept[:, j] = np.sum(law.probabilities * clipped, axis=1)
    return Response(law.predictions + law.offset, offsets, kept, law.offset, law.error)
