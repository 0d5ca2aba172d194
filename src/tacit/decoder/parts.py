"""A released vector, taken apart into estimates and the noise in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit._typing import Floats
from tacit.decoder.observations import LinearObservation
from tacit.design import Design, Moments, Release
from tacit.design.layout import Blocks
from tacit.numerics import linalg
from tacit.residual.clipping import clipping, secant_response

# The mean square of rewards in [-1, 1] where none is released, and the least that is believed.
USUAL_SQUARE = 0.2
LEAST_SQUARE = 0.01
# What is tried where rewards have weights and their mean square is not released.
SQUARES = 10
SCALES = np.geomspace(0.003, 1.0, 6)  # prior variances of the reward function
# Residuals whose mean square is this much larger than expected, and clearly so, in standard
# deviations of the privacy noise, are those of another world.
SURPRISE = 1.6
CLEARLY = 4.0
UNKNOWN_RESPONSE = 0.5  # of what such residuals say: the standard deviation of its error
MOST_CLIPPED = 0.95  # of the mean square of residuals at the clip is what can be read of them
UNKNOWN_PULL = 0.5  # of what users' sums are pulled by: the standard deviation of its error


@dataclass(frozen=True, eq=False)
class ReleaseParts:
    """One release: sums of what records add, in the units of one record of weight 1."""

    design: Design
    records: float  # those that are taken for usable
    sums: Blocks
    noise: float  # standard deviation of the privacy noise in one entry of the vector
    mean_noise: float  # the same in the sum of rewards; 0 if another pass tells it
    # Of users, whose records are shrunk together (see `tacit.decoder.users`):
    records_std: float = 0.0  # what is not known of the number of records
    pull: float = 0.0  # how much more those are shrunk whose rewards are large
    skew: float = 0.0  # the standard deviation of what shrinking adds to the mean of a record
    mean_own: float = 1.0  # the share of the mean that comes of this pass

    @classmethod
    def of(cls, release: Release) -> ReleaseParts:
        design = release.design
        released = release.released
        weight = design.max_weight
        blocks = design.layout.split(released.values / 2**released.bits)
        sums = blocks._replace(
            influences=weight * design.clip * blocks.influences,
            histogram=None if blocks.histogram is None else weight * blocks.histogram,
            mean=None if blocks.mean is None else weight * blocks.mean,
            square=None if blocks.square is None else weight**2 * blocks.square,
        )
        noise = released.scale / 2**released.bits
        mean_noise = weight * design.layout.block_noise("mean", noise)
        records = max(1, released.records)  # nobody may have come
        return cls(design, records, sums, noise, mean_noise)

    @property
    def influence_noise(self) -> float:
        """The standard deviation of the privacy noise in one influence."""
        design = self.design
        scale = design.max_weight * design.clip / np.sqrt(design.layout.influence_share)
        return float(scale * self.noise)

    def block_noise(self, name: str) -> float:
        """The same in one entry of another block; what is told of contexts, of play and of arms
        has weight 1."""
        powers = {"contexts": 0, "pairs": 0, "play": 0, "arms": 0, "square": 2}
        weight = self.design.max_weight ** powers.get(name, 1)
        return weight * self.design.layout.block_noise(name, self.noise)

    @property
    def records_error(self) -> float:
        """The standard deviation of the number of records, as a share of it."""
        return self.records_std / self.records

    @property
    def influence_strength(self) -> float:
        """The square of what influences times rewards are multiplied with in a row."""
        design = self.design
        return design.layout.influence_share / (design.max_weight * design.clip) ** 2

    @cached_property
    def surprising(self) -> bool:
        """Whether residuals of other people than those of the releases before are clearly larger
        than it was expected of them: the world is not the one of those releases."""
        residual = self.design.residual
        if residual is None or not residual.deviation or self.sums.square is None:
            return False
        if self.design.previous:
            return False
        _, kept = clipping(residual.residual_clip / residual.deviation)
        expected = kept * (residual.deviation / residual.residual_clip) ** 2
        noise = self.block_noise("square") / self.records
        return self.mean_square > SURPRISE * expected + CLEARLY * noise

    def _kept_response(self, moments: Moments) -> float:
        """What is left of the response of clipped residuals to a change of the reward function,
        where they are larger than expected: 1 where they are not.

        The released mean of rewards says by how much they are off on average, and the mean square
        of residuals how far they are spread.
        """
        residual = self.design.residual
        if residual is None or not self.surprising:
            return 1.0
        r = residual.residual_clip
        weights = moments.cross[-1] / moments.cross[-1, -1]
        t1 = np.append(self.design.features.L.T @ residual.weights, residual.level)
        off = 0.0 if self.sums.mean is None else self.mean - float(weights @ t1)
        square = r**2 * min(self.mean_square, MOST_CLIPPED)
        response = secant_response(off, square, r)
        return float(min(response / moments.cross[-1, -1], 1.0))

    @property
    def adds_rewards(self) -> bool:
        """Whether records add rewards, not residuals."""
        return self.design.residual is None or self.design.residual.rewards

    @property
    def added_mean(self) -> float:
        """Of what records add; residuals are around 0."""
        if not self.adds_rewards:
            return 0.0
        return min(abs(self.mean), self.mean_square**0.5)

    @property
    def mean(self) -> float:
        """Of the rewards; 0 where it is not released."""
        if self.sums.mean is None:
            return 0.0
        return float(np.clip(self.sums.mean / self.records, -1.0, 1.0))

    @cached_property
    def mean_square(self) -> float:
        """Of what records add: E[w^2 y^2]."""
        most = self.design.max_weight  # for weights of mean 1
        if self.sums.square is not None:
            return float(np.clip(self.sums.square / self.records, LEAST_SQUARE, most))
        if most == 1.0:
            return USUAL_SQUARE
        return self._likely_square(np.geomspace(LEAST_SQUARE, most, SQUARES))

    def _likely_square(self, squares: Floats) -> float:
        """The mean square that the influences themselves make likely, on average.

        They are b = G t + e with Cov e = n E[w^2 y^2] E[q q'] + privacy noise: what is in them
        beyond the privacy noise is the reward function, whose variance is tried, too, or this.
        """
        b = self.sums.influences
        rank = len(b)
        moments = self.design.moments
        G = self.records * moments.cross[:rank]
        sampling = self.records * moments.square[:rank, :rank]
        signal = G[:, :-1] @ G[:, :-1].T
        level = np.outer(G[:, -1], G[:, -1])
        fixed = level + self.influence_noise**2 * np.eye(rank)
        evidence = np.empty((len(SCALES), len(squares)))
        for i, scale in enumerate(SCALES):
            for j, square in enumerate(squares):
                R = linalg.cholesky(scale * signal + square * sampling + fixed)
                u = linalg.solve_lower(R, b)
                evidence[i, j] = -0.5 * float(u @ u) - float(np.log(np.diag(R)).sum())
        weights = np.exp(evidence - evidence.max()).sum(axis=0)
        return float(weights @ squares / weights.sum())

    def observation(self, moments: Moments) -> LinearObservation:
        """b = G t + e for t = (theta, level), with moments over the contexts that came.

        Rewards are level + phi' theta + noise. The released mean is one more influence, which is 1
        for every record. Only the first pass over the same people has it (see `pooled`).

        In a residual pass the released vector is about what is not known yet:
        r b = G (t - t1) + n E[q shift] + o n E[q] + r e, where residuals are clipped at `r`. What
        clipping leaves of them is in G, `shift` is the mean that it makes, and `o` what is not
        known of that. The shift follows from a law of rewards that may be another one at each
        prediction, so it is known up to its own size.

        Of users, the sums are pulled towards 0 (see `tacit.decoder.users`), and `n` itself is known
        up to an error, which moves all sums of a pass together. Residual passes are hardly moved.
        """
        n = self.records
        b, noise = self._influences()
        seen = len(b)
        G = n * moments.cross[:seen]
        shift = n * moments.shift[:seen]
        everybody = n * moments.mean
        sampling = n * moments.square
        mean_square = self.mean_square
        residual = self.design.residual
        mean = self.added_mean
        # n E[(q y)(q y)'] - n E[q y] E[q y]'
        shared = mean_square * sampling - mean**2 / n * np.outer(everybody, everybody)
        N = shared[:seen, :seen] + np.diag(noise**2)
        if self.design.unit == "user":
            left = self._left(shared[:seen, :seen] / n)
            G = left @ G
            shift = left @ shift
            N += self._shrinking_errors(mean * everybody[:seen], everybody[:seen], left)
        r = 1.0
        if residual is not None:
            r = residual.residual_clip
            t1 = np.append(self.design.features.L.T @ residual.weights, residual.level)
            kept = self._kept_response(moments)
            G = kept * G
            shift = kept * shift
            offset = kept * residual.offset_std * everybody[:seen]
            unsure = kept * n * self.design.moments.shift[:seen]
            N = r**2 * N + np.outer(offset, offset) + np.outer(unsure, unsure)
            if kept < 1.0:  # the size of what was clipped is hardly known
                N += UNKNOWN_RESPONSE**2 * r**2 * np.outer(b, b)
            b = r * b + G @ t1 - shift
        return LinearObservation(
            b=b,
            G=G,
            N=N,
            sampling=sampling,
            shared=r**2 * shared,
            mean_square=r**2 * mean_square,
            variance=r**2 * (mean_square - mean**2),
            rewards=self.adds_rewards,
        )

    def _left(self, covariance: Floats) -> Floats:
        """What the pull leaves of sums, given the covariance of what one record adds to them:
        I - pull S, where S is that of rows. It is taken out of the sum of rewards already."""
        rank = self.design.rank
        left = np.eye(len(covariance))
        left[:rank, :rank] -= self.pull * self.influence_strength * covariance[:rank, :rank]
        return left

    def _shrinking_errors(self, expected: Floats, everybody: Floats, left: Floats) -> Floats:
        """The covariance of what is not known of how users are shrunk, where sums are about
        `expected`: of the number of records, of the pull, and of the skew.

        Not of the released sums themselves: a covariance in which their noise is would make little
        of just what they say.
        """
        own = np.ones(len(expected))
        own[self.design.rank :] = self.mean_own
        scaled = self.records_error * own * expected
        pulled = UNKNOWN_PULL * (expected - left @ expected)
        skewed = self.skew * np.where(np.arange(len(own)) < self.design.rank, everybody, 0.0)
        return np.outer(scaled, scaled) + np.outer(pulled, pulled) + np.outer(skewed, skewed)

    def _influences(self) -> tuple[Floats, Floats]:
        """The sums of q_s y, and of y where it is told; and the privacy noise in them.

        The mean of rewards says nothing of residuals. Where records of an epoch add residuals from
        its first pass on, the level is read from these: they tell it better than the mean does.
        """
        b = self.sums.influences
        noise = np.full(len(b), self.influence_noise)
        if self.sums.mean is None or not self.mean_noise or not self.adds_rewards:
            return b, noise
        return np.append(b, self.sums.mean), np.append(noise, self.mean_noise)


def pooled(passes: Sequence[ReleaseParts]) -> list[ReleaseParts]:
    """The same with one sum of rewards, in the first of them.

    All passes over the same people release the same sum with noise of their own: one sum with less
    noise stands for all of them. Later ones keep it as a number that is known, not as news. Where
    passes stand for different numbers of records, means are averaged.
    """
    told = [
        (parts.sums.mean / parts.records, parts.mean_noise / parts.records, parts.records_error)
        for parts in passes
        if parts.sums.mean is not None
    ]
    if not told:
        return list(passes)
    means, noises, errors = (np.array(each) for each in zip(*told, strict=True))
    precisions = 1.0 / (noises**2 + (errors * means) ** 2)
    weights = precisions / precisions.sum()
    mean = float(weights @ means)
    variances = (weights * noises) ** 2
    # An error in the number of records moves the other sums of its pass, too (`observation`).
    variances[1:] += (weights * errors * means)[1:] ** 2
    known = [
        replace(parts, sums=parts.sums._replace(mean=parts.records * mean), mean_noise=0.0)
        for parts in passes
    ]
    noise = passes[0].records * float(variances.sum() ** 0.5)
    return [replace(known[0], mean_noise=noise, mean_own=float(weights[0])), *known[1:]]


def averaged(told: Sequence[tuple[Floats, float]]) -> tuple[Floats, float]:
    """The average of noisy copies of one thing, weighted by their precision, and the standard
    deviation of the noise that is left in it."""
    weights = np.array([noise**-2 for _, noise in told])
    values = np.array([value for value, _ in told])
    return np.average(values, axis=0, weights=weights), float(weights.sum() ** -0.5)
