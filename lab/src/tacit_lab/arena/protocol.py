"""What learners and environments agree on.

All points are unit coordinates, all rewards are in [-1, 1].

A learner is one study: made for a `Setting` and a generator, it plays the rounds and then decides.
An environment is a problem together with what the learner does not know: the mean reward, the
noise, and who really comes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.problem import Problem

MENU = 64  # candidate actions where the domain is continuous
# (actions, contexts) -> mean reward in [-1, 1], row by row
Mean = Callable[[Floats, Floats], Floats]
# (actions, contexts, rng) -> noisy rewards, row by row
Reward = Callable[[Floats, Floats, Rng], Floats]


@dataclass(frozen=True)
class Setting:
    """What a learner is told. All of it is public."""

    problem: Problem  # its generator is what the learner believes of the contexts, right or wrong
    horizon: int
    epsilon: float = math.inf  # inf: no privacy
    delta: float = 1e-6
    noise: float = 0.1  # standard deviation of a reward around its mean

    @property
    def private(self) -> bool:
        return math.isfinite(self.epsilon)

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def menu(self) -> Floats:
        """The candidate actions, the same for every learner."""
        return self.problem.actions.candidate_points(MENU)


class Learner(ABC):
    """One study. Subclasses say where they come from, and what they protect if they do."""

    name: ClassVar[str]
    source: ClassVar[str]  # authors, year, title
    # "nothing", "context and reward", "reward", ...; a note in parentheses may follow
    protects: ClassVar[str] = "nothing"
    trust: ClassVar[str] = "none"  # or central (joint DP), local, shuffled
    # the test of this repository that shows that the claim does not hold; None where it does
    refuted_by: ClassVar[str | None] = None
    # whether epsilon is spent anew on every decision
    per_decision: ClassVar[bool] = False
    # whether all of its noise is Gaussian and priced by the exact curve (`mechanisms.noise_rho`):
    # then an attack may be read on that curve, and proves more with the same runs
    gaussian: ClassVar[bool] = False
    # the learner it becomes at epsilon = inf; None if it is not private
    counterpart: ClassVar[str | None] = None

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.setting = setting
        self.rng = rng

    @abstractmethod
    def ask(self, context: Floats) -> Floats:
        """The action to play for one context."""

    @abstractmethod
    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        """What came of it."""

    @abstractmethod
    def decide(self, contexts: Floats) -> Floats:
        """The best action for each context, one row each, after the last round."""

    def play(self, contexts: Floats, reward: Callable[[Floats, Floats], Floats]) -> Floats:
        """All rounds; returns the actions played. Learners that do not adapt override this to play
        them at once."""
        actions = np.empty((len(contexts), self.setting.problem.actions.dimension))
        for i, context in enumerate(contexts):
            action = self.ask(context)
            self.tell(context, action, float(reward(action[None, :], context[None, :])[0]))
            actions[i] = action
        return actions


@dataclass(frozen=True)
class Environment:
    """A problem, and the truth behind it."""

    name: str
    problem: Problem
    mean: Mean
    draw_contexts: Callable[[int, Rng], Floats]
    noise: float = 0.1
    binary: bool = False  # rewards are -1 or 1 with this mean
    # How a reward is drawn, where it is neither binary nor the mean with normal noise. It takes one
    # random number per row: learners meet the same noise whether they play one by one or at once.
    sample: Reward | None = None
    # The contexts to decide for, where they are other people's than those that were played.
    fresh_contexts: Callable[[int, Rng], Floats] | None = None
    # (actions, contexts) -> mean reward, one row per context, one column per action: the same
    # numbers as `mean`, faster.
    surface: Mean | None = None
    scale: float = 1.0  # an error times this is in the problem's own unit
    unit: str = "reward"

    def reward(self, actions: Floats, contexts: Floats, rng: Rng) -> Floats:
        if self.sample is not None:
            return np.clip(self.sample(actions, contexts, rng), -1.0, 1.0)
        mean = self.mean(actions, contexts)
        if self.binary:
            return np.where(rng.random(len(mean)) < (1.0 + mean) / 2.0, 1.0, -1.0)
        return np.clip(mean + self.noise * rng.normal(size=len(mean)), -1.0, 1.0)
