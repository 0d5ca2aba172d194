"""A finite catalogue: sixty items with three public features, visitors with two, and clicks.

The mean is a function of the learner's own kernel on features and visitors, and a reward is -1 or 1
with that mean: its standard deviation is at most 1. Items and function are drawn anew for each
seed.
"""

from __future__ import annotations

from tacit._typing import Rng
from tacit.domains import Catalogue
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling, unit_box
from tacit_lab.arena.environments.rkhs import Bumps
from tacit_lab.arena.protocol import Environment

ITEMS = 60
FEATURES = 3
CONTEXTS = 2
BUMPS = 80


def catalogue(rng: Rng) -> Environment:
    items = Catalogue(rng.random((ITEMS, FEATURES)))
    kernel = Separable(Matern(2.5, 0.6), Matern(2.5, 0.5))
    problem = Problem(items, unit_box(CONTEXTS, "c"), kernel, (-1.0, 1.0))
    f = Bumps(problem, BUMPS, rng)
    draw = problem.contexts.sample_points
    return Environment(
        "catalogue",
        telling(problem, draw),
        f.mean,
        draw,
        noise=1.0,
        binary=True,
        surface=f.surface,
        unit="clicks",
    )
