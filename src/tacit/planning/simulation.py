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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.earlier import shared_noise
from tacit.design.features import Features, chunks, shrinkage
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.problem import Problem
from tacit.single_decision.scoring import Trial

# public points behind every expectation: so many at least, and for each landmark
POINTS = 4096
POINTS_EACH = 16
CONTEXTS = 32  # where the error is read off
FUNCTIONS = (
    256,
    1024,
)  # reward functions drawn from the prior: the more, the fewer landmarks there are
CHUNK = 256  # points at a time: kernel rows that the cache holds
ROUNDING = 1e-9  # of a kernel that is at most 1: less than matters, enough for a factorisation


@dataclass(frozen=True, eq=False)
class Look:
    """One release: b = G theta + R + noise of covariance N."""

    G: Floats
    R: Floats  # T E[q_s g], for each function
    N: Floats
    energy: Floats  # n E[q_s q_s']
    c: float  # the mean square of what records add: N = c energy + privacy noise

    def beside(self, first: Look) -> Look:
        """What this tells that `first` did not: the same people came (see `tacit.decoder`)."""
        X = shared_noise((first.c, self.c), (first.energy, self.energy))
        K = np.linalg.solve(first.N, X).T
        return replace(self, G=self.G - K @ first.G, R=self.R - K @ first.R, N=self.N - K @ X)


class Simulation:
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
        d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
        self.d = np.maximum(d, 0.0)
        self.Phi = Phi @ V
        self.signal = signal
        self._seed = int(rng.integers(2**32))
        pairs = _pairs(problem, rng)
        self._grid = features(pairs.reshape(-1, problem.dimension)) @ V
        each = -(-int(np.clip(100_000 / features.rank, *FUNCTIONS)) // len(truths))
        drawn = [_Drawn(k, np.vstack([landmarks, finer]), signal, each, rng) for k in truths]
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

    def errors(self, passes: Sequence[Look]) -> Floats:
        """The error rate of each function after one pass at the records, or after two: the second
        is told how far the rewards are from what the first one learned."""
        rng = np.random.default_rng(self._seed)
        guesses = []
        each = self._theta[0].shape[1]
        for i, (B, theta) in enumerate(zip(self._roots, self._theta, strict=True)):
            mine = slice(i * each, (i + 1) * each)
            # theta = B t, t ~ N(0, C); each pass sees b = H (t - t0) + noise, t0 the mean so far
            mean = np.zeros(theta.shape)
            CB = self.signal**2 * B.T
            for look in passes:
                noise = linalg.cholesky(look.N) @ rng.normal(size=theta.shape)
                seen = look.G @ (theta - B @ mean) + look.R[:, mine] + noise
                HC = look.G @ CB.T  # the covariance of what is seen with t
                S = linalg.cholesky(HC @ (look.G @ B).T + look.N)
                half = linalg.solve_lower(S, HC)
                mean = mean + half.T @ linalg.solve_lower(S, seen)
                if look is not passes[-1]:
                    CB = CB - half.T @ (half @ B.T)
            guesses.append(B @ mean)
        return self._lost(np.hstack(guesses))

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
        self, look: Look, tau: float, rounds: int, scale: float, known: bool
    ) -> Floats:
        """The same for one decision at a time (`tacit.single_decision.scoring`): `look` has no
        privacy noise, what one record can move it by is `scale` times epsilon. It is known who
        comes, or it is not."""
        rng = np.random.default_rng(self._seed)
        theta = np.hstack(self._theta)
        b = look.G @ theta + look.R + linalg.root(look.N) @ rng.normal(size=theta.shape)
        Phi = self._grid.reshape(*self.values.shape[:2], -1)
        trial = Trial(
            Phi, look.G, look.N, b, self.values, rng.exponential(size=self.values.shape), scale
        )
        paper = np.diag(1.0 / np.sqrt(rounds * self.d + tau))
        maps = trial.candidates(paper) if known else [paper]
        return min((trial.errors(H) for H in maps), key=lambda errors: float(errors.mean()))

    def left(self, look: Look) -> float:
        """The standard deviation of what one pass has not learned of the reward function."""
        variance = []
        for B in self._roots:
            H = look.G @ B
            half = linalg.solve_lower(linalg.cholesky(self.signal**2 * H @ H.T + look.N), H @ B.T)
            learned = self.signal**4 * float(np.sum(self.d * np.sum(half * half, axis=0)))
            variance.append(self.signal**2 - learned)  # kernels are 1 on the diagonal
        return max(float(np.mean(variance)), 0.0) ** 0.5

    def influences(self, rounds: int, tau: float) -> Floats:
        """At the public points."""
        return self.Phi / np.sqrt(rounds * self.d + tau)

    def look(
        self,
        rounds: int,
        tau: float,
        s: float,
        variance: float,
        sigmas: Sequence[float],
        gain: float = 1.0,
    ) -> list[Look]:
        """Influences clipped at `s`; `variance` is the mean square of what a record adds, `sigmas`
        are standard deviations of the privacy noise, one for each pass returned, `gain` what
        clipping residuals leaves of the signal."""
        q = self.influences(rounds, tau)
        shrunk = shrinkage(q, s)[:, None]
        qs = q * shrunk
        root = self.Phi * np.sqrt(shrunk)
        G = (
            gain * rounds / np.sqrt(rounds * self.d + tau)[:, None] * (root.T @ root) / len(q)
        )  # T E[q_s phi']
        R = gain * rounds * qs.T @ self._g / len(q)
        energy = rounds * (qs.T @ qs) / len(q)
        return [
            Look(G, R, variance * energy + sigma**2 * np.eye(self.rank), energy, variance)
            for sigma in sigmas
        ]


class _Drawn:
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
