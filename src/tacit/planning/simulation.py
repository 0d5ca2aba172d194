"""Studies drawn from their law: reward functions from the prior, released vectors given the
function.

    f = phi' theta + g,    theta ~ N(0, v P),    bhat | f ~ N(T E[q_s f], N),    theta | bhat by
    Bayes error = E_c[ max_x f(x, c) - f(xhat(c), c) ]

`g` is what the landmarks leave over. The decoder knows nothing of it, but records tell it too:
where they are many, the policy comes closer to `f` than the best guess from its values on the
landmarks. So `f` is drawn on several times as many points, and what even these leave over context
by context. Nothing here grows with `T`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tacit._typing import Floats, Rng
from tacit.decoder.observations import LinearObservation, combined, innovations
from tacit.design.features import Features, chunks
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.planning.learner import Learner, target_of
from tacit.problem import Problem
from tacit.single_decision.scoring import Trial

# Public points behind every expectation: so many at least, and so many for each landmark.
POINTS = 4096
POINTS_EACH = 16
CONTEXTS = 32  # where the error is read off
# Reward functions drawn from the prior, at least and at most: more where there are fewer landmarks.
FUNCTIONS = (256, 1024)
CHUNK = 256  # points at a time: kernel rows that the cache holds
ROUNDING = 1e-9  # of a kernel that is at most 1: less than matters, enough for a factorisation


class Simulation(Learner):
    """Reward functions from one or several kernels, on one set of landmarks; all in the eigenbasis
    of E[phi phi'].

    `finer` are points besides the landmarks on which the functions are drawn.
    """

    def __init__(
        self,
        problem: Problem,
        landmarks: Floats,
        finer: Floats,
        truths: Sequence[Kernel],
        signal: float,
        rng: Rng,
    ) -> None:
        features = Features.on(problem.k, landmarks)
        points = problem.public_points(max(POINTS, POINTS_EACH * len(landmarks)), rng)
        Phi = features(points)
        # what so many landmarks, the first ones, leave unexplained of the kernel
        self._diagonal = float(np.mean(problem.k.diagonal(points)))
        self.unexplained_kernel = self._diagonal - np.cumsum(np.mean(Phi * Phi, axis=0))
        d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
        self.d = np.maximum(d, 0.0)
        self.Phi = Phi @ V
        self.signal = signal
        self.seed = int(rng.integers(2**32))
        pairs = candidate_pairs(problem, rng)
        self._grid = features(pairs.reshape(-1, problem.dimension)) @ V
        self.target = target_of(self._grid.reshape(*pairs.shape[:2], -1), self.d)
        each = -(-int(np.clip(100_000 / features.rank, *FUNCTIONS)) // len(truths))
        drawn = [Drawn(k, np.vstack([landmarks, finer]), signal, each, rng) for k in truths]
        # f(U) ~ N(0, v k'(U, U)) is theta = L^-1 f(U) ~ N(0, v P)
        whiten = V.T @ linalg.solve_lower(features.L, np.eye(features.rank))
        self._roots = [whiten @ f.root[: features.rank, : features.rank] for f in drawn]
        self._theta = [whiten @ f.at_points[: features.rank] for f in drawn]
        # At the same points as the features: what is learned of g is then its least-squares fit
        # there.
        self._g = np.hstack(
            [f.on(points) - self.Phi @ theta for f, theta in zip(drawn, self._theta, strict=True)]
        )
        self.values = np.concatenate(
            [f.on_menus(pairs, rng) for f in drawn], axis=2
        )  # (contexts, actions, functions)
        self._best = self.values.max(axis=1)

    @property
    def rank(self) -> int:
        return len(self.d)

    @property
    def uniform_error(self) -> float:
        return float(np.mean(self._best - self.values.mean(axis=1)))

    def errors(self, passes: Sequence[LinearObservation]) -> Floats:
        """The error rate of each function after so many passes over the same people."""
        rng = np.random.default_rng(self.seed)
        noisy = []
        for observation in innovations(passes):
            noise = linalg.cholesky(observation.N) @ rng.normal(size=observation.b.shape)
            noisy.append(replace(observation, b=observation.b + noise))
        seen = combined(noisy)
        guesses = []
        each = self._theta[0].shape[1]
        for i, B in enumerate(self._roots):
            z = seen.z[:, i * each : (i + 1) * each]
            # theta = B t, t ~ N(0, v I), z = H t + noise:  E[t] = v H' (v H H' + I)^-1 z
            H = seen.A @ B
            S = linalg.cholesky(self._prior * H @ H.T + np.eye(len(H)))
            half = linalg.solve_lower(S, H)
            guesses.append(self._prior * B @ (half.T @ linalg.solve_lower(S, z)))
        return self._lost(np.hstack(guesses))

    @property
    def _prior(self) -> float:
        """v, the prior variance of the reward function."""
        return self.signal**2

    def _lost(self, theta: Floats) -> Floats:
        """The error rate of each function for who decides by these guesses of it."""
        guess = (self._grid @ theta).reshape(self.values.shape)
        chosen = guess.argmax(axis=1)[:, None, :]
        return (self._best - np.take_along_axis(self.values, chosen, axis=1)[:, 0]).mean(axis=0)

    @cached_property
    def rank_error(self) -> float:
        """What is lost even after endless rounds without privacy: landmarks cannot say more than
        their best fit."""
        fit = self.Phi.T @ self._g / len(self._g) / (self.d + ROUNDING)[:, None]
        return float(np.mean(self._lost(np.hstack(self._theta) + fit)))

    def errors_of_draws(
        self, observation: LinearObservation, tau: float, rounds: int, scale: float, known: bool
    ) -> Floats:
        """The same for one decision at a time (`tacit.single_decision.scoring`).

        `observation` has no privacy noise; one record can move it by `scale` times epsilon. `known`
        says whether it is known who comes.
        """
        rng = np.random.default_rng(self.seed)
        b = observation.b
        b = b + linalg.root(observation.N) @ rng.normal(size=b.shape)
        Phi = self._grid.reshape(*self.values.shape[:2], -1)
        flips = rng.exponential(size=self.values.shape)
        trial = Trial(Phi, observation.G, observation.N, b, self.values, flips, scale)
        paper = np.diag(1.0 / np.sqrt(rounds * self.d + tau))
        maps = list(trial.candidates(paper)) if known else [paper]
        return min((trial.errors(H) for H in maps), key=lambda errors: float(errors.mean()))

    def unexplained(self, passes: Sequence[LinearObservation]) -> float:
        """The standard deviation of what the passes leave unknown of the reward function."""
        seen = combined(innovations(passes))
        v = self._prior
        variance = []
        for B in self._roots:
            H = seen.A @ B
            S = linalg.cholesky(v * H @ H.T + np.eye(len(H)))
            half = linalg.solve_lower(S, H @ B.T)
            learned = v**2 * float(np.sum(self.d * np.sum(half * half, axis=0)))
            variance.append(v * self._diagonal - learned)
        return max(float(np.mean(variance)), 0.0) ** 0.5

    def resolved(self, passes: Sequence[LinearObservation]) -> float:
        """How many directions of the functions the passes tell something about."""
        seen = combined(innovations(passes))
        found = []
        for B in self._roots:
            H = seen.A @ B
            told = self._prior * linalg.eigh(H @ H.T)[0]
            found.append(float(np.sum(np.maximum(told, 0.0) / (1.0 + np.maximum(told, 0.0)))))
        return float(np.mean(found))

    def expected(self, G: Floats, qs: Floats, records: float) -> Floats:
        return G @ np.hstack(self._theta) + records * qs.T @ self._g


class Drawn:
    """Functions of the prior, f(w) = k'(w, P) k'(P, P)^-1 f(P) + what the points P leave over."""

    def __init__(self, kernel: Kernel, P: Floats, signal: float, count: int, rng: Rng) -> None:
        self.kernel = kernel
        self.P = P
        self.signal = signal
        self.count = count
        self.root = linalg.cholesky(kernel(P, P))
        self._t = signal * rng.normal(size=(len(P), count))
        self.at_points = self.root @ self._t
        self._weights = linalg.solve_upper(self.root, self._t)

    def on(self, points: Floats) -> Floats:
        """Every function at every point, but for what P leaves over."""
        found = np.empty((len(points), self.count))
        start = 0
        for n in chunks(len(points), CHUNK):
            found[start : start + n] = (
                self.kernel(points[start : start + n], self.P) @ self._weights
            )
            start += n
        return found

    def on_menus(self, pairs: Floats, rng: Rng) -> Floats:
        """The whole functions on (contexts, actions). What P leaves over is drawn context by
        context."""
        found = []
        for points in pairs:
            E = linalg.solve_lower(self.root, self.kernel(self.P, points)).T
            left = self.kernel(points, points) - E @ E.T + ROUNDING * np.eye(len(points))
            rest = linalg.cholesky(left) @ rng.normal(size=(len(left), self.count))
            found.append(E @ self._t + self.signal * rest)
        return np.stack(found)


def candidate_pairs(problem: Problem, rng: Rng) -> Floats:
    """Every candidate action in every context: (contexts, actions, dimension)."""
    menu = problem.actions.candidate_points(64 if problem.actions.dimension == 1 else 256)
    return every_pair(menu, problem.draw_contexts(CONTEXTS, rng))


def every_pair(menu: Floats, contexts: Floats) -> Floats:
    """Every action of a menu in every context: (contexts, actions, dimension)."""
    shape = (len(contexts), len(menu))
    return np.concatenate(
        [
            np.broadcast_to(menu, (*shape, menu.shape[1])),
            np.broadcast_to(contexts[:, None, :], (*shape, contexts.shape[1])),
        ],
        axis=2,
    )
