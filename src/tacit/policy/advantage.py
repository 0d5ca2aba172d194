"""By how much actions are better than random ones in the same context, row by row.

The advantage of an action x in a context c is linear in the reward function f,

    a(x, c) = f(x, c) - mean_s f(x_s, c) = sum_i h_i f(w_i),

over actions x_s that stand for uniformly random play, so its posterior is normal (see
`tacit.policy.comparison`). The level of rewards cancels out. What it costs grows with the number of
rows, where `Comparer` visits every pair of them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tacit._typing import Floats
from tacit.decoder import Posterior
from tacit.domains import Domain
from tacit.kernels import Separable
from tacit.policy.visitors import spread

ROWS = 2048  # rows at a time, so that memory does not grow with their number
RANDOM_ACTIONS = 256  # that stand for random play,
FEW_RANDOM_ACTIONS = 32  # and for a kernel that is no product: each row costs a square of these


class Advantage:
    """The advantages of actions over random play, in units of half the reward range."""

    def __init__(self, posterior: Posterior, actions: Domain) -> None:
        n = RANDOM_ACTIONS if isinstance(posterior.kernel, Separable) else FEW_RANDOM_ACTIONS
        self.random = random_actions(actions, n)
        self._posterior = posterior

    def mean(self, points: Floats) -> Floats:
        """E[a(w)] at joint points in unit coordinates."""
        found = [self._posterior.functional_mean(self._rows(part)) for part in _pieces(points)]
        return np.concatenate(found)

    def variance(self, points: Floats) -> Floats:
        """Var[a(w)]"""
        found = []
        for part in _pieces(points):
            kappa = self._rows(part)
            found.append(self._posterior.functional_variance(kappa, self._prior(part)))
        return np.concatenate(found)

    def stated_variance(self, points: Floats) -> Floats:
        """The same with what is not known of the size of effects."""
        return self.variance(points) + self._posterior.size_variance(self.mean(points))

    def _rows(self, points: Floats) -> Floats:
        """sum_i h_i k_U(w_i)"""
        kernel = self._posterior.kernel
        U = self._posterior.landmarks
        if isinstance(kernel, Separable):
            own = np.asarray(kernel.actions(points[:, : kernel.at], U[:, : kernel.at]))
            contexts = kernel.contexts(points[:, kernel.at :], U[:, kernel.at :])
            return (own - self._random_rows) * np.asarray(contexts)
        found = []
        for one in points:
            rows = np.asarray(kernel(self._beside(one), U))
            found.append(rows[0] - rows[1:].mean(axis=0))
        return np.array(found).reshape(len(points), len(U))

    def _prior(self, points: Floats) -> Floats:
        """sum_ij h_i h_j k(w_i, w_j)"""
        kernel = self._posterior.kernel
        if isinstance(kernel, Separable):
            X = points[:, : kernel.at]
            across = np.asarray(kernel.actions(X, self.random)).mean(axis=1)
            own = np.asarray(kernel.actions.diagonal(X)) - 2.0 * across + self._random_square
            return own * np.asarray(kernel.contexts.diagonal(points[:, kernel.at :]))
        h = np.full(len(self.random) + 1, -1.0 / len(self.random))
        h[0] = 1.0
        found = []
        for one in points:
            W = self._beside(one)
            found.append(h @ np.asarray(kernel(W, W)) @ h)
        return np.array(found)

    def _beside(self, point: Floats) -> Floats:
        """A point, and below it the random actions in the same context."""
        at = self.random.shape[1]
        context = np.broadcast_to(point[at:], (len(self.random), len(point) - at))
        return np.vstack([point, np.hstack([self.random, context])])

    @cached_property
    def _random_rows(self) -> Floats:
        """mean_s k_X(x_s, u) of a kernel that is a product."""
        kernel = self._posterior.kernel
        assert isinstance(kernel, Separable)
        own = self._posterior.landmarks[:, : kernel.at]
        return np.asarray(kernel.actions(self.random, own)).mean(axis=0)

    @cached_property
    def _random_square(self) -> float:
        """mean_st k_X(x_s, x_t)"""
        kernel = self._posterior.kernel
        assert isinstance(kernel, Separable)
        return float(np.asarray(kernel.actions(self.random, self.random)).mean())


def random_actions(actions: Domain, n: int) -> Floats:
    """Actions in unit coordinates that stand for uniformly random ones: all of them where there are
    at most `n`, and `n` well-spread ones otherwise."""
    if not actions.continuous:
        every = actions.candidate_points(n)
        if len(every) <= n:
            return every
    return spread(actions, n)


def _pieces(points: Floats) -> list[Floats]:
    return [points[i : i + ROWS] for i in range(0, max(1, len(points)), ROWS)]
