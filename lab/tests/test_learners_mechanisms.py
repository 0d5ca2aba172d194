"""The arena's noise: calibrated by the core, fresh in every node, none at infinite epsilon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import setting
from tacit.core import Budget
from tacit.errors import StateError
from tacit_lab.arena import mechanisms
from tacit_lab.arena.mechanisms import Tree, gaussian, gaussian_sigma, laplace, noise_rho

NUMBERS = 20_000
FALSE_ALARM = 1e-7  # of each statistical test here; seeds are fixed


def tree(
    horizon: int, size: int = 1, rho: float = 0.1, seed: int = 0, kind: type[Tree] = Tree
) -> Tree:
    return kind(size, horizon, 1.0, rho, np.random.default_rng(seed))


def has_variance(values: Any, variance: float) -> bool:
    """Whether normal draws with mean 0 may have this variance: sum of squares / variance is
    chi-square."""
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(values))
    return bool(low <= np.sum(np.square(values)) / variance <= high)


@given(st.floats(1e-3, 1e3), st.floats(1e-6, 1e3))
def test_noise_never_costs_more_than_its_budget(sensitivity: float, rho: float) -> None:
    sigma = gaussian_sigma(sensitivity, rho)
    assert sensitivity**2 / (2 * sigma**2) <= rho * (1 + 1e-12)


def test_the_budget_is_the_cores() -> None:
    assert noise_rho(setting(epsilon=1.0)) == Budget(1.0, 1e-6).gaussian
    assert noise_rho(setting(epsilon=math.inf)) == math.inf


def test_without_privacy_no_noise_is_drawn() -> None:
    rng = np.random.default_rng(0)
    assert gaussian_sigma(1.0, math.inf) == 0.0
    assert not gaussian(3, 0.0, rng).any()
    assert laplace(math.inf, 2.0, rng) == 0.0
    assert rng.random() == np.random.default_rng(0).random()


def test_laplace_noise_has_the_scale_of_pure_epsilon() -> None:
    rng = np.random.default_rng(0)
    draws = [laplace(0.5, 2.0, rng) for _ in range(NUMBERS)]
    assert stats.kstest(draws, stats.laplace(scale=4.0).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws, stats.laplace(scale=2.0).cdf).pvalue < FALSE_ALARM


@given(st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_prefixes_without_privacy_are_sums(horizon: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(horizon, 2))
    sums = Tree(2, horizon, 1.0, math.inf, np.random.default_rng(0))
    for t, row in enumerate(rows):
        sums.add(row)
        assert np.allclose(sums.prefix, rows[: t + 1].sum(axis=0))
    sums.close()
    assert np.allclose(sums.prefix, rows.sum(axis=0))


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 9, 1000, 1024])
def test_a_record_lies_below_at_most_as_many_nodes_as_share_the_budget(horizon: int) -> None:
    """All nodes that some prefix reads, as intervals of rounds, and the root for the end."""
    levels = tree(horizon).levels
    read = {(1, 1 << (levels - 1))}
    for t in range(1, horizon + 1):
        end = t
        while end:
            width = end & -end
            read.add((end - width + 1, end))
            end -= width
    touched = [sum(start <= t <= end for start, end in read) for t in range(1, horizon + 1)]
    assert max(touched) <= levels
    assert tree(horizon).sigma == gaussian_sigma(1.0, 0.1 / levels)


def fresh_everywhere(kind: type[Tree] = Tree) -> bool:
    """The prefixes of rounds 1, 2, 3 have one, one and two nodes, and round 3 shares one with round
    2."""
    sums = tree(4, NUMBERS, kind=kind)
    prefixes = []
    for _ in range(3):
        sums.add(np.zeros(NUMBERS))
        prefixes.append(sums.prefix)
    one, two, three = prefixes
    v = sums.sigma**2
    laws = [(one, v), (two, v), (one - two, 2 * v), (three, 2 * v), (three - two, v)]
    return all(has_variance(x, variance) for x, variance in laws)


def test_every_node_has_noise_of_its_own() -> None:
    assert fresh_everywhere()


def test_noise_that_is_reused_over_nodes_is_caught() -> None:
    class Reused(Tree):
        def add(self, row: Any) -> None:
            super().add(row)
            self._noise[:] = self._noise[0]

    assert not fresh_everywhere(Reused)


def test_a_scalar_where_a_vector_belongs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def scalar(shape: Any, sigma: float, rng: Any) -> Any:
        return np.full(shape, sigma * rng.standard_normal())

    monkeypatch.setattr(mechanisms, "gaussian", scalar)
    assert not fresh_everywhere()


def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        mechanisms, "gaussian", lambda shape, sigma, rng: gaussian(shape, sigma / 2, rng)
    )
    assert not fresh_everywhere()


@pytest.mark.parametrize("horizon", [5, 8])
def test_the_end_reads_one_node(horizon: int) -> None:
    sums = tree(horizon, NUMBERS)
    for _ in range(horizon):
        sums.add(np.zeros(NUMBERS))
    before = sums.prefix
    sums.close()
    assert has_variance(sums.prefix, sums.sigma**2)
    assert np.array_equal(before, sums.prefix) == (horizon == 8)
    sums.close()
    assert sums.nodes == 1
    with pytest.raises(StateError, match="8 records" if horizon == 8 else "5 records"):
        sums.add(np.zeros(NUMBERS))
