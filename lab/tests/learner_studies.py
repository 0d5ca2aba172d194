"""Small problems and rounds on which learners are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import Box, Matern, Problem
from tacit._typing import Floats
from tacit_lab.arena.protocol import Learner, Setting

DELTA = 1e-6
# (round, action, context, reward): an opposite reward, a far context, a corner, and a reward that
# is out of range.
REPLACED = [(7, 0.5, 0.5, -1.0), (0, 0.0, 1.0, 1.0), (59, 1.0, 1.0, -1.0), (30, 0.2, 0.8, 1e9)]


def problem(contexts: int = 1) -> Problem:
    names = [f"c{i}" for i in range(contexts)]
    return Problem(
        Box([0.0], [1.0], ["x"]),
        Box([0.0] * contexts, [1.0] * contexts, names),
        Matern(2.5, 0.3),
        (-1.0, 1.0),
    )


def setting(horizon: int = 60, epsilon: float = 1.0, contexts: int = 1) -> Setting:
    return Setting(problem(contexts), horizon, epsilon, DELTA, 0.1)


def mean_reward(actions: Floats, contexts: Floats) -> Floats:
    """Best where the action is the context's mirror image: max 0.8, min below 0."""
    return 0.8 - 2.0 * np.abs(actions[:, 0] - (1.0 - contexts[:, 0])) ** 1.5


def rounds(n: int, contexts: int = 1, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Uniform actions and contexts, and noisy rewards."""
    rng = np.random.default_rng([seed, 10])
    X = rng.random((n, 1))
    C = rng.random((n, contexts))
    return X, C, np.clip(mean_reward(X, C) + 0.1 * rng.normal(size=n), -1.0, 1.0)


def told(learner: Learner, X: Floats, C: Floats, y: Floats) -> Any:
    """The learner after these rounds, whatever it would have played itself."""
    for x, c, reward in zip(X, C, y, strict=True):
        learner.tell(c, x, float(reward))
    return learner


def neighbours(
    kind: Callable[..., Learner],
    at: int,
    x: float,
    c: float,
    reward: float,
    epsilon: float = 1.0,
    n: int = 60,
) -> tuple[Any, Any]:
    """Two learners with the same coins, whose rounds differ in one action, context and reward."""
    made = []
    for replaced in (False, True):
        X, C, y = rounds(n)
        if replaced:
            X[at] = x
            C[at] = c
            y[at] = reward
        made.append(told(kind(setting(n, epsilon), np.random.default_rng(5)), X, C, y))
    return made[0], made[1]


def error_rate(learner: Learner, n: int = 200) -> float:
    C = np.linspace(0.0, 1.0, n)[:, None]
    return float(np.mean(0.8 - mean_reward(learner.decide(C), C)))
