"""The best action for each context: the best of a menu of candidates, then uphill from there.

Kernels and products are computed on an engine, on a GPU for example; what is left for NumPy has one
number for each context and coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Array, Floats
from tacit.domains import Box, Domain
from tacit.kernels import Kernel, Separable
from tacit.numerics.engine import CPU_ROWS, Engine, to_numpy
from tacit.play.base import SAME

ROWS = 1024  # contexts decided at a time,
GPU_ROWS = 16_384  # and on a GPU
REFINEMENTS = 2


class Decider:
    """Decides by the mean k_U(w)' weights of a posterior, on one engine."""

    def __init__(
        self,
        actions: Domain,
        kernel: Kernel,
        landmarks: Floats,
        weights: Floats,
        candidates: int,
        engine: Engine,
    ) -> None:
        self.actions = actions
        self.kernel = kernel
        self.menu = actions.candidate_points(candidates)  # in unit coordinates
        self._engine = engine
        self._landmarks = engine.put(landmarks)
        self._weights = engine.put(weights)
        self._rows = ROWS if engine.rows <= CPU_ROWS else GPU_ROWS

    def decide(self, C: Floats, weights: Floats | None = None) -> Floats:
        """Best actions for contexts, both in unit coordinates. With `weights`, a row for each
        context, each is decided by a reward function of its own."""
        found = []
        for start in range(0, max(1, len(C)), self._rows):
            rows = slice(start, start + self._rows)
            own = None if weights is None else weights[rows]
            found.append(self._best(self._scores(C[rows], own)))
        return np.vstack(found)

    def decide_alike(self, C: Floats) -> Floats:
        """The one action, as a row, that is best on average over these contexts."""
        return self._best(_MeanScores(self._scores(C)))

    def agreeing(self, C: Floats, X: Floats, weights: Floats) -> Floats:
        """For each context the share of reward functions, a row of `weights` each, whose best
        action is that of `X`: what `decide` finds for each of them, with less work."""
        owners = []  # contexts whose action a function may choose, and those functions
        functions = []
        starts = []
        values = []
        for i, (best, value) in enumerate(self._best_for_each(C, weights)):
            near = np.flatnonzero(self._within_reach(self.menu[best], X[i]))
            owners.append(np.full(len(near), i))
            functions.append(near)
            starts.append(best[near])
            values.append(value[near])
        owner = np.concatenate(owners)
        if not len(owner):
            return np.zeros(len(C))
        x = self.menu[np.concatenate(starts)]
        if self.actions.continuous:
            own = weights[np.concatenate(functions)]
            x = self._uphill(x, np.concatenate(values), self._scores(C[owner], own))
        same = np.max(np.abs(x - X[owner]), axis=1, initial=0.0) < SAME
        return np.bincount(owner[same], minlength=len(C)) / len(weights)

    def _best_for_each(self, C: Floats, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
        """For each context, the best candidates of all reward functions and their scores."""
        if not isinstance(self.kernel, Separable):
            for c in C:
                yield self._scores(np.tile(c, (len(weights), 1)), weights).best_of_menu()
            return
        own = self._engine.put(weights)
        for part in self.kernel.contexts(self._engine.put(C), self._landmarks[:, self.kernel.at :]):
            scores = to_numpy((part * own) @ self.menu_kernel)
            best = np.argmax(scores, axis=1)
            yield best, scores[np.arange(len(scores)), best]

    def _within_reach(self, starts: Floats, x: Floats) -> NDArray[np.bool_]:
        """Candidates from which `_uphill` may lead to `x`. On a convex domain it goes no further
        than its steps, along each coordinate."""
        distance = np.max(np.abs(starts - x), axis=1, initial=0.0)
        if not self.actions.continuous:
            return np.asarray(distance < SAME)
        if type(self.actions) is not Box:
            return np.full(len(starts), True)
        steps = self._step * sum(0.25**i for i in range(REFINEMENTS))
        return np.asarray(distance <= steps + SAME)

    @property
    def _step(self) -> float:
        """Of the first refinement: about the distance of two candidates."""
        return 1.0 / max(1.0, len(self.menu) ** (1.0 / self.menu.shape[1]) - 1.0)

    def _scores(self, C: Floats, weights: Floats | None = None) -> _Scores:
        own = self._weights if weights is None else self._engine.put(weights)
        if isinstance(self.kernel, Separable):
            return _SeparableScores(self, self.kernel, C, own)
        return _JointScores(self, C, own)

    def _best(self, scores: _Scores) -> Floats:
        best, value = scores.best_of_menu()
        x = self.menu[best]
        if not self.actions.continuous:
            return x
        return self._uphill(x, value, scores)

    def _uphill(self, x: Floats, value: Floats, scores: _Scores) -> Floats:
        """Moves each action along each coordinate to the top of the parabola through three points,
        if that is better."""
        rows = np.arange(len(x))
        d = x.shape[1]
        project = self.actions.project_points
        step = self._step
        for _ in range(REFINEMENTS):
            for j in range(d):
                move = np.zeros(d)
                move[j] = step
                left = project(x - move)
                right = project(x + move)
                f_left = scores.at(left)
                f_right = scores.at(right)
                bend = f_left - 2.0 * value + f_right
                peaked = bend < 0
                slope = 0.5 * (f_left - f_right)
                shift = np.where(peaked, slope / np.where(peaked, bend, 1.0), 0.0)
                top = project(x + np.clip(shift, -1.0, 1.0)[:, None] * move)
                tries = np.stack([x, left, right, top])
                values = np.stack([value, f_left, f_right, scores.at(top)])
                winner = np.argmax(values, axis=0)
                x = tries[winner, rows]
                value = values[winner, rows]
            step /= 4.0
        return x

    @cached_property
    def menu_kernel(self) -> Array:
        """k_X(candidate, landmark), transposed: the same for every context."""
        assert isinstance(self.kernel, Separable)
        own = self._landmarks[:, : self.kernel.at]
        return self.kernel.actions(self._engine.put(self.menu), own).T


class _Scores:
    """The mean rewards of actions for a chunk of contexts. `weights` are those of one reward
    function, or have a row for each context."""

    def __init__(self, decider: Decider, C: Floats, weights: Array) -> None:
        self.decider = decider
        self.engine = decider._engine
        self.landmarks = decider._landmarks
        self.weights = weights
        self.C = self.engine.put(C)

    def on_menu(self) -> Array:
        """Of every candidate for every context, `(contexts, candidates)`."""
        raise AssertionError("abstract")

    def at(self, X: Floats) -> Floats:
        """Of one action for each context."""
        raise AssertionError("abstract")

    def best_of_menu(self) -> tuple[Floats, Floats]:
        """The number of the best candidate for each context, and its score."""
        scores = self.on_menu()
        best = self.engine.xp.argmax(scores, axis=1)
        return to_numpy(best), to_numpy(self.engine.xp.max(scores, axis=1))


class _SeparableScores(_Scores):
    """k_X(x, u) k_C(c, u): all candidates by one matrix product with the menu's kernel."""

    def __init__(self, decider: Decider, kernel: Separable, C: Floats, weights: Array) -> None:
        super().__init__(decider, C, weights)
        self._kernel = kernel
        # Many reward functions in one context, as `Decider.agreeing` has them: computed once.
        one = self.C[:1] if weights.ndim == 2 and bool((self.C[:1] == self.C).all()) else self.C
        contexts = kernel.contexts(one, self.landmarks[:, kernel.at :])
        self._context_part = contexts * weights

    def on_menu(self) -> Array:
        return self._context_part @ self.decider.menu_kernel

    def at(self, X: Floats) -> Floats:
        actions = self._kernel.actions(self.engine.put(X), self.landmarks[:, : self._kernel.at])
        return to_numpy(self.engine.xp.vecdot(actions, self._context_part))


class _JointScores(_Scores):
    """Any other kernel: evaluated point by point."""

    def on_menu(self) -> Array:
        menu = self.engine.put(self.decider.menu)
        rows = range(self.C.shape[0])
        return self.engine.xp.stack([self._mean(menu, i) for i in rows])

    def at(self, X: Floats) -> Floats:
        xp = self.engine.xp
        points = xp.concat([self.engine.put(X), self.C], axis=1)
        return to_numpy(xp.vecdot(self._kernel_rows(points), self.weights))

    def _mean(self, menu: Array, i: int) -> Array:
        """Of every candidate in one context."""
        xp = self.engine.xp
        contexts = xp.broadcast_to(self.C[i, :], (menu.shape[0], self.C.shape[1]))
        weights = self.weights if self.weights.ndim == 1 else self.weights[i, :]
        return self._kernel_rows(xp.concat([menu, contexts], axis=1)) @ weights

    def _kernel_rows(self, points: Array) -> Array:
        return self.decider.kernel(points, self.landmarks)


class _MeanScores(_Scores):
    """The same on average over the contexts: one row."""

    def __init__(self, scores: _Scores) -> None:
        super().__init__(scores.decider, to_numpy(scores.C), scores.weights)
        self._each = scores

    def on_menu(self) -> Array:
        return self.engine.xp.mean(self._each.on_menu(), axis=0, keepdims=True)

    def at(self, X: Floats) -> Floats:
        everywhere = np.broadcast_to(X, (self.C.shape[0], X.shape[1]))
        return np.mean(self._each.at(everywhere), keepdims=True)
