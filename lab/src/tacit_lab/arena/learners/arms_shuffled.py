"""Elimination of arms in batches, without privacy and in the shuffle model."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.arms_private import SENSITIVITY
from tacit_lab.arena.learners.in_batches import ArmLearner, Labels, label_sums
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting


class ArmElimination(ArmLearner):
    """In each batch every arm that is left is played equally often, twice as often as in the batch
    before; then an arm goes whose upper bound is below the best lower bound.

    Means are over all batches. Chosen here: bounds for all arms and rounds at once,

        sqrt(2 log(2 T) (1 / n + b sigma^2 / n^2)),

    n rounds of the arm in b batches, sigma the noise in a batch's sum; all rounds that are left go
    into the last batch. No contexts: the action is the same for everybody.
    """

    name: ClassVar[str] = "Arm elimination"
    source: ClassVar[str] = (
        "Even-Dar, Mannor, Mansour 2006, Action Elimination and Stopping Conditions"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.sums = np.zeros(self.arms)  # released
        self.counts = np.zeros(self.arms)
        self.batches = np.zeros(self.arms)  # that each arm took part in
        self.alive = np.arange(self.arms)
        self.sigma = 0.0  # of the noise in one arm's sum of one batch
        self.times = 1  # of each arm in the next batch

    def next_batch(self, left: int) -> Labels:
        if left < 2 * self.times * len(self.alive):  # what would be left is less than this batch
            return np.resize(self.alive, left)
        return np.tile(self.alive, self.times)

    def learn(self, labels: Labels, rewards: Floats) -> None:
        arms = np.unique(labels)
        self.sums += self.release(label_sums(labels, rewards, self.arms), arms)
        self.counts += np.bincount(labels, minlength=self.arms)
        self.batches[arms] += 1
        self.times *= 2
        upper = self.means + self.width
        self.alive = self.alive[upper[self.alive] >= np.max((self.means - self.width)[self.alive])]

    def release(self, sums: Floats, arms: Labels) -> Floats:
        """The batch's sums of rewards as the server sees them, for the arms that were played."""
        sums[arms] += gaussian(len(arms), self.sigma, self.rng)
        return sums

    @property
    def means(self) -> Floats:
        return self.sums / np.maximum(self.counts, 1.0)

    @property
    def width(self) -> Floats:
        n = np.maximum(self.counts, 1.0)
        variance = 1.0 / n + self.batches * (self.sigma / n) ** 2
        bound = np.sqrt(2.0 * math.log(2.0 * self.setting.horizon) * variance)
        return np.where(self.counts > 0, bound, np.inf)

    def best(self) -> int:
        left = self.alive[self.counts[self.alive] > 0]
        return int(left[np.argmax(self.means[left])])


class ArmsShuffled(ArmElimination):
    """The same where the server sees, for each arm and batch, a noisy sum of its users' rewards and
    nothing else. A user is in one sum, so that each has all of rho.

    Not verified: only the paper's abstract could be read. That it eliminates arms in growing
    batches, with a private sum per arm and batch, is from memory. There users send bits, and a
    shuffler leaves their noisy sum; here each sum gets the Gaussian noise that it needs, of which
    every user adds a share: this takes secure summation, not a shuffler (as in `LinearShuffled`).
    Chosen here: a first batch in which this noise is as large as the sampling error. No contexts
    are used: a user's enters through their own reward.
    """

    name: ClassVar[str] = "Shuffled arm elimination"
    source: ClassVar[str] = (
        "Tenenbaum, Kaplan, Mansour, Stemmer 2021, "
        "Differentially Private Multi-Armed Bandits in the Shuffle Model"
    )
    protects: ClassVar[str] = "reward (contexts are not read)"
    trust: ClassVar[str] = "shuffled"
    counterpart: ClassVar[str | None] = "arm-elimination"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.sigma = gaussian_sigma(SENSITIVITY, noise_rho(setting))
        self.times = max(1, math.ceil(self.sigma**2))
