"""Upper confidence bounds for arms."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.in_batches import ArmLearner, Labels
from tacit_lab.arena.protocol import Setting

ALPHA = 3.1  # of the confidence widths: the proofs of Azize and Basu need more than 3


class UCB(ArmLearner):
    """Plays each arm once, then the one with the largest  mean + sqrt(2 alpha log(2 t) / n).

    Rewards have range 2 here, so widths are twice those of the paper, which has alpha = 4; 3.1 is
    what the private ones use. It decides for the arm with the largest lower bound, mean minus
    width. No contexts: the action is the same for everybody.
    """

    name: ClassVar[str] = "UCB on arms"
    source: ClassVar[str] = (
        "Auer, Cesa-Bianchi, Fischer 2002, Finite-time Analysis of the Multiarmed Bandit Problem"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.played = np.zeros(self.arms)  # rounds of each arm
        self.used = np.zeros(self.arms)  # rounds that its mean is taken over
        self.means = np.zeros(self.arms)

    def next_batch(self, left: int) -> Labels:
        bounds = np.where(self.used > 0, self.means + self.width(), np.inf)
        arm = int(np.argmax(bounds))
        return np.full(min(left, self.episode(arm)), arm, dtype=np.intp)

    def episode(self, arm: int) -> int:
        """For how many rounds the arm is played now."""
        return 1

    def width(self) -> Floats:
        """How far the mean of each arm may be from the truth."""
        return np.sqrt(self.sampling_variance())

    def sampling_variance(self) -> Floats:
        t = self.round + 1
        return 2.0 * ALPHA * math.log(2.0 * t) / np.maximum(self.used, 1.0)

    def learn(self, labels: Labels, rewards: Floats) -> None:
        arm = labels[0]
        self.means[arm] += np.sum(rewards - self.means[arm]) / (self.used[arm] + len(rewards))
        self.used[arm] += len(rewards)
        self.played[arm] += len(rewards)

    def best(self) -> int:
        return int(np.argmax(np.where(self.used > 0, self.means - self.width(), -np.inf)))
