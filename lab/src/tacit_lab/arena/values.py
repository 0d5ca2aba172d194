"""What policies are worth in an environment, and what they are compared with.

A value is the mean reward over some contexts, computed from the environment's own means: no reward
is drawn. The best fixed action is the best single one for all of these contexts together; the best
value takes the best action for each of them. A log shows neither: `found_fixed` is the single
action that looks best in one, without privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.domains.base import sobol
from tacit.kernels import Kernel, Separable
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.problem import Problem
from tacit_lab.arena.measure import CHUNK, GRID, NEARBY, RADII, best_values, surface
from tacit_lab.arena.protocol import MENU, Environment

# Of the regression that finds a fixed action in a log: its points, what it tries.
REGRESSED = 256
PENALTIES = np.geomspace(0.01, 1e4, 19)
STRETCHES = (0.5, 1.0, 2.0)


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


def found_fixed(problem: Problem, actions: Floats, rewards: Floats) -> Floats:
    """The single action that a log of uniform play shows to be best, without privacy.

    Rewards are regressed on actions alone. Lengthscales and ridge penalty are those of the least
    generalised cross-validation error.
    """
    menu = problem.actions.candidate_points(REGRESSED)
    tried = problem.actions.candidate_points(GRID)
    off = rewards - rewards.mean()
    least = np.inf
    values = np.zeros(len(tried))
    for kernel in _on_actions(problem):
        s, V = np.linalg.eigh(kernel(menu, menu))
        told = s > 1e-8 * s.max()
        whitening = V[:, told] / np.sqrt(s[told])
        U, d, W = np.linalg.svd(kernel(actions, menu) @ whitening, full_matrices=False)
        shown = U.T @ off
        for penalty in PENALTIES:
            kept = d**2 / (d**2 + penalty)
            left = off @ off - np.sum(kept * (2.0 - kept) * shown**2)
            error = left / (1.0 - kept.sum() / len(off)) ** 2
            if error < least:
                least = error
                weights = d / (d**2 + penalty) * shown
                values = kernel(tried, menu) @ (whitening @ (W.T @ weights))
    return np.asarray(tried[int(values.argmax())])


def _on_actions(problem: Problem) -> list[Kernel]:
    """The default kernel of the actions, with shorter and longer lengthscales."""
    default = Problem(problem.actions, problem.contexts).k
    assert isinstance(default, Separable)
    kernel = spread(default.actions, problem.actions.dimension)
    lengths = np.array(lengthscales(kernel))
    if not lengths.size:
        return [kernel]
    return [with_lengthscales(kernel, (each * lengths).tolist()) for each in STRETCHES]


def _largest(environment: Environment, actions: Floats, contexts: Floats) -> tuple[Floats, float]:
    values = _average(environment, actions, contexts)
    i = int(values.argmax())
    return actions[i], float(values[i])


def _average(environment: Environment, actions: Floats, contexts: Floats) -> Floats:
    """The mean reward of each action over all contexts."""
    chunks = range(0, len(contexts), CHUNK)
    total = sum(surface(environment, actions, contexts[i : i + CHUNK]).sum(axis=0) for i in chunks)
    return np.asarray(total / len(contexts))
