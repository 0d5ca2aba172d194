"""The best action for each context: the best of a menu of candidates, and then beside it.

Kernels and products are computed on an engine, on a GPU for example; what is left for NumPy has one
number for each context and coordinate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from tacit._typing import Array, Floats
from tacit.domains import Box, Domain
from tacit.kernels import Kernel, Separable
from tacit.kernels.against import against
from tacit.numerics.engine import CPU_ROWS, Engine, to_numpy
from tacit.play.base import SAME
from tacit.policy.line import POINTS, first_of_window, top_of_quartic

CELLS = 65_536  # kernel values computed at a time: what stays in a cache,
FEWEST_ROWS = 32  # but for so many contexts at least;
GPU_ROWS = 16_384  # contexts at a time on a GPU
REFINEMENTS = 2
# Where many reward functions are asked whether they choose an action, the candidates nearest to it
# are compared with each other, and with one in so many of all; for so many contexts at a time.
NEAREST = 24
NEAREST_ON_A_LINE = 8
FEW = 16
ASKED = 64
ROUNDING = 1e-10  # scores that are closer than this share of the largest are not told apart


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
        self._rows = GPU_ROWS
        if engine.rows <= CPU_ROWS:
            self._rows = max(FEWEST_ROWS, CELLS // max(1, len(landmarks)))

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
        found = np.zeros(len(C))
        for start in range(0, len(C), ASKED):
            rows = slice(start, start + ASKED)
            found[rows] = self._agreeing(C[rows], X[rows], weights)
        return found

    def _agreeing(self, C: Floats, X: Floats, weights: Floats) -> Floats:
        if not isinstance(self.kernel, Separable):
            owner, function = (each.ravel() for each in np.indices((len(C), len(weights))))
            chosen = self.decide(C[owner], weights[function])
        else:
            parts = np.asarray(to_numpy(self.on_contexts(self._engine.put(C))))
            owner, function = np.nonzero(self._may_choose(parts, X, weights))
            chosen = self._decide_parts(parts, owner, weights[function])
        same = np.max(np.abs(chosen - X[owner]), axis=1, initial=0.0) < SAME
        return np.bincount(owner[same], minlength=len(C)) / len(weights)

    def _decide_parts(self, parts: Floats, owner: NDArray[np.intp], weights: Floats) -> Floats:
        """Best actions for contexts by their kernels with the landmarks, each by a reward function
        of its own."""
        found = [np.empty((0, self.menu.shape[1]))]
        for start in range(0, len(owner), self._rows):
            rows = slice(start, start + self._rows)
            part = self._engine.put(parts[owner[rows]] * weights[rows])
            found.append(self._best(_SeparableScores(self, part)))
        return np.vstack(found)

    def _may_choose(self, parts: Floats, X: Floats, weights: Floats) -> NDArray[np.bool_]:
        """For each context, the reward functions for which some candidate within reach of its
        action is as good as those around it and as a few others. For all the rest one of those is
        better."""
        distance = np.max(np.abs(self.menu - X[:, None, :]), axis=2, initial=0.0)
        reached = distance <= self._reach + SAME
        few = min(NEAREST_ON_A_LINE if self.on_a_line else NEAREST, len(self.menu))
        nearest = np.argpartition(distance, few - 1, axis=1)[:, :few]
        scores = (self._menu_rows[nearest] * parts[:, None, :]) @ weights.T
        others = (self._few_rows * parts[:, None, :]) @ weights.T
        best = np.maximum(scores.max(axis=1), others.max(axis=1))
        scores[~np.take_along_axis(reached, nearest, axis=1)] = -np.inf
        may = scores.max(axis=1) >= best - ROUNDING * np.abs(best).max()
        return np.asarray(may | (reached.sum(axis=1) > few)[:, None])

    @cached_property
    def _reach(self) -> float:
        """How far a decision may be from its candidate, along each coordinate."""
        if not self.actions.continuous:
            return 0.0
        if type(self.actions) is not Box:  # projections may lead anywhere
            return np.inf
        if self.on_a_line:
            return self._step
        return self._step * sum(0.25**i for i in range(REFINEMENTS))

    @cached_property
    def on_a_line(self) -> bool:
        """Whether the candidates are evenly spaced, from end to end, and enough for a quartic."""
        line = type(self.actions) is Box and self.actions.dimension == 1
        return line and len(self.menu) >= POINTS

    @cached_property
    def _step(self) -> float:
        """Of the first refinement: about the distance of two candidates."""
        return 1.0 / max(1.0, len(self.menu) ** (1.0 / self.menu.shape[1]) - 1.0)

    def _scores(self, C: Floats, weights: Floats | None = None) -> _Scores:
        own = self._weights if weights is None else self._engine.put(weights)
        if isinstance(self.kernel, Separable):
            return _SeparableScores(self, self.on_contexts(self._engine.put(C)) * own)
        return _JointScores(self, C, own)

    def _best(self, scores: _Scores) -> Floats:
        menu = scores.on_menu()
        best = np.asarray(to_numpy(self._engine.xp.argmax(menu, axis=1)), dtype=np.intp)
        if self.actions.continuous and self.on_a_line:
            return self._along(best, menu, scores)
        x = self.menu[best]
        if not self.actions.continuous:
            return x
        return self._uphill(x, to_numpy(self._engine.xp.max(menu, axis=1)), scores)

    def _along(self, best: NDArray[np.intp], menu: Array, scores: _Scores) -> Floats:
        """On a line: the top of the quartic through the five candidates around the best one, if
        that is better than the candidate."""
        first = first_of_window(best, len(self.menu))
        values = _window(menu, first)
        near = best - first
        top = (first + top_of_quartic(values, near)) / (len(self.menu) - 1.0)
        x = top[:, None]
        better = scores.at(x[None])[0] > values[np.arange(len(values)), near]
        return np.where(better[:, None], x, self.menu[best])

    def _uphill(self, x: Floats, value: Floats, scores: _Scores) -> Floats:
        """Moves each action along each coordinate to the top of the parabola through three points,
        if that is better."""
        n, d = x.shape
        rows = np.arange(n)
        project = self.actions.project_points
        tries = np.empty((4, n, d))  # where it is, to the left, to the right, at the top
        values = np.empty((4, n))
        step = self._step
        for _ in range(REFINEMENTS):
            for j in range(d):
                move = np.zeros(d)
                move[j] = step
                tries[0] = x
                tries[1] = project(x - move)
                tries[2] = project(x + move)
                values[0] = value
                values[1:3] = scores.at(tries[1:3])
                shift = _top(values[1], value, values[2])
                tries[3] = project(x + shift[:, None] * move)
                values[3:] = scores.at(tries[3:])
                winner = values.argmax(axis=0)
                x = tries[winner, rows]
                value = values[winner, rows]
            step /= 4.0
        return x

    @cached_property
    def _menu_rows(self) -> Floats:
        """k_X(candidate, landmark)."""
        return np.ascontiguousarray(to_numpy(self.menu_kernel).T)

    @cached_property
    def _few_rows(self) -> Floats:
        """Of some candidates."""
        return self._menu_rows[::FEW].copy()

    @cached_property
    def menu_kernel(self) -> Array:
        """k_X(candidate, landmark), transposed: the same for every context."""
        assert isinstance(self.kernel, Separable)
        return self.on_actions(self._engine.put(self.menu)).T

    @cached_property
    def on_actions(self) -> Callable[[Array], Array]:
        """k_X of actions and all landmarks."""
        assert isinstance(self.kernel, Separable)
        return against(self.kernel.actions, self._landmarks[:, : self.kernel.at])

    @cached_property
    def on_contexts(self) -> Callable[[Array], Array]:
        """k_C of contexts and all landmarks."""
        assert isinstance(self.kernel, Separable)
        return against(self.kernel.contexts, self._landmarks[:, self.kernel.at :])


def _top(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Where the parabola through values at -1, 0 and 1 is highest, from -1 to 1; 0 where it is
    nowhere."""
    bend = left - 2.0 * middle + right
    peaked = bend < 0
    shift = np.where(peaked, 0.5 * (left - right) / np.where(peaked, bend, 1.0), 0.0)
    return np.minimum(np.maximum(shift, -1.0), 1.0)


