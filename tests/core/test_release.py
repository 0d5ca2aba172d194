"""The release: the right noise, charged first, never drawn twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tacit
from helpers import BUDGET, records, small_design, sqlite
from tacit.core.accounts import cost_of
from tacit.core.budget import ZCDP
from tacit.core.events import Gaussian
from tacit.core.noise import discrete_gaussian, gaussian_scale
from tacit.core.release import release_gaussian, simulate_gaussian

DESIGN = small_design()


def noise_variance_is_right(noise: np.ndarray, scale: float) -> bool:
    """Chi-square test of the variance; a false alarm has probability 1e-7."""
    n = noise.size
    statistic = float(np.sum((noise / scale) ** 2))
    low, high = stats.chi2.ppf([0.5e-7, 1 - 0.5e-7], n)
    return bool(low < statistic < high)


def test_the_noise_has_the_variance_that_was_paid_for_and_the_test_would_see_less() -> None:
    sensitivity = 2**25
    rho = BUDGET.gaussian
    scale = gaussian_scale(sensitivity, rho)
    zeros = np.zeros(4000, dtype=np.int64)
    noise = discrete_gaussian(zeros, Gaussian(sensitivity, scale))
    assert noise_variance_is_right(noise, scale)
    assert not noise_variance_is_right(noise * 0.8, scale)
    assert not noise_variance_is_right(noise * 0.5, scale)


def test_half_the_noise_costs_four_times_as_much() -> None:
    """Noise and price come from one description, so the one cannot shrink without the other
    growing."""
    scale = gaussian_scale(2**25, 0.02)
    assert cost_of(Gaussian(2**25, scale / 2), ZCDP) == pytest.approx(
        4 * cost_of(Gaussian(2**25, scale), ZCDP)
    )


def test_two_releases_of_the_same_sum_differ_and_each_is_charged(tmp_path: Path) -> None:
    ledger = tacit.Ledger.create(sqlite(tmp_path), tacit.Budget(rho=1.0))
    statistic = DESIGN.statistic().add(*records(500))
    a, b = (
        release_gaussian(statistic._sum, BUDGET, ledger, request=name, about={})
        for name in ("first", "second")
    )
    assert not np.array_equal(a.values, b.values)
    assert ledger.spent == pytest.approx(2 * BUDGET.zcdp, rel=1e-9)


def test_the_same_request_is_replayed_and_charged_once(tmp_path: Path) -> None:
    ledger = tacit.Ledger.create(sqlite(tmp_path), BUDGET)
    statistic = DESIGN.statistic().add(*records(500))
    first = statistic.release(ledger=ledger)
    again = statistic.release(ledger=tacit.Ledger.open(sqlite(tmp_path)))
    assert np.array_equal(first.posterior.weights, again.posterior.weights)
    assert ledger.spent == pytest.approx(BUDGET.gaussian)
    assert first.private
    assert first.guarantee.epsilon == pytest.approx(1.0, abs=1e-5)


def test_a_second_statistic_does_not_fit_the_budget_of_one(tmp_path: Path) -> None:
    ledger = tacit.Ledger.create(sqlite(tmp_path), BUDGET)
    DESIGN.statistic().add(*records(500)).release(ledger=ledger)
    with pytest.raises(
        tacit.BudgetError, match=r"spent epsilon=1 at .*asked epsilon=1 at .*left nothing"
    ):
        DESIGN.statistic().add(*records(500)).release(ledger=ledger)


def test_refusals_do_not_depend_on_private_values(tmp_path: Path) -> None:
    said = []
    for seed in (0, 1):
        ledger = tacit.Ledger.create(sqlite(tmp_path, f"{seed}.db"), tacit.Budget(rho=1e-6))
        with pytest.raises(tacit.BudgetError) as refusal:
            DESIGN.statistic().add(*records(200, seed=seed)).release(ledger=ledger)
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_a_simulated_release_is_reproducible_and_marked_not_private() -> None:
    statistic = DESIGN.statistic().add(*records(500))
    a, b = (statistic.simulate_release(np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(a.posterior.weights, b.posterior.weights)
    assert not a.private
    assert "NOT PRIVATE" in str(a.guarantee)


def test_simulated_noise_has_the_same_scale() -> None:
    statistic = DESIGN.statistic()
    draws = [
        simulate_gaussian(statistic._sum, BUDGET, np.random.default_rng(i)).values
        for i in range(50)
    ]
    assert noise_variance_is_right(
        np.concatenate(draws), gaussian_scale(DESIGN.encoding.sensitivity, BUDGET.gaussian)
    )
