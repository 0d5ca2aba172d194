"""What most learners share: a menu of candidate actions, and a decision for the best of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.protocol import Learner, Setting

CONTEXTS = 256  # contexts decided at a time
QUIET = 0.01  # the least noise that is reckoned with, so that nothing divides by 0


def pairs(menu: Floats, contexts: Floats) -> Floats:
    """Every context with every action, as joint rows: the menu of the first context, then of the
    second, ..."""
    return np.hstack([np.tile(menu, (len(contexts), 1)), np.repeat(contexts, len(menu), axis=0)])


class MenuLearner(Learner):
    """Decides for the action of the menu with the highest estimate."""

    @abstractmethod
    def mean(self, points: Floats) -> Floats:
        """The estimate that is released, at joint points."""

    @property
    def menu(self) -> Floats:
        return self.setting.menu

    @property
    def noise(self) -> float:
        """The standard deviation of what comes back for a reward."""
        return max(self.setting.noise, QUIET)

    def decide(self, contexts: Floats) -> Floats:
        chunks = [contexts[i : i + CONTEXTS] for i in range(0, len(contexts), CONTEXTS)]
        return np.vstack([self.menu[self.choose(self.scores(chunk))] for chunk in chunks])

    def scores(self, contexts: Floats) -> Floats:
        """The estimate of every action for every context, `(contexts, menu)`."""
        return self.mean(pairs(self.menu, contexts)).reshape(len(contexts), len(self.menu))

    def choose(self, scores: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """One candidate per row of scores."""
        return np.argmax(scores, axis=1)


class UniformPlay(MenuLearner):
    """Plays uniformly at random whatever comes, so that all rounds can be played at once."""

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self._points: list[Floats] = []
        self._rewards: list[Floats] = []

    def ask(self, context: Floats) -> Floats:
        return self.setting.problem.draw_actions(context[None, :], self.rng)[0]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self.add(np.concatenate([action, context])[None, :], np.array([reward]))

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        actions = self.setting.problem.draw_actions(contexts, self.rng)
        self.add(np.hstack([actions, contexts]), reward(actions, contexts))
        return actions

    def add(self, points: Floats, rewards: Floats) -> None:
        """Joint points and rewards of rounds played."""
        self._points.append(points)
        self._rewards.append(np.clip(rewards, -1.0, 1.0))

    @property
    def data(self) -> tuple[Floats, Floats]:
        """All joint points and rewards so far. PRIVATE."""
        return np.vstack(self._points), np.concatenate(self._rewards)
