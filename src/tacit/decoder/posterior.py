"""The posterior of the reward function: evaluates itself, and draws from itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit._typing import Floats, Rng
from tacit.kernels import Kernel
from tacit.numerics import linalg

ROWS = 2048  # kernel rows at a time: memory stays the same however many points are asked for


@dataclass(frozen=True, eq=False)
class Posterior:
    """f given the released numbers, in units of half the reward range around its middle.

    f(w) = l + g(w),   E[g(w)] = k_U(w)' weights,   Var[g(w)] = v k(w, w) - k_U(w)' reduction k_U(w)

    The level `l` of the rewards is a number of its own. It is no part of f where f is an advantage.
    """

    kernel: Kernel
    landmarks: Floats
    weights: Floats
    reduction: Floats
    scale: float  # v
    mean_square: float  # of rewards
    lengthscales: tuple[float, ...]
    level: float
    level_variance: float
    level_covariance: Floats  # with the weights
    advantage: bool = False
    # lambda: the correlation with the reward function of the epoch before
    retention: float = 1.0
    # Effects may be so many times as large at most, where columns of contexts depend on each other
    # in a way that was not counted. Which action is best does not depend on it.
    understated: float = 1.0

    @property
    def rank(self) -> int:
        return len(self.landmarks)

    def mean(self, points: Floats) -> Floats:
        """E[f(w)] at joint points in unit coordinates."""
        g = np.concatenate([k_U @ self.weights for _, k_U in self._kernel_rows(points)])
        return g if self.advantage else self.level + g

    def reward(self, points: Floats) -> Floats:
        """E[l + g(w)]: expected rewards, also where f is an advantage."""
        mean = self.mean(points)
        return self.level + mean if self.advantage else mean

    def variance(self, points: Floats) -> Floats:
        """Var[f(w)]"""
        return self._variance(points, 0.0 if self.advantage else 1.0)

    def reward_variance(self, points: Floats) -> Floats:
        """Var[l + g(w)], also where f is an advantage."""
        return self._variance(points, 1.0)

    def stated_variance(self, points: Floats) -> Floats:
        """Var[l + g(w)] with what is not known of the size of effects."""
        return self.reward_variance(points) + self.size_variance(self.reward(points) - self.level)

    def size_variance(self, effects: Floats) -> Floats:
        """Of expected effects, where these may be understated by a common factor."""
        return np.asarray(((self.understated - 1.0) / 2.0 * effects) ** 2)

    def belief(self, points: Floats) -> tuple[Floats, Floats]:
        """Means and standard deviations of expected rewards."""
        return self.reward(points), np.sqrt(self.reward_variance(points))

    def _variance(self, points: Floats, total: float) -> Floats:
        found = []
        for part, k_U in self._kernel_rows(points):
            found.append(self.functional_variance(k_U, self.kernel.diagonal(part), total))
        return np.concatenate(found)

    def kernel_rows(self, points: Floats) -> Floats:
        """k_U(w)"""
        return np.concatenate([k_U for _, k_U in self._kernel_rows(points)])

    def functional_mean(self, kappa: Floats, total: float = 0.0) -> Floats:
        """E[sum_i h_i f(w_i)], where a row of `kappa` is sum_i h_i k_U(w_i).

        `total` is sum_i h_i, which is 0 for a difference.
        """
        return np.asarray(kappa @ self.weights + total * self.level)

    def functional_variance(
        self, kappa: Floats, prior: Floats | float, total: float = 0.0
    ) -> Floats:
        """Var[sum_i h_i f(w_i)], where `prior` is sum_ij h_i h_j k(w_i, w_j)."""
        explained = np.sum((kappa @ self.reduction) * kappa, axis=-1)
        level = total**2 * self.level_variance + 2.0 * total * (kappa @ self.level_covariance)
        return np.maximum(self.scale * prior - explained + level, 0.0)

    def draw(self, rng: Rng) -> Posterior:
        """A posterior whose mean is one function drawn from this one."""
        moved = self._root @ rng.normal(size=self.rank + 1)
        return replace(self, level=self.level + moved[0], weights=self.weights + moved[1:])

    def draw_weights(self, n: int, rng: Rng) -> Floats:
        """The weights of so many functions drawn from this posterior, one row each."""
        return self.weights + rng.normal(size=(n, self.rank + 1)) @ self._root[1:].T

    @cached_property
    def _root(self) -> Floats:
        """A square root of the covariance of the level and the weights, v Kuu^-1 - reduction."""
        L = linalg.cholesky(self.kernel(self.landmarks, self.landmarks))
        # In whitened coordinates L' weights, where the prior is v I.
        beside = L.T @ self.level_covariance
        inner = self.scale * np.eye(len(L)) - L.T @ self.reduction @ L
        top = np.append(self.level_variance, beside)
        values, V = linalg.eigh(np.vstack([top, np.column_stack([beside, inner])]))
        root = V * np.sqrt(np.maximum(values, 0.0))
        return np.vstack([root[:1], linalg.solve_upper(L, root[1:])])

    def _kernel_rows(self, points: Floats) -> list[tuple[Floats, Floats]]:
        """Points in pieces, with their kernel rows."""
        pieces = [points[i : i + ROWS] for i in range(0, max(1, len(points)), ROWS)]
        return [(piece, np.asarray(self.kernel(piece, self.landmarks))) for piece in pieces]
