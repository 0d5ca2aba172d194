"""Replace one round's context and reward: what each private learner adds noise to moves no further
than its noise is calibrated to; and where somebody forgets a clip, the same check sees it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import REPLACED, mean_reward, neighbours, rounds, setting, told
from tacit._typing import Floats
from tacit.design.features import clipped
from tacit_lab.arena.learners import features, linear_local
from tacit_lab.arena.learners.bo_final import BOFinal
from tacit_lab.arena.learners.fts_private import MEETINGS, FTSPrivate
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.learners.gpucb_jdp import GPUCBJDP
from tacit_lab.arena.learners.gpucb_private_rewards import GPUCBPrivateRewards
from tacit_lab.arena.learners.gram import SENSITIVITY, contribution, packed_size, unpack
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.learners.linear_agents import LinearAgents
from tacit_lab.arena.learners.linear_greedy import LinearLocalGreedy
from tacit_lab.arena.learners.linear_local import LinearLocal
from tacit_lab.arena.learners.linear_shuffled import LinearShuffled
from tacit_lab.arena.learners.linear_silos import LinearSilos
from tacit_lab.arena.learners.linucb_tree import LinUCBTree
from tacit_lab.arena.mechanisms import noise_rho
from tacit_lab.arena.protocol import Learner

LINEAR: list[type[LinearUCB]] = [
    LinUCBTree,
    GPUCBJDP,
    LinearAgents,
    LinearSilos,
    LinearLocal,
    LinearLocalGreedy,
    LinearShuffled,
]
wild = st.floats(-1e6, 1e6)


def unit(values: list[float]) -> Floats:
    """A feature vector as maps hand it over: norm at most 1."""
    return clipped(np.array([values]), 1.0)[0]


# -- linear learners ------------------------------------------------------------------------------


def linear_move(kind: type[Learner], replaced: tuple[int, float, float, float]) -> float:
    """How far the released sum moves. Both learners draw the same noise, so it is the sum that
    moves."""
    one, two = neighbours(kind, *replaced)
    one.finish()
    two.finish()
    return float(np.linalg.norm(one.released()[0] - two.released()[0]))


@given(st.lists(wild, min_size=5, max_size=5), st.lists(wild, min_size=5, max_size=5), wild, wild)
def test_one_round_of_a_linear_learner_moves_its_sum_by_at_most_the_sensitivity(
    a: list[float], b: list[float], y: float, z: float
) -> None:
    apart = np.linalg.norm(contribution(unit(a), y) - contribution(unit(b), z))
    assert apart <= SENSITIVITY * (1 + 1e-12)


def test_the_sensitivity_of_linear_learners_is_reached() -> None:
    """Opposite rewards at an angle of 60 degrees."""
    psi = np.array([0.5, math.sqrt(0.75)])
    apart = np.linalg.norm(contribution(np.array([1.0, 0.0]), 1.0) - contribution(psi, -1.0))
    assert apart == pytest.approx(SENSITIVITY, rel=1e-12)


def test_packing_keeps_lengths_and_comes_back() -> None:
    rng = np.random.default_rng(0)
    phi, psi = rng.normal(size=(2, 4))
    one = contribution(phi, 0.3)
    two = contribution(psi, -0.2)
    matrices = np.sum((np.outer(phi, phi) - np.outer(psi, psi)) ** 2)
    vectors = np.sum((0.3 * phi + 0.2 * psi) ** 2)
    length2 = matrices + vectors
    assert np.sum((one - two) ** 2) == pytest.approx(length2)
    G, u = unpack(one, 4)
    assert np.allclose(G, np.outer(phi, phi))
    assert np.allclose(u, 0.3 * phi)
    assert len(one) == packed_size(4)


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("replaced", REPLACED[1:3])
def test_linear_learners_move_as_little_as_their_noise_assumes(
    kind: type[LinearUCB], replaced: tuple[int, float, float, float]
) -> None:
    assert 0 < linear_move(kind, replaced) <= SENSITIVITY * (1 + 1e-9)


@pytest.mark.parametrize("kind", LINEAR)
def test_linear_learners_spend_no_more_than_their_budget(kind: type[LinearUCB]) -> None:
    """Delta^2 / (2 sigma^2) for each node that a round lies below."""
    one: Any = kind(setting(1000), np.random.default_rng(0))
    nodes = 1
    noisy = one
    if kind in (LinUCBTree, GPUCBJDP):
        noisy = one.tree
        nodes = noisy.levels
        assert nodes == 11
    if issubclass(kind, LinearAgents):
        noisy = one.trees[0]
        nodes = noisy.levels
        assert nodes == (5 if kind is LinearSilos else 3)
    sigma = noisy.sigma
    spent = nodes * SENSITIVITY**2 / (2 * sigma**2)
    assert 0.99 * noise_rho(one.setting) <= spent <= noise_rho(one.setting) * (1 + 1e-9)


@pytest.mark.parametrize("kind", LINEAR)
def test_a_linear_learner_that_forgets_to_clip_features_is_caught(
    kind: type[LinearUCB], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "clipped", lambda Phi, _: 2.0 * Phi)
    assert linear_move(kind, REPLACED[0]) > SENSITIVITY


def test_a_linear_learner_that_forgets_to_clip_rewards_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit_lab.arena.learners.gram.min", lambda _, y: y, raising=False)
    monkeypatch.setattr("tacit_lab.arena.learners.gram.max", lambda _, y: y, raising=False)
    assert linear_move(LinearLocal, REPLACED[3]) > SENSITIVITY


def person_move(kind: type[LinearAgents]) -> float:
    """How far the sums of the first meeting move when the first person answers otherwise, and
    agents play on."""
    sums = []
    for first in (1.0, -1.0):
        one = kind(setting(200), np.random.default_rng(0))
        C = rounds(49)[1]
        for i, c in enumerate(C):
            x = one.ask(c)
            one.tell(c, x, first if i == 0 else float(mean_reward(x[None], c[None])[0]))
        sums.append(one.own.copy())
    return float(np.linalg.norm(sums[0] - sums[1]))


def test_replacing_a_person_moves_what_an_agent_shares_further_than_its_noise_assumes() -> None:
    """As published: an agent plays by its own raw rounds, so the rounds after the replaced one
    change as well."""
    assert person_move(LinearAgents) > 2.0 * SENSITIVITY


def test_silos_that_play_by_what_is_shared_alone_do_not_have_this_leak() -> None:
    assert 0 < person_move(LinearSilos) <= SENSITIVITY * (1 + 1e-9)


def linear_noise(kind: type[Learner]) -> tuple[Floats, float]:
    """What the last released sum has beside the sum of the rounds, and how large the learner says
    it is."""
    X, C, y = rounds(200)
    made = kind(setting(200, epsilon=100.0), np.random.default_rng(0))  # 32 or 63 features
    one: Any = told(made, X, C, y)
    one.finish()
    packed, sigma = one.released()
    Phi = one.phi(np.hstack([X, C]))
    rows = [contribution(phi, reward) for phi, reward in zip(Phi, y, strict=True)]
    return packed - np.sum(rows, axis=0), sigma


def plausible(noise: Floats, sigma: float) -> bool:
    """Of this size, and another draw in every number: two chi-square tests with a false-alarm rate
    of 1e-7 together."""
    apart = noise[1::2] - noise[: len(noise) // 2 * 2 : 2]
    sums = (
        (np.sum(noise**2) / sigma**2, len(noise)),
        (np.sum(apart**2) / (2 * sigma**2), len(apart)),
    )
    return all(
        stats.chi2.ppf(2.5e-8, n) < total < stats.chi2.ppf(1 - 2.5e-8, n) for total, n in sums
    )


@pytest.mark.parametrize("kind", LINEAR)
def test_released_sums_have_the_noise_that_the_learner_says(kind: type[LinearUCB]) -> None:
    noise, sigma = linear_noise(kind)
    assert sigma > 0
    assert plausible(noise, sigma)
    assert not plausible(noise, sigma / 2)


def test_a_scalar_where_a_matrix_belongs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        linear_local, "gaussian", lambda shape, sigma, rng: np.full(shape, sigma * rng.normal())
    )
    assert not plausible(*linear_noise(LinearLocal))


# -- Thompson sampling ----------------------------------------------------------------------------


@cache
def one_fts() -> FTSPrivate:
    return FTSPrivate(setting(), np.random.default_rng(0))


@given(st.lists(wild, min_size=3, max_size=3), st.integers(0, 4))
def test_one_agent_moves_the_clipped_sum_by_at_most_twice_the_clip(
    message: list[float], agent: int
) -> None:
    one = one_fts()
    sent = np.random.default_rng(1).normal(size=(5, 3))
    other = sent.copy()
    other[agent] = message
    assert np.linalg.norm(one.clipped_sum(sent) - one.clipped_sum(other)) <= one.sensitivity * (
        1 + 1e-12
    )


def test_agents_messages_that_nobody_clips_are_caught() -> None:
    one = FTSPrivate(setting(), np.random.default_rng(0))
    sent = np.ones((5, 3))
    assert np.linalg.norm(sent.sum(axis=0) - (sent * 100).sum(axis=0)) > one.sensitivity


def test_thompson_sampling_spends_its_budget_on_two_meetings() -> None:
    one = FTSPrivate(setting(), np.random.default_rng(0))
    spent = MEETINGS * one.sensitivity**2 / (2 * one.sigma**2)
    assert 0.99 * noise_rho(one.setting) <= spent <= noise_rho(one.setting) * (1 + 1e-9)


def test_replacing_all_rounds_of_an_agent_is_replacing_one_message() -> None:
    """Agent 2 of 6 plays rounds 2, 8, 14, ...; with the same coins the others send the same."""
    sent = []
    for reward in (1.0, -1.0):
        X, C, y = rounds(60)
        y[2::6] = reward
        one = told(FTSPrivate(setting(60), np.random.default_rng(5)), X, C, y)
        rng = np.random.default_rng(9)
        sent.append(np.array([agent.sample(one.phi.size, 0.1, rng) for agent in one.agents]))
    changed = np.abs(sent[0] - sent[1]).max(axis=1) > 0
    assert np.flatnonzero(changed).tolist() == [2]
    assert len(changed) == 6


# -- private rewards ------------------------------------------------------------------------------


def told_apart(reward: float, other: float) -> float:
    """How far apart two rewards of one user are after the same noise."""
    one = object.__new__(GPUCBPrivateRewards)
    one.setting = setting()
    pair = []
    for value in (reward, other):
        one.rng = np.random.default_rng(0)
        pair.append(one.randomise(value))
    return abs(pair[0] - pair[1])


@given(wild, wild)
def test_private_rewards_move_by_at_most_two(reward: float, other: float) -> None:
    assert told_apart(reward, other) <= 2.0 + 1e-12


def test_a_reward_that_nobody_clips_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GPUCB, "observe", lambda self, reward: reward)
    assert told_apart(5.0, -5.0) > 2.0


def test_private_rewards_have_laplace_noise() -> None:
    """Scale 2 / epsilon; false-alarm rate 1e-7. The noise of another epsilon is rejected."""
    one = GPUCBPrivateRewards(setting(epsilon=0.5), np.random.default_rng(0))
    draws = [one.randomise(0.25) - 0.25 for _ in range(5000)]
    assert stats.kstest(draws, stats.laplace(scale=4.0).cdf).pvalue > 1e-7
    assert stats.kstest(draws, stats.laplace(scale=2.0).cdf).pvalue < 1e-7


# -- final output only ----------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", REPLACED)
def test_the_posterior_mean_moves_less_than_the_final_draw_assumes(
    replaced: tuple[int, float, float, float],
) -> None:
    one, two = neighbours(BOFinal, *replaced)
    C = np.linspace(0, 1, 21)[:, None]
    assert 0 < np.abs(one.scores(C) - two.scores(C)).max() <= one.sensitivity


def test_a_final_draw_that_takes_the_mean_for_known_is_caught() -> None:
    """A sensitivity that shrinks like 1 / T is passed at once by a first round."""
    pair = []
    for reward in (1.0, -1.0):
        X, C, y = rounds(60)
        X[0] = 1.0
        C[0] = 1.0
        y[0] = reward
        one = told(BOFinal(setting(60), np.random.default_rng(5)), X[:1], C[:1], y[:1])
        pair.append(one.scores(np.ones((1, 1))))
    assert np.abs(pair[0] - pair[1]).max() > 2.0 * math.sqrt(0.1) * 60**-1
