"""Studies drawn from their law: reward functions from the prior, released vectors given the function.

    f = phi' theta + g,    theta ~ N(0, v P),    bhat | theta ~ N(G theta, N),    theta | bhat by Bayes
    error = E_c[ max_x f(x, c) - f(xhat(c), c) ]

`g` is what the landmarks cannot say: it moves no released number much, but it is part of what is lost. Only its law
over the actions of one context matters, so it is drawn context by context. Nothing here grows with `T`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit import linalg
from tacit.design.earlier import shared_noise
from tacit.design.features import Features, moments
from tacit.kernels import Kernel
from tacit.problem import Problem
from tacit.tables import Floats

POINTS = 4096  # public points behind every expectation
CONTEXTS = 64  # where the error is read off
FUNCTIONS = 128  # reward functions drawn from the prior
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Look:
    """One release: b = G theta + noise of covariance N."""

    G: Floats
    N: Floats
    energy: Floats  # n E[q_s q_s']
    c: float  # the mean square of what records add: N = c energy + privacy noise

    def beside(self, first: Look) -> Look:
        """What this tells that `first` did not: the same people came (see `tacit.decoder`)."""
        X = shared_noise((first.c, self.c), (first.energy, self.energy))
        K = np.linalg.solve(first.N, X).T
        return replace(self, G=self.G - K @ first.G, N=self.N - K @ X)


class Simulation:
    """Reward functions from one or several kernels, on one set of landmarks; all in the eigenbasis of E[phi phi']."""

    def __init__(self, problem: Problem, landmarks: Floats, truths: Sequence[Kernel], signal: float, rng: Rng) -> None:
        features = Features.on(problem.k, landmarks)
        Phi = features(problem.public_points(POINTS, rng))
        d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
        self.d, self.Phi = np.maximum(d, 0.0), Phi @ V
        self.signal, self._seed = signal, int(rng.integers(2**32))
        pairs = _pairs(problem, rng)
        self._grid = features(pairs.reshape(-1, problem.dimension)) @ V
        each = -(-FUNCTIONS // len(truths))
        # f(U) ~ N(0, v k'(U, U)) is theta = L^-1 f(U) ~ N(0, v P)
        self._roots = [V.T @ linalg.solve_lower(features.L, linalg.cholesky(k(landmarks, landmarks))) for k in truths]
        self._theta = [signal * B @ rng.normal(size=(len(d), each)) for B in self._roots]
        self.values = np.concatenate(
            [
                (self._grid @ theta).reshape(*pairs.shape[:2], each)
                + signal * _rest(k, pairs, self._grid @ B, each, rng)
                for k, B, theta in zip(truths, self._roots, self._theta, strict=True)
            ],
            axis=2,
        )  # (contexts, actions, functions)
        self._best = self.values.max(axis=1)

    @property
    def rank(self) -> int:
        return len(self.d)

    @property
    def uniform_error(self) -> float:
        return float(np.mean(self._best - self.values.mean(axis=1)))

    def errors(self, looks: Sequence[Look]) -> Floats:
        """The error rate of each function after one look at the records, or after two: the second is told how far the
        rewards are from what the first one learned."""
        rng = np.random.default_rng(self._seed)
        guesses = []
        for B, theta in zip(self._roots, self._theta, strict=True):
            # theta = B t, t ~ N(0, C); each look sees b = H (t - t0) + noise, t0 the mean so far
            mean, CB = np.zeros(theta.shape), self.signal**2 * B.T
            for look in looks:
                seen = look.G @ (theta - B @ mean) + linalg.cholesky(look.N) @ rng.normal(size=theta.shape)
                HC = look.G @ CB.T  # the covariance of what is seen with t
                S = linalg.cholesky(HC @ (look.G @ B).T + look.N)
                half = linalg.solve_lower(S, HC)
                mean = mean + half.T @ linalg.solve_lower(S, seen)
                if look is not looks[-1]:
                    CB = CB - half.T @ (half @ B.T)
            guesses.append((self._grid @ B @ mean).reshape(*self.values.shape[:2], -1))
        chosen = np.concatenate(guesses, axis=2).argmax(axis=1)[:, None, :]
        return (self._best - np.take_along_axis(self.values, chosen, axis=1)[:, 0]).mean(axis=0)

    def left(self, look: Look) -> float:
        """The standard deviation of what one look has not learned of the reward function."""
        variance = []
        for B in self._roots:
            H = look.G @ B
            half = linalg.solve_lower(linalg.cholesky(self.signal**2 * H @ H.T + look.N), H @ B.T)
            learned = self.signal**4 * float(np.sum(self.d * np.sum(half * half, axis=0)))
            variance.append(self.signal**2 - learned)  # kernels are 1 on the diagonal
        return max(float(np.mean(variance)), 0.0) ** 0.5

    def look(self, q: Floats, s: float, rounds: int, variance: float, sigma: float, gain: float = 1.0) -> Look:
        """Influences `q` clipped at `s`; `variance` is the mean square of what a record adds, `sigma` the standard
        deviation of the privacy noise, `gain` what clipping residuals leaves of the signal."""
        law = moments(self.Phi, q, s)
        G, energy = gain * rounds * law.signal, rounds * law.energy
        return Look(G, variance * energy + sigma**2 * np.eye(self.rank), energy, variance)


def _pairs(problem: Problem, rng: Rng) -> Floats:
    """Every candidate action in every context: (contexts, actions, dimension)."""
    menu = problem.actions.candidate_points(64 if problem.actions.dimension == 1 else 256)
    contexts = problem.draw_contexts(CONTEXTS, rng)
    shape = (len(contexts), len(menu))
    return np.concatenate(
        [
            np.broadcast_to(menu, (*shape, menu.shape[1])),
            np.broadcast_to(contexts[:, None, :], (*shape, contexts.shape[1])),
        ],
        axis=2,
    )


def _rest(kernel: Kernel, pairs: Floats, explained: Floats, functions: int, rng: Rng) -> Floats:
    """Draws of g: for each context the actions' covariance that the landmarks leave unexplained."""
    drawn = []
    for points, E in zip(pairs, explained.reshape(*pairs.shape[:2], -1), strict=True):
        left, V = linalg.eigh(kernel(points, points) - E @ E.T)
        drawn.append((V * np.sqrt(np.maximum(left, 0.0))) @ rng.normal(size=(len(left), functions)))
    return np.stack(drawn)
