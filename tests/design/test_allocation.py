"""Influences share the noise so that nothing is gained by moving any of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tacit
from helpers import build_design
from tacit import Budget, Design, DesignOptions, Problem
from tacit._typing import Floats
from tacit.design.allocation import (
    LEVEL_WEIGHT,
    allocate,
    decision_moment,
    effects,
    ridge_amplitudes,
)
from tacit.numerics import linalg

PROBLEM = Problem(
    tacit.Box.of(dose=(0, 100)),
    tacit.Box.of(age=(18, 95), weight=(40, 140)),
    reward_range=(-1.0, 1.0),
)
BUDGET = Budget(epsilon=1.0, delta=1e-6)
SIGNAL = 0.3
NOISE = 0.4


def variance(c: Floats, d: Floats, target: Floats, T: int, multiplier: float) -> float:
    """The posterior variance of what matters, as the page of the module states it."""
    p = (2 * multiplier) ** 2
    g = T**2 * d * c / (T * (SIGNAL**2 + NOISE**2) * c + p)
    return float(np.sum(target / (1 / SIGNAL**2 + g)))


def shares(a: Floats, d: Floats) -> Floats:
    c = a**2 * d
    return np.asarray(c / c.sum())


def allocated(d: Floats, target: Floats, T: int, multiplier: float) -> Floats:
    return allocate(
        d,
        target,
        horizon=T,
        multiplier=multiplier,
        variance=SIGNAL**2,
        mean_square=SIGNAL**2 + NOISE**2,
    )


positive = st.floats(1e-6, 1.0)
directions = st.integers(2, 12).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=positive), arrays(float, n, elements=positive))
)


@given(directions, st.integers(10, 10**7), st.floats(0.05, 100.0))
def test_nothing_is_gained_by_moving_a_little(
    drawn: tuple[Floats, Floats], T: int, multiplier: float
) -> None:
    d, target = drawn
    a = allocated(d, target, T, multiplier)
    c = a**2 * d
    assert np.all(c >= 0)
    assert c.sum() == pytest.approx(1.0, rel=1e-6)
    best = variance(c, d, target, T, multiplier)
    for i in range(len(d)):
        for j in range(len(d)):
            step = min(1e-3, c[i])
            moved = c.copy()
            moved[i] -= step
            moved[j] += step
            assert variance(moved, d, target, T, multiplier) >= best * (1 - 1e-9)


@given(directions, st.integers(10, 10**7), st.floats(0.05, 100.0), st.floats(0.1, 1e4))
def test_it_is_no_worse_than_any_ridge(
    drawn: tuple[Floats, Floats], T: int, multiplier: float, tau: float
) -> None:
    d, target = drawn
    mine = shares(allocated(d, target, T, multiplier), d)
    ridge = shares(ridge_amplitudes(d, T, tau), d)
    least = variance(mine, d, target, T, multiplier)
    assert least <= variance(ridge, d, target, T, multiplier) * (1 + 1e-9)


def test_a_ridge_spends_on_what_cannot_be_learned() -> None:
    """The check above sees it: at this noise the best ridge leaves 3 % more."""
    d = np.geomspace(1e-4, 0.2, 60)
    mine = shares(allocated(d, d, 3000, 10.0), d)
    best = min(
        variance(shares(ridge_amplitudes(d, 3000, tau), d), d, d, 3000, 10.0)
        for tau in np.geomspace(0.1, 1e6, 200)
    )
    assert variance(mine, d, d, 3000, 10.0) < 0.97 * best
    assert np.any(mine == 0)


def test_less_noise_reaches_more_directions() -> None:
    d = np.geomspace(1e-5, 0.2, 60)
    reached = [np.count_nonzero(allocated(d, d, 3000, m)) for m in (100.0, 10.0, 1.0, 0.1)]
    assert reached == sorted(reached)
    assert reached[0] < 10
    assert reached[-1] == 60


def test_what_does_not_matter_gets_nothing() -> None:
    a = allocated(np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.3, 0.2]), 1000, 5.0)
    assert a[0] == 0
    assert np.all(a[1:] > 0)


def test_where_nothing_matters_all_get_the_same() -> None:
    assert np.array_equal(allocated(np.ones(3), np.zeros(3), 1000, 5.0), np.ones(3))


def test_effects_are_variances_between_the_actions_of_a_context() -> None:
    rng = np.random.default_rng(0)
    level = rng.normal(size=(50, 1, 2))  # the same for all actions
    Phi = rng.normal(size=(50, 30, 2)) * [1.0, 2.0] + 10 * level
    assert np.diag(effects(Phi)) == pytest.approx([1.0, 4.0], rel=0.1)


def design(**options: object) -> Design:
    return build_design(PROBLEM, horizon=2000, budget=BUDGET, rng=0, passes=2, rank=40, **options)


def test_what_no_action_changes_hardly_matters() -> None:
    made = design()
    assert made.moment is not None
    rng = np.random.default_rng(0)
    M = decision_moment(PROBLEM, made.features, made.moment, rng)
    points = PROBLEM.public_points(4096, rng)
    Phi = made.features(points)
    level = np.linalg.lstsq(Phi, np.cos(6 * points[:, 1]), rcond=None)[0]
    effect = np.linalg.lstsq(Phi, np.cos(6 * points[:, 0]), rcond=None)[0]
    assert level @ M @ level < 3 * LEVEL_WEIGHT * (level @ made.moment @ level)
    assert effect @ M @ effect > 0.9 * (effect @ made.moment @ effect - np.mean(Phi @ effect) ** 2)


def test_influences_are_those_of_the_allocation() -> None:
    made = design()
    plain = design(pooling=made.problem.k.contexts.shares)  # type: ignore[attr-defined]
    assert plain.moment is not None
    d, V = linalg.eigh(plain.moment)
    along = V.T @ plain.whitening @ V
    assert np.allclose(along, np.diag(np.diag(along)), atol=1e-6 * np.abs(along).max())
    assert np.sum(np.diag(along) ** 2 * d) == pytest.approx(1.0, rel=1e-3)


def test_tau_asks_for_the_ridge_of_the_paper() -> None:
    made = design(tau=20.0, pooling=PROBLEM.k.contexts.shares)  # type: ignore[attr-defined]
    assert made.moment is not None
    Z = 2000 * made.moment + 20.0 * np.eye(made.rank)
    assert np.allclose(made.whitening @ Z @ made.whitening, np.eye(made.rank), atol=1e-5)


@pytest.mark.parametrize(
    "plain", [{"plain": True}, {"budget": Budget(epsilon=1.0)}], ids=["plain", "pure"]
)
def test_single_decisions_and_plain_designs_have_the_ridge_of_the_paper(
    plain: dict[str, object],
) -> None:
    given: dict[str, object] = {"horizon": 2000, "budget": BUDGET, "rng": 0, "rank": 40} | plain
    made = build_design(PROBLEM, **given)
    assert np.linalg.eigvalsh(made.whitening)[0] > 0.5 * np.sqrt(1 / (2000 + made.tau))


def test_the_second_moment_is_kept_for_the_passes_to_come() -> None:
    made = design()
    again = Design.restore(PROBLEM, made.facts(), made.arrays())
    assert made.moment is not None
    assert again.moment is not None
    assert np.array_equal(again.moment, made.moment)
    rng = np.random.default_rng(1)
    points = PROBLEM.public_points(2000, rng)
    statistic = made.statistic()
    statistic.add_points(points, np.cos(3 * points[:, 0]) / 2)
    policy = statistic.simulate_release(rng)
    last = tacit.refine(policy)
    assert last.moment is None
    assert "moment" not in last.arrays()
    # A design of an earlier version has none: it is estimated once more.
    older = replace(policy.releases[0], design=replace(made, moment=None))
    before = replace(policy, releases=(older,))
    assert tacit.refine(before).clip == pytest.approx(last.clip, rel=0.05)


def test_options_of_a_plan_are_those_of_its_design() -> None:
    plan = tacit.plan(PROBLEM, horizon=2000, budget=BUDGET, options=DesignOptions(rank=40))
    assert plan.design(rng=0).clip == pytest.approx(plan.forecast.clip, rel=0.1)
