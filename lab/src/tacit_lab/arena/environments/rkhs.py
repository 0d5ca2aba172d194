"""Functions of the learner's own kernel: `f(w) = sum_j a_j k(w, u_j)`, scaled to max |f| = 0.9.

Contexts are uniform. The learner knows the kernel, its lengthscale and the law of contexts: it is
the paper's setting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import sobol
from tacit.kernels import RBF, Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling, unit_box
from tacit_lab.arena.protocol import Environment

LARGEST = 0.9  # max |f|
ROWS = 1024  # joint points at once
SEARCHED = 4096  # joint points on which the largest |f| is sought, besides the bumps' own places
KERNELS: dict[str, Callable[[float], Matern | RBF]] = {
    "matern12": partial(Matern, 0.5),
    "matern32": partial(Matern, 1.5),
    "matern52": partial(Matern, 2.5),
    "rbf": RBF,
}
# (actions, contexts) -> lengthscale and number of bumps. Wider bumps, and more of them, where there
# is more room.
SIZES = {(1, 1): (0.2, 40), (2, 2): (0.3, 160), (2, 4): (0.4, 320)}
SIZE_NAMES = [f"{actions}+{contexts}" for actions, contexts in SIZES]


class Bumps:
    """f(x, c) = sum_j a_j k((x, c), u_j) for a kernel that is a product of one on actions and one
    on contexts."""

    def __init__(self, problem: Problem, number: int, rng: Rng) -> None:
        assert isinstance(problem.k, Separable)
        self.k = problem.k
        self.at = problem.actions.dimension
        actions = problem.actions.sample_points(number, rng)
        contexts = problem.contexts.sample_points(number, rng)
        self.u = np.hstack([actions, contexts])
        self.a = rng.normal(size=number)
        searched = np.vstack([_everywhere(problem), self.u])
        self.a *= LARGEST / np.abs(self._sum(searched)).max()

    def mean(self, actions: Floats, contexts: Floats) -> Floats:
        return self._sum(np.hstack([actions, contexts]))

    def surface(self, actions: Floats, contexts: Floats) -> Floats:
        """k_C(c, u) diag(a) k_X(u, x): one matrix product for all pairs."""
        kx = self.k.actions(self.u[:, : self.at], actions)
        return np.asarray((self.k.contexts(contexts, self.u[:, self.at :]) * self.a) @ kx)

    def _sum(self, points: Floats) -> Floats:
        parts = [self.k(points[i : i + ROWS], self.u) @ self.a for i in range(0, len(points), ROWS)]
        return np.concatenate(parts)


def rkhs(kernel: str, actions: int, contexts: int, rng: Rng) -> Environment:
    lengthscale, number = SIZES[actions, contexts]
    problem = Problem(
        unit_box(actions, "x"), unit_box(contexts, "c"), KERNELS[kernel](lengthscale), (-1.0, 1.0)
    )
    f = Bumps(problem, number, rng)
    draw = problem.contexts.sample_points
    name = f"{kernel}-{actions}+{contexts}"
    return Environment(name, telling(problem, draw), f.mean, draw, surface=f.surface)


def _everywhere(problem: Problem) -> Floats:
    """Well-spread joint points."""
    x = problem.actions
    c = problem.contexts
    cube = sobol(SEARCHED, x.cube_dimension + c.cube_dimension)
    actions = x.from_cube(cube[:, : x.cube_dimension])
    contexts = c.from_cube(cube[:, x.cube_dimension :])
    return np.hstack([actions, contexts])
