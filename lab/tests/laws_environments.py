"""What every environment of the arena promises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tacit._typing import Floats, Rng
from tacit_lab.arena.measure import best_values, surface
from tacit_lab.arena.protocol import MENU, Environment

POINTS = 300
DRAWS = 4000
SIGMAS = 6.0  # five means are compared: a false alarm less than once in 10^8 runs


class EnvironmentLaws:
    """Supply a `make` fixture: the function that draws the environment from a random generator."""

    @pytest.fixture
    def make(self) -> Callable[[Rng], Environment]:
        raise NotImplementedError("supply the environment that must keep the laws")

    @pytest.fixture
    def environment(self, make: Callable[[Rng], Environment]) -> Environment:
        return make(np.random.default_rng(0))

    def points(self, environment: Environment, n: int = POINTS) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(1)
        return environment.problem.actions.sample_points(n, rng), environment.draw_contexts(n, rng)

    def test_its_means_are_rewards(self, environment: Environment) -> None:
        mean = environment.mean(*self.points(environment))
        assert mean.shape == (POINTS,)
        assert np.abs(mean).max() <= 1.0
        assert np.ptp(mean) > 0.0

    def test_its_contexts_are_in_the_domain(self, environment: Environment) -> None:
        draws = [environment.draw_contexts, environment.problem.draw_contexts]
        if environment.fresh_contexts is not None:
            draws.append(environment.fresh_contexts)
        for draw in draws:
            contexts = draw(POINTS, np.random.default_rng(2))
            assert contexts.shape == (POINTS, environment.problem.contexts.dimension)
            assert np.allclose(
                contexts, environment.problem.contexts.project_points(contexts), rtol=0, atol=1e-9
            )

    def test_the_same_seed_draws_the_same(self, make: Callable[[Rng], Environment]) -> None:
        one = make(np.random.default_rng(0))
        two = make(np.random.default_rng(0))
        assert np.array_equal(self.points(one)[1], self.points(two)[1])
        assert np.array_equal(one.mean(*self.points(one)), two.mean(*self.points(two)))

    def test_learners_see_rewards_in_the_range_that_they_are_told(
        self, environment: Environment
    ) -> None:
        assert tuple(environment.problem.reward_range) == (-1.0, 1.0)
        rewards = environment.reward(*self.points(environment), np.random.default_rng(3))
        assert rewards.shape == (POINTS,)
        assert np.abs(rewards).max() <= 1.0

    def test_rewards_have_the_mean_that_they_should(self, environment: Environment) -> None:
        """Where clipping does not matter."""
        actions, contexts = self.points(environment)
        mean = environment.mean(actions, contexts)
        for i in np.flatnonzero(np.abs(mean) < 0.5)[:5]:
            x = np.repeat(actions[i : i + 1], DRAWS, axis=0)
            c = np.repeat(contexts[i : i + 1], DRAWS, axis=0)
            rewards = environment.reward(x, c, np.random.default_rng([4, i]))
            error = max(float(rewards.std()), 1e-3) / np.sqrt(DRAWS)
            quadrature = 2e-3  # by which means may have been computed
            assert abs(rewards.mean() - mean[i]) <= SIGMAS * error + quadrature

    def test_a_round_takes_one_random_number(self, environment: Environment) -> None:
        """So that learners who ask one by one and all at once meet the same noise."""
        actions, contexts = self.points(environment, 20)
        rng = np.random.default_rng(5)
        one_by_one = [
            environment.reward(actions[i : i + 1], contexts[i : i + 1], rng)[0] for i in range(20)
        ]
        assert np.allclose(
            environment.reward(actions, contexts, np.random.default_rng(5)), one_by_one, atol=1e-12
        )

    def test_its_surface_is_its_mean(self, environment: Environment) -> None:
        actions, contexts = self.points(environment, 7)
        table = surface(environment, actions, contexts)
        singly = [[float(environment.mean(x[None], c[None])[0]) for x in actions] for c in contexts]
        assert np.allclose(table, singly, rtol=0, atol=1e-9)

    def test_no_action_of_the_menu_is_better_than_the_best(self, environment: Environment) -> None:
        _, contexts = self.points(environment, 40)
        menu = surface(environment, environment.problem.actions.candidate_points(MENU), contexts)
        assert (best_values(environment, contexts)[:, None] >= menu - 1e-12).all()
