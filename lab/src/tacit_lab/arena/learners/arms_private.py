"""Upper confidence bounds for arms, with private means of episodes."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from tacit._typing import Floats
from tacit_lab.arena.learners.arms import ALPHA, UCB
from tacit_lab.arena.learners.in_batches import Labels
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, laplace, noise_rho

SENSITIVITY = 2.0  # of a sum of rewards in [-1, 1]


class PrivateUCB(UCB):
    """An arm is played for as long as it was before altogether, and its mean is that of its last
    episode, with noise: earlier rewards are forgotten. A reward is in one mean, so that each mean
    has all of the budget; which arms are played follows from the means.

    Chosen here: the last episode, which the horizon cuts short, counts if it is at least as long as
    the one before. Without privacy episodes have one round and nothing is forgotten: UCB.
    """

    protects: ClassVar[str] = "reward (contexts are not read)"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "ucb"

    def episode(self, arm: int) -> int:
        return max(1, int(self.played[arm])) if self.setting.private else 1

    def learn(self, labels: Labels, rewards: Floats) -> None:
        if not self.setting.private:
            super().learn(labels, rewards)
            return
        arm = labels[0]
        self.played[arm] += len(rewards)
        if len(rewards) >= self.used[arm]:
            self.used[arm] = len(rewards)
            self.means[arm] = float(np.mean(rewards)) + self.mean_noise(len(rewards))

    @abstractmethod
    def mean_noise(self, count: int) -> float:
        """Fresh noise for a mean of so many rewards."""


class AdaPUCB(PrivateUCB):
    """AdaP-UCB: Laplace noise of scale 2 / (n epsilon) on the mean of n rewards, and a width of

        sqrt(2 alpha log(2 t) / n) + 2 alpha log(t) / (n epsilon).

    Pure: delta is not used. Algorithm 1, the noise, the width and alpha = 3.1 were checked against
    the paper's text (rewards in [0, 1] there; twice as wide here). The paper protects rewards from
    whoever sees all actions. No contexts are used, so a person is protected with their context: it
    enters through one reward. AdaP-KLUCB, for Bernoulli rewards, is not here.
    """

    name: ClassVar[str] = "AdaP-UCB"
    source: ClassVar[str] = "Azize, Basu 2022, When Privacy Meets Partial Information"

    def width(self) -> Floats:
        t = self.round + 1
        noise = SENSITIVITY * ALPHA * math.log(t) / self.setting.epsilon
        return super().width() + noise / np.maximum(self.used, 1.0)

    def mean_noise(self, count: int) -> float:
        return laplace(self.setting.epsilon, SENSITIVITY / count, self.rng)


class AdaCUCB(PrivateUCB):
    """AdaC-UCB: the same in zCDP, with Gaussian noise of standard deviation sigma on the mean of n
    rewards, and a width of

        sqrt(2 alpha log(2 t) (1 / n + sigma^2)).

    Not verified: only the paper's abstract could be read (Gaussian noise, adaptive episodes, zCDP);
    the width is from memory, there with log t and a parameter beta > 3 in alpha's place. Rho is
    what the core's exact curve allows for (epsilon, delta).
    """

    name: ClassVar[str] = "AdaC-UCB"
    source: ClassVar[str] = "Azize, Basu 2024, Concentrated Differential Privacy for Bandits"
    gaussian: ClassVar[bool] = True

    def sigma(self, count: float) -> float:
        return gaussian_sigma(SENSITIVITY, noise_rho(self.setting)) / count

    def width(self) -> Floats:
        n = np.maximum(self.used, 1.0)
        return np.sqrt(self.sampling_variance() * (1.0 + n * (self.sigma(1.0) / n) ** 2))

    def mean_noise(self, count: int) -> float:
        return float(gaussian(1, self.sigma(count), self.rng)[0])
