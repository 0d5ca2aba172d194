"""Which columns depend on each other: signs, products of signs, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

import tacit
from helpers import BUDGET, build_design, records, small_problem
from tacit import Box, Categories, Design, Mixed
from tacit._typing import Floats
from tacit.contexts.cells import Cells
from tacit.contexts.pairs import KEPT, Dependence, Pairs, correlated
from tacit.design.choices import MOST_PAIR_SHARE, pair_share, planned_multiplier

COLUMNS = 5
NUMBERS = Cells(Box([0.0] * COLUMNS, [1.0] * COLUMNS))
KINDS = Cells(
    Mixed([Box([0.0], [1.0], ["age"], missing=["indicator"]), Categories(list("abc"), "kind")])
)
CORRELATIONS = 0.7 * np.ones((COLUMNS, COLUMNS)) + 0.3 * np.eye(COLUMNS)
FOUND = KEPT * CORRELATIONS + (1.0 - KEPT) * np.eye(COLUMNS)


def people(n: int, seed: int, correlations: Floats = CORRELATIONS) -> Floats:
    """Columns of other distributions, whose normal scores have these correlations."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, COLUMNS)) @ np.linalg.cholesky(correlations).T
    return np.asarray(ndtr(scores) ** np.arange(1, COLUMNS + 1))


def halves(cells: Cells, contexts: Floats) -> Pairs:
    """Pairs whose cuts are the middles of these contexts' columns."""
    at = np.split(cells.onehot(contexts).mean(axis=0), np.cumsum([c.size for c in cells.parts]))
    return Pairs(cells, cells.middles(at[:-1]))


def dependence(contexts: Floats, noise: float, seed: int = 0) -> Dependence:
    pairs = halves(NUMBERS, contexts)
    sums = pairs.marks(contexts).sum(axis=0)
    sums = sums + noise * np.random.default_rng(seed).normal(size=pairs.size)
    return pairs.dependence(sums, noise, len(contexts))


@pytest.mark.parametrize("cells", [NUMBERS, KINDS])
def test_every_record_is_as_long_as_the_longest(cells: Cells) -> None:
    contexts = cells.domain.sample_points(200, np.random.default_rng(0))
    pairs = halves(cells, contexts)
    marks = pairs.marks(contexts)
    assert marks.shape == (200, pairs.size)
    assert set(np.unique(marks)) == {-1.0, 1.0}


def test_products_are_those_of_the_signs_in_the_order_of_pairs() -> None:
    marks = halves(NUMBERS, people(100, 0)).marks(people(100, 0))
    signs = marks[:, :COLUMNS]
    i, j = np.triu_indices(COLUMNS, 1)
    assert np.array_equal(marks[:, COLUMNS:], signs[:, i] * signs[:, j])


def test_half_of_the_people_lie_below_the_middle_of_a_column() -> None:
    """Values are taken to be spread evenly in their bins. The first two columns nearly are; most
    of the last one lies at one end of its first bin."""
    contexts = people(20_000, 1)
    signs = halves(NUMBERS, contexts).marks(contexts)[:, :COLUMNS]
    off = np.abs(signs.mean(axis=0))
    assert off[:2].max() < 0.03
    assert off.max() < 0.4


