"""This project's own learner that goes on: it uses what it has learned while it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.epochs import Course, Shares, epoch_sizes
from tacit_lab.arena.learners.menu import MenuLearner
from tacit_lab.arena.learners.tacit_release import NO_PRIVACY
from tacit_lab.arena.protocol import Setting

EPOCHS = 3
EPOCHS_OF_LONG = 4
LONG = 10_000  # rounds
SHARES = Shares(explore=0.01)


class TacitEpochs(MenuLearner):
    """Plays uniformly in the first of three epochs (5 % of the rounds, or more), then by Thompson
    sampling from what was released of the epochs before, with 1 % of uniform play. From 10,000
    rounds on there are four epochs. Each round counts in one epoch, so every epoch's release spends
    the whole budget (`tacit.epochs`). Decisions maximise the posterior mean given all releases.
    """

    name: ClassVar[str] = "Tacit, epochs"
    source: ClassVar[str] = "this project"
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "uniform-posterior"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        budget = setting.budget if setting.private else NO_PRIVACY
        epochs = EPOCHS if setting.horizon < LONG else EPOCHS_OF_LONG
        sizes = epoch_sizes(setting.horizon, epochs)
        self.course = Course(setting.problem, sizes, budget, rng, shares=SHARES)
        self._points: list[Floats] = []
        self._rewards: list[float] = []

    def ask(self, context: Floats) -> Floats:
        return self.course.play(context[None, :])[0][0]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self._points.append(np.concatenate([action, context]))
        self._rewards.append(float(np.clip(reward, -1.0, 1.0)))
        if len(self._points) == self.course.sizes[self.course.epoch - 1]:
            self.course.learn(np.array(self._points), np.array(self._rewards))
            self._points.clear()
            self._rewards.clear()

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        played = []
        start = 0
        for size in self.course.sizes:
            mine = contexts[start : start + size]
            start += size
            actions, _ = self.course.play(mine)
            rewards = np.clip(reward(actions, mine), -1.0, 1.0)
            self.course.learn(np.hstack([actions, mine]), rewards)
            played.append(actions)
        return np.vstack(played)

    def mean(self, points: Floats) -> Floats:
        return self.course.policy.posterior.mean(points)

    def decide(self, contexts: Floats) -> Floats:
        return self.course.policy.decide_points(contexts)