def _window(menu: Array, first: NDArray[np.intp]) -> Floats:
    """Five scores of each row of a menu, the first of them by its number."""
    columns = first[:, None] + np.arange(POINTS)
    if isinstance(menu, np.ndarray):
        return np.asarray(menu[np.arange(len(menu))[:, None], columns])
    xp = array_namespace(menu)
    flat = np.arange(len(columns))[:, None] * menu.shape[1] + columns
    picked = xp.asarray(flat.reshape(-1), device=menu.device)
    return to_numpy(xp.take(xp.reshape(menu, (-1,)), picked, axis=0)).reshape(columns.shape)


class _Scores:
    """The mean rewards of actions for a chunk of contexts."""

    def __init__(self, decider: Decider, contexts: int) -> None:
        self.decider = decider
        self.engine = decider._engine
        self.contexts = contexts  # how many there are

    def on_menu(self) -> Array:
        """Of every candidate for every context, `(contexts, candidates)`."""
        raise AssertionError("abstract")

    def at(self, X: Floats) -> Floats:
        """Of some actions for each context: of `(actions, contexts, coordinates)` those of
        `(actions, contexts)`."""
        raise AssertionError("abstract")


class _SeparableScores(_Scores):
    """k_X(x, u) k_C(c, u): all candidates by one matrix product with the menu's kernel.
    `context_part` is k_C(c, u) times the weight of u, a row for each context."""

    def __init__(self, decider: Decider, context_part: Array) -> None:
        super().__init__(decider, context_part.shape[0])
        self._context_part = context_part

    def on_menu(self) -> Array:
        return self._context_part @ self.decider.menu_kernel

    def at(self, X: Floats) -> Floats:
        some, contexts, columns = X.shape
        actions = self.decider.on_actions(self.engine.put(X.reshape(some * contexts, columns)))
        actions = self.engine.xp.reshape(actions, (some, contexts, actions.shape[1]))
        return to_numpy(self.engine.xp.vecdot(actions, self._context_part))


