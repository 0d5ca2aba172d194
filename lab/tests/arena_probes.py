"""Learners and environments that try the arena's machinery. Processes load them from this file."""

from __future__ import annotations

import math
import os
import time
from typing import Any, ClassVar

import numpy as np

from tacit import Box, Matern, Problem
from tacit._typing import Floats, Rng
from tacit_lab.arena.protocol import Environment, Learner


class Probe(Learner):
    """Plays the middle, decides for the context itself (right on `parabola`), and remembers what it
    saw."""

    name = "probe"
    source = "test"
    protects = "nothing"
    trust = "none"
    seen: ClassVar[list[tuple[float, float]]] = []
    made: ClassVar[int] = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Probe.made += 1
        Probe.seen = []

    def ask(self, context: Floats) -> Floats:
        return np.full(self.setting.problem.actions.dimension, 0.5)

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        Probe.seen.append((float(context[0]), reward))

    def decide(self, contexts: Floats) -> Floats:
        return contexts


class AtOnce(Probe):
    def play(self, contexts: Floats, reward: Any) -> Floats:
        actions = np.full((len(contexts), 1), 0.5)
        Probe.seen = list(
            zip(contexts[:, 0].tolist(), reward(actions, contexts).tolist(), strict=True)
        )
        return actions


class Private(Probe):
    counterpart: ClassVar[str | None] = f"{__file__}:Probe"


class Crash(Probe):
    def ask(self, context: Floats) -> Floats:
        raise ValueError("it broke\nand more")


class Hang(Probe):
    def decide(self, contexts: Floats) -> Floats:
        time.sleep(60)
        return contexts


class Dies(Probe):
    def decide(self, contexts: Floats) -> Floats:
        os._exit(9)


class Outside(Probe):
    def decide(self, contexts: Floats) -> Floats:
        return contexts + 1.0


class Missing(Probe):
    def decide(self, contexts: Floats) -> Floats:
        return contexts * math.nan


class Talks(Probe):
    def decide(self, contexts: Floats) -> Floats:
        print("hello")
        return contexts


def work(seconds: float) -> None:
    """Keeps the processor busy."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


class Slow(Probe):
    def decide(self, contexts: Floats) -> Floats:
        work(0.3)
        return contexts


class Large(Probe):
    def decide(self, contexts: Floats) -> Floats:
        return contexts + 0.0 * np.ones(25_000_000)[0]  # 200 MB for a moment


def parabola(rng: Rng) -> Environment:
    """f = 0.9 - (x - c)^2: the best action is the context, uniform play loses 1/6."""
    actions = Box([0.0], [1.0], names=["x"])
    contexts = Box([0.0], [1.0], names=["c"])
    problem = Problem(actions, contexts, Matern(2.5, 0.3), (-1.0, 1.0))
    return Environment(
        "parabola",
        problem,
        lambda x, c: 0.9 - (x - c)[:, 0] ** 2,
        lambda n, rng: rng.random((n, 1)),
    )


def sleepy(rng: Rng) -> Environment:
    base = parabola(rng)

    def sample(actions: Floats, contexts: Floats, rng: Rng) -> Floats:
        work(0.5)
        return base.mean(actions, contexts)

    return Environment("sleepy", base.problem, base.mean, base.draw_contexts, sample=sample)


class Peeks(Probe):
    def play(self, contexts: Floats, reward: Any) -> Floats:
        actions = np.full((len(contexts), 1), 0.5)
        reward(actions, contexts)
        reward(actions, contexts)
        return actions


class Unseeded(Probe):
    def decide(self, contexts: Floats) -> Floats:
        return np.random.default_rng().random((len(contexts), 1))
