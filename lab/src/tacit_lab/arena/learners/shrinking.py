"""Random exploration of what is not ruled out, in epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import Map, nystroem
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.menu import CONTEXTS, MenuLearner
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.protocol import Setting

EPOCHS = 4  # each twice as long as the one before
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def epoch_sizes(horizon: int) -> list[int]:
    """EPOCHS sizes that double and add up to the horizon; fewer where it is too short for them."""
    ends = [horizon * (2**i - 1) // (2**EPOCHS - 1) for i in range(EPOCHS + 1)]
    return [size for size in np.diff(ends).tolist() if size > 0]


@dataclass(frozen=True, eq=False)
class Information:
    """What an epoch says of theta ~ N(0, v I): its likelihood is exp(h'theta - theta'Q theta / 2).
    Epochs add up."""

    Q: Floats
    h: Floats

    def __add__(self, other: Information) -> Information:
        return Information(self.Q + other.Q, self.h + other.h)

    def posterior(self) -> tuple[Floats, Floats]:
        """The mean and the covariance of theta."""
        S = np.linalg.inv(self.Q + np.eye(len(self.h)) / PRIOR)
        return S @ self.h, np.asarray(S)


class Shrinking(MenuLearner):
    """In every epoch plays uniformly among the actions that no earlier epoch has ruled out in this
    context. An epoch rules out an action whose upper bound, by the epoch's own rounds alone, is
    below the best lower bound.

    This is the shrinking of the domain that `uniform-posterior` leaves out. The paper has no
    contexts; with them, actions are ruled out context by context. Chosen here: bounds of 2 standard
    deviations, 4 epochs whose lengths double (few, because short ones would say nothing under the
    noise of the private learners that share this; the paper's lengths were not looked up), prior
    variance 0.1, Nystroem features on at most 200 landmarks, a decision by the posterior mean of
    all rounds.
    """

    name: ClassVar[str] = "Random exploration, shrinking"
    source: ClassVar[str] = "Salgia, Vakili, Zhao 2024, Random Exploration in Bayesian Optimization"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.sizes = epoch_sizes(setting.horizon)
        self.phi = self.features()
        self.done: list[Information] = []
        self._bounds: list[tuple[Floats, Floats]] = []  # of each epoch: theta, and its covariance
        self._points: list[Floats] = []  # PRIVATE: of the epoch that is being played
        self._rewards: list[float] = []
        self._theta: Floats | None = None

    def features(self) -> Map:
        """A public feature map with |phi| <= 1."""
        return nystroem(self.setting.problem, self.rng)

    def inform(self, Phi: Floats, y: Floats) -> Information:
        """What one epoch's rounds let out. Without privacy: y = Phi theta + N(0, s^2)."""
        return Information(Phi.T @ Phi / self.noise**2, Phi.T @ y / self.noise**2)

    def draw(self, contexts: Floats) -> Floats:
        """For each context an action that is not ruled out, uniformly."""
        scores = self.rng.random((len(contexts), len(self.menu)))
        for i in range(0, len(contexts), CONTEXTS):
            scores[i : i + CONTEXTS] *= self.alive(contexts[i : i + CONTEXTS])
        return self.menu[np.argmax(scores, axis=1)]

    def imagined(self, n: int) -> Floats:
        """The features of n rounds that the learner draws itself: contexts from the generator,
        actions by the rule of the epoch that is being played. Public."""
        contexts = self.setting.problem.draw_contexts(n, self.rng)
        return self.phi(np.hstack([self.draw(contexts), contexts]))

    def alive(self, contexts: Floats) -> Mask:
        """The actions that no finished epoch has ruled out, `(contexts, menu)`."""
        shape = len(contexts), len(self.menu)
        left = np.ones(shape, dtype=bool)
        if not self._bounds:
            return left
        Phi = self.phi.on_menu(self.menu, contexts)
        for theta, S in self._bounds:
            mean = (Phi @ theta).reshape(shape)
            std = np.sqrt(np.einsum("nd,nd->n", Phi @ S, Phi)).reshape(shape)
            best = np.max(np.where(left, mean - WIDTH * std, -np.inf), axis=1)
            left &= mean + WIDTH * std >= best[:, None]
        return left

    def learn(self, points: Floats, rewards: Floats) -> None:
        """One epoch is over."""
        self.done.append(self.inform(self.phi(points), np.clip(rewards, -1.0, 1.0)))
        self._bounds.append(self.done[-1].posterior())

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        played = []
        for mine in np.split(contexts, np.cumsum(self.sizes)[:-1]):
            actions = self.draw(mine)
            self.learn(np.hstack([actions, mine]), reward(actions, mine))
            played.append(actions)
        return np.vstack(played)

    def ask(self, context: Floats) -> Floats:
        return self.draw(context[None, :])[0]

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self._points.append(np.concatenate([action, context]))
        self._rewards.append(reward)
        if len(self._points) == self.sizes[len(self.done)]:
            self.learn(np.array(self._points), np.array(self._rewards))
            self._points.clear()
            self._rewards.clear()

    def mean(self, points: Floats) -> Floats:
        """Of all epochs together: more than any one says, and nothing more is let out."""
        if self._theta is None:
            total = self.done[0]
            for information in self.done[1:]:
                total = total + information
            self._theta = total.posterior()[0]
        return np.asarray(self.phi(points) @ self._theta)
