"""A plain design of a log with propensities: how noisy its sums are is read off the sums."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import build_design, unit_problem
from tacit import Budget, Design, Matern, Policy
from tacit._typing import Floats
from tacit.decoder import ReleaseParts
from tacit.decoder.parts import USUAL_SQUARE

ROUNDS = 5000
MAX_WEIGHT = 5.0


def plain_design(**given: float) -> Design:
    problem = unit_problem(kernel=Matern(2.5, 0.4), reward_range=(0.0, 1.0))
    common = {"rank": 40, "public_points": 4000, "plain": True}
    return build_design(problem, horizon=ROUNDS, budget=Budget(8.0, 1e-6), rng=0, **common, **given)


def reward(actions: Floats, contexts: Floats) -> Floats:
    """Its expectation."""
    return np.asarray(0.3 + 0.5 * np.exp(-(((actions - contexts) / 0.3) ** 2)))


def learned(design: Design, seed: int, binary: bool) -> tuple[Policy, float]:
    """A log that plays uniformly in 30 % of its rounds and near one action otherwise: the policy,
    and the mean square of its weighted rewards."""
    rng = np.random.default_rng(seed)
    contexts = rng.random(ROUNDS)
    usual = 0.8 * contexts
    narrow = usual + 0.2 * rng.random(ROUNDS)
    actions = np.where(rng.random(ROUNDS) < 0.3, rng.random(ROUNDS), narrow)
    near = (actions >= usual) & (actions <= usual + 0.2)
    propensity = 0.3 + 0.7 * 5.0 * near
    noise = rng.normal(size=ROUNDS)
    rewards = np.clip(reward(actions, contexts) + 0.1 * noise, 0.0, 1.0)
    if binary:
        rewards = (rng.random(ROUNDS) < reward(actions, contexts)).astype(np.float64)
    weights = np.minimum(1.0 / propensity, MAX_WEIGHT)
    square = float(np.mean((weights * (2.0 * rewards - 1.0)) ** 2))
    statistic = design.statistic()
    statistic.add(actions[:, None], contexts[:, None], rewards, propensity=propensity)
    return statistic.simulate_release(rng), square


@pytest.mark.parametrize("binary", [True, False])
def test_intervals_of_weighted_records_hold_the_truth(binary: bool) -> None:
    """90 % ones hold it at three in four points at least, over six logs (they do at 85 %). Where
    rewards of two values were taken for usual ones, they did at 59 %."""
    design = plain_design(max_weight=MAX_WEIGHT)
    grid = np.linspace(0.05, 0.95, 10)
    actions = np.repeat(grid, 10)
    contexts = np.tile(grid, 10)
    inside = []
    believed = []
    for seed in range(6):
        policy, square = learned(design, seed, binary)
        (parts,) = (ReleaseParts.of(release) for release in policy.releases)
        believed.append(parts.mean_square / square)
        table = (actions[:, None], contexts[:, None])
        off = np.asarray(policy.mean(*table)) - reward(actions, contexts)
        inside.append(np.abs(off) < 1.645 * np.asarray(policy.std(*table)))
    assert np.mean(inside) > 0.75
    assert np.mean(believed) > 0.8  # too large makes intervals wide, not wrong


def test_a_plain_design_without_weights_takes_rewards_for_usual_ones() -> None:
    statistic = plain_design().statistic()
    rng = np.random.default_rng(0)
    statistic.add(rng.random((50, 1)), rng.random((50, 1)), rng.random(50))
    (release,) = statistic.simulate_release(rng).releases
    assert ReleaseParts.of(release).mean_square == USUAL_SQUARE
