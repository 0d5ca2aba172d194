"""A policy as a function on unit coordinates: what it chooses, expects, and does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._typing import Floats
from tacit.kernels import Separable
from tacit.policy import Policy
from tacit.policy.advantage import Advantage
from tacit.policy.comparison import Comparer
from tacit.policy.health import comparer
from tacit.report.axes import Axis
from tacit.report.frames import Frame


@dataclass(frozen=True)
class Detail:
    """How finely things are drawn."""

    curve: int  # points on a curve,
    side: int  # and along the side of a map
    moved: int  # people in whose contexts a coordinate is moved to find out what it changes,
    levels: int  # levels that it is moved to,
    others: int  # and other people whose values it is given
    averaged: int  # people over whom a curve of choices is averaged,
    steps: int  # and points on it


FINE = Detail(curve=61, side=41, moved=128, levels=5, others=4, averaged=128, steps=31)
COARSE = Detail(curve=25, side=15, moved=40, levels=3, others=2, averaged=20, steps=9)


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
        """Contexts like those of the people in the data, or evenly drawn where nothing is known of
        them."""
        return self.comparer.C

    @cached_property
    def typical(self) -> Floats:
        """The context, as a row, at which figures hold what does not move: of people like those who
        came the one nearest to the middle of them, or the middle of every range where nothing is
        known of them."""
        if self.policy.visitors is None:
            return self.contexts.middle
        return self.contexts.typical(self.policy.visitors)

    @cached_property
    def chosen(self) -> Floats:
        """What is chosen for these people."""
        return self.decide(self.people)

    @property
    def who(self) -> str:
        """Whom the page is about."""
        if self.policy.visitors is None:
            return "evenly drawn contexts"
        return "the people in the data"

    @property
    def knows_people(self) -> bool:
        """Whether anything is known of the records' contexts."""
        return self.policy.visitors is not None

    @property
    def unit(self) -> str:
        """What is counted in shares of them."""
        return "people" if self.knows_people else "contexts"

    def quantiles(self, axis: Axis, shares: Sequence[float]) -> Floats:
        """Unit coordinates of a number below which these shares of the people lie; shares of the
        range where nothing is known of them."""
        if not self.knows_people:
            return np.asarray(shares, dtype=np.float64)
        known = self.people[~axis.missing(self.people)]
        if not len(known):
            return np.asarray(shares, dtype=np.float64)
        return np.quantile(known[:, axis.columns][:, 0], shares)

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
            return np.sqrt(self._advantage.stated_variance(points)) * self.half_range
        return np.sqrt(self.policy.posterior.stated_variance(points)) * self.half_range

    @cached_property
    def _advantage(self) -> Advantage:
        return Advantage(self.policy.posterior, self.policy.problem.actions)
