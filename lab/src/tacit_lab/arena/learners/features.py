"""Finite feature maps of a problem's kernel.

`phi(w)'phi(w')` is close to `k(w, w')`, and `|phi(w)| <= 1` always. All of them are made from
public coins: the kernel, the domain, and points that the learner draws itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.features import Features, clipped
from tacit.design.landmarks import pivots
from tacit.kernels import Kernel, Separable
from tacit.numerics import linalg
from tacit.problem import Problem
from tacit_lab.arena.learners.menu import pairs
from tacit_lab.arena.learners.posterior import PRIOR

POOL = 4096  # public points that landmarks are chosen from and moments are taken over
LANDMARKS = 200  # at most
TOLERANCE = 1e-4  # the mean residual of the kernel at which fewer are enough
MOST = 32  # features of linear learners, where noise does not call for fewer


class Map(ABC):
    """Rows phi(w) of joint points, shrunk to norm 1 where they are longer: what sensitivities rest
    on."""

    size: int

    @abstractmethod
    def raw(self, points: Floats) -> Floats:
        """The features, as long as they come."""

    def raw_menu(self, menu: Floats, contexts: Floats) -> Floats:
        """The same for every action of a menu in each context, where that can be had faster."""
        return self.raw(pairs(menu, contexts))

    def __call__(self, points: Floats) -> Floats:
        return clipped(self.raw(points), 1.0)

    def on_menu(self, menu: Floats, contexts: Floats) -> Floats:
        """The features of `pairs(menu, contexts)`; or of a menu in one context."""
        return clipped(self.raw_menu(menu, np.atleast_2d(contexts)), 1.0)


class Landmarks(Map):
    """`phi(w) = B'k_U(w)`: Nystroem features on landmarks U, or some directions of them."""

    def __init__(self, k: Kernel, U: Floats, B: Floats) -> None:
        self.k = k
        self.U = U
        self.B = B
        self.size = B.shape[1]
        self._menu: tuple[Floats, Floats] | None = None

    def raw(self, points: Floats) -> Floats:
        return np.asarray(self.k(points, self.U) @ self.B)

    def raw_menu(self, menu: Floats, contexts: Floats) -> Floats:
        """A separable kernel needs the menu's part once, and one row for each context."""
        if not isinstance(self.k, Separable):
            return super().raw_menu(menu, contexts)
        if self._menu is None or self._menu[0] is not menu:
            self._menu = menu, self.k.actions(menu, self.U[:, : self.k.at])
        _, at_actions = self._menu
        at_contexts = self.k.contexts(contexts, self.U[:, self.k.at :])
        products = at_actions * at_contexts[:, None, :]
        return np.asarray(products.reshape(-1, len(self.U)) @ self.B)


def nystroem(
    problem: Problem, rng: Rng, *, most: int = LANDMARKS, tolerance: float = TOLERANCE
) -> Landmarks:
    """`phi(w) = L^-1 k_U(w)` on landmarks U until a mean residual of `tolerance` is left of the
    kernel."""
    pool = problem.public_points(POOL, rng)
    chosen, _ = pivots(problem.k, pool, most=most, tolerance=tolerance, rng=rng)
    return spanned(problem, pool[chosen])


def spanned(problem: Problem, U: Floats) -> Landmarks:
    """The projection onto the span of the kernel at the points U."""
    features = Features.on(problem.k, U)
    inverse = linalg.solve_lower(features.L, np.eye(features.rank))
    return Landmarks(problem.k, features.U, inverse.T)


def principal(problem: Problem, rng: Rng, most: int, floor: float = 0.0) -> Landmarks:
    """The directions of those features that carry most of the kernel over public points.

    Of all maps of so many features this one leaves the smallest mean residual, so a linear learner
    that pays for every feature in noise is given the best ones: at most `most`, at least 4, and
    none with a mean square below `floor`.
    """
    phi = nystroem(problem, rng)
    Phi = phi.raw(problem.public_points(POOL, rng))
    weight, V = linalg.eigh(Phi.T @ Phi / POOL)
    heavy = int(np.count_nonzero(weight >= floor))
    size = min(most, max(4, heavy), len(weight))
    heaviest = V[:, ::-1][:, :size]  # eigenvalues come in increasing order
    return Landmarks(problem.k, phi.U, phi.B @ heaviest)


def lightest(sigma: float, horizon: int) -> float:
    """The mean square below which a feature is left out, where its sum of T responses gets noise of
    this size: with mean square m the sum is about T m sqrt(v), and noise may be twice that."""
    return sigma / (2.0 * horizon * math.sqrt(PRIOR))
