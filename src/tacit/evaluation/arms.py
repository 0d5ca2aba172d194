"""The arms of a randomised comparison: rounds that a coin gave to the policy or to the baseline.

The coins are public, so everybody knows how many rounds an arm has. Which rewards came, and what
they were, is private. A round of an arm adds three numbers to the entries of its arm, for a reward
y in [-1, 1]:

| unit | its reward came | it did not |
|---|---|---|
| record | (y, 1 - y^2, 0) | (0, 0, 1) |
| user | ((1 + y) / 2, (1 - y) / 2, (1 - y^2) / sqrt(2)) | (0, 0, 0) |

Both are in the unit ball: with u = y^2 the squared lengths are 1 - u (1 - u) and 1 - u (1 - u) / 2.
So the mean, the variance and the number of rewards that came cost together what the mean alone
would. The sums say how many rewards came (n less the third entry; or the first two together), their
sum and, through 1 - y^2, their squares.

All rounds of a user are shrunk together, by a factor that all entries have in common. The rounds
that were counted are therefore counted in the same sum, and a mean is a ratio of two of its
entries: users weigh about as much each, however many rounds they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tacit._typing import Floats
from tacit.core import (
    Budget,
    Cohort,
    Encoding,
    Ledger,
    PrivateSum,
    Released,
    private_sum,
    release_gaussian,
)
from tacit.design.layout import ARM_ENTRIES
from tacit.errors import InputError
from tacit.evaluation.estimates import Estimate

ARMS = ("policy", "baseline")
NO_ARM = -1
EACH = ARM_ENTRIES // len(ARMS)  # entries of one arm
# Agresti and Coull (1998): imagined rewards, half of them at either end, that make up for how
# little a variance says that was estimated from few rounds, or from rare rewards.
IMAGINED = 4.0


class Arm(NamedTuple):
    """What is public of an arm: its rounds, and of how many units (records, or users) they are."""

    rounds: int
    units: int


class ArmSums(NamedTuple):
    """Released sums of an arm, in the units of one record, with noise that is independent and has
    the same standard deviation in each. They may be arrays: of many studies, one entry each."""

    came: Any  # the number of rewards that came
    total: Any  # sum of y
    spread: Any  # sum of 1 - y^2
    noise: Any


class MeanErrors(NamedTuple):
    """An estimate of a mean reward in [-1, 1], and the standard deviations of its two errors."""

    value: Any
    sampling: Any
    noise: Any


@dataclass(frozen=True)
class Comparison:
    """What two arms earn, and the difference, in the user's units. None for what has no rounds."""

    policy_value: Estimate | None = None
    baseline_value: Estimate | None = None
    gain: Estimate | None = None

    def facts(self) -> dict[str, Any]:
        """As plain data."""
        found: dict[str, Any] = {}
        for name in asdict(self):
            estimate = getattr(self, name)
            found[name] = None if estimate is None else estimate.facts()
        return found

    @classmethod
    def restore(cls, facts: dict[str, Any]) -> Comparison:
        """The inverse of `facts`. What is not there is None: earlier versions did not know it."""
        kept = {name: facts.get(name) for name in ("policy_value", "baseline_value", "gain")}
        return cls(**{name: each and Estimate.restore(each) for name, each in kept.items()})


# -- what rounds add -------------------------------------------------------------------------------


def arm_entries(rewards: Floats, arms: NDArray[np.intp], unit: str) -> Floats:
    """What rounds add: rows of length at most 1, for rewards in [-1, 1] (NaN where none came) and
    the numbers of their arms in `ARMS`, or `NO_ARM`."""
    came = np.isfinite(rewards)
    y = np.clip(np.where(came, rewards, 0.0), -1.0, 1.0)
    spread = 1.0 - y**2
    if unit == "record":
        own = np.column_stack([y, came * spread, ~came])
    else:
        halves = [came * (1.0 + y) / 2, came * (1.0 - y) / 2]
        own = np.column_stack([*halves, came * spread / math.sqrt(2.0)])
    rows = np.zeros((len(y), ARM_ENTRIES))
    for i in range(len(ARMS)):
        mine = arms == i
        rows[mine, i * EACH : (i + 1) * EACH] = own[mine]
    return rows


def arms_of(arms: NDArray[np.intp], users: Sequence[Any] | None = None) -> tuple[Arm, ...]:
    """What is public of each arm."""
    found = []
    for i in range(len(ARMS)):
        places = [int(place) for place in np.flatnonzero(arms == i)]
        units = len(places) if users is None else len({users[place] for place in places})
        found.append(Arm(len(places), units))
    return tuple(found)


# -- a release of arms alone -----------------------------------------------------------------------


def arm_sum(rounds: int, unit: str, cohort: Cohort) -> PrivateSum:
    """An empty sum of the rounds of a cohort, of which nothing else is ever released."""
    return private_sum(Encoding(size=ARM_ENTRIES, horizon=rounds), unit, cohort)


