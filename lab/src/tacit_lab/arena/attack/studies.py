"""Many short studies of one learner on one of two data sets, as others see them."""

from __future__ import annotations

import copy
from dataclasses import replace
from zlib import crc32

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.attack.neighbours import PROBLEM, Neighbours, World
from tacit_lab.arena.attack.views import View
from tacit_lab.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit_lab.arena.learners.tacit_epochs import TacitEpochs
from tacit_lab.arena.protocol import Learner, Setting

# Learners that draw their noise when they are made. All others draw only what is public by then,
# such as features and landmarks, so that one may be made and copied for each study.
NOISY_WHEN_MADE: tuple[type[Learner], ...] = (GPUCBOutsourced,)
# The fewest rounds with which a learner can be made: an epoch has at least ten.
FEWEST: dict[type[Learner], int] = {TacitEpochs: 32}
NOISE = 0.1  # that learners believe rewards have


class Studies:
    """Runs studies of a learner that is told `epsilon` and `delta`."""

    def __init__(
        self, kind: type[Learner], neighbours: Neighbours, epsilon: float, delta: float
    ) -> None:
        self.kind = kind
        rounds = max(neighbours.horizon, FEWEST.get(kind, 0))
        self.neighbours = replace(neighbours, horizon=rounds)
        self.setting = Setting(PROBLEM, rounds, epsilon, delta, NOISE)
        self._made = self._make(self._rng(0, "made"))

    def both(self, n: int, part: str) -> tuple[Floats, Floats]:
        """What is seen of `n` studies on each side."""
        return self.seen(0, n, part), self.seen(1, n, part)

    def seen(self, side: int, n: int, part: str) -> Floats:
        """One row for each of `n` studies. `part` names the studies: others have other seeds."""
        rng = self._rng(side, part)
        return np.stack([self._study(side, np.random.default_rng(seed)) for seed in rng.spawn(n)])

    def _study(self, side: int, rng: Rng) -> Floats:
        learner = self._fresh(rng)
        view = View(learner, self.neighbours, side)
        world = World(self.neighbours, side, view.watch)
        actions = learner.play(self.neighbours.contexts(side), world.reward)
        return view.numbers(actions)

    def _fresh(self, rng: Rng) -> Learner:
        if isinstance(self._made, NOISY_WHEN_MADE):
            return self._make(rng)
        learner = copy.deepcopy(self._made)
        # In place: parts of the learner, such as trees, draw from the same generator.
        learner.rng.bit_generator.state = rng.bit_generator.state
        return learner

    def _make(self, rng: Rng) -> Learner:
        return self.kind(self.setting, rng)

    def _rng(self, side: int, part: str) -> Rng:
        words = f"{self.kind.__name__}, {self.neighbours.name}, {part}"
        return np.random.default_rng([crc32(words.encode()), side])
