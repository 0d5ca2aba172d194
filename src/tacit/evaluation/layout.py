"""What a record writes, and how what was released is read.

    z = (u_1 .. u_J, 1, u_1^2 .. u_J^2, (u_j - u_b)^2 for j != b),    u_j = psi_j - prior guess

so that means, the number of usable records, and the variances of values and differences all come
from one release. A record that cannot be used has z = 0. The squares cost hardly any noise: points
(u, u^2 - 1) with u in [-1, 1] lie in the unit ball anyway, and the mix finds such a centre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tacit._typing import Floats
from tacit.evaluation.estimates import Estimate
from tacit.evaluation.scoring import Bounds
from tacit.evaluation.shape import Mix, answer_noise, best_mix

MOST_CASES = 400
CHECKED = 20_000  # random cases by which the length of the longest record is measured
MARGIN = 0.999  # for cases between those that are looked at
GUESSED = 0.2  # how far a value may be from its prior guess, for the weight of the count
DIFFERENCES = 1.25  # the weight of a difference, where that of a value is 1
SPREAD = 1.2  # widening of an interval by the variance of its variance, in units of both


@dataclass(frozen=True, eq=False)
class Layout:
    """The entries of a record, for policies with these bounds and a baseline among them."""

    bounds: tuple[Bounds, ...]
    baseline: int

    @property
    def policies(self) -> int:
        return len(self.bounds)

    @property
    def others(self) -> list[int]:
        """Every policy but the baseline."""
        return [j for j in range(self.policies) if j != self.baseline]

    @property
    def size(self) -> int:
        return 3 * self.policies

    @property
    def prior(self) -> Floats:
        return np.array([bounds.prior for bounds in self.bounds])

    @property
    def largest(self) -> Floats:
        """|u_j| is at most this."""
        return np.array([max(b.most(1.0) - b.prior, b.prior - b.least(-1.0)) for b in self.bounds])

    def entries(self, psi: Floats) -> Floats:
        """z for usable records."""
        u = psi - self.prior
        apart = u[:, self.others] - u[:, [self.baseline]]
        return np.hstack([u, np.ones((len(u), 1)), u**2, apart**2])

    def cases(self, rng: np.random.Generator, many: int, steps: int = 5) -> Floats:
        """Extreme cases of z: for the least and the largest reward all combinations of so many psi
        of each policy, or `many` random ones where there are too many; and a record that cannot be
        used."""
        found = [np.zeros((1, self.size))]
        for y in (-1.0, 1.0):
            low = np.array([b.least(y) for b in self.bounds])
            high = np.array([b.most(y) for b in self.bounds])
            if steps > 3 and 2 * steps**self.policies > many:
                steps = 3
            if 2 * steps**self.policies <= many:
                shares = np.array(list(product(np.linspace(0, 1, steps), repeat=self.policies)))
            else:
                shares = rng.random((many // 2, self.policies))
                ends = rng.random(shares.shape) < 0.7
                shares = np.where(ends, np.round(shares), shares)
            found.append(self.entries(low + shares * (high - low)))
        return np.vstack(found)

    def mix(self, records: int, noise: float, centred: bool) -> Mix:
        """The mix for so many records, where the mean of an entry has this noise.

        An interval is wider by the noise of its variance, which gives the squares their weights.
        """
        eye = np.eye(self.size)
        J = self.policies
        asked = [*eye[:J], *(DIFFERENCES * (eye[j] - eye[self.baseline]) for j in self.others)]
        asked.append(GUESSED * eye[J])
        for i, size in enumerate([*self.largest, *(self._largest_apart(j) for j in self.others)]):
            total = (noise * size) ** 2 + size / 50 / records
            asked.append(math.sqrt(SPREAD / total) / records * eye[J + 1 + i])
        rng = np.random.default_rng(0)
        mix = best_mix(self.cases(rng, MOST_CASES), np.array(asked), centred)
        checked = mix.rows(self.cases(rng, CHECKED, steps=21))
        return mix.scaled(MARGIN / float(np.linalg.norm(checked, axis=1).max()))

    def noises(self, records: int, noise: float) -> Floats:
        """The standard deviations of the privacy noise in all values, then in the differences of
        all others from the baseline."""
        eye = np.eye(self.size)
        answers = [*eye[: self.policies], *(eye[j] - eye[self.baseline] for j in self.others)]
        covariance = answer_noise(self.mix(records, noise, centred=True), np.array(answers))
        return noise * np.sqrt(np.diag(covariance))

    def _largest_apart(self, j: int) -> float:
        """|u_j - u_b| is at most this: both see the same reward, so that their residuals hardly
        ever have opposite signs."""
        one = self.bounds[j]
        other = self.bounds[self.baseline]
        prior = one.prior - other.prior
        ends = []
        for y in (-1.0, 1.0):
            ends += [one.most(y) - other.least(y) - prior, other.most(y) - one.least(y) + prior]
        return max(abs(end) for end in ends)


@dataclass(frozen=True, eq=False)
class Totals:
    """Released sums of the entries of some people, and the covariance of their noise."""

    layout: Layout
    sums: Floats
    covariance: Floats

    @property
    def usable(self) -> float:
        """How many records could be used, at least 1."""
        return max(1.0, float(self.sums[self.layout.policies]))

    def value(self, j: int) -> tuple[float, float, float, float]:
        """Estimate, sampling and noise standard deviations, and the standard deviation of the
        sampling variance, in units of half the reward range."""
        first = np.eye(self.layout.size)[j]
        second = np.eye(self.layout.size)[self.layout.policies + 1 + j]
        mean, *errors = self._read(first, second, float(self.layout.largest[j]))
        return (mean + self.layout.bounds[j].prior, *errors)  # type: ignore[return-value]

    def difference(self, j: int) -> tuple[float, float, float, float]:
        """The same of a policy's value minus that of the baseline."""
        layout = self.layout
        eye = np.eye(layout.size)
        at = 2 * layout.policies + 1 + layout.others.index(j)
        largest = layout._largest_apart(j)
        mean, *errors = self._read(eye[j] - eye[layout.baseline], eye[at], largest)
        prior = layout.bounds[j].prior - layout.bounds[layout.baseline].prior
        return (mean + prior, *errors)  # type: ignore[return-value]

    def _read(
        self, first: Floats, second: Floats, largest: float
    ) -> tuple[float, float, float, float]:
        n = self.usable
        mean = float(first @ self.sums) / n
        count = np.eye(self.layout.size)[self.layout.policies]
        noise2 = self._variance((first - mean * count) / n)
        # E u^2 - (E u)^2, where the square of the released mean is too large by its noise.
        spread = float(second @ self.sums) / n - mean**2 + noise2
        # Half an extreme record more: where few records matter, as with rare rewards, too few of
        # them make both the estimate and its variance too small.
        spread = min(max(spread, 0.0) + largest**2 / (2.0 * n), largest**2)
        sampling2 = spread / n
        by_noise = self._variance((second - 2.0 * mean * first) / n) / n**2
        by_people = largest**2 * spread / n**3  # Var(u^2) <= largest^2 E u^2
        unsure = math.sqrt(by_noise + by_people)
        return mean, math.sqrt(sampling2), math.sqrt(noise2), unsure

    def _variance(self, answer: Floats) -> float:
        return float(answer @ self.covariance @ answer)


@dataclass(frozen=True)
class Scale:
    """The user's units: the range of rewards, and how often intervals are to hold."""

    low: float
    high: float
    level: float

    def estimate(
        self, found: tuple[float, float, float, float], window: float, difference: bool
    ) -> Estimate:
        """What was read in units of half the range, in the user's."""
        mean, sampling, noise, unsure = found
        half = (self.high - self.low) / 2
        width = self.high - self.low
        return Estimate(
            half * mean if difference else (self.low + self.high) / 2 + half * mean,
            half * sampling,
            half * noise,
            self.level,
            half**2 * unsure,
            half * window,
            (-width, width) if difference else (self.low, self.high),
        )


def estimates(
    totals: Totals, scale: Scale, windows: Sequence[float]
) -> tuple[list[Estimate], list[Estimate]]:
    """Values of all policies and differences of all but the baseline.

    `windows` holds the standard deviations of what windows may add: to the values, then to the
    differences.
    """
    layout = totals.layout
    J = layout.policies
    values = [scale.estimate(totals.value(j), windows[j], False) for j in range(J)]
    differences = [
        scale.estimate(totals.difference(j), windows[J + i], True)
        for i, j in enumerate(layout.others)
    ]
    return values, differences
