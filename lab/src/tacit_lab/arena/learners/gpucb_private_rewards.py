"""GP-UCB on rewards that each user makes private before telling them."""

from __future__ import annotations

import math
from typing import ClassVar

from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.mechanisms import laplace

SENSITIVITY = 2.0  # of a reward in [-1, 1]


class GPUCBPrivateRewards(GPUCB):
    """Every user adds Laplace noise of scale 2 / epsilon to the reward; GP-UCB goes on with what it
    is told.

    Of the paper's three algorithms this is the truncating one (LDP-TGP-UCB): a noisy reward beyond
    b_t = 1 + (2 / epsilon) log t, which an honest one passes with probability below 1 / t, counts
    as 0. The one with medians of means has to play the same point again and again, which contexts
    do not allow. The paper's confidence width is replaced by GP-UCB's own, with the noise that
    rewards now have. The paper has no contexts; here they are not protected. Neighbours are any two
    rewards of one user; delta is not used.
    """

    name: ClassVar[str] = "GP-UCB, private rewards"
    source: ClassVar[str] = "Zhou, Tan 2021, Local Differential Privacy for Bayesian Optimization"
    protects: ClassVar[str] = "reward"
    trust: ClassVar[str] = "local"
    counterpart: ClassVar[str | None] = "gpucb"

    _rounds = 0

    @property
    def scale(self) -> float:
        """The scale of the Laplace noise."""
        return SENSITIVITY / self.setting.epsilon

    @property
    def noise(self) -> float:
        """Laplace noise has variance 2 scale^2."""
        return math.sqrt(super().noise ** 2 + 2.0 * self.scale**2)

    def observe(self, reward: float) -> float:
        self._rounds += 1
        noisy = self.randomise(reward)
        limit = 1.0 + self.scale * math.log(self._rounds)
        return noisy if abs(noisy) <= limit else 0.0

    def randomise(self, reward: float) -> float:
        """What leaves the user."""
        return super().observe(reward) + laplace(self.setting.epsilon, SENSITIVITY, self.rng)
