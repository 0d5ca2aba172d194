"""What records write besides their influences: the histogram of rewards, and counts of played
actions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tacit
from tacit._typing import Floats
from tacit.design.played import PlayCells
from tacit.numerics.histogram import NODES, hat

ROUNDS = 3000
NOISE = 15.0  # in one count
ACTIONS = tacit.Box([0.0], [1.0], names=["x"])
CONTEXTS = tacit.Box([0.0, 0.0], [1.0, 1.0])


@given(arrays.arrays(np.float64, 20, elements=st.floats(-1.0, 1.0)))
def test_a_reward_lies_between_two_nodes_of_the_histogram(y: Floats) -> None:
    """Its row adds up to 1, has the mean `y`, and a norm of at most 1."""
    rows = hat(y)
    assert (rows >= 0).all()
    assert rows.sum(axis=1) == pytest.approx(np.ones(20))
    assert rows @ NODES == pytest.approx(y, abs=1e-12)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    assert np.count_nonzero(rows > 1e-9, axis=1).max() <= 2


@given(st.floats(1.0, 1e300))
def test_rewards_outside_of_the_range_count_at_its_ends(y: float) -> None:
    assert hat(np.array([-y, y])) == pytest.approx(np.eye(len(NODES))[[0, -1]])


def uniform(n: int, rng: np.random.Generator) -> Floats:
    return rng.random((n, 3))


def one_action(n: int, rng: np.random.Generator) -> Floats:
    """One action 80 % of the time, everywhere."""
    points = uniform(n, rng)
    points[rng.random(n) < 0.8, 0] = 0.4
    return points


def by_context(n: int, rng: np.random.Generator) -> Floats:
    """Large actions where the first context is large: every action is as frequent as it is
    stated."""
    points = uniform(n, rng)
    points[:, 0] = np.where(rng.random(n) < 0.5, points[:, 1], points[:, 0])
    return points


CELLS = PlayCells.among(ACTIONS, uniform(50, np.random.default_rng(0))[:, 1:])
STATED = uniform(100_000, np.random.default_rng(1))


def noisy_counts(points: Floats, rng: np.random.Generator) -> Floats:
    return CELLS.onehot(points).sum(axis=0) + NOISE * rng.normal(size=CELLS.size)


def test_uniform_play_is_not_contradicted() -> None:
    """20 logs. P-values are at least as large as uniform ones, so the smallest is below 1e-4 in at
    most 0.2 % of all runs; to be contradicted takes 1e-6."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = CELLS.check(noisy_counts(uniform(ROUNDS, rng), rng), NOISE, STATED)
        assert found.p_value > 1e-4
        assert found.distance < 0.1
        assert not found.contradicted


@pytest.mark.parametrize("law", [(0.9, 0.05, 0.05), (0.5, 0.5)])
def test_p_values_of_true_play_are_uniform(law: tuple[float, ...]) -> None:
    """400 logs whose counts are as noisy as they may be. The mean of as many uniform numbers is
    within 0.08 of 1/2 in all but one of 10^7 runs."""
    labels = tacit.Categories(list(range(len(law))), "item")
    cells = PlayCells(labels, np.array([[0.5]]))
    shares = np.round(np.array(law) * 100).astype(int)
    stated = np.repeat(labels.candidate_points(0), shares, axis=0)
    points = np.hstack([stated, np.full((100, 1), 0.5)])
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        counts = rng.multinomial(1000, law) + 100.0 * rng.normal(size=len(law))
        found.append(cells.check(counts, 100.0, points))
    assert abs(np.mean([check.p_value for check in found]) - 0.5) < 0.08
    assert not any(check.contradicted for check in found)


@pytest.mark.parametrize("play", [one_action, by_context])
def test_other_play_is_contradicted(play: Callable[..., Floats]) -> None:
    """Also play that follows the context, where every action is played as often as it is stated."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = CELLS.check(noisy_counts(play(ROUNDS, rng), rng), NOISE, STATED)
        assert found.p_value < 1e-6
        assert found.contradicted


def test_noise_alone_contradicts_nothing() -> None:
    """Too few records to tell."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = one_action(20, rng)
        assert not CELLS.check(noisy_counts(points, rng), NOISE, STATED).contradicted


def test_actions_have_few_cells_in_each_group_of_contexts() -> None:
    many = tacit.Mixed([tacit.Box([0.0], [1.0]), tacit.Categories(list(range(100)), "item")])
    rng = np.random.default_rng(0)
    cells = PlayCells.among(many, rng.random((50, 2)))
    assert (cells.columns, cells.groups, cells.size) == (2, 3, 3 * 12)
    points = np.hstack([many.sample_points(500, rng), rng.random((500, 2))])
    marks = cells.onehot(points)
    assert (marks.sum(axis=1) == 2).all()
    assert (marks.sum(axis=0) > 0).all()
    assert PlayCells.among(many, np.full((9, 2), 0.5)).groups == 1
