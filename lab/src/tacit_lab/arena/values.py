"""What policies are worth in an environment, and what they are compared with.

A value is the mean reward over some contexts, computed from the environment's own means: no reward
is drawn. The best fixed action is the best single one for all of these contexts together, found
without privacy; the best value takes the best action for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.domains.base import sobol
from tacit_lab.arena.measure import CHUNK, GRID, NEARBY, RADII, best_values, surface
from tacit_lab.arena.protocol import MENU, Environment


@dataclass(frozen=True)
class References:
    """What the value of a policy is compared with."""

    random: float  # of uniform play
    fixed: float  # of the best fixed action
    best: float  # of the best action for each context

    def share(self, value: float) -> float:
        """How much of the way from random play to the best fixed action a policy has gone: above 1
        if it is better than any fixed action. NaN where no fixed action is better than another."""
        if self.fixed <= self.random:
            return float("nan")
        return (value - self.random) / (self.fixed - self.random)


def value(environment: Environment, actions: Floats, contexts: Floats) -> float:
    """Of a policy that decides for `actions`, one row for each context."""
    return float(environment.mean(actions, contexts).mean())


def references(environment: Environment, contexts: Floats) -> References:
    menu = environment.problem.actions.candidate_points(GRID)
    return References(
        random=float(_average(environment, menu, contexts).mean()),
        fixed=best_fixed(environment, contexts)[1],
        best=float(best_values(environment, contexts).mean()),
    )


def best_fixed(environment: Environment, contexts: Floats) -> tuple[Floats, float]:
    """The action with the largest mean reward over all contexts, and that mean.

    It is sought as `best_values` seeks the best action for one context.
    """
    actions = environment.problem.actions
    tried = np.vstack([actions.candidate_points(GRID), actions.candidate_points(MENU)])
    at, best = _largest(environment, tried, contexts)
    if not actions.continuous:
        return at, best
    for radius in RADII:
        steps = radius * (2.0 * sobol(NEARBY, actions.dimension) - 1.0)
        nearby, found = _largest(environment, actions.project_points(at + steps), contexts)
        if found > best:
            at = nearby
            best = found
    return at, best


def _largest(environment: Environment, actions: Floats, contexts: Floats) -> tuple[Floats, float]:
    values = _average(environment, actions, contexts)
    i = int(values.argmax())
    return actions[i], float(values[i])


def _average(environment: Environment, actions: Floats, contexts: Floats) -> Floats:
    """The mean reward of each action over all contexts."""
    chunks = range(0, len(contexts), CHUNK)
    total = sum(surface(environment, actions, contexts[i : i + CHUNK]).sum(axis=0) for i in chunks)
    return np.asarray(total / len(contexts))
