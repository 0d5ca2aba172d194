"""Every learner keeps the laws of the arena; without privacy each is its counterpart; each does its
paper's steps."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest

from laws_learners import LearnerLaws
from learner_studies import error_rate, mean_reward, rounds, setting
from tacit._typing import Floats
from tacit_lab.arena.learners import LEARNERS
from tacit_lab.arena.learners.batched import Batched, batch_sizes
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.learners.menu import UniformPlay
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.learners.uniform_posterior import UniformPosterior
from tacit_lab.arena.measure import yardstick
from tacit_lab.arena.protocol import Environment, Learner

# They reckon with the expected Gram matrix: close to their counterpart, not equal to it.
NOT_EQUAL = {"tacit", "tacit-once", "tacit-epochs", "tacit-pure", "usca"}
FLOORS = {"uniform", "best-fixed"}
PRIVATE = [name for name, kind in LEARNERS.items() if kind.counterpart is not None]
LINEAR = [name for name, kind in LEARNERS.items() if issubclass(kind, LinearUCB)]
UNIFORM = {name for name, kind in LEARNERS.items() if issubclass(kind, UniformPlay)}

studies: dict[Any, Any] = {}


@pytest.mark.parametrize(
    "learner", [LEARNERS[name] for name in LEARNERS if name not in FLOORS], ids=lambda k: k.name
)
class TestEveryLearner(LearnerLaws):
    """A study is run once for all laws but the one that runs it again."""

    horizon: ClassVar[int] = 48

    @pytest.fixture(params=[0, 1], ids=["continuous", "finite"])
    def environment(self, request: pytest.FixtureRequest, learner: Any) -> Environment:
        if request.param and learner in [LEARNERS[name] for name in NOT_EQUAL]:
            pytest.skip("seconds to build on the catalogue; tacit arena --quick plays it")
        return yardstick(self.environments[request.param], 0).environment

    def study(
        self, kind: Any, environment: Environment, epsilon: Any = None, play: Any = None
    ) -> Any:
        adaptive = kind.play is Learner.play
        key = kind, environment.name, self._level(kind, epsilon), None if adaptive else play
        if key not in studies:
            studies[key] = super().study(kind, environment, epsilon, play)
        return studies[key]

    def test_the_same_seed_plays_and_decides_the_same(
        self, learner: Any, environment: Environment
    ) -> None:
        first = self.study(learner, environment)
        second = LearnerLaws.study(self, learner, environment)
        assert np.array_equal(first[0], second[0])
        assert np.array_equal(first[1], second[1])

    def test_without_privacy_it_is_its_counterpart(
        self, learner: Any, environment: Environment
    ) -> None:
        if learner in [LEARNERS[name] for name in NOT_EQUAL]:
            pytest.skip("see test_without_privacy_the_estimate_is_close_to_the_posterior_mean")
        super().test_without_privacy_it_is_its_counterpart(learner, environment)


def test_every_row_of_the_literature_is_here() -> None:
    assert set(LEARNERS) == {
        "tacit",
        "tacit-once",
        "tacit-epochs",
        "tacit-pure",
        "usca",
        "kernel-projected",
        "linear-weighted",
        "linucb-tree",
        "gpucb-jdp",
        "adassp",
        "adassp-boosted",
        "sgd-ridge",
        "linear-agents",
        "linear-silos",
        "policies-private",
        "bo-final",
        "gpucb-outsourced",
        "gpucb-private-rewards",
        "kernel-projected-local",
        "linear-local",
        "linear-local-greedy",
        "glm-local",
        "policies-local",
        "linear-shuffled",
        "policies-shuffled",
        "fts-private",
        "robin",
        "adap-ucb",
        "adac-ucb",
        "arms-shuffled",
        "uniform-posterior",
        "ridge",
        "gpucb",
        "igpucb",
        "batched",
        "shrinking",
        "linucb",
        "linear-greedy",
        "greedy-sgd",
        "policy-elimination",
        "federated-greedy",
        "fts",
        "gp-threds",
        "ucb",
        "arm-elimination",
        "uniform",
        "best-fixed",
    }


def played(name: str, epsilon: float, horizon: int = 150) -> tuple[Learner, Floats]:
    """A learner after its rounds, and the actions that it played."""
    rng = np.random.default_rng([1, 0])
    noise = np.random.default_rng([1, 1])
    learner = LEARNERS[name](setting(horizon, epsilon), np.random.default_rng([1, 2]))

    def reward(actions: Floats, contexts: Floats) -> Floats:
        noisy = mean_reward(actions, contexts) + 0.1 * noise.normal(size=len(actions))
        return np.clip(noisy, -1.0, 1.0)

    return learner, learner.play(rng.random((horizon, 1)), reward)


@pytest.mark.parametrize("name", sorted(set(PRIVATE) - NOT_EQUAL))
def test_without_privacy_every_action_played_is_the_counterparts(name: str) -> None:
    counterpart = LEARNERS[name].counterpart
    assert counterpart is not None
    assert np.array_equal(played(name, math.inf)[1], played(counterpart, math.inf)[1])


# Uniform play is the same with and without privacy, and so is GP-UCB with a private last word. So
# few rounds rule out no arm of `arms-shuffled`: see test_learners_arms.py.
SAME_PLAY = {*NOT_EQUAL, *UNIFORM, "bo-final", "arms-shuffled"}


@pytest.mark.parametrize("name", sorted(set(PRIVATE) - SAME_PLAY))
def test_privacy_changes_what_is_played(name: str) -> None:
    assert not np.array_equal(played(name, 1.0)[1], played(name, math.inf)[1])


@cache
def posterior_mean(n: int) -> tuple[Floats, Floats]:
    """The posterior mean after uniform rounds, on a grid."""
    one = UniformPosterior(setting(n, math.inf), np.random.default_rng(0))
    X, C, y = rounds(n)
    one.add(np.hstack([X, C]), y)
    grid = np.random.default_rng(2).random((300, 2))
    return grid, one.mean(grid)


def distance(name: str, epsilon: float, n: int = 2000) -> float:
    """How far the estimate is from the posterior mean, relative to how much that varies."""
    one: Any = LEARNERS[name](setting(n, epsilon), np.random.default_rng(0))
    X, C, y = rounds(n)
    one.add(np.hstack([X, C]), y)
    grid, right = posterior_mean(n)
    return float(np.std(one.mean(grid) - right) / np.std(right))


# `tacit-epochs` plays by itself, so it cannot be given rounds of others.
@pytest.mark.parametrize("name", sorted(NOT_EQUAL - {"tacit-epochs"}))
def test_without_privacy_the_estimate_is_close_to_the_posterior_mean(name: str) -> None:
    assert distance(name, math.inf) < 0.25


def test_with_privacy_a_release_is_not_as_close() -> None:
    assert distance("tacit", 0.1) > 0.3


@pytest.mark.parametrize("name", sorted(set(LINEAR) - {"gpucb-jdp"}))
def test_without_privacy_linear_learners_solve_the_ridge_regression_of_their_rounds(
    name: str,
) -> None:
    """theta = (sum phi phi' + (s^2 / v) I)^-1 sum phi y, whatever trees, batches and agents it went
    through."""
    one: Any = LEARNERS[name](setting(60, math.inf), np.random.default_rng(0))
    X, C, y = rounds(60)
    for x, c, reward in zip(X, C, y, strict=True):
        one.tell(c, x, float(reward))
    one.decide(C[:1])
    Phi = one.phi(np.hstack([X, C]))
    theta = np.linalg.solve(Phi.T @ Phi + 0.1**2 / PRIOR * np.eye(one.size), Phi.T @ y)
    assert np.allclose(one._theta, theta, atol=1e-8)


@pytest.mark.parametrize(
    "name",
    [
        "linucb-tree",
        "gpucb-jdp",
        "linear-agents",
        "linear-shuffled",
        "bo-final",
        "linear-weighted",
        "adassp",
        "adassp-boosted",
        "sgd-ridge",
    ],
)
def test_a_huge_epsilon_decides_almost_as_none_at_all(name: str) -> None:
    assert error_rate(played(name, 1e5, 100)[0]) < 0.05


def test_noise_that_outweighs_the_gram_matrix_still_leaves_a_decision() -> None:
    learner, _ = played("linear-local", 0.01)
    assert np.isfinite(learner.decide(np.array([[0.5]]))).all()


def test_deciding_twice_releases_once() -> None:
    released = ("tacit", "linucb-tree", "linear-agents", "linear-shuffled", "fts-private", "adassp")
    more = ("adassp-boosted", "sgd-ridge", "kernel-projected", "linear-weighted", "robin")
    for name in (*released, *more):
        learner, _ = played(name, 1.0, horizon=50)
        C = np.linspace(0, 1, 7)[:, None]
        assert np.array_equal(learner.decide(C), learner.decide(C)), name


def test_batches_grow_to_the_horizon() -> None:
    assert batch_sizes(1000) == [32, 179, 424, 365]
    assert all(sum(batch_sizes(T)) == T for T in (1, 2, 17, 96, 5000))


def test_batches_rule_actions_out_and_not_the_best() -> None:
    learner, actions = played("batched", math.inf, 400)
    assert isinstance(learner, Batched)
    Phi = learner.phi.on_menu(learner.menu, np.array([0.3]))
    alive = learner.menu[learner.alive(Phi)][:, 0]
    assert len(alive) < len(learner.menu) / 2
    assert alive.min() <= 0.7 <= alive.max()
    assert learner.round == len(actions) == 400


def test_the_number_of_features_follows_the_noise() -> None:
    make: Any = LEARNERS["linucb-tree"]
    sizes = [make(setting(1000, e), np.random.default_rng(0)).size for e in (0.1, 3.0, math.inf)]
    assert sizes[0] == 4 < sizes[1] < sizes[2] == 32


@pytest.mark.parametrize(
    "name",
    ["gpucb", "igpucb", "linucb", "uniform-posterior", "ridge", "batched", "shrinking", "fts"],
)
def test_references_without_privacy_find_the_best_actions(name: str) -> None:
    assert error_rate(played(name, math.inf, 200)[0]) < (0.2 if name == "fts" else 0.03)
    assert error_rate(played("uniform", math.inf)[0]) > 0.3
