"""Whole numbers lie at a few places of the bins that contexts are counted in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from helpers import build_design
from tacit import Budget, Categories, Mixed, Problem
from tacit._typing import Floats
from tacit.contexts.cells import BINS, Cells
from tacit.decoder import decoding

ROUNDS = 60_000
PLACES = ["city", "coast"]
ARMS = ["a", "b", "c"]
RATES = np.array([[0.08, 0.02, 0.02], [0.02, 0.02, 0.08]])  # of clicks, whatever the hour is


def far_off(low: float, high: float) -> float:
    """The root mean square of how far expected click rates are off, in the posterior's standard
    deviations, over all hours, where hours from 0 to 23 are declared to lie in this range."""
    problem = Problem(
        Categories(ARMS, "arm"),
        Mixed.of(place=PLACES, hour=(low, high)),
        reward_range=(0.0, 1.0),
    )
    rng = np.random.default_rng(5)
    place = rng.integers(len(PLACES), size=ROUNDS)
    arm = rng.integers(len(ARMS), size=ROUNDS)
    hour = rng.integers(24, size=ROUNDS)
    points = joint(problem, place, arm, hour)
    rewards = np.where(rng.random(ROUNDS) < RATES[place, arm], 1.0, -1.0)
    design = build_design(
        problem,
        horizon=ROUNDS,
        budget=Budget(epsilon=10.0, delta=1e-6),
        rng=0,
        rank=60,
        passes=2,
        public_points=4096,
    )
    statistic = design.statistic()
    statistic.add_points(points, rewards)
    policy = statistic.simulate_release(rng)
    again = tacit.refine(policy).statistic()
    again.add_points(points, rewards)
    posterior = again.simulate_release(rng).posterior
    place, arm, hour = (each.ravel() for each in np.indices((len(PLACES), len(ARMS), 24)))
    everywhere = joint(problem, place, arm, hour)
    expected = (posterior.mean(everywhere) + 1.0) / 2.0
    off = (expected - RATES[place, arm]) / (np.sqrt(posterior.variance(everywhere)) / 2.0)
    return float(np.sqrt(np.mean(off**2)))


def joint(problem: Problem, place: Any, arm: Any, hour: Any) -> Floats:
    """Points of these numbers of places and arms, at these hours."""
    actions = problem.actions.encode({"arm": np.array(ARMS)[arm]})
    columns = {"place": np.array(PLACES)[place], "hour": hour.astype(np.float64)}
    return np.hstack([actions, problem.contexts.encode(columns)])


def test_whole_numbers_off_the_middle_of_their_bins_give_no_false_certainty() -> None:
    # Seeds are fixed: 1.9 here, 0.6 to 2.1 with three others, and 1.0 with hours in (-0.5, 23.5).
    assert far_off(0.0, 24.0) < 3.0


def test_taking_values_for_evenly_spread_within_bins_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoding, "misplacement", lambda design, counts: None)
    assert far_off(0.0, 24.0) > 10.0


def test_concentrated_contexts_stay_in_their_cells() -> None:
    domain = Mixed.of(place=PLACES, hour=(0.0, 24.0), dose=(0.0, 1.0))
    cells = Cells(domain)
    points = domain.sample_points(500, np.random.default_rng(0))
    moved = cells.concentrated(points, np.random.default_rng(1))
    np.testing.assert_array_equal(cells.onehot(moved), cells.onehot(points))
    for column in moved.T[-2:]:
        assert len(np.unique(column)) == BINS
