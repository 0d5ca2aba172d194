"""The law of rewards as far as a release says, and that of their residuals.

It is a beta law, corrected by a histogram. A beta law with the released mean and mean square is
close to what most rewards are like: two values (binary rewards), many zeros and few large ones, a
bump in the middle. The histogram changes it where it clearly says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betainc

from tacit._typing import Floats
from tacit.contexts.cells import probabilities
from tacit.numerics.histogram import NODES, hat

VALUES = np.linspace(-1.0, 1.0, 129)  # finer than the histogram
ANYTHING = 1e-6  # of the law is spread over the whole range: the histogram may say that it is there
LEAST_VARIANCE = 1e-4
LEAST_NOISE = 0.05  # the least standard deviation of rewards around the reward function
MEANS = 48  # of laws that are tried, as far as the released mean leaves them open,
OPEN = 4.0  # which is so many standard deviations
# and their variances, as shares of the largest that a law with their mean can have
SPREADS = 1.0 / (1.0 + np.geomspace(1e-3, 3e3, 48))
BINARY = 3.0  # nats by which rewards at both ends of the range, and nowhere else, are preferred
DRAWN = 8  # laws that stand for all that could be
PREDICTIONS = 33
TILTS = 60  # halvings of an interval: as far as rounding goes
BEYOND = 2.0  # standard deviations of the error: as far as means may be from predictions
STEEPEST = 500.0  # of a tilt
INSIDE = 0.999  # the largest mean of a law
# Gauss-Hermite points and weights for a normal variable
NORMAL = ((-(3.0**0.5), 1 / 6), (0.0, 2 / 3), (3.0**0.5, 1 / 6))


@dataclass(frozen=True, eq=False)
class RewardLaw:
    """Values in [-1, 1] and their probabilities."""

    values: Floats
    probabilities: Floats

    @classmethod
    def beta(cls, mean: float, spread: float) -> RewardLaw:
        """The beta law on [-1, 1] with this mean, and with this share of the largest variance that
        is possible; and a little of anything."""
        masses = _hat_probabilities(np.array([mean]), np.array([spread]), VALUES)[0]
        return cls(VALUES, (1.0 - ANYTHING) * masses + ANYTHING / len(VALUES))

    def corrected(self, told: ReleasedRewards) -> RewardLaw:
        """This law where the histogram agrees with it, and the histogram elsewhere."""
        if told.histogram is None:
            return self
        marks = hat(self.values)
        prior = self.probabilities @ marks
        found = probabilities(told.histogram, told.histogram_noise, 1.0, prior)
        masses = self.probabilities * (marks @ (found / prior))
        return RewardLaw(self.values, masses / masses.sum())

    @property
    def mean(self) -> float:
        return float(self.probabilities @ self.values)

    @property
    def mean_square(self) -> float:
        return float(self.probabilities @ self.values**2)

    @property
    def variance(self) -> float:
        return max(self.mean_square - self.mean**2, LEAST_VARIANCE)

    def tilted(self, means: Floats) -> Floats:
        """Probabilities of the values, one row for each mean: those of the exponential family that
        this law belongs to.

        Binary rewards stay binary, exponential ones exponential, and normal ones are shifted.
        """
        low = np.full(len(means), -STEEPEST)
        high = np.full(len(means), STEEPEST)
        for _ in range(TILTS):
            middle = (low + high) / 2.0
            below = self._tilt(middle) @ self.values < means
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return self._tilt((low + high) / 2.0)

    def _tilt(self, steepness: Floats) -> Floats:
        exponent = steepness[:, None] * self.values[None, :]
        weights = self.probabilities * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class ResidualLaw:
    """Residuals of rewards around a reward function that is known up to some error, where the
    releases so far expect a reward (`predictions`, with `shares` of the records)."""

    predictions: Floats
    shares: Floats
    noise: Floats  # (predictions, values): residuals around the true reward function
    probabilities: Floats
    offset: float  # of the rewards from what is expected, on average
    error: float  # the standard deviation of what is not known of the reward function besides
    largest: float

    @classmethod
    def of(
        cls, law: RewardLaw, learned: Floats, error: float, noise: float | None = None
    ) -> ResidualLaw:
        """For expected rewards `learned` at points like those of the records.

        The variance of the rewards is that of the noise, of what was learned, and of what was not.
        Differences of the reward function are a part of the spread of the rewards, but not of that
        of residuals: they are shrunk to it.

        Where people are played otherwise than those whose rewards the law is of, its mean and
        variance say nothing of theirs: then the standard deviation of the `noise` is given.
        """
        offset = 0.0
        if noise is None:
            left = law.variance - float(np.var(learned)) - error**2
            noise = max(left, LEAST_NOISE**2) ** 0.5
            offset = law.mean - float(np.mean(learned))
        low, high = np.quantile(learned, [0.001, 0.999])
        low -= BEYOND * error
        high += BEYOND * error
        predictions = np.linspace(low, max(high, low + 1e-6), PREDICTIONS)
        steps = (learned - low) / (predictions[1] - low)
        nearest = np.clip(np.rint(steps), 0, PREDICTIONS - 1).astype(int)
        shares = np.bincount(nearest, minlength=PREDICTIONS) / len(learned)
        tilted = law.tilted(np.clip(predictions + offset, -INSIDE, INSIDE))
        around = law.values[None, :] - np.sum(tilted * law.values, axis=1)[:, None]
        spread = float(shares @ np.sum(tilted * around**2, axis=1))
        around = noise / max(spread, LEAST_VARIANCE) ** 0.5 * around
        largest = 1.0 + float(np.abs(predictions).max()) + error
        return cls(predictions, shares, around, tilted, offset, error, largest)

    @property
    def noise_variance(self) -> float:
        """Of rewards around the reward function."""
        return float(self.shares @ np.sum(self.probabilities * self.noise**2, axis=1))

    @property
    def deviation(self) -> float:
        """The standard deviation of residuals."""
        return (self.noise_variance + self.error**2) ** 0.5

    @property
    def errors(self) -> list[tuple[float, float]]:
        """Errors of the reward function that stand for all, and their weights."""
        return [(self.offset + self.error * point, weight) for point, weight in NORMAL]


@dataclass(frozen=True)
class NoiseEstimate:
    """The variance of rewards around the reward function, and the standard deviation of that."""

    variance: float
    std: float

    @classmethod
    def pooled(cls, estimates: Sequence[NoiseEstimate]) -> NoiseEstimate:
        """Several independent ones, weighted by their precision."""
        weights = np.array([each.std**-2 for each in estimates])
        variances = np.array([each.variance for each in estimates])
        return cls(float(weights @ variances / weights.sum()), float(weights.sum() ** -0.5))

    def deviations(self, off: Floats) -> Floats:
        """Standard deviations of the noise, so many standard deviations of this estimate off."""
        return np.sqrt(np.maximum(self.variance + self.std * off, LEAST_NOISE**2))


@dataclass(frozen=True, eq=False)
class ReleasedRewards:
    """What a release says about rewards, and the standard deviations of the noise in it."""

    mean: float
    mean_noise: float
    mean_square: float | None
    square_noise: float
    histogram: Floats | None  # shares of the records
    histogram_noise: float

    def laws(self) -> list[RewardLaw]:
        """Laws that rewards may have: the likeliest one, and some that stand for all that could be.

        Beta laws are weighed by all that was released; the histogram then corrects each.
        """
        reach = OPEN * self.mean_noise
        low = max(self.mean - reach, -1.0 + 1e-4)
        high = max(min(self.mean + reach, 1.0 - 1e-4), low)
        means, spreads = _beta_laws(low, high, MEANS)
        misfit = ((means - self.mean) / self.mean_noise) ** 2
        if self.mean_square is not None:
            squares = means**2 + spreads * (1.0 - means**2)
            misfit += ((squares - self.mean_square) / self.square_noise) ** 2
        if self.histogram is not None:
            gaps = _beta_histograms(low, high, MEANS) - self.histogram
            misfit += np.sum(gaps**2, axis=1) / self.histogram_noise**2
        misfit -= 2.0 * np.where(spreads == SPREADS.max(), BINARY, 0.0)
        weights = np.exp(-0.5 * (misfit - misfit.min()))
        ends = np.cumsum(weights) / weights.sum()
        chosen = np.searchsorted(ends, (np.arange(DRAWN) + 0.5) / DRAWN)
        best = int(np.argmin(misfit))
        return [
            RewardLaw.beta(float(means[i]), float(spreads[i])).corrected(self)
            for i in (best, *chosen.tolist())
        ]


def _beta_laws(low: float, high: float, count: int) -> tuple[Floats, Floats]:
    """The means and the spreads of the laws that are tried, between two means."""
    means, spreads = np.meshgrid(np.linspace(low, high, count), SPREADS)
    return means.ravel(), spreads.ravel()


@lru_cache(maxsize=8)
def _beta_histograms(low: float, high: float, count: int) -> Floats:
    """Their histograms, which depend on nothing else. In a small study the noise leaves all means
    open, so these are the same for every release; and each release asks for them more than once."""
    return _hat_probabilities(*_beta_laws(low, high, count), NODES)


def _shape(mean: Any, spread: Any) -> tuple[Any, Any]:
    """The parameters of the beta law on [0, 1] that is moved to [-1, 1]."""
    p = (1.0 + mean) / 2.0
    total = 1.0 / spread - 1.0
    return p * total, (1.0 - p) * total


def _hat_probabilities(means: Floats, spreads: Floats, nodes: Floats) -> Floats:
    """What the histogram of beta laws on these nodes would be, one row for each law.

    The expectation of a hat is a difference of integrals of the distribution function F, and
    the integral of F up to x is x F(x) - E[u; u <= x].
    """
    a, b = (shape[:, None] for shape in _shape(means, spreads))
    x = (1.0 + nodes[None, :]) / 2.0
    integral = x * betainc(a, b, x) - a / (a + b) * betainc(a + 1.0, b, x)
    levels = np.diff(integral, axis=1) / float(x[0, 1] - x[0, 0])  # F, on average in each bin
    ends = np.zeros((len(a), 1))
    return np.diff(np.concatenate([ends, levels, ends + 1.0], axis=1), axis=1)