def test_missing_values_are_above_all_numbers() -> None:
    contexts = np.array([[0.5, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    age = KINDS.parts[0]
    assert age.position(contexts).tolist() == [12.5, 12.0, 0.0]


def test_correlations_are_found_whatever_the_distributions_of_the_columns_are() -> None:
    """Sampling has a standard deviation of about 0.01 here; seeds are fixed."""
    found = dependence(people(20_000, 2), noise=50.0).correlations()
    assert found is not None
    assert np.abs(found - FOUND).max() < 0.04


def test_correlations_of_columns_that_are_cut_off_their_middles_are_found() -> None:
    contexts = people(20_000, 3)
    pairs = Pairs(NUMBERS, 0.7 * halves(NUMBERS, contexts).cuts)
    found = pairs.dependence(pairs.marks(contexts).sum(axis=0), 10.0, 20_000).correlations()
    assert found is not None
    assert np.abs(found - FOUND).max() < 0.06


def test_noise_alone_makes_no_correlation() -> None:
    """20 tables of independent columns. Seeds are fixed."""
    for seed in range(20):
        told = dependence(people(3000, seed, np.eye(COLUMNS)), noise=300.0, seed=seed)
        assert told.correlations() is None


def test_taking_noise_at_its_word_would_make_correlations() -> None:
    told = dependence(people(3000, 0, np.eye(COLUMNS)), noise=300.0)
    found = replace(told, noise=1e-9).correlations()
    assert found is not None
    assert np.abs(found - np.eye(COLUMNS)).max() > 0.12


def test_several_copies_count_by_their_precision() -> None:
    clear = dependence(people(20_000, 2), noise=10.0)
    vague = dependence(people(20_000, 2), noise=2000.0)
    pooled = Dependence.pooled([clear, vague])
    assert pooled is not None
    assert pooled.noise < clear.noise
    assert np.abs(pooled.covariances - clear.covariances).max() < 0.01
    assert Dependence.pooled([]) is None


def test_uniform_numbers_get_the_correlations_and_stay_uniform() -> None:
    cube = np.random.default_rng(0).random((50_000, COLUMNS))
    made = correlated(cube, CORRELATIONS)
    scores = np.corrcoef(np.argsort(np.argsort(made, axis=0), axis=0).T)
    assert np.abs(scores - 6.0 / np.pi * np.arcsin(CORRELATIONS / 2.0)).max() < 0.02
    assert np.abs(np.sort(made, axis=0)[25_000] - 0.5).max() < 0.02


def test_pairs_get_a_share_where_they_can_be_told_and_none_where_not() -> None:
    assert pair_share(1, 10**6, BUDGET) == 0.0  # nothing to compare
    assert pair_share(10, 100, BUDGET) == 0.0  # noise hides all of it
    assert 0.0 < pair_share(10, 1500, BUDGET) <= MOST_PAIR_SHARE
    assert pair_share(10, 10**6, BUDGET) < pair_share(10, 1500, BUDGET)


def next_pass(problem: tacit.Problem) -> Design:
    first = build_design(
        problem, horizon=600, budget=BUDGET, rank=12, rng=0, passes=2, public_points=1000
    )
    policy = first.statistic().add(*records(600)).simulate_release(np.random.default_rng(0))
    return tacit.refine(policy)


def test_the_second_pass_tells_pairs_and_its_rows_stay_within_the_bound() -> None:
    again = next_pass(small_problem())
    layout = again.layout
    assert layout.pairs is not None
    assert layout.pairs.size == 3  # two columns and a pair of them
    rng = np.random.default_rng(1)
    points = again.problem.public_points(300, rng)
    y = rng.uniform(-1.0, 1.0, 300)
    rows = again.rows(points, y, np.ones(300))
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-9


def test_a_share_that_is_not_taken_from_the_influences_would_break_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = next_pass(small_problem())
    share = again.layout.influence_share
    monkeypatch.setattr(
        type(again.layout), "influence_share", property(lambda own: share + own.pair_share)
    )
    rng = np.random.default_rng(1)
    points = again.problem.public_points(300, rng)
    rows = again.rows(points, np.ones(300), np.ones(300))
    assert np.linalg.norm(rows, axis=1).max() > 1.0 + 1e-4


def test_a_record_that_says_nothing_of_its_context_says_nothing_of_pairs() -> None:
    again = next_pass(small_problem())
    points = again.problem.public_points(2, np.random.default_rng(1))
    rows = again.rows(points, np.zeros(2), np.array([1.0, 0.0]))
    assert not rows[1].any()
    assert again.layout.pairs is not None


def test_a_design_with_pairs_is_restored_as_it_was() -> None:
    again = next_pass(small_problem())
    restored = Design.restore(again.problem, again.facts(), again.arrays())
    assert restored.fingerprint == again.fingerprint
    assert restored.layout.pairs is not None
    assert again.layout.pairs is not None
    assert np.array_equal(restored.layout.pairs.cuts, again.layout.pairs.cuts)


def test_a_generator_says_how_columns_depend_on_each_other() -> None:
    known = replace(
        small_problem(),
        generator=lambda n, rng: np.column_stack([rng.uniform(18, 95, n), rng.uniform(40, 140, n)]),
    )
    again = next_pass(known)
    assert again.layout.pairs is None
    assert again.facts()["pair_share"] == 0.0


def test_plans_know_what_pairs_cost() -> None:
    """The share of pairs is taken from the influences."""
    problem = small_problem()
    options = tacit.DesignOptions()
    with_pairs = planned_multiplier(problem, 600, BUDGET, options)
    without = planned_multiplier(problem, 600, BUDGET, options, first=True)
    again = next_pass(problem)
    share = again.layout.influence_share
    expected = (share + again.layout.pair_share) / share
    assert (with_pairs / without) ** 2 == pytest.approx(expected, rel=0.05)
