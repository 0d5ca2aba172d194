"""The noise of the arena's learners, calibrated by the trusted core and drawn from a seeded
generator.

A run of the arena is a simulation: anybody who knows the seed can remove the noise, so nothing that
comes out of it is private. What is measured is what a private run would be worth.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core.noise import gaussian_scale
from tacit.errors import StateError
from tacit_lab.arena.protocol import Setting

# Sensitivities are rounded up to whole units of 1 / GRID: the core calibrates in integers.
GRID = 2**24


def noise_rho(setting: Setting) -> float:
    """The rho that Gaussian noise may add up to; infinite where there is no privacy.

    By the exact curve, as for Tacit's own releases: none of the learners that ask releases anything
    else.
    """
    return setting.budget.gaussian if setting.private else math.inf


def mixed_rho(setting: Setting) -> float:
    """The rho that releases of any kind may add up to, for learners that release more than Gaussian
    sums; infinite where there is no privacy."""
    return setting.budget.zcdp if setting.private else math.inf


def gaussian_sigma(sensitivity: float, rho: float) -> float:
    """The standard deviation of Gaussian noise for a statistic of this L2 sensitivity: 0 where rho
    is infinite."""
    if math.isinf(rho):
        return 0.0
    return gaussian_scale(math.ceil(sensitivity * GRID), rho) / GRID


def gaussian(shape: int | tuple[int, ...], sigma: float, rng: Rng) -> Floats:
    """Fresh noise; without privacy none is drawn, so that the generator goes on as if there were
    none."""
    return sigma * rng.standard_normal(shape) if sigma > 0 else np.zeros(shape)


def laplace(epsilon: float, sensitivity: float, rng: Rng) -> float:
    """One draw of Laplace noise for pure epsilon; 0 where epsilon is infinite."""
    return float(laplaces(1, epsilon, sensitivity, rng)[0])


def laplaces(size: int, epsilon: float, sensitivity: float, rng: Rng) -> Floats:
    """Independent draws of Laplace noise, each of scale sensitivity / epsilon; all 0 where epsilon
    is infinite."""
    if math.isinf(epsilon):
        return np.zeros(size)
    return rng.laplace(0.0, sensitivity / epsilon, size=size)


def gumbel(shape: tuple[int, ...], epsilon: float, sensitivity: float, rng: Rng) -> Floats:
    """Noise after which the largest score is a draw of the exponential mechanism, with probability
    proportional to exp(epsilon score / (2 sensitivity)); 0 where epsilon is infinite."""
    if math.isinf(epsilon):
        return np.zeros(shape)
    return rng.gumbel(scale=2.0 * sensitivity / epsilon, size=shape)


class Tree:
    """All prefix sums of a stream by the binary tree mechanism (Chan, Shi and Song 2010; Dwork et
    al. 2010).

    Every node of a binary tree over the stream holds the sum below it plus noise of its own, drawn
    once. A prefix is the sum of at most log2(T) + 1 nodes, and a record lies below at most as many,
    `levels`; so each node gets rho / levels. Nodes that no prefix reads are not drawn.
    """

    def __init__(self, size: int, horizon: int, sensitivity: float, rho: float, rng: Rng) -> None:
        self.levels = math.ceil(math.log2(horizon)) + 1 if horizon > 1 else 1
        self.sigma = gaussian_sigma(sensitivity, rho / self.levels)
        self.horizon = horizon
        self.count = 0
        self.total = np.zeros(size)  # PRIVATE
        self._rng = rng
        self._noise = np.zeros((self.levels, size))  # of the last finished node of each level
        self._root: Floats | None = None

    def add(self, row: Floats) -> None:
        """One more record. It finishes the node whose level is the number of trailing zeros of the
        count."""
        if self.count == self.horizon:
            raise StateError(
                f"the tree is for {self.horizon} records, and all of them are in: "
                "make a larger one."
            )
        self.total += row
        self.count += 1
        level = (self.count & -self.count).bit_length() - 1
        self._noise[level] = gaussian(self.total.shape, self.sigma, self._rng)

    @property
    def nodes(self) -> int:
        """How many nodes the current prefix is the sum of. Public."""
        return 1 if self._root is not None else self.count.bit_count()

    @property
    def prefix(self) -> Floats:
        """The noisy sum of all records so far."""
        if self._root is not None:
            return self.total + self._root
        return self.total + self._noise[self._finished].sum(axis=0)

    def close(self) -> None:
        """After the last record the root alone is read: one node's noise instead of several."""
        if self._root is None:
            if self.count == 1 << (self.levels - 1):  # the root is finished already
                self._root = self._noise[-1]
            else:
                self._root = gaussian(self.total.shape, self.sigma, self._rng)

    @property
    def _finished(self) -> list[int]:
        """The levels of the nodes that the current prefix is the sum of."""
        return [level for level in range(self.levels) if self.count >> level & 1]
