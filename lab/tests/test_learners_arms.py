"""Multi-armed learners: what one reward moves, the noise that covers it, and what they find."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import mean_reward, setting
from tacit._typing import Floats
from tacit_lab.arena.learners.arms import UCB
from tacit_lab.arena.learners.arms_private import SENSITIVITY, AdaCUCB, AdaPUCB, PrivateUCB
from tacit_lab.arena.learners.arms_shuffled import ArmElimination, ArmsShuffled
from tacit_lab.arena.learners.in_batches import ArmLearner, InBatches
from tacit_lab.arena.mechanisms import noise_rho

FALSE_ALARM = 1e-7  # of each statistical test here; seeds are fixed
EPISODES: list[type[PrivateUCB]] = [AdaPUCB, AdaCUCB]
rewards = st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4)


def learner(kind: type[ArmLearner], horizon: int = 200, epsilon: float = 1.0) -> Any:
    return kind(setting(horizon, epsilon), np.random.default_rng(5))


def played(kind: type[ArmLearner], horizon: int, epsilon: float) -> Any:
    """A learner after its rounds, where the best action for everybody is 0.5."""
    one = learner(kind, horizon, epsilon)
    noise = np.random.default_rng([1, 1])

    def reward(actions: Floats, contexts: Floats) -> Floats:
        return mean_reward(actions, contexts) + 0.1 * noise.normal(size=len(actions))

    one.play(np.random.default_rng([1, 0]).random((horizon, 1)), reward)
    return one


# -- upper confidence bounds ----------------------------------------------------------------------


def means_moved(kind: type[PrivateUCB], first: list[float], other: float) -> Floats:
    """How far the means of two episodes of one arm move, if one reward of the first is another."""
    found = []
    for replaced in (False, True):
        one = learner(kind)
        told = np.array(first)
        if replaced:
            told[0] = other
        means = []
        for episode in (told, np.linspace(-1, 1, 8)):
            one.learn(np.zeros(len(episode), dtype=np.intp), one.observe(episode))
            means.append(one.means[0])
        found.append(means)
    return np.abs(np.subtract(found[0], found[1]))


class Remembers(AdaPUCB):
    """An arm whose mean is over all of its rewards, each time with noise for its last episode."""

    def learn(self, labels: Any, rewards: Floats) -> None:
        super().learn(labels, rewards)
        self.kept = [*getattr(self, "kept", []), *rewards]
        self.means[labels[0]] += np.mean(self.kept) - np.mean(rewards)


@pytest.mark.parametrize("kind", EPISODES)
@given(rewards, st.floats(-1e6, 1e6))
def test_a_reward_moves_the_mean_of_its_own_episode_and_no_other(
    kind: type[PrivateUCB], first: list[float], other: float
) -> None:
    own, next_one = means_moved(kind, first, other)
    assert own <= SENSITIVITY / 4 * (1 + 1e-9)
    assert next_one == 0


def test_an_arm_that_remembers_is_caught() -> None:
    assert means_moved(Remembers, [1.0, 0.0, 0.0, 0.0], -1.0)[1] > 0


@pytest.mark.parametrize("kind", EPISODES)
def test_rewards_that_nobody_clips_are_caught(
    kind: type[PrivateUCB], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InBatches, "observe", lambda self, rewards: rewards)
    assert means_moved(kind, [5.0, 0.0, 0.0, 0.0], -5.0)[0] > SENSITIVITY / 4


def first_parting(kind: type[ArmLearner], replaced: int, horizon: int = 800) -> int:
    """The first round whose action is another one, if the reward of one round is."""
    runs = []
    for other in (False, True):
        one = learner(kind, horizon, 20.0)
        taken: list[int] = []

        def reward(actions: Floats, contexts: Floats, other: bool = other, t: Any = taken) -> Any:
            found = mean_reward(actions, contexts)
            at = replaced - len(t)
            if other and 0 <= at < len(found):
                found[at] = -1e9
            t.extend([0] * len(found))
            return found

        runs.append(one.play(np.random.default_rng([1, 0]).random((horizon, 1)), reward))
    return int(np.argmax((runs[0] != runs[1]).any(axis=1)))


@pytest.mark.parametrize("kind", EPISODES)
def test_actions_depend_on_a_reward_through_later_episodes_only(kind: type[PrivateUCB]) -> None:
    assert first_parting(kind, 100) > 100


def test_the_noise_of_a_mean_is_what_its_sensitivity_needs() -> None:
    pure = learner(AdaPUCB, epsilon=0.5)
    draws = np.array([pure.mean_noise(10) for _ in range(5000)])
    assert stats.kstest(draws, stats.laplace(scale=0.4).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws, stats.laplace(scale=0.2).cdf).pvalue < FALSE_ALARM
    normal = learner(AdaCUCB)
    draws = np.array([normal.mean_noise(10) for _ in range(5000)])
    sigma = SENSITIVITY / 10 / math.sqrt(2 * noise_rho(normal.setting))
    assert stats.kstest(draws, stats.norm(scale=sigma).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws, stats.norm(scale=sigma / 2).cdf).pvalue < FALSE_ALARM


def test_widths_are_the_papers_for_rewards_of_twice_the_range() -> None:
    """Equation (7) of Azize and Basu 2022, at round 100 with 8 rewards in the last episode."""
    one = learner(AdaPUCB, epsilon=0.5)
    one.round = 99
    one.used[:] = 8
    published = math.sqrt(3.1 * math.log(200) / 16) + 3.1 * math.log(100) / (0.5 * 8)
    assert np.allclose(one.width(), 2 * published)


def test_episodes_double() -> None:
    one = learner(AdaPUCB, 10_000)
    for length in (1, 1, 2, 4, 8):
        one.means[3] = 1e9
        one.used[:] = np.maximum(one.used, 1)
        batch = one.next_batch(10_000)
        assert batch.tolist() == [3] * length
        one.learn(batch, np.zeros(length))


@pytest.mark.parametrize(("kind", "rounds"), [(UCB, 4000), (AdaPUCB, 30_000), (AdaCUCB, 60_000)])
def test_arms_near_the_best_are_found(kind: type[UCB], rounds: int) -> None:
    one = played(kind, rounds, math.inf if kind is UCB else 1.0)
    assert abs(one.decide(np.zeros((1, 1)))[0, 0] - 0.5) < 0.15


def test_a_mean_spends_the_whole_budget_and_no_more() -> None:
    one = learner(AdaCUCB)
    spent = (SENSITIVITY / 10) ** 2 / (2 * one.sigma(10) ** 2)
    assert 0.99 * noise_rho(one.setting) <= spent <= noise_rho(one.setting) * (1 + 1e-9)


# -- elimination ----------------------------------------------------------------------------------


def sums_moved(reward: float, other: float) -> float:
    """How far all sums of a batch move together, if one reward is another."""
    found = []
    for told in (reward, other):
        one = learner(ArmsShuffled)
        batch = one.next_batch(200)
        one.learn(batch, one.observe(np.append(told, np.zeros(len(batch) - 1))))
        found.append(one.sums)
    return float(np.linalg.norm(found[0] - found[1]))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_reward_moves_shuffled_sums_by_at_most_two(reward: float, other: float) -> None:
    assert sums_moved(reward, other) <= SENSITIVITY * (1 + 1e-9)


def test_a_shuffled_reward_that_nobody_clips_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InBatches, "observe", lambda self, rewards: rewards)
    assert sums_moved(5.0, -5.0) > SENSITIVITY


def test_every_sum_has_noise_of_its_own_for_the_whole_budget() -> None:
    one = learner(ArmsShuffled)
    spent = SENSITIVITY**2 / (2 * one.sigma**2)
    assert 0.99 * noise_rho(one.setting) <= spent <= noise_rho(one.setting) * (1 + 1e-9)
    noise = one.release(np.zeros(64), np.arange(64))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 64)
    assert low < np.sum(noise**2) / one.sigma**2 < high
    assert len(np.unique(noise)) == 64


@pytest.mark.parametrize(("kind", "epsilon"), [(ArmElimination, math.inf), (ArmsShuffled, 1.0)])
def test_elimination_leaves_the_best_and_few_others(
    kind: type[ArmElimination], epsilon: float
) -> None:
    one = played(kind, 60_000, epsilon)
    left = one.setting.menu[one.alive][:, 0]
    assert len(left) < 56
    assert left.min() <= 0.5 <= left.max()
    assert abs(one.decide(np.zeros((1, 1)))[0, 0] - 0.5) < 0.1


def test_privacy_changes_which_arms_are_eliminated() -> None:
    """150 rounds, as for other learners, are too few to eliminate anything."""
    kept = [played(ArmsShuffled, 60_000, epsilon).counts for epsilon in (1.0, math.inf)]
    assert not np.array_equal(kept[0], kept[1])


def test_all_rounds_are_played() -> None:
    for kind in (UCB, AdaPUCB, AdaCUCB, ArmElimination, ArmsShuffled):
        one = played(kind, 777, 1.0)
        assert one.round == 777
        assert one.left == 0
