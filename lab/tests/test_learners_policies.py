"""Elimination of policies: what one person moves, the noise that covers it, and the designs."""

from __future__ import annotations

import math
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import error_rate, mean_reward, setting
from tacit._typing import Floats
from tacit_lab.arena.learners.arms_private import SENSITIVITY
from tacit_lab.arena.learners.in_batches import InBatches
from tacit_lab.arena.learners.policies import PolicyElimination, core_set
from tacit_lab.arena.learners.policies_private import (
    PoliciesLocal,
    PoliciesPrivate,
    PoliciesShuffled,
)
from tacit_lab.arena.mechanisms import noise_rho

FALSE_ALARM = 1e-7  # of each statistical test here; seeds are fixed
HORIZON = 400
PRIVATE = [PoliciesPrivate, PoliciesLocal, PoliciesShuffled]
wild = st.floats(-1e6, 1e6)


@cache
def made(kind: type[PolicyElimination], horizon: int, epsilon: float) -> PolicyElimination:
    return kind(setting(horizon, epsilon), np.random.default_rng(5))


def learner(kind: type[PolicyElimination], horizon: int = HORIZON, epsilon: float = 1.0) -> Any:
    return deepcopy(made(kind, horizon, epsilon))


def first_batch(kind: type[PolicyElimination], person: tuple[float, float] | None) -> Any:
    """The actions of a first batch, and what is released of it; `person` is the context and reward
    of the tenth round, if they are others."""
    one = learner(kind)
    kept: list[Floats] = []
    one.release = lambda sums: kept.append(kind.release(one, sums)) or kept[-1]  # type: ignore[func-returns-value]
    C = np.random.default_rng([1, 0]).random((HORIZON, 1))
    if person is not None:
        C[9] = person[0]
    played: list[Floats] = []
    while not kept:
        c = C[len(played)]
        x = one.ask(c)
        y = float(mean_reward(x[None], c[None])[0])
        other = person is not None and len(played) == 9
        one.tell(c, x, person[1] if other and person is not None else y)
        played.append(x)
    return np.array(played), kept[0]


class Impatient(PoliciesPrivate):
    """Plays on by raw rewards."""

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        super().tell(context, action, reward)
        self.thetas[:, 0] += reward


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize("person", [(1.0, -1.0), (0.0, 1e9)])
def test_a_person_moves_the_released_sums_by_at_most_two_and_no_other_action(
    kind: type[PolicyElimination], person: tuple[float, float]
) -> None:
    """The sums together: a round is in one of them, so L1 and L2 sensitivities are the same."""
    actions, sums = first_batch(kind, None)
    others, moved = first_batch(kind, person)
    rest = np.arange(len(actions)) != 9
    assert np.array_equal(actions[rest], others[rest])
    assert 0 < np.abs(sums - moved).sum() <= SENSITIVITY * (1 + 1e-9)


def test_a_reward_that_nobody_clips_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InBatches, "observe", lambda self, rewards: rewards)
    _, sums = first_batch(PoliciesPrivate, None)
    _, moved = first_batch(PoliciesPrivate, (0.5, 50.0))
    assert np.abs(sums - moved).sum() > SENSITIVITY


def test_a_learner_that_does_not_wait_for_its_noise_is_caught() -> None:
    actions, _ = first_batch(Impatient, None)
    others, _ = first_batch(Impatient, (1.0, -1.0))
    assert not np.array_equal(actions[10:], others[10:])


@given(wild, wild)
def test_a_local_message_moves_by_at_most_two(reward: float, other: float) -> None:
    one = object.__new__(PoliciesLocal)
    one.setting = setting()
    pair = []
    for value in (reward, other):
        one.rng = np.random.default_rng(0)
        pair.append(one.observe(np.array([value])))
    assert np.abs(pair[0] - pair[1]).max() <= SENSITIVITY * (1 + 1e-9)


def noise_law(kind: type[PolicyElimination], law: Any, wrong: Any) -> bool:
    """Whether what is added to sums or messages has this law, and not the wrong one."""
    one = learner(kind)
    zeros = np.zeros(5000)
    draws = one.observe(zeros) if kind is PoliciesLocal else one.release(zeros)
    return bool(
        stats.kstest(draws, law.cdf).pvalue > FALSE_ALARM > stats.kstest(draws, wrong.cdf).pvalue
    )


def test_the_noise_is_what_its_sensitivity_needs() -> None:
    """Half of it is rejected."""
    half = stats.laplace(scale=1.0)
    assert noise_law(PoliciesPrivate, stats.laplace(scale=2.0), half)
    assert noise_law(PoliciesLocal, stats.laplace(scale=2.0), half)
    sigma = SENSITIVITY / math.sqrt(2 * noise_rho(setting()))
    assert noise_law(PoliciesShuffled, stats.norm(scale=sigma), stats.norm(scale=sigma / 2))


def test_no_noise_is_drawn_twice_for_local_users() -> None:
    one = learner(PoliciesLocal)
    assert np.array_equal(one.release(np.arange(3.0)), np.arange(3.0))


def test_a_core_is_small_and_nearly_optimal() -> None:
    """Kiefer and Wolfowitz: of the best design the largest g'V^-1 g is the dimension."""
    G = np.random.default_rng(0).normal(size=(200, 6))
    core, shares = core_set(G)
    assert len(core) <= 12
    assert shares.sum() == pytest.approx(1.0)
    V = G[core].T @ (shares[:, None] * G[core])
    assert np.einsum("nd,nd->n", G, np.linalg.solve(V, G.T).T).max() < 2 * 6


def test_a_core_of_few_policies_is_all_of_them() -> None:
    core, shares = core_set(np.eye(3)[:2])
    assert core.tolist() == [0, 1]
    assert np.allclose(shares, 0.5)


def test_policies_have_the_features_of_what_they_play() -> None:
    """E[phi(x_j(c), c)] over fresh contexts; means of 1000 draws of features below 1."""
    one = learner(PolicyElimination)
    C = np.random.default_rng(3).random((1000, 1))
    X = one.actions(np.full(1000, 7), C)
    assert np.abs(one.phi(np.hstack([X, C])).mean(axis=0) - one.g[7]).max() < 0.1


def test_every_round_of_a_batch_has_a_policy_that_is_left() -> None:
    one = learner(PolicyElimination)
    one.alive = np.arange(3, 40)
    batch = one.next_batch(123)
    assert set(batch) <= set(range(3, 40))
    assert len(batch) in (123, one.size)
    assert len(one.next_batch(1)) == 1


@pytest.mark.parametrize("epsilon", [math.inf, 1.0])
def test_good_policies_are_found(epsilon: float) -> None:
    one = learner(PoliciesPrivate, 1500, epsilon)
    noise = np.random.default_rng([1, 1])

    def reward(actions: Floats, contexts: Floats) -> Floats:
        return mean_reward(actions, contexts) + 0.1 * noise.normal(size=len(actions))

    one.play(np.random.default_rng([1, 0]).random((1500, 1)), reward)
    assert len(one.alive) < 256
    assert error_rate(one) < 0.15
