"""Sums of users: how many records they stand for, and what shrinking did to them.

All that a user adds, `V = v_1 + ... + v_k`, is shrunk to the bound: V min(1, 1 / |V|). All blocks
of a row are shrunk alike, so that counts tell how many records all of them stand for: `records` of
`ReleaseParts` are so many. They differ between passes, because residuals are not rewards. Sampling
noise is taken for that of so many independent records: it is less if a user's records are
independent, and about that if they are somewhat alike.

Rewards are in the length of V, too: where they are large, a user is shrunk more. To first order in
what one record adds to V, of mean k m and covariance k S, and with R^2 = E|V|^2,

    E[V / |V|] = (k / R) (I - k / R^2 S) m

up to a factor that all blocks have in common. The factor k / R^2 is `pull` of `ReleaseParts`; it
is 0 where nobody is shrunk. Where users have few records, squares of rewards are in the length of
V, too, and move the mean of what a record adds by Cov(y, |v|^2) / 2 R^2. Whether up or down is not
known: `skew` is the standard deviation of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.decoder.parts import LEAST_SQUARE, UNKNOWN_PULL, ReleaseParts, averaged

FEW = 0.02  # of the records are taken for counted at least
SHARES = 400  # between them that are tried, which is one for every percent
UNSHRUNK = 0.5  # the prior probability that nobody is shrunk and nothing is missing
# Where this share of the records is lost, all users are taken for shrunk.
FEWER = 0.3
CORRELATED = 0.5  # rewards and their squares: the standard deviation of their correlation
MOST_PULLED = 0.6  # of the sum of rewards, at most, is taken for lost


def shrunk(passes: Sequence[ReleaseParts]) -> list[ReleaseParts]:
    """Passes over the same users, with as many records as their counts stand for, and with sums of
    rewards from which the pull is taken out."""
    found = [_counted(parts) for parts in passes]
    first = found[0]
    variance = max(first.mean_square - first.mean**2, 0.0)
    return [_unpulled(parts, variance) for parts in found]


def _counted(parts: ReleaseParts) -> ReleaseParts:
    total = _total(parts)
    if total is None:
        return parts
    records, std = _estimate(*total, parts.records)
    kept = records / parts.records
    counted = replace(parts, records=records, records_std=std)
    concerned = min(1.0, (1.0 - kept) / FEWER)
    return replace(
        counted,
        pull=concerned * kept**2 * _records_per_user(counted, kept),
        skew=concerned * kept**2 * _skewness(counted),
    )


def _records_per_user(parts: ReleaseParts, kept: float) -> float:
    """`k`, if it is the same for all users: so many that the share 1 / R of them is kept.

    R^2 = k^2 |m|^2 + k (E|v|^2 - |m|^2),   v one row of mean m
    """
    layout = parts.design.layout
    moments = parts.design.moments
    strength = parts.influence_strength
    square = 1.0 - layout.influence_share - layout.arm_share  # few rounds are of an arm
    square += strength * parts.mean_square * float(np.trace(moments.square[:-1, :-1]))
    mean = strength * parts.added_mean**2 * float(moments.mean[:-1] @ moments.mean[:-1])
    mean += layout.mean_share * parts.mean**2 + layout.square_share * parts.mean_square**2
    for name in ("contexts", "pairs", "play", "histogram"):
        block: Floats | None = getattr(parts.sums, name)
        if block is not None:
            noise = parts.block_noise(name)
            beyond = float(block @ block) - len(block) * noise**2
            mean += max(beyond, 0.0) * (parts.noise / noise / parts.records) ** 2
    mean = min(mean, 0.99 * square)
    spread = square - mean
    R2 = kept**-2.0
    return 2.0 * R2 / (spread + math.sqrt(spread**2 + 4.0 * mean * R2))


def _skewness(parts: ReleaseParts) -> float:
    """The standard deviation of Cov(y, |v|^2) / 2 for what a record adds, `y`, of which the release
    says little: y^2 is the part of |v|^2 that varies with it."""
    square = min(parts.mean_square, 1.0)
    deviation = math.sqrt(max(square - parts.added_mean**2, 0.0))
    of_squares = math.sqrt(square * (1.0 - square))  # at most, for y in [-1, 1]
    length = parts.influence_strength * float(np.trace(parts.design.moments.square[:-1, :-1]))
    return 0.5 * CORRELATED * deviation * of_squares * length


def _unpulled(parts: ReleaseParts, variance: float) -> ReleaseParts:
    """The sum of rewards without the pull: that of rewards of this variance, each of which is in
    the influences and in the sum itself."""
    if parts.sums.mean is None:
        return parts
    lost = lost_share(parts, variance)
    mean = parts.sums.mean / (1.0 - lost)
    noise = math.hypot(parts.mean_noise, UNKNOWN_PULL * lost * mean)
    skew = skew_of(parts, variance) * parts.records
    return replace(parts, sums=parts.sums._replace(mean=mean), mean_noise=math.hypot(noise, skew))


def skew_of(parts: ReleaseParts, variance: float) -> float:
    """The standard deviation of by how much the mean of rewards of this variance is moved, because
    users whose rewards are large are shrunk more."""
    added = max(parts.mean_square - parts.added_mean**2, LEAST_SQUARE)
    return parts.skew * math.sqrt(variance / added)


def lost_share(parts: ReleaseParts, variance: float) -> float:
    """Of the sum of rewards of this variance: what the pull takes away, as a share of it."""
    e = parts.design.moments.mean[:-1]
    strength = parts.design.layout.mean_share / parts.design.max_weight**2
    if parts.adds_rewards:
        strength += parts.influence_strength * float(e @ e)
    return min(parts.pull * variance * strength, MOST_PULLED)


def _total(parts: ReleaseParts) -> tuple[float, float] | None:
    """The sum of the shares to which records are counted, and the standard deviation of the noise
    in it. None where nothing is counted."""
    layout = parts.design.layout
    per_record = {
        "contexts": 0 if layout.cells is None else layout.cells.columns,
        "play": 0 if layout.play is None else layout.play.columns,
        "histogram": 1,
    }
    if parts.design.max_weight > 1.0:
        del per_record["play"], per_record["histogram"]  # they count records by weight
    told = []
    for name, marks in per_record.items():
        block: Floats | None = getattr(parts.sums, name)
        if block is not None:
            noise = parts.block_noise(name) * math.sqrt(len(block)) / marks
            told.append((np.asarray(block.sum() / marks), noise))
    if not told:
        return None
    total, noise = averaged(told)
    return float(total), noise


def _estimate(counted: float, noise: float, records: float) -> tuple[float, float]:
    """How many of `records` are counted, given a noisy count, and the standard deviation of that:
    perhaps all of them, otherwise any share of them, on a log scale."""
    shares = np.geomspace(FEW, 1.0, SHARES)
    prior = np.full(SHARES, (1.0 - UNSHRUNK) / (SHARES - 1))
    prior[-1] = UNSHRUNK
    off = (shares * records - counted) / noise
    weights = prior * np.exp(0.5 * (np.min(off**2) - off**2))
    weights /= weights.sum()
    logs = np.log(shares)
    middle = float(weights @ logs)
    std = math.sqrt(float(weights @ (logs - middle) ** 2))
    found = records * math.exp(middle)
    return found, found * std
