"""Reward functions of the prior on a stage of contexts and actions, on which epochs can be played.

Everything that a study in epochs does depends on points only through their features, and on the
reward function only through its values. Both are computed once, for some contexts and every
candidate action in each: the play law of an epoch is then a choice of cells of that table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats, Rng
from tacit.decoder.observations import LinearObservation, combined, innovations
from tacit.design.allocation import effects, mattering
from tacit.design.features import Features
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.planning.learner import Learner
from tacit.planning.simulation import Drawn, every_pair
from tacit.problem import Problem

# Contexts of the stage where there is one context column, and where there are more of them.
ONE_COLUMN = 128
MORE_COLUMNS = 320
ACTIONS = {1: 64}  # candidates by the dimension of actions,
MORE_ACTIONS = 128  # and where it is larger
UNIFORM_POINTS = 4096  # cells behind the moments of uniform play

Cells = NDArray[np.intp]


class Worlds:
    """Several reward functions, and the features of a study that learns them.

    A cell is a context and an action; the actions of one context stand together. A function is
    f = phi' theta + what the landmarks leave over, with theta = B t, t ~ N(0, v I), for the root B
    of the kernel that it was drawn from.
    """

    def __init__(
        self,
        problem: Problem,
        points: Floats,
        rank: int,
        truths: Sequence[Kernel],
        signal: float,
        count: int,
        rng: Rng,
    ) -> None:
        """Functions are drawn by their values on `points`, the first `rank` of which are the
        landmarks."""
        landmarks = points[:rank]
        features = Features.on(problem.k, landmarks)
        columns = problem.contexts.dimension
        contexts = problem.draw_contexts(ONE_COLUMN if columns == 1 else MORE_COLUMNS, rng)
        most = ACTIONS.get(problem.actions.dimension, MORE_ACTIONS)
        pairs = every_pair(problem.actions.candidate_points(most), contexts)
        self.contexts, self.actions = pairs.shape[:2]
        self.Phi = features(pairs.reshape(-1, problem.dimension))  # (cells, rank)
        self.variance = signal**2  # v
        each = -(-count // len(truths))
        drawn = [Drawn(kernel, points, signal, each, rng) for kernel in truths]
        whiten = linalg.solve_lower(features.L, np.eye(features.rank))
        self.roots = [whiten @ one.root[:rank, :rank] for one in drawn]
        self.root_of = np.repeat(np.arange(len(truths)), each)
        values = np.concatenate([one.on_menus(pairs, rng) for one in drawn], axis=2)
        self.values = values.reshape(len(self.Phi), -1)  # (cells, functions)
        self.best = values.max(axis=1)  # (contexts, functions)
        # What the landmarks leave over of the variance of functions, on average.
        explained = np.mean([np.sum((self.Phi @ B) ** 2, axis=1).mean() for B in self.roots])
        self.left_over = self.variance * max(1.0 - float(explained), 0.0)
        self.effects = effects(self.Phi.reshape(self.contexts, self.actions, -1))
        everywhere = rng.permutation(len(self.Phi))[:UNIFORM_POINTS]
        self.uniform = Played(self.Phi[everywhere], self.values[everywhere], self)

    @property
    def rank(self) -> int:
        return self.Phi.shape[1]

    @property
    def count(self) -> int:
        return self.values.shape[1]

    @property
    def uniform_regret(self) -> Floats:
        """Of each function, per round."""
        return self.best.mean(axis=0) - self.values.mean(axis=0)

    @property
    def fixed_regret(self) -> Floats:
        """The same for who always takes the one action that is best on average."""
        by_action = self.values.reshape(self.contexts, self.actions, -1).mean(axis=0)
        return self.best.mean(axis=0) - by_action.max(axis=0)

    def chosen(self, theta: Floats) -> Cells:
        """The best cell of each context for each column of weights: (contexts, columns)."""
        guess = (self.Phi @ theta).reshape(self.contexts, self.actions, -1)
        first = self.actions * np.arange(self.contexts)
        return np.asarray(guess.argmax(axis=1) + first[:, None])

    def regret(self, theta: Floats) -> Floats:
        """Of decisions by one guess of the weights of each function."""
        found = np.take_along_axis(self.values, self.chosen(theta), axis=0)
        return self.best.mean(axis=0) - found.mean(axis=0)


class Played(Learner):
    """Public points of a play law, and what a release about rounds played by it would be like.

    `Phi` is in the eigenbasis `V` of E[phi phi'].
    """

    def __init__(self, Phi: Floats, values: Floats, worlds: Worlds) -> None:
        d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
        self.d = np.maximum(d, 0.0)
        self.V = V
        self.target = mattering(np.sum(V * (worlds.effects @ V), axis=0), self.d)
        self.Phi = Phi @ V
        self._values = values
        self._worlds = worlds

    def expected(self, G: Floats, qs: Floats, records: float) -> Floats:
        return records * qs.T @ self._values

    def learned(self, passes: Sequence[LinearObservation], noise: Floats | None) -> Learned:
        """What passes over the people of one epoch say. `noise` is white, one column for each
        function, and as many rows as all passes have."""
        J = np.zeros((len(self.d), len(self.d)))
        h = np.zeros(passes[0].b.shape)
        rank = len(self.d)
        for i, observation in enumerate(innovations(passes)):
            seen = combined([observation])
            z = seen.z if noise is None else seen.z + noise[i * rank : (i + 1) * rank]
            J += seen.A.T @ seen.A
            h += seen.A.T @ z
        return Learned(self.V @ J @ self.V.T, self.V @ h)

    def unexplained(self, passes: Sequence[LinearObservation]) -> float:
        """The standard deviation of what the passes leave unknown of the reward functions."""
        learned = self.learned(passes, None)
        found = [self.variance_given(learned, B) for B in self._worlds.roots]
        return float(np.mean(found)) ** 0.5

    def variance_given(self, learned: Learned, B: Floats) -> float:
        """The mean variance of the reward function at these points, given what was learned."""
        half = linalg.solve_lower(learned.precision(B, self._worlds.variance), B.T @ self.V)
        inside = float(np.sum(self.d * np.sum(half * half, axis=0)))
        return inside + self._worlds.left_over


@dataclass(frozen=True, eq=False)
class Learned:
    """The likelihood of theta given releases, exp(-theta' J theta / 2 + h' theta). `h` may have
    several columns: one for each function."""

    J: Floats
    h: Floats

    def __add__(self, other: Learned) -> Learned:
        """Releases about different people."""
        return Learned(self.J + other.J, self.h + other.h)

    def precision(self, B: Floats, variance: float) -> Floats:
        """The lower Cholesky factor of the posterior precision of t, where theta = B t."""
        return linalg.cholesky(B.T @ self.J @ B + np.eye(len(B)) / variance)

    def mean(self, B: Floats, variance: float) -> Floats:
        """E[theta]"""
        S = self.precision(B, variance)
        return np.asarray(B @ linalg.solve_upper(S, linalg.solve_lower(S, B.T @ self.h)))

    def draws(self, B: Floats, variance: float, white: Floats) -> tuple[Floats, Floats]:
        """E[theta], and draws from the posterior made of white noise, one column each."""
        S = self.precision(B, variance)
        half = linalg.solve_lower(S, B.T @ self.h)
        mean = B @ linalg.solve_upper(S, half)
        return mean, mean[:, None] + B @ linalg.solve_upper(S, white)
