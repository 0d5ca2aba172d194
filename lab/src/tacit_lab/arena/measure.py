"""The yardstick: how good the best action is, for the contexts on which learners are measured.

    error rate = E_c[ max_x f(x, c) - f(xhat(c), c) ]

The mean is over 400 fresh contexts of the true law, the same ones for every learner. The maximum is
over 1024 well-spread actions (all of them where the domain is finite), the common menu, what three
rounds of local search find around the best of these, and the decided action itself, so that no
error is negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import sobol
from tacit_lab.arena.environments.making import pairs
from tacit_lab.arena.names import base_and_variant, environment_named, own_name
from tacit_lab.arena.protocol import MENU, Environment

FRESH = 400  # contexts on which decisions are measured
GRID = 1024  # well-spread actions
NEARBY = 32  # actions tried around the best in each round of the local search
RADII = (0.06, 0.015, 0.004)  # of the local search
REGRET_ROUNDS = 1000  # rounds whose best action is looked for; evenly spaced where there are more
CHUNK = 100  # contexts at once
# Numbers of the random streams of one environment and seed, by what they draw.
FUNCTION = 0
CONTEXTS = 1
NOISE = 2
FRESH_CONTEXTS = 3
LEARNER = 4


@dataclass(frozen=True, eq=False)
class Yardstick:
    """One environment as drawn for one seed. It depends on nothing else, so every learner meets the
    same work."""

    environment: Environment
    fresh: Floats  # contexts to decide for
    best: Floats  # max_x f(x, c) there
    uniform_error: float  # of uniform play
    menu_error: float  # of the best action on the menu, for each context

    def error_rate(self, decided: Floats) -> float:
        value = self.environment.mean(decided, self.fresh)
        return float(np.mean(np.maximum(self.best, value) - value))


def stream(name: str, seed: int, number: int) -> Rng:
    """One of the five streams of random numbers of an environment and seed."""
    base, _ = base_and_variant(name)
    return np.random.default_rng([crc32(own_name(base).encode()), seed, number])


@lru_cache(maxsize=8)
def yardstick(base: str, seed: int) -> Yardstick:
    make, _ = environment_named(base)
    environment = make(stream(base, seed, FUNCTION))
    draw = environment.fresh_contexts or environment.draw_contexts
    fresh = draw(FRESH, stream(base, seed, FRESH_CONTEXTS))
    actions = environment.problem.actions
    best = best_values(environment, fresh)
    uniform = surface(environment, actions.candidate_points(GRID), fresh).mean(axis=1)
    menu = surface(environment, actions.candidate_points(MENU), fresh).max(axis=1)
    return Yardstick(
        environment,
        fresh,
        best,
        uniform_error=float(np.mean(best - uniform)),
        menu_error=float(np.mean(best - menu)),
    )


@lru_cache(maxsize=8)
def played_contexts(base: str, seed: int, rounds: int) -> tuple[Floats, Floats, Floats]:
    """The context of each round; the rounds whose regret is taken; the best value in those."""
    environment = yardstick(base, seed).environment
    contexts = environment.draw_contexts(rounds, stream(base, seed, CONTEXTS))
    some = np.unique(np.linspace(0, rounds - 1, min(rounds, REGRET_ROUNDS)).astype(int))
    return contexts, some, best_values(environment, contexts[some])


def best_values(environment: Environment, contexts: Floats) -> Floats:
    """max_x f(x, c), for each context."""
    chunks = range(0, len(contexts), CHUNK)
    return np.concatenate([_best(environment, contexts[i : i + CHUNK]) for i in chunks])


def _best(environment: Environment, contexts: Floats) -> Floats:
    actions = environment.problem.actions
    grid = np.vstack([actions.candidate_points(GRID), actions.candidate_points(MENU)])
    values = surface(environment, grid, contexts)
    best = values.max(axis=1)
    at = grid[values.argmax(axis=1)]
    if not actions.continuous:
        return best
    repeated = np.repeat(contexts, NEARBY, axis=0)
    for radius in RADII:
        steps = radius * (2.0 * sobol(NEARBY, actions.dimension) - 1.0)
        tried = actions.project_points((at[:, None, :] + steps).reshape(-1, actions.dimension))
        found = environment.mean(tried, repeated).reshape(len(contexts), NEARBY)
        nearby = tried.reshape(len(contexts), NEARBY, -1)
        best_nearby = nearby[np.arange(len(contexts)), found.argmax(axis=1)]
        better = found.max(axis=1) > best
        at = np.where(better[:, None], best_nearby, at)
        best = np.maximum(best, found.max(axis=1))
    return best


def surface(environment: Environment, actions: Floats, contexts: Floats) -> Floats:
    """The mean of every action for every context: one row per context."""
    if environment.surface is not None:
        return environment.surface(actions, contexts)
    return environment.mean(*pairs(actions, contexts)).reshape(len(contexts), len(actions))
