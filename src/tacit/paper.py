"""USCA exactly as published, for small `T`: the reference that the rest of Tacit is tested against.

Pavlovic, Salgia and Zhao, "Differentially Private Kernelized Contextual Bandits", 2025. `gamma_T`
is found greedily. Comments name the line of the algorithm or the equation that is being computed.

Idealised numerics, not a hardened mechanism: floating point throughout, the supremum of sigmabar
and the exponential measure are taken over grids, and nothing keeps account of what is spent. For
real data use `tacit.Design` and `tacit.Statistic`.

>>> points = np.linspace(0, 1, 20)[:, None]
>>> gain = tacit.paper.maximal_information_gain(tacit.RBF(0.3), points, horizon=10, tau=1.0)
>>> bool(0 < gain < 10 * np.log(2) / 2)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.errors import InputError, StateError
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.problem import Problem

B = 1.0  # the bound on |y|, in scaled rewards
MOST_POINTS = 10_000  # T K, the rows of the matrix to factor


def information_gain(kernel: Kernel, points: Floats, tau: float) -> float:
    """1/2 log det(I + K_WW / tau)"""
    L = linalg.cholesky(np.eye(len(points)) + kernel(points, points) / tau)
    return float(np.log(np.diag(L)).sum())


def greedy_information(
    kernel: Kernel, candidates: Floats, horizon: int, tau: float
) -> tuple[NDArray[np.intp], Floats]:
    """`horizon` candidates chosen one by one, each the most informative given the earlier ones, and
    the information gained by each.

    A point may be chosen again: the supremum is over W^T.
    """
    variance = np.array(kernel.diagonal(candidates), dtype=np.float64)
    F = np.empty((len(candidates), horizon))  # posterior covariance = K - F F'
    chosen = np.empty(horizon, dtype=np.intp)
    gains = np.empty(horizon)
    for t in range(horizon):
        i = int(np.argmax(variance))
        chosen[t] = i
        # log det(I + K/tau) grows by log(1 + sigma_t^2(w) / tau), sigma_t^2 the posterior variance.
        gains[t] = 0.5 * math.log1p(variance[i] / tau)
        covariance = kernel(candidates, candidates[i : i + 1])[:, 0] - F[:, :t] @ F[i, :t]
        F[:, t] = covariance / math.sqrt(variance[i] + tau)
        variance = np.maximum(variance - F[:, t] ** 2, 0.0)
    return chosen, gains


def maximal_information_gain(kernel: Kernel, candidates: Floats, horizon: int, tau: float) -> float:
    """gamma_T over public candidates, found greedily: at least 1 - 1/e of it, and at most all."""
    return float(greedy_information(kernel, candidates, horizon, tau)[1].sum())


def approximation_points(
    problem: Problem, horizon: int, gamma: float, rng: Rng
) -> tuple[int, Floats]:
    """K = ceil(T / gamma_T) and Z, which is T K fresh points (lines 9 to 13)."""
    K = math.ceil(horizon / gamma)
    if horizon * K > MOST_POINTS:
        raise InputError(
            f"the published formula would factor a matrix of {horizon * K} rows at horizon "
            f"{horizon}; this module stops at {MOST_POINTS}: use tacit.Design, whose cost is "
            "linear in the horizon."
        )
    return K, problem.public_points(horizon * K, rng)


class Estimator:
    """mubar and sigmabar^2 by the kernel trick. `Z`, `K` and `tau` are public; the data comes with
    `add`."""

    def __init__(self, kernel: Kernel, Z: Floats, K: int, tau: float) -> None:
        self.kernel = kernel
        self.Z = Z
        self.K = K
        self.tau = tau
        # L L' = K_ZZ + K tau I, factored once.
        self._L = linalg.cholesky(kernel(Z, Z) + K * tau * np.eye(len(Z)))
        self._W = np.empty((0, Z.shape[1]))
        self._Y = np.empty(0)
        self._LinvKzwY = np.zeros(len(Z))

    @property
    def records(self) -> int:
        return len(self._Y)

    def add(self, W: Floats, Y: Floats) -> None:
        """More records: joint points and rewards in [-1, 1]."""
        self._W = np.vstack([self._W, W])
        self._Y = np.concatenate([self._Y, Y])
        self._LinvKzwY += linalg.solve_lower(self._L, self.kernel(self.Z, W) @ Y)

    def mubar(self, points: Floats) -> Floats:
        """mubar(w) = ( k_W(w)'Y - k_Z(w)' (K_ZZ + K tau I)^-1 K_ZW Y ) / tau"""
        kwY = self.kernel(points, self._W) @ self._Y
        return np.asarray((kwY - self._Linvkz(points).T @ self._LinvKzwY) / self.tau)

    def sigmabar2(self, points: Floats) -> Floats:
        """sigmabar^2(w) = ( k(w, w) - k_Z(w)' (K_ZZ + K tau I)^-1 k_Z(w) ) / tau"""
        explained = np.sum(self._Linvkz(points) ** 2, axis=0)
        return np.asarray((self.kernel.diagonal(points) - explained) / self.tau)

    def _Linvkz(self, points: Floats) -> Floats:
        """L^-1 k_Z(w), one column per point."""
        return linalg.solve_lower(self._L, self.kernel(self.Z, points))


def exponential_measure(scores: Floats, epsilon: float, m: float) -> Floats:
    """E(mubar, eps, m): probabilities proportional to exp(eps mubar / (2 m)) on a finite set."""
    exponent = epsilon * scores / (2.0 * m)
    weight = np.exp(exponent - exponent.max())
    return np.asarray(weight / weight.sum())


class USCA:
    """Uniform Sampling with Covariance Approximation.

    `grid` is how many actions, and how many contexts, stand for X and C in the two suprema (gamma_T
    and sigmabar^2); `candidates` is how many actions stand for X in the exponential measure. All of
    them are public.
    """

    def __init__(
        self,
        problem: Problem,
        horizon: int,
        rng: Rng,
        *,
        tau: float = 1.0,
        grid: int = 33,
        candidates: int = 257,
    ) -> None:
        if problem.play is not None:
            raise InputError("USCA plays uniformly at random: leave the problem's play unset.")
        if horizon < 1 or not tau > 0:
            raise InputError(f"horizon and tau must be positive, got {horizon!r} and {tau!r}.")
        self.problem = problem
        self.horizon = horizon
        self.actions = problem.actions.candidate_points(candidates)
        W = _pairs(problem.actions.candidate_points(grid), problem.contexts.candidate_points(grid))
        self.gamma = maximal_information_gain(problem.k, W, horizon, tau)
        # Lines 9 to 14. They need no data, so they may as well come first.
        K, Z = approximation_points(problem, horizon, self.gamma, rng)
        self.estimator = Estimator(problem.k, Z, K, tau)
        self.largest_sigmabar2 = float(self.estimator.sigmabar2(W).max())

    def learn(self, contexts: Floats, reward: Callable[[Floats], Any], rng: Rng) -> None:
        """Lines 4 to 8: contexts arrive, actions are drawn uniformly at random, `reward` answers
        joint points."""
        points = np.hstack([self.problem.actions.sample_points(len(contexts), rng), contexts])
        self.add(points, np.asarray(reward(points), dtype=np.float64))

    def add(self, points: Floats, rewards: Floats) -> None:
        """Line 7, for actions already played: joint points in unit coordinates, rewards in user's
        units, no gaps."""
        if self.estimator.records + len(points) > self.horizon:
            raise StateError(f"more than {self.horizon} records: build USCA with a larger horizon.")
        self.estimator.add(points, self.problem.scale_reward(rewards))

    def probabilities(self, context: Floats, epsilon: float) -> Floats:
        """Line 17: E(mubar(., c), eps, 2 B sup sigmabar^2) on `self.actions`, for one context in
        unit coordinates."""
        if not epsilon > 0:
            raise InputError(f"epsilon must be positive, got {epsilon!r}.")
        scores = self.estimator.mubar(_pairs(self.actions, np.reshape(context, (1, -1))))
        return exponential_measure(scores, epsilon, 2.0 * B * self.largest_sigmabar2)

    def decide(self, context: Floats, epsilon: float, rng: Rng) -> Floats:
        """Lines 16 to 18: one action for one context. Every call spends `epsilon` again."""
        chosen = rng.choice(len(self.actions), p=self.probabilities(context, epsilon))
        return np.asarray(self.actions[chosen])


def _pairs(X: Floats, C: Floats) -> Floats:
    """Every action with every context, as joint rows."""
    return np.hstack([np.repeat(X, len(C), axis=0), np.tile(C, (len(X), 1))])
