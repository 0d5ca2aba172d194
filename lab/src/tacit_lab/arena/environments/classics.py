"""Test functions of optimisation, split into action and context. They are minimised; the reward is

    y = 1 - 2 (v - low) / (high - low),

so an error in reward times `(high - low) / 2`, the environment's `scale`, is an error in the
function's own unit. Contexts are uniform. The best action of Ackley and Levy is the same for every
context: there a fixed action is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains import Box
from tacit.kernels import Matern
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling
from tacit_lab.arena.protocol import Environment


@dataclass(frozen=True)
class Classic:
    """A function on a box, with its smallest and largest value, and which of its coordinates are
    the action."""

    name: str
    function: Callable[[Floats], Floats]
    box: Sequence[tuple[float, float]]
    low: float
    high: float
    actions: tuple[int, ...]
    lengthscale: float

    def __call__(self, rng: Rng) -> Environment:
        actions = self._part("x", self.actions)
        contexts = self._part("c", self.contexts)
        problem = Problem(actions, contexts, Matern(2.5, self.lengthscale), (-1.0, 1.0))
        draw = problem.contexts.sample_points
        half = (self.high - self.low) / 2
        return Environment(
            self.name, telling(problem, draw), self.mean, draw, scale=half, unit=self.name
        )

    @property
    def contexts(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.box)) if i not in self.actions)

    def mean(self, actions: Floats, contexts: Floats) -> Floats:
        w = np.empty((len(actions), len(self.box)))
        w[:, self.actions] = actions
        w[:, self.contexts] = contexts
        low, high = np.array(self.box).T
        v = self.function(low + w * (high - low))
        return np.asarray(1.0 - 2.0 * (v - self.low) / (self.high - self.low))

    def _part(self, prefix: str, which: tuple[int, ...]) -> Box:
        low, high = np.array([self.box[i] for i in which]).T
        return Box(low.tolist(), high.tolist(), [f"{prefix}{i + 1}" for i in which])


def branin(w: Floats) -> Floats:
    """(x2 - 5.1/(4 pi^2) x1^2 + 5/pi x1 - 6)^2 + 10 (1 - 1/(8 pi)) cos x1 + 10"""
    x, y = w.T
    bowl = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return np.asarray(bowl + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x) + 10)


HARTMANN_WEIGHT = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(w: Floats) -> Floats:
    """-sum_i a_i exp(-sum_j A_ij (w_j - P_ij)^2). Four coordinates are the first four of six."""
    A = HARTMANN_A[:, : w.shape[1]]
    P = HARTMANN_P[:, : w.shape[1]]
    inside = sum(A[:, j] * (w[:, j, None] - P[:, j]) ** 2 for j in range(w.shape[1]))
    return np.asarray(-np.exp(-inside) @ HARTMANN_WEIGHT)


def ackley(w: Floats) -> Floats:
    """-20 exp(-0.2 |w|_rms) - exp(mean cos 2 pi w) + 20 + e"""
    bowl = -20 * np.exp(-0.2 * np.sqrt(np.mean(w**2, axis=1)))
    return np.asarray(bowl - np.exp(np.mean(np.cos(2 * math.pi * w), axis=1)) + 20 + math.e)


def levy(w: Floats) -> Floats:
    """sin^2(pi v_1) + sum_i (v_i - 1)^2 (1 + 10 sin^2(pi v_i + 1))
                     + (v_d - 1)^2 (1 + sin^2(2 pi v_d))

    with v = 1 + (w - 1)/4 and the sum over all but the last coordinate, d.
    """
    v = 1 + (w - 1) / 4
    head = v[:, :-1]
    tail = v[:, -1]
    middle = np.sum((head - 1) ** 2 * (1 + 10 * np.sin(math.pi * head + 1) ** 2), axis=1)
    last = (tail - 1) ** 2 * (1 + np.sin(2 * math.pi * tail) ** 2)
    return np.asarray(np.sin(math.pi * v[:, 0]) ** 2 + middle + last)


WIDE = 32.768
# 20 (1 - exp(-0.2 WIDE)) + e - 1/e: no value is above it.
ACKLEY_HIGH = 20 * (1 - math.exp(-0.2 * WIDE)) + math.e - math.exp(-1)

CLASSICS = (
    Classic("branin", branin, [(-5.0, 10.0), (0.0, 15.0)], 0.397887, 308.129097, (0,), 0.3),
    # The split of the USCA paper's figure: coordinates 1 and 2 are the context.
    Classic("hartmann4", hartmann, [(0.0, 1.0)] * 4, -3.729841, 0.0, (2, 3), 0.5),
    Classic("hartmann6", hartmann, [(0.0, 1.0)] * 6, -3.322369, 0.0, (4, 5), 0.5),
    Classic("ackley", ackley, [(-WIDE, WIDE)] * 4, 0.0, ACKLEY_HIGH, (0, 1), 0.5),
    Classic("levy", levy, [(-10.0, 10.0)] * 4, 0.0, 254.898427, (0, 1), 0.5),
)
