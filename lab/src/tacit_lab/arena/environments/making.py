"""What environments are made of: unit boxes, laws of contexts, and what a learner is told about
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains import Box, Domain
from tacit.problem import Problem
from tacit_lab.arena.protocol import Environment

Draw = Callable[[int, Rng], Floats]
TILT = (2.0, 5.0)  # the Beta law, per coordinate, that a misinformed learner believes in


def unit_box(dimension: int, prefix: str) -> Box:
    return Box([0.0] * dimension, [1.0] * dimension, [f"{prefix}{i}" for i in range(dimension)])


def telling(problem: Problem, draw: Draw) -> Problem:
    """The same problem, whose learner knows that contexts come from `draw`."""
    return replace(problem, generator=lambda n, rng: problem.contexts.decode(draw(n, rng)))


def untold(environment: Environment) -> Environment:
    """The learner has no generator; contexts come from the same law as ever."""
    return replace(environment, problem=replace(environment.problem, generator=None))


def misled(environment: Environment) -> Environment:
    """The learner's generator is tilted towards one corner; contexts come from the same law as
    ever."""
    problem = environment.problem
    return replace(environment, problem=telling(problem, tilted(problem.contexts)))


def tilted(domain: Domain) -> Draw:
    """Beta(2, 5) where a uniform draw takes a uniform number."""
    return lambda n, rng: domain.from_cube(rng.beta(*TILT, size=(n, domain.cube_dimension)))


def pairs(actions: Floats, contexts: Floats) -> tuple[Floats, Floats]:
    """Every action for every context, as two tables of rows; the actions of one context stand
    together."""
    return np.tile(actions, (len(contexts), 1)), np.repeat(contexts, len(actions), axis=0)
