"""The best action for each context: the best of a menu of candidates, and then beside it.

Kernels and products are computed on an engine, on a GPU for example; what is left for NumPy has one
number for each context and coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
# Where many reward functions are asked whether they choose an action, candidates near it are
# compared with others up to so many times as far, and with one in so many of all.
AROUND = 3.0
FEW = 8
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
        owners = []
        functions = []
        for i, may in enumerate(self._may_choose(C, X, weights)):
            functions.append(np.flatnonzero(may))
            owners.append(np.full(len(functions[-1]), i))
        owner = np.concatenate(owners)
        if not len(owner):
            return np.zeros(len(C))
        chosen = self.decide(C[owner], weights[np.concatenate(functions)])
        same = np.max(np.abs(chosen - X[owner]), axis=1, initial=0.0) < SAME
        return np.bincount(owner[same], minlength=len(C)) / len(weights)

    def _may_choose(self, C: Floats, X: Floats, weights: Floats) -> Iterator[NDArray[np.bool_]]:
        """For each context, the reward functions for which some candidate within reach of its
        action is as good as each of a few others. For all the rest one of those is better."""
        if not isinstance(self.kernel, Separable):
            yield from np.full((len(C), len(weights)), True)
            return
        for part, x in zip(to_numpy(self.on_contexts(self._engine.put(C))), X, strict=True):
            distance = np.max(np.abs(self.menu - x), axis=1, initial=0.0)
            near = np.flatnonzero(distance <= self._reach + SAME)
            if FEW * len(near) >= len(self.menu):
                yield np.full(len(weights), True)
                continue
            around = np.flatnonzero(distance <= AROUND * self._reach + SAME)
            compared = np.vstack([self._menu_rows[near], self._menu_rows[around], self._few_rows])
            compared *= part
            scores = compared @ weights.T
            reached = scores[: len(near)].max(axis=0, initial=-np.inf)
            others = scores[len(near) :].max(axis=0)
            yield reached >= others - ROUNDING * np.abs(scores).max()

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
            return _SeparableScores(self, C, own)
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
        """Of some actions for each context: of `(actions, contexts, coordinates)` those of
        `(actions, contexts)`."""
        raise AssertionError("abstract")


class _SeparableScores(_Scores):
    """k_X(x, u) k_C(c, u): all candidates by one matrix product with the menu's kernel."""

    def __init__(self, decider: Decider, C: Floats, weights: Array) -> None:
        super().__init__(decider, C, weights)
        # Many reward functions in one context, as `Decider.agreeing` has them: computed once.
        one = self.C[:1] if weights.ndim == 2 and bool((self.C[:1] == self.C).all()) else self.C
        self._context_part = decider.on_contexts(one) * weights

    def on_menu(self) -> Array:
        return self._context_part @ self.decider.menu_kernel

    def at(self, X: Floats) -> Floats:
        some, contexts, columns = X.shape
        actions = self.decider.on_actions(self.engine.put(X.reshape(some * contexts, columns)))
        actions = self.engine.xp.reshape(actions, (some, contexts, actions.shape[1]))
        return to_numpy(self.engine.xp.vecdot(actions, self._context_part))


class _JointScores(_Scores):
    """Any other kernel: evaluated point by point."""

    def on_menu(self) -> Array:
        menu = self.engine.put(self.decider.menu)
        rows = range(self.C.shape[0])
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
        return self.decider.kernel(points, self.landmarks)


class _MeanScores(_Scores):
    """The same on average over the contexts: one row."""

    def __init__(self, scores: _Scores) -> None:
        super().__init__(scores.decider, to_numpy(scores.C), scores.weights)
        self._each = scores

    def on_menu(self) -> Array:
        return self.engine.xp.mean(self._each.on_menu(), axis=0, keepdims=True)

    def at(self, X: Floats) -> Floats:
        everywhere = np.broadcast_to(X, (len(X), self.C.shape[0], X.shape[2]))
        return np.mean(self._each.at(everywhere), axis=1, keepdims=True)
