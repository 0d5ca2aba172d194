"""USCA as published: uniform play, a covariance from points of one's own, the exponential
mechanism."""

from __future__ import annotations

import math
from itertools import product
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.options import SIGNAL
from tacit.domains import Domain
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.problem import Problem
from tacit_lab.arena.learners.features import POOL, Map, nystroem
from tacit_lab.arena.learners.menu import UniformPlay, pairs
from tacit_lab.arena.mechanisms import gumbel
from tacit_lab.arena.protocol import Setting

B = 1.0  # the paper's bound on rewards
TAUS = tuple(float(tau) for tau in np.geomspace(1.0, 1e4, 17))  # to choose from
MOST_POINTS = 50_000  # of Z
MOST_LANDMARKS = 1000
COARSE_LANDMARKS = 300  # to choose tau
# Well-spread actions and contexts, besides the corners, that stand for W in the supremum.
SPREAD = (33, 129)
COARSE_SPREAD = (17, 33)


class Covariance:
    """`Ztilde = (1/K) sum_z phi(z) phi(z)' + tau I`, and what USCA reads off it.

    `phi` are Nystroem features; what they leave of the kernel is covered by tau alone, as it is in
    `tacit.paper` for directions that Z does not see. With landmarks that leave nothing this is
    `tacit.paper.Estimator`.
    """

    def __init__(self, k: Kernel, phi: Map, Z: Floats, K: float, tau: float) -> None:
        self.k = k
        self.phi = phi
        self.tau = tau
        Phi = phi(Z)
        self._L = linalg.cholesky(Phi.T @ Phi / K + tau * np.eye(phi.size))

    def weights(self, W: Floats, y: Floats) -> Floats:
        """Ztilde^-1 sum_i phi(w_i) y_i"""
        return linalg.solve_upper(self._L, linalg.solve_lower(self._L, self.phi(W).T @ y))

    def sigmabar2(self, points: Floats) -> Floats:
        """phi(w)' Ztilde^-1 phi(w), with what the features leave out."""
        Phi = self.phi(points)
        left = np.maximum(self.k.diagonal(points) - np.sum(Phi**2, axis=1), 0.0)
        return np.asarray(np.sum(linalg.solve_lower(self._L, Phi.T) ** 2, axis=0) + left / self.tau)


class USCA(UniformPlay):
    """Decides by one draw with probability proportional to

        exp(epsilon mubar(x, c) / (4 B sup sigmabar^2)).

    Every context costs epsilon, pure; as in the paper, the error rate is that of one decision.
    Neighbours differ in one round's context and reward. The paper leaves tau open; here it is
    chosen before the data (`best_tau`). K = ceil(T / gamma) takes gamma over random points, which
    is less than the largest and makes Z larger than the paper asks for; Z has at most 50 000
    points. The supremum is over well-spread points and corners, where it lies for stationary
    kernels. The draw is over the menu, where the paper's is over all actions.
    """

    name: ClassVar[str] = "USCA"
    source: ClassVar[str] = (
        "Pavlovic, Salgia, Zhao 2025, Differentially Private Kernelized Contextual Bandits"
    )
    protects: ClassVar[str] = "context and reward"
    per_decision: ClassVar[bool] = True
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "uniform-posterior"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        T = setting.horizon
        problem = setting.problem
        self.tau = best_tau(setting, rng)
        phi = nystroem(problem, rng, most=MOST_LANDMARKS, tolerance=min(0.3 * self.tau / T, 0.05))
        Phi = phi(problem.public_points(min(T, MOST_POINTS), rng))
        K = math.ceil(T / information_gain(Phi, T, self.tau))
        Z = problem.public_points(min(K * T, MOST_POINTS), rng)
        self.covariance = Covariance(problem.k, phi, Z, len(Z) / T, self.tau)
        self.largest = float(self.covariance.sigmabar2(whole(problem)).max())
        self._weights: Floats | None = None

    @property
    def sensitivity(self) -> float:
        """How far replacing a round can move mubar anywhere: 2 B sup sigmabar^2."""
        return 2.0 * B * self.largest

    def mean(self, points: Floats) -> Floats:
        """mubar. PRIVATE: only `choose` may look at it."""
        if self._weights is None:
            self._weights = self.covariance.weights(*self.data)
        return np.asarray(self.covariance.phi(points) @ self._weights)

    def choose(self, scores: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """The exponential mechanism, as the largest score after Gumbel noise."""
        noise = gumbel(scores.shape, self.setting.epsilon, self.sensitivity, self.rng)
        return super().choose(scores + noise)


def best_tau(setting: Setting, rng: Rng) -> float:
    """The tau whose noised scores should follow the reward function best: their correlation,
    predicted without data.

    With f ~ N(0, v k), eigenvalues d of E[phi phi'] and h = T d / (T d + tau), over the law of
    points

        E[score f] = v sum d h,   E[score^2] = v sum d h^2 + (v + R^2) sum h^2 / T + Var(noise),

    where the exponential mechanism is the largest score after Gumbel noise of scale
    4 B sup sigmabar^2 / epsilon.
    """
    T = setting.horizon
    v = SIGNAL**2
    k = setting.problem.k
    phi = nystroem(setting.problem, rng, most=COARSE_LANDMARKS, tolerance=0.3 * TAUS[0] / T)
    Phi = phi(setting.problem.public_points(POOL, rng))
    d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
    d = np.maximum(d, 0.0)
    W = whole(setting.problem, COARSE_SPREAD)
    at_W = phi(W)
    squares = (at_W @ V) ** 2
    left = np.maximum(k.diagonal(W) - np.sum(at_W**2, axis=1), 0.0)

    def correlation(tau: float) -> float:
        h = T * d / (T * d + tau)
        largest = float(np.max(squares @ (1.0 / (T * d + tau)) + left / tau))
        gumbel = math.pi**2 / 6 * (4.0 * B * largest / setting.epsilon) ** 2
        score = v * np.sum(d * h**2) + (v + setting.noise**2) * np.sum(h**2) / T + gumbel
        return float(v * np.sum(d * h) / math.sqrt(score))

    return max(TAUS, key=correlation)


def information_gain(Phi: Floats, T: int, tau: float) -> float:
    """1/2 log det(I + T E[phi phi'] / tau)"""
    _, log_determinant = np.linalg.slogdet(
        np.eye(Phi.shape[1]) + T / len(Phi) * (Phi.T @ Phi) / tau
    )
    return 0.5 * float(log_determinant)


def whole(problem: Problem, spread: tuple[int, int] = SPREAD) -> Floats:
    """Points that stand for all of W: well-spread ones and the corners of either domain."""
    return pairs(_spread(problem.actions, spread[0]), _spread(problem.contexts, spread[1]))


def _spread(domain: Domain, n: int) -> Floats:
    points = domain.candidate_points(n)
    d = domain.cube_dimension
    if not domain.continuous or d > 6:  # there are 2^d corners
        return points
    corners = np.array(list(product((0.0, 1.0 - 1e-12), repeat=d)))
    return np.vstack([points, domain.from_cube(corners)])
