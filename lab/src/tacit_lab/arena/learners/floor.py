"""Floors: what any learner should beat. They protect nothing because they learn nothing about
anybody's context."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.protocol import Learner, Setting


class Uniform(Learner):
    """Plays and decides uniformly at random. It uses no data at all."""

    name: ClassVar[str] = "Uniform play"
    source: ClassVar[str] = "floor"
    protects: ClassVar[str] = "nothing (uses no data)"

    def ask(self, context: Floats) -> Floats:
        return self.setting.problem.actions.sample_points(1, self.rng)[0]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        pass

    def decide(self, contexts: Floats) -> Floats:
        return self.setting.problem.actions.sample_points(len(contexts), self.rng)

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        actions = self.setting.problem.actions.sample_points(len(contexts), self.rng)
        reward(actions, contexts)
        return actions


class BestFixed(Learner):
    """Plays the menu in random turns, and decides for the action that earned most on average,
    whoever comes."""

    name: ClassVar[str] = "Best fixed action"
    source: ClassVar[str] = "floor"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.earned = np.zeros(len(setting.menu))
        self.times = np.zeros(len(setting.menu))
        times = math.ceil(setting.horizon / len(setting.menu))
        self._turns = np.concatenate([rng.permutation(len(setting.menu)) for _ in range(times)])

    def ask(self, context: Floats) -> Floats:
        return self.setting.menu[self._turns[int(self.times.sum())]]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        item = self._turns[int(self.times.sum())]
        self.earned[item] += reward
        self.times[item] += 1

    def decide(self, contexts: Floats) -> Floats:
        average = np.where(self.times > 0, self.earned / np.maximum(self.times, 1), -np.inf)
        return np.repeat(self.setting.menu[[int(np.argmax(average))]], len(contexts), axis=0)

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        turns = self._turns[: len(contexts)]
        actions = self.setting.menu[turns]
        rewards = reward(actions, contexts)
        np.add.at(self.earned, turns, rewards)
        np.add.at(self.times, turns, 1)
        return actions
