"""Batched pure exploration."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.features import nystroem
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.posterior import Posterior
from tacit_lab.arena.protocol import Setting


def batch_sizes(horizon: int) -> list[int]:
    """N_1 = ceil(sqrt(T)), N_i = ceil(sqrt(T N_{i-1})), the last one cut so that the sum is T."""
    sizes: list[int] = []
    size = 1
    left = horizon
    while left > 0:
        size = math.ceil(math.sqrt(horizon * size))
        sizes.append(min(size, left))
        left -= sizes[-1]
    return sizes


class Batched(FeatureLearner):
    """In each of O(log log T) batches plays the most uncertain action that is not ruled out. After
    a batch an action is ruled out where its upper bound is below the best lower bound, by that
    batch's rounds alone.

    The paper has no contexts. With them, actions are ruled out context by context: what an earlier
    batch says of (x, c) is worked out when c comes. Chosen here: bounds of 2 standard deviations,
    as in GP-UCB; a decision by the posterior mean of all rounds.
    """

    name: ClassVar[str] = "Batched pure exploration"
    source: ClassVar[str] = (
        "Li, Scarlett 2022, Gaussian Process Bandit Optimization with Few Batches"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = nystroem(setting.problem, rng)
        self.ends = set(np.cumsum(batch_sizes(setting.horizon)).tolist())
        self.done: list[Posterior] = []  # of finished batches, each from its own rounds
        self.all = self._fresh()
        self.batch = self._fresh()
        self.round = 0

    def _fresh(self) -> Posterior:
        return Posterior(self.phi.size, self.noise)

    def ask(self, context: Floats) -> Floats:
        Phi = self.phi.on_menu(self.menu, context)
        scores = np.where(self.alive(Phi), self.batch.std(Phi), -1.0)
        return self.answer(context, Phi, scores)

    def alive(self, Phi: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """The actions of one context that no finished batch has ruled out."""
        left = np.ones(len(Phi), dtype=bool)
        for posterior in self.done:
            mean = posterior.mean(Phi)
            width = WIDTH * posterior.std(Phi)
            left &= mean + width >= np.max((mean - width)[left])
        return left

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        phi = self.features_of(context, action)
        y = float(np.clip(reward, -1.0, 1.0))
        self.batch.add(phi, y)
        self.all.add(phi, y)
        self.round += 1
        if self.round in self.ends:
            self.done.append(self.batch)
            self.batch = self._fresh()

    def mean(self, points: Floats) -> Floats:
        return self.all.mean(self.phi(points))