class _JointScores(_Scores):
    """Any other kernel: evaluated point by point. `weights` are those of one reward function, or
    have a row for each context."""

    def __init__(self, decider: Decider, C: Floats, weights: Array) -> None:
        super().__init__(decider, len(C))
        self.weights = weights
        self.C = self.engine.put(C)

    def on_menu(self) -> Array:
        menu = self.engine.put(self.decider.menu)
        rows = range(self.contexts)
        return self.engine.xp.stack([self._mean(menu, i) for i in rows])

    def at(self, X: Floats) -> Floats:
        return np.stack([self._at(x) for x in X])

    def _at(self, X: Floats) -> Floats:
        """Of one action for each context."""
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
        return self.decider.kernel(points, self.decider._landmarks)


class _MeanScores(_Scores):
    """The same on average over the contexts: one row."""

    def __init__(self, scores: _Scores) -> None:
        super().__init__(scores.decider, 1)
        self._each = scores

    def on_menu(self) -> Array:
        return self.engine.xp.mean(self._each.on_menu(), axis=0, keepdims=True)

    def at(self, X: Floats) -> Floats:
        everywhere = np.broadcast_to(X, (len(X), self._each.contexts, X.shape[2]))
        return np.mean(self._each.at(everywhere), axis=1, keepdims=True)
