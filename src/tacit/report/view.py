"""A policy as a function on unit coordinates: what it chooses, expects, and does not know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._typing import Floats
from tacit.kernels import Separable
from tacit.policy import Policy
from tacit.policy.advantage import Advantage
from tacit.policy.comparison import Comparer
from tacit.policy.health import comparer
from tacit.report.frames import Frame


@dataclass(frozen=True)
class Detail:
    """How closely to look: points on a curve, along the side of a map, people in whose contexts a
    coordinate is moved, levels that it is moved to, other people whose values it is given."""

    curve: int
    side: int
    moved: int
    levels: int
    others: int


FINE = Detail(61, 41, 128, 5, 4)
COARSE = Detail(25, 15, 40, 3, 2)


@dataclass(frozen=True, eq=False)
class View:
    """What a policy decides and expects at points in unit coordinates, row by row. Rewards are in
    the user's units."""

    policy: Policy

    @cached_property
    def actions(self) -> Frame:
        return Frame.of(self.policy.problem.actions)

    @cached_property
    def contexts(self) -> Frame:
        return Frame.of(self.policy.problem.contexts)

    @property
    def detail(self) -> Detail:
        """Coarse for a kernel that is no product: each of its decisions costs a kernel row for
        every candidate."""
        return FINE if isinstance(self.policy.problem.k, Separable) else COARSE

    @cached_property
    def comparer(self) -> Comparer:
        return comparer(self.policy)

    @property
    def people(self) -> Floats:
        """Contexts like those of the people who came, or evenly drawn where nothing is known of
        them."""
        return self.comparer.C

    @cached_property
    def chosen(self) -> Floats:
        """What is chosen for these people."""
        return self.decide(self.people)

    @property
    def who(self) -> str:
        """Whom the page is about."""
        if self.policy.visitors is None:
            return "evenly drawn contexts"
        return "the people who came"

    @property
    def half_range(self) -> float:
        """The user's units in one unit of the model's reward."""
        low, high = self.policy.problem.reward_range
        return (high - low) / 2

    @property
    def quantity(self) -> str:
        """What the page says is expected of an action: its reward, or its advantage where only
        advantages were learned."""
        return "advantage" if self.policy.problem.advantage else "reward"

    def decide(self, C: Floats) -> Floats:
        return self.policy.decide_points(C)

    def mean(self, X: Floats, C: Floats) -> Floats:
        """The expected reward, or advantage, of each action in its context."""
        points = np.hstack([X, C])
        if self.policy.problem.advantage:
            return self._advantage.mean(points) * self.half_range
        return self.policy.problem.unscale_reward(self.policy.posterior.mean(points))

    def std(self, X: Floats, C: Floats) -> Floats:
        """Its posterior standard deviation."""
        points = np.hstack([X, C])
        if self.policy.problem.advantage:
            return np.sqrt(self._advantage.variance(points)) * self.half_range
        return np.sqrt(self.policy.posterior.variance(points)) * self.half_range

    @cached_property
    def _advantage(self) -> Advantage:
        return Advantage(self.policy.posterior, self.policy.problem.actions)
