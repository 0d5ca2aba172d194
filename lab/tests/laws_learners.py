"""What every learner of the arena promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from tacit._typing import Floats
from tacit_lab.arena.environments import ENVIRONMENTS
from tacit_lab.arena.measure import yardstick
from tacit_lab.arena.names import known_learners
from tacit_lab.arena.protocol import Environment, Learner, Setting

TRUSTS = {"central", "local", "shuffled", "none"}
FRESH = 25


class Recorder:
    """An environment that remembers what it was asked."""

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment = environment
        self.noise = np.random.default_rng([seed, 2])
        self.asked: list[Floats] = []

    def __call__(self, actions: Floats, contexts: Floats) -> Floats:
        self.asked.append(contexts)
        return self.environment.reward(actions, contexts, self.noise)


class LearnerLaws:
    """Supply a `learner` fixture, the class; and other rounds or environments, if these do not suit
    it."""

    horizon: ClassVar[int] = 96
    environments: ClassVar[tuple[str, ...]] = ("matern52-1+1", "catalogue")
    epsilon: ClassVar[float] = 1.0
    # the share of decisions that are the counterpart's where epsilon is infinite
    agreement: ClassVar[float] = 1.0

    @pytest.fixture
    def learner(self) -> type[Learner]:
        raise NotImplementedError("supply the learner that must keep the laws")

    @pytest.fixture(params=[0, 1], ids=["continuous", "finite"])
    def environment(self, request: pytest.FixtureRequest) -> Environment:
        return yardstick(self.environments[request.param % len(self.environments)], 0).environment

    def study(
        self,
        kind: type[Learner],
        environment: Environment,
        epsilon: float | None = None,
        play: Callable[..., Floats] | None = None,
    ) -> tuple[Floats, Floats, Recorder, Floats]:
        """Actions played, actions decided, what the environment was asked, and the contexts."""
        setting = Setting(
            environment.problem, self.horizon, self._level(kind, epsilon), 1e-6, environment.noise
        )
        contexts = environment.draw_contexts(self.horizon, np.random.default_rng([0, 1]))
        fresh = environment.draw_contexts(FRESH, np.random.default_rng([0, 3]))
        world = Recorder(environment, 0)
        one = kind(setting, np.random.default_rng([0, 4]))
        actions = one.play(contexts, world) if play is None else play(one, contexts, world)
        return actions, one.decide(fresh), world, contexts

    def _level(self, kind: type[Learner], epsilon: float | None) -> float:
        """The epsilon to study under, unless one is given."""
        if epsilon is not None:
            return epsilon
        return math.inf if kind.counterpart is None else self.epsilon

    def test_it_says_what_it_protects_and_where_it_comes_from(self, learner: type[Learner]) -> None:
        assert learner.name
        assert learner.source
        assert learner.protects
        assert learner.trust in TRUSTS
        # whoever is private says so, and nobody else does
        assert (learner.trust == "none") == (learner.counterpart is None)
        assert learner.protects.startswith("nothing") == (learner.counterpart is None)
        assert learner.counterpart is None or learner.counterpart in known_learners()

    def test_it_plays_and_decides_inside_the_domain(
        self, learner: type[Learner], environment: Environment
    ) -> None:
        actions, decided, _, _ = self.study(learner, environment)
        domain = environment.problem.actions
        assert actions.shape == (self.horizon, domain.dimension)
        assert decided.shape == (FRESH, domain.dimension)
        for points in (actions, decided):
            assert np.allclose(points, domain.project_points(points), rtol=0, atol=1e-6)

    def test_asked_one_by_one_it_stays_inside_too(
        self, learner: type[Learner], environment: Environment
    ) -> None:
        actions, decided, _, _ = self.study(learner, environment, play=Learner.play)
        domain = environment.problem.actions
        for points in (actions, decided):
            assert np.allclose(points, domain.project_points(points), rtol=0, atol=1e-6)

    def test_the_same_seed_plays_and_decides_the_same(
        self, learner: type[Learner], environment: Environment
    ) -> None:
        first = self.study(learner, environment)
        second = self.study(learner, environment)
        assert np.array_equal(first[0], second[0])
        assert np.array_equal(first[1], second[1])

    def test_it_sees_one_reward_per_round_in_order(
        self, learner: type[Learner], environment: Environment
    ) -> None:
        """Nobody plays more than the horizon, or learns from rewards that others do not see."""
        _, _, world, contexts = self.study(learner, environment)
        assert np.array_equal(np.vstack(world.asked), contexts)

    def test_without_privacy_it_is_its_counterpart(
        self, learner: type[Learner], environment: Environment
    ) -> None:
        if learner.counterpart is None:
            pytest.skip("protects nothing")
        plain = known_learners()[learner.counterpart]
        ours = self.study(learner, environment, math.inf)[1]
        theirs = self.study(plain, environment, math.inf)[1]
        same = np.isclose(ours, theirs, rtol=0, atol=1e-6).all(axis=1)
        assert same.mean() >= self.agreement


assert set(LearnerLaws.environments) <= set(ENVIRONMENTS)
