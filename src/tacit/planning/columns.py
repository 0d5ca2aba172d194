"""Which context columns are worth asking? Studies with and without a column, side by side.

Two kinds of reward functions are drawn: those of the problem, to which the column matters as much
as the kernel says, and those of the problem without it. Both are learned by two studies: one that
asked for the column and one that did not. The studies have the same rounds and budget, the same
functions, visitors and public points, so that their difference is known much better than either.

The study that asked does not know whether the column matters. It finds out from its releases, as
the decoder does: what both priors expect is averaged by their evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.decoder.observations import LinearObservation, combined, innovations
from tacit.design.features import Features
from tacit.design.landmarks import pivots
from tacit.kernels import Kernel
from tacit.numerics import linalg
from tacit.planning.learner import Learner, target_of
from tacit.planning.leaving_out import Reduced
from tacit.planning.simulation import POINTS, ROUNDING, Drawn, candidate_pairs
from tacit.problem import Problem

RANK = 150  # landmarks of both studies: for differences so few are enough, unless labels need more
FINER = 3  # functions are drawn on so many times as many points
FUNCTIONS = 1024
CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class ColumnWorth:
    """What it is worth to ask for a context column, in reward per decision."""

    column: str
    kind: str
    gain: float  # by asking, if the column matters as much as the kernel says
    gain_error: float  # the standard error of this
    cost: float  # of asking, if it does not matter
    cost_error: float

    @property
    def break_even(self) -> float:
        """How likely the column has to matter to be worth asking: p gain = (1 - p) cost."""
        cost = max(self.cost, 0.0)
        gain = max(self.gain, 0.0)
        if not cost:
            return 0.0
        return cost / (cost + gain)

    @property
    def verdict(self) -> str:
        """When to ask, in a few words, as far as two standard errors tell."""
        costs = self.cost > CLEAR * self.cost_error
        gains = self.gain > CLEAR * self.gain_error
        if gains and costs:
            return f"if likelier than {100 * self.break_even:.2g} %"
        if gains:
            return "yes: it costs nothing that shows"
        if costs:
            return "no: it takes more rounds to learn"
        return "as you like: no difference shows"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"break_even": self.break_even, "verdict": self.verdict}


@dataclass(frozen=True, eq=False)
class Scene:
    """What both studies have in common: points at which rewards are given, and every candidate
    action of some visitors, (contexts, actions, dimension)."""

    points: Floats
    pairs: Floats

    @classmethod
    def draw(cls, problem: Problem, rng: Rng) -> Scene:
        return cls(problem.public_points(POINTS, rng), candidate_pairs(problem, rng))

    def without(self, reduced: Reduced) -> Scene:
        flat = reduced.project(self.pairs.reshape(-1, self.pairs.shape[2]))
        pairs = flat.reshape(*self.pairs.shape[:2], -1)
        return Scene(reduced.project(self.points), pairs)


@dataclass(frozen=True, eq=False)
class Functions:
    """Reward functions at the points and at the pairs of a scene, in as many groups of the same
    size as there are kernels that they were drawn from."""

    at_points: Floats  # (points, functions)
    at_pairs: Floats  # (contexts, actions, functions)
    groups: int

    @classmethod
    def draw(
        cls, scene: Scene, grid: Floats, kernels: Sequence[Kernel], signal: float, seed: int
    ) -> Functions:
        """From these kernels, by their values on a grid of points."""
        rng = np.random.default_rng(seed)
        each = -(-FUNCTIONS // len(kernels))
        drawn = [Drawn(kernel, grid, signal, each, rng) for kernel in kernels]
        return cls(
            np.hstack([f.on(scene.points) for f in drawn]),
            np.concatenate([f.on_menus(scene.pairs, rng) for f in drawn], axis=2),
            len(kernels),
        )


class Basis:
    """The landmarks of a study, and its features at the scene, in the eigenbasis of E[phi phi']."""

    def __init__(self, kernel: Kernel, scene: Scene, rank: int, floor: float, rng: Rng) -> None:
        chosen, _ = pivots(kernel, scene.points, most=FINER * rank, tolerance=floor, rng=rng)
        self.grid = scene.points[chosen]
        self.landmarks = self.grid[:rank]
        features = Features.on(kernel, self.landmarks)
        Phi = features(scene.points)
        d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
        self.d = np.maximum(d, 0.0)
        self.Phi = Phi @ V
        self.pairs = features(scene.pairs.reshape(-1, scene.pairs.shape[2])) @ V
        self._whiten = V.T @ linalg.solve_lower(features.L, np.eye(features.rank))

    def root(self, K: Floats) -> Floats:
        """B, for weights B t with t ~ N(0, v I): those of functions whose values on the landmarks
        have the covariance v K."""
        return self._whiten @ linalg.root(K)


class Learning(Learner):
    """A study that learns functions on a basis. It believes in several priors, each with the same
    probability, and knows of each group of functions which ones: `priors[group]` are covariances
    on the landmarks."""

    def __init__(
        self,
        basis: Basis,
        functions: Functions,
        priors: Sequence[Sequence[Floats]],
        signal: float,
        seed: int,
    ) -> None:
        self.d = basis.d
        self.Phi = basis.Phi
        self._orthonormal = self.Phi / np.sqrt(len(self.Phi) * (self.d + ROUNDING))
        self._pairs = basis.pairs
        shape = functions.at_pairs.shape[:2]
        self.target = target_of(basis.pairs.reshape(*shape, -1), self.d)
        self._functions = functions
        self._roots = [[basis.root(K) for K in group] for group in priors]
        self._variance = signal**2
        self._seed = seed

    def expected(self, G: Floats, qs: Floats, records: float) -> Floats:
        return records * qs.T @ self._functions.at_points

    def unexplained(self, passes: Sequence[LinearObservation]) -> float:
        """The standard deviation of what the passes leave unknown of the functions, with what a
        column explains that was not asked for."""
        left = self._functions.at_points - self.Phi @ self._learned(passes)
        return float(np.sqrt(np.mean(left**2)))

    def errors(self, passes: Sequence[LinearObservation]) -> Floats:
        """The error rate of each function after these passes."""
        values = self._functions.at_pairs
        guess = (self._pairs @ self._learned(passes)).reshape(values.shape)
        chosen = guess.argmax(axis=1)[:, None, :]
        return (values.max(axis=1) - np.take_along_axis(values, chosen, axis=1)[:, 0]).mean(axis=0)

    def _learned(self, passes: Sequence[LinearObservation]) -> Floats:
        """The expected weights of each function given releases with noise."""
        rng = np.random.default_rng(self._seed)
        noisy = []
        for observation in innovations(passes):
            # White noise at the public points, read in an orthonormal basis, is white again. So
            # both studies have the same noise in those directions that both have.
            white = rng.normal(size=self._functions.at_points.shape)
            noise = linalg.root(observation.N) @ (self._orthonormal.T @ white)
            noisy.append(replace(observation, b=observation.b + noise))
        seen = combined(noisy)
        found = []
        for roots, z in zip(self._roots, np.hsplit(seen.z, self._functions.groups), strict=True):
            posteriors = [self._posterior(seen.A @ B, B, z) for B in roots]
            evidence = np.stack([each for _, each in posteriors])
            weights = np.exp(evidence - evidence.max(axis=0))
            weights /= weights.sum(axis=0)
            means = [mean for mean, _ in posteriors]
            found.append(sum(w * mean for w, mean in zip(weights, means, strict=True)))
        return np.hstack(found)

    def _posterior(self, H: Floats, B: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Expected weights, and the log evidence up to a constant, of every function.

        theta = B t, t ~ N(0, v I), z = H t + noise:  E[t] = v H' (v H H' + I)^-1 z
        """
        v = self._variance
        S = linalg.cholesky(v * H @ H.T + np.eye(len(H)))
        u = linalg.solve_lower(S, z)
        mean = v * B @ (linalg.solve_lower(S, H).T @ u)
        return mean, -0.5 * np.sum(u * u, axis=0) - np.log(np.diag(S)).sum()


@dataclass(frozen=True, eq=False)
class Comparison:
    """Four studies of one column: with and without it, where it matters and where it does not."""

    matters_asked: Learning
    matters_left_out: Learning
    idle_asked: Learning
    idle_left_out: Learning


class Comparer:
    """Makes the comparisons of all columns of a problem."""

    def __init__(
        self,
        problem: Problem,
        truths: Sequence[Kernel],
        signal: float,
        rank: int,
        floor: float,
        seed: int,
    ) -> None:
        self._problem = problem
        self._truths = truths
        self._signal = signal
        self._rank = rank
        self._floor = floor
        self._seed = seed
        rng = np.random.default_rng(seed)
        self._scene = Scene.draw(problem, rng)
        self._basis = Basis(problem.k, self._scene, rank, floor, rng)

    @cached_property
    def _functions(self) -> Functions:
        """To which all columns matter."""
        return Functions.draw(
            self._scene, self._basis.grid, self._truths, self._signal, self._seed + 1
        )

    def compare(self, reduced: Reduced) -> Comparison:
        scene = self._scene.without(reduced)
        kernel = reduced.problem.k
        rng = np.random.default_rng(self._seed + 2)
        basis = Basis(kernel, scene, self._rank, self._floor, rng)
        idle_truths = [
            kernel if truth is self._problem.k else reduced.kernel(truth) for truth in self._truths
        ]
        idle = Functions.draw(scene, basis.grid, idle_truths, self._signal, self._seed + 3)
        U = self._basis.landmarks
        projected = reduced.project(U)
        asked = [
            [truth(U, U), simpler(projected, projected)]
            for truth, simpler in zip(self._truths, idle_truths, strict=True)
        ]
        left_out = [[truth(basis.landmarks, basis.landmarks)] for truth in idle_truths]
        return Comparison(
            matters_asked=self._learning(self._basis, self._functions, asked),
            matters_left_out=self._learning(basis, self._functions, left_out),
            idle_asked=self._learning(self._basis, idle, asked),
            idle_left_out=self._learning(basis, idle, left_out),
        )

    def _learning(
        self, basis: Basis, functions: Functions, priors: Sequence[Sequence[Floats]]
    ) -> Learning:
        return Learning(basis, functions, priors, self._signal, self._seed + 4)


def paired(more: Floats, less: Floats) -> tuple[float, float]:
    """The mean difference of the errors of the same functions, and its standard error."""
    difference = more - less
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
