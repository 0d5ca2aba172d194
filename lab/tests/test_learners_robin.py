"""Clients whose estimates are averaged: what one client moves, and the noise that covers it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import rounds, setting, told
from tacit._typing import Floats
from tacit_lab.arena.learners import winsorised
from tacit_lab.arena.learners.robin import ALONE, FEATURES, RELEASES, ROUNDS, Robin
from tacit_lab.arena.learners.winsorised import (
    clipped_sum,
    private_range,
    range_scores,
    range_sensitivity,
    winsorised_mean,
)
from tacit_lab.arena.mechanisms import gaussian_sigma, gumbel, mixed_rho

FALSE_ALARM = 1e-7  # of each statistical test here; seeds are fixed
MIDDLES = np.array([-0.75, -0.25, 0.25, 0.75])
message = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3)


def sent(clients: int = 20, size: int = 3) -> Floats:
    return np.random.default_rng(1).normal(scale=0.3, size=(clients, size))


def scores_moved(scores: Any, value: float, client: int = 3) -> float:
    """How far scores move, if one client's number is another."""
    values = sent()[:, 0]
    other = values.copy()
    other[client] = value
    return float(np.abs(scores(values, MIDDLES) - scores(other, MIDDLES)).max())


@given(st.floats(-1e6, 1e6), st.integers(0, 19))
def test_a_client_moves_the_scores_of_a_range_by_at_most_one(value: float, client: int) -> None:
    assert scores_moved(range_scores, value, client) <= 1.0


def test_a_range_around_the_mean_is_caught() -> None:
    def by_mean(values: Floats, middles: Floats) -> Floats:
        return -np.abs(len(values) * middles - values.sum())

    assert scores_moved(by_mean, 5.0) > 1.0


def test_a_range_is_most_often_the_medians() -> None:
    values = np.append(np.full(60, 0.3), np.full(40, -0.8))
    rng = np.random.default_rng(0)
    found = [private_range(values, 0.25, 1.0, rng) for _ in range(50)]
    assert np.mean(np.array(found) == 0.25) > 0.9
    assert private_range(values, 0.25, math.inf, rng) == 0.25


def sum_moved(rows: Floats, other: list[float], radius: float = 0.2) -> float:
    replaced = rows.copy()
    replaced[4] = other
    centres = np.array([-0.2, 0.0, 0.6])
    apart = clipped_sum(rows, centres, radius) - clipped_sum(replaced, centres, radius)
    return float(np.linalg.norm(apart))


@given(message)
def test_a_client_moves_the_clipped_sum_by_at_most_the_sensitivity(other: list[float]) -> None:
    assert sum_moved(sent(), other) <= range_sensitivity(3, 0.2) * (1 + 1e-12)


def test_the_sensitivity_of_the_clipped_sum_is_reached() -> None:
    rows = sent()
    rows[4] = -1e3
    assert sum_moved(rows, [1e3] * 3) == pytest.approx(range_sensitivity(3, 0.2))


def test_messages_that_nobody_clips_are_caught() -> None:
    rows = sent()
    other = rows.copy()
    other[4] = 100.0
    assert np.linalg.norm((rows - other).sum(axis=0)) > range_sensitivity(3, 0.2)


def test_releases_spend_the_budget_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """epsilon^2 / 8 for each range, Delta^2 / (2 sigma^2) for the sum, twice."""
    spent: list[float] = []

    def draw(shape: Any, epsilon: float, sensitivity: float, rng: Any) -> Floats:
        spent.append((sensitivity * epsilon) ** 2 / 8)
        return gumbel(shape, epsilon, sensitivity, rng)

    def scale(sensitivity: float, rho: float) -> float:
        sigma = gaussian_sigma(sensitivity, rho)
        spent.append(sensitivity**2 / (2 * sigma**2))
        return sigma

    monkeypatch.setattr(winsorised, "gumbel", draw)
    monkeypatch.setattr(winsorised, "gaussian_sigma", scale)
    X, C, y = rounds(60)
    one = told(Robin(setting(60), np.random.default_rng(5)), X, C, y)
    one.decide(C[:2])
    one.decide(C[:2])
    assert len(spent) == RELEASES * (FEATURES + 1)
    assert 0.99 * mixed_rho(one.setting) <= sum(spent) <= mixed_rho(one.setting) * (1 + 1e-9)


def test_replacing_all_rounds_of_a_client_is_replacing_one_message() -> None:
    """Client 1 of 3 plays rounds 1, 4, 7, ...; the others' estimates stay as they are."""
    estimates = []
    for reward in (1.0, -1.0):
        X, C, y = rounds(90)
        y[1::3] = reward
        one = told(Robin(setting(90), np.random.default_rng(5)), X, C, y)
        estimates.append(np.array([client.theta for client in one.clients]))
    changed = np.abs(estimates[0] - estimates[1]).max(axis=1) > 0
    assert changed.tolist() == [False, True, False]


def test_the_mean_has_the_noise_of_its_sensitivity() -> None:
    """Rows that are all 0, and ranges that are sure: what comes out is noise. A chi-square test on
    its length, which the rotation keeps."""
    rho = 50.0
    rows = np.zeros((1000, 4))
    rng = np.random.default_rng(0)
    means = np.array([winsorised_mean(rows, 0.5, rho, rng) for _ in range(200)])
    sigma = range_sensitivity(4, 0.5) / math.sqrt(2 * rho / 2) / 1000
    total = np.sum(means**2) / sigma**2
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], means.size)
    assert low < total < high
    assert not low < 4 * total < high


def test_concentrated_estimates_are_averaged() -> None:
    rows = 0.4 + 0.05 * sent(500, 4)
    found = winsorised_mean(rows, 0.3, 1e6, np.random.default_rng(0))
    assert np.abs(found - rows.mean(axis=0)).max() < 0.02


def test_clients_play_alone_first_and_by_the_shared_mean_after() -> None:
    clients = 4
    X, C, y = rounds(clients * ROUNDS)
    one = Robin(setting(clients * ROUNDS, math.inf), np.random.default_rng(5))
    for i, (x, c, reward) in enumerate(zip(X, C, y, strict=True)):
        assert (one.shared is None) == (i < clients * ALONE)
        one.tell(c, x, float(reward))
    assert len(one.clients) == clients
    one.decide(C[:1])
    assert one.shared is not None
    assert np.allclose(one.shared, np.mean([client.theta for client in one.clients], axis=0))
