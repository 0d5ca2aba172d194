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

    mean(w) = k_U(w)' weights,   var(w) = v k(w, w) - k_U(w)' reduction k_U(w)
    """

    kernel: Kernel
    landmarks: Floats
    weights: Floats
    reduction: Floats
    scale: float  # v
    mean_square: float  # of rewards
    lengthscales: tuple[float, ...]
    mean_reward: float = 0.0  # where f is an advantage

    @property
    def rank(self) -> int:
        return len(self.landmarks)

    def mean(self, points: Floats) -> Floats:
        """E[f(w)] at joint points in unit coordinates."""
        return np.concatenate([k_U @ self.weights for _, k_U in self._kernel_rows(points)])

    def variance(self, points: Floats) -> Floats:
        """Var[f(w)]"""
        found = []
        for part, k_U in self._kernel_rows(points):
            found.append(self.functional_variance(k_U, self.kernel.diagonal(part)))
        return np.concatenate(found)

    def kernel_rows(self, points: Floats) -> Floats:
        """k_U(w)"""
        return np.concatenate([k_U for _, k_U in self._kernel_rows(points)])

    def functional_mean(self, kappa: Floats) -> Floats:
        """E[sum_i h_i f(w_i)], where a row of `kappa` is sum_i h_i k_U(w_i)."""
        return np.asarray(kappa @ self.weights)

    def functional_variance(self, kappa: Floats, prior: Floats | float) -> Floats:
        """Var[sum_i h_i f(w_i)], where `prior` is sum_ij h_i h_j k(w_i, w_j)."""
        explained = np.sum((kappa @ self.reduction) * kappa, axis=-1)
        return np.maximum(self.scale * prior - explained, 0.0)

    def draw(self, rng: Rng) -> Posterior:
        """A posterior whose mean is one function drawn from this one."""
        return replace(self, weights=self.weights + self._root @ rng.normal(size=self.rank))

    @cached_property
    def _root(self) -> Floats:
        """A square root of the weights' covariance, v Kuu^-1 - reduction."""
        L = linalg.cholesky(self.kernel(self.landmarks, self.landmarks))
        K = L.T @ self.reduction @ L  # in whitened coordinates, where the prior is v I
        values, V = linalg.eigh(self.scale * np.eye(len(L)) - K)
        return linalg.solve_upper(L, V * np.sqrt(np.maximum(values, 0.0)))

    def _kernel_rows(self, points: Floats) -> list[tuple[Floats, Floats]]:
        """Points in pieces, with their kernel rows."""
        pieces = [points[i : i + ROWS] for i in range(0, max(1, len(points)), ROWS)]
        return [(piece, np.asarray(self.kernel(piece, self.landmarks))) for piece in pieces]
