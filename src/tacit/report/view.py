"""A policy as a function on unit coordinates: what it chooses, expects, and does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._typing import Floats
from tacit.kernels import Separable
from tacit.policy import Policy
from tacit.report.frames import Frame

ROWS = 2048  # kernel rows at a time


@dataclass(frozen=True)
class Detail:
    """How closely to look: points on a curve, along the side of a map, random contexts, levels of
    each coordinate."""

    curve: int
    side: int
    contexts: int
    levels: int


FINE = Detail(61, 41, 128, 5)
COARSE = Detail(25, 15, 40, 3)


@dataclass(frozen=True, eq=False)
class View:
    """Rows of actions and of contexts go together; rewards are in the user's units."""

    policy: Policy

    @cached_property
    def actions(self) -> Frame:
        return Frame.of(self.policy.problem.actions)

    @cached_property
    def contexts(self) -> Frame:
        return Frame.of(self.policy.problem.contexts)

    @property
    def detail(self) -> Detail:
        """Decisions with a kernel that is no product cost a kernel row for every candidate: make
        fewer."""
        return FINE if isinstance(self.policy.problem.k, Separable) else COARSE

    @property
    def half_range(self) -> float:
        """The user's units in one unit of the model's reward."""
        low, high = self.policy.problem.reward_range
        return (high - low) / 2

    @property
    def quantity(self) -> str:
        """What the policy's mean is the mean of."""
        return "advantage" if self.policy.problem.advantage else "reward"

    def decide(self, C: Floats) -> Floats:
        return self.policy.decide_points(C)

    def mean(self, X: Floats, C: Floats) -> Floats:
        """mean(w) = k_U(w)' weights"""
        weights = self.policy.posterior.weights
        return self.policy.problem.unscale_reward(
            self._by_rows(np.hstack([X, C]), lambda k_U, _: k_U @ weights)
        )

    def std(self, X: Floats, C: Floats) -> Floats:
        """var(w) = v k(w, w) - k_U(w)' reduction k_U(w)"""
        posterior = self.policy.posterior
        k = self.policy.problem.k

        def variance(k_U: Floats, W: Floats) -> Floats:
            return posterior.scale * k.diagonal(W) - np.sum(
                (k_U @ posterior.reduction) * k_U, axis=1
            )

        return (
            np.sqrt(np.maximum(self._by_rows(np.hstack([X, C]), variance), 0.0)) * self.half_range
        )

    def rows(self, W: Floats) -> Floats:
        """k_U(w) of joint points"""
        return self._by_rows(W, lambda k_U, _: k_U)

    def _by_rows(self, W: Floats, of: Callable[[Floats, Floats], Floats]) -> Floats:
        k = self.policy.problem.k
        U = self.policy.landmarks
        chunks = (W[start : start + ROWS] for start in range(0, len(W), ROWS))
        return np.concatenate([of(np.asarray(k(chunk, U)), chunk) for chunk in chunks])
