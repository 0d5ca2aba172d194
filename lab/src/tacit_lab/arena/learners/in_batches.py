"""Learners that choose what to play for many rounds at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.protocol import Learner, Setting

Labels = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


def label_sums(labels: Labels, rewards: Floats, labels_in_all: int) -> Floats:
    """The sum of the rewards of each label; 0 for a label that was not played."""
    sums = np.zeros(labels_in_all)
    np.add.at(sums, labels, rewards)
    return sums


class InBatches(Learner):
    """Names a label for each round of a batch (an arm, a policy) before it begins, and learns from
    the batch's rewards after it ends. A round's action depends on its label and its own context
    alone, so that a whole batch is played at once."""

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.round = 0  # rounds of finished batches
        self._batch: Labels = np.zeros(0, dtype=np.intp)
        self._rewards: list[float] = []  # of the batch that is being played

    @abstractmethod
    def next_batch(self, left: int) -> Labels:
        """The labels of the next rounds, at least one and at most as many as are left."""

    @abstractmethod
    def actions(self, labels: Labels, contexts: Floats) -> Floats:
        """The action of each round."""

    @abstractmethod
    def learn(self, labels: Labels, rewards: Floats) -> None:
        """What came of one batch; rewards are in [-1, 1]."""

    @property
    def left(self) -> int:
        return self.setting.horizon - self.round

    def observe(self, rewards: Floats) -> Floats:
        """What the learner is told of the rewards of some rounds."""
        return np.clip(rewards, -1.0, 1.0)

    def ask(self, context: Floats) -> Floats:
        return self.actions(self._label(), context[None, :])[0]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self._label()
        self._rewards.append(float(self.observe(np.array([reward]))[0]))
        if len(self._rewards) == len(self._batch):
            rewards = np.array(self._rewards)
            self._rewards = []
            self._finish(rewards)

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        played = []
        while self.round < len(contexts):
            self._batch = self.next_batch(len(contexts) - self.round)
            those = contexts[self.round : self.round + len(self._batch)]
            played.append(self.actions(self._batch, those))
            self._finish(self.observe(reward(played[-1], those)))
        return np.vstack(played)

    def _label(self) -> Labels:
        """The label of the round that is being played."""
        if not len(self._batch):
            self._batch = self.next_batch(self.left)
        at = len(self._rewards)
        return self._batch[at : at + 1]

    def _finish(self, rewards: Floats) -> None:
        batch = self._batch
        self._batch = batch[:0]
        self.round += len(batch)
        self.learn(batch, rewards)


class ArmLearner(InBatches):
    """A multi-armed bandit: its arms are the actions of the menu, and it never looks at a context.
    It plays, and decides for, one action whoever comes."""

    @property
    def arms(self) -> int:
        return len(self.setting.menu)

    @abstractmethod
    def best(self) -> int:
        """The arm to decide for."""

    def actions(self, labels: Labels, contexts: Floats) -> Floats:
        return self.setting.menu[labels]

    def decide(self, contexts: Floats) -> Floats:
        return np.repeat(self.setting.menu[[self.best()]], len(contexts), axis=0)
