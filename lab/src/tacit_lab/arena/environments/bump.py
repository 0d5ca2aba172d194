"""The Bump of Zenati et al., "Efficient Kernel UCB for Contextual Bandits", AISTATS 2022:

    r(a, x) = max(0, 1 - |a - a*| - <w*, x - x*>),   x ~ U[0, 1]^5,   a in [0, 1],   noise 0.1.

Here `a*` and `x*` are drawn from U[0, 1] and `w*` from U[-1, 1] anew for each seed; the authors'
program draws them once (and `a*` from a grid). Rewards lie in [0, R] with

    R = 1 + <w*, x*> + sum_i max(0, -w*_i)

and are scaled by `2 r / R - 1`. The best action is `a*` for every context that can earn anything: a
fixed action is enough. The learner's kernel is ours.
"""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats, Rng
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling, unit_box
from tacit_lab.arena.protocol import Environment

CONTEXTS = 5
NOISE = 0.1  # in the bump's own unit


def bump(rng: Rng) -> Environment:
    a = rng.random()
    x = rng.random(CONTEXTS)
    w = rng.uniform(-1.0, 1.0, CONTEXTS)
    R = 1.0 + w @ x + np.maximum(0.0, -w).sum()

    def mean(actions: Floats, contexts: Floats) -> Floats:
        r = np.maximum(0.0, 1.0 - np.abs(actions[:, 0] - a) - (contexts - x) @ w)
        return np.asarray(2.0 * r / R - 1.0)

    kernel = Separable(Matern(2.5, 0.3), Matern(2.5, 1.5))
    problem = Problem(unit_box(1, "a"), unit_box(CONTEXTS, "x"), kernel, (-1.0, 1.0))
    draw = problem.contexts.sample_points
    told = telling(problem, draw)
    return Environment("bump", told, mean, draw, noise=2.0 * NOISE / R, scale=R / 2.0, unit="bump")