def release_arms(
    total: PrivateSum, budget: Budget, ledger: Ledger, request: str, about: dict[str, Any]
) -> Released:
    """Spends the whole budget of these people on the sums of the arms."""
    if total.encoding.size != ARM_ENTRIES or total.cohort is None:
        raise InputError("release_arms takes a sum of arm_sum: entries of two arms, of a cohort.")
    return release_gaussian(total, budget, ledger, request, about)


# -- reading ---------------------------------------------------------------------------------------


def read_arms(
    sums: Floats,
    noise: float,
    arms: Sequence[Arm],
    unit: str,
    reward_range: Sequence[float],
    pull: float = 0.0,
    shift: float = 0.0,
) -> Comparison:
    """Released entries, each with noise of this standard deviation, as estimates in the user's
    units. `pull` is the share by which means of users may be pulled towards the middle of the
    range, where other entries shrink those more whose rewards are far from it. `shift` is by how
    much both means may be moved, in units of half the range, because large rewards make what a user
    adds longer; it leaves their difference as it is."""
    low, high = reward_range
    half = (high - low) / 2
    found: list[Estimate | None] = []
    for i, arm in enumerate(arms):
        own = sums[i * EACH : (i + 1) * EACH]
        errors = mean_errors(arm_sums(own, noise, arm.rounds, unit), arm.units)
        estimate = Estimate(
            value=(low + high) / 2 + half * float(errors.value),
            sampling=half * float(errors.sampling),
            noise=half * math.hypot(float(errors.noise), pull * float(errors.value)),
        )
        found.append(estimate if arm.rounds else None)
    policy, baseline = found
    gain = difference(policy, baseline)
    return Comparison(_shifted(policy, half * shift), _shifted(baseline, half * shift), gain)


def _shifted(found: Estimate | None, shift: float) -> Estimate | None:
    """With room for a shift of this standard deviation."""
    return None if found is None else replace(found, noise=math.hypot(found.noise, shift))


def difference(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    """Of two estimates whose errors are independent."""
    if one is None or other is None:
        return None
    return Estimate(
        value=one.value - other.value,
        sampling=math.hypot(one.sampling, other.sampling),
        noise=math.hypot(one.noise, other.noise),
    )


def arm_sums(entries: Any, noise: Any, rounds: Any, unit: str) -> ArmSums:
    """The released entries of one arm as sums."""
    first, second, third = entries
    if unit == "record":
        return ArmSums(rounds - third, first, second, noise)
    root = math.sqrt(2.0)
    return ArmSums(first + second, first - second, root * third, root * noise)


def mean_errors(sums: ArmSums, units: Any = np.inf) -> MeanErrors:
    """The mean reward of an arm that has rounds of so many units.

    The mean is S / m, where both are noisy: the noise of S - mu m has the standard deviation
    sigma sqrt(1 + mu^2), whatever m is. Where m drowns in its noise it is taken for as large as
    that, and the mean is moved into the range of rewards: the interval then holds all of it.
    Otherwise a mean may be a little outside of that range, so that it is unbiased.
    """
    m = np.maximum(sums.came, np.maximum(sums.noise, 1.0))
    mean = sums.total / m
    likely = np.clip(mean, -1.0, 1.0)
    mean = np.where(sums.came < m, likely, mean)
    noise = sums.noise * np.sqrt(1.0 + likely**2) / m
    variance = _variance(sums, m, likely, noise)
    # Rounds of one user may be all alike: as many rewards are taken for independent as there are
    # users.
    independent = np.maximum(np.minimum(m, units), 1.0)
    return MeanErrors(mean, np.sqrt(variance / independent), noise)


def _variance(sums: ArmSums, m: Any, mean: Any, mean_noise: Any) -> Any:
    """Of the rewards: 1 - R / m - mean^2 for the sum R of 1 - y^2, as it is expected given that it
    is noisy and lies between 0 and 1 - mean^2.

    Its noise is that of R, of m and of S: (1, r + 2 mean^2, 2 mean) sigma / m, with r = R / m.
    """
    r = np.clip(sums.spread / m, 0.0, 1.0)
    found = 1.0 - sums.spread / m - mean**2
    scale = np.sqrt(1.0 + (r + 2.0 * mean**2) ** 2 + 4.0 * mean**2)
    std = sums.noise * scale / m
    most = 1.0 - np.maximum(np.abs(mean) - mean_noise, 0.0) ** 2
    expected = _truncated_mean(found, std, most)
    return (m * expected + IMAGINED) / (m + IMAGINED)


def _truncated_mean(mean: Any, std: Any, most: Any) -> Any:
    """The mean of a normal law that is cut off below 0 and above `most`."""
    std = np.maximum(std, 1e-12)
    # Further out the law is so steep that all of it is at the end.
    mean = np.clip(mean, -5.0 * std, most + 5.0 * std)
    low = -mean / std
    high = (most - mean) / std
    inside = np.maximum(ndtr(high) - ndtr(low), 1e-12)
    shift = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / (math.sqrt(2 * math.pi) * inside)
    return np.clip(mean + std * shift, 0.0, most)
