"""Contexts learned privately: bounded rows, one charge, and a generator like the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Box, Budget, BudgetError, Categories, Ledger, Matern, Mixed, Problem
from tacit.contexts import release_marginals, simulate_marginals
from tacit.contexts.marginals import _Counts

PEOPLE = Mixed(
    [Box([140, 40], [200, 140], names=["height", "weight"]), Categories(["f", "m"], "sex")]
)
BUDGET = Budget(epsilon=1.0, delta=1e-6)


def people(n: int = 20_000, seed: int = 0) -> dict[str, Any]:
    """Weight depends on height and height on sex: a tree of two edges."""
    rng = np.random.default_rng(seed)
    male = rng.random(n) < 0.5
    height = rng.normal(165 + 12 * male, 6, n)
    return {
        "height": height,
        "weight": np.clip(rng.normal(70 + 1.2 * (height - 168), 8), 40, 140),
        "sex": np.where(male, "m", "f"),
    }


def test_who_came_is_learned_with_the_pairs_that_matter() -> None:
    learned = simulate_marginals(people(), PEOPLE, budget=BUDGET, rng=np.random.default_rng(1))
    drawn = learned.sample(20_000, np.random.default_rng(2))
    truth = people()
    edges = {frozenset((j, i)) for j, i in enumerate(learned.tree) if i >= 0}
    assert len(edges) == 2
    assert frozenset((0, 1)) in edges  # height and weight
    assert np.mean(drawn["height"]) == pytest.approx(np.mean(truth["height"]), abs=2)
    assert np.corrcoef(drawn["height"], drawn["weight"])[0, 1] > 0.5
    assert np.mean(drawn["height"][drawn["sex"] == "m"]) > 5 + np.mean(
        drawn["height"][drawn["sex"] == "f"]
    )
    apart = simulate_marginals(
        people(), PEOPLE, budget=BUDGET, rng=np.random.default_rng(1), pairs=False
    )
    drawn = apart.sample(20_000, np.random.default_rng(2))
    assert abs(np.corrcoef(drawn["height"], drawn["weight"])[0, 1]) < 0.1


def test_no_dependence_is_seen_where_there_is_none_or_only_noise() -> None:
    rng = np.random.default_rng(3)
    apart = people() | {
        "weight": rng.uniform(40, 140, 20_000),
        "sex": rng.choice(["f", "m"], 20_000),
    }
    assert simulate_marginals(apart, PEOPLE, budget=BUDGET, rng=rng).tree == (-1, -1, -1)
    little = Budget(epsilon=0.001, delta=1e-6)
    assert simulate_marginals(people(), PEOPLE, budget=little, rng=rng).tree == (-1, -1, -1)


finite = st.floats(-1e300, 1e300)
anything = st.one_of(finite, st.just(float("nan")), st.just(float("inf")))


@given(
    st.lists(
        st.tuples(anything, anything, st.sampled_from(["f", "m", "x", ""])), min_size=1, max_size=20
    )
)
@settings(deadline=None)
def test_no_row_is_longer_than_the_bound(rows: list[tuple[float, float, str]]) -> None:
    counts = _Counts(PEOPLE, pairs=True)
    table = dict(zip(PEOPLE.names, map(list, zip(*rows, strict=True)), strict=True))
    with np.errstate(all="ignore"):
        points = PEOPLE.encode(PEOPLE.read(table).columns)
    marks = counts._rows(points)
    assert np.linalg.norm(marks, axis=1).max() <= 1 + 1e-12
    total = counts.collect(table)
    assert total.records == len(rows)
    assert np.linalg.norm(counts._rows(points[:1]) * 2**24) <= total.encoding.bound * (1 + 1e-9)


def test_rows_that_would_be_too_long_are_found_out() -> None:
    """Forget to divide the norm among the columns, and the test above is red."""
    counts = _Counts(PEOPLE, pairs=True)
    counts.__dict__["_column_weight"] = 1.0
    marks = counts._rows(np.full((1, 3), 0.5))
    assert np.linalg.norm(marks) > 1.5


def test_learning_is_charged_once_and_replayed(tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", Budget(epsilon=1.2, delta=1e-6))
    first, again = (
        release_marginals(people(2000), PEOPLE, budget=BUDGET, ledger=ledger, request="contexts")
        for _ in range(2)
    )
    draws = [learned.sample(100, np.random.default_rng(0))["height"] for learned in (first, again)]
    assert np.array_equal(*draws)
    assert len(ledger.charges()) == 1
    assert first.guarantee.private
    assert "private=True" in repr(first)
    with pytest.raises(BudgetError):
        release_marginals(people(2000), PEOPLE, budget=BUDGET, ledger=ledger, request="another")


def test_a_ledger_may_be_given_by_its_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"

    def heights(ledger: Ledger | str) -> Any:
        learned = release_marginals(
            people(2000), PEOPLE, budget=BUDGET, ledger=ledger, request="contexts"
        )
        return learned.sample(100, np.random.default_rng(0))["height"]

    first = heights(url)  # makes the ledger
    ledger = Ledger.open(url)
    assert ledger.budget == BUDGET
    assert np.array_equal(first, heights(url))
    assert np.array_equal(first, heights(ledger))
    assert len(ledger.charges()) == 1


def test_a_learned_generator_is_a_generator() -> None:
    learned = simulate_marginals(people(), PEOPLE, budget=BUDGET, rng=np.random.default_rng(1))
    problem = Problem(Box([0.0], [1.0], ["dose"]), PEOPLE, Matern(2.5, 0.5), generator=learned)
    points = problem.draw_contexts(5000, np.random.default_rng(0))
    assert points.shape == (5000, 3)
    assert 0.3 < points[:, 0].mean() < 0.6


def test_gaps_count_and_add_nothing() -> None:
    table = people(100)
    table["height"][:] = np.nan
    counts = _Counts(PEOPLE, pairs=True)
    total = counts.collect(table)
    assert total.records == 100
    assert not total._value().any()
