"""The private sum: exact, mergeable, silent, and bounded whatever the records are."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from helpers import BUDGET, build_design, records, small_design, sqlite, unit_problem
from tacit import InputError, StateError, Statistic
from tacit.kernels import sees_batches

DESIGN = small_design()
RNG = np.random.default_rng(0)
WILD = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-200, 200),
    st.sampled_from([1e308, -1e308, 5e-324]),
)


def total(statistic: Statistic) -> list[int]:
    return [int(value) for value in statistic._sum._total]


@given(
    rows=st.lists(st.tuples(WILD, WILD, WILD, WILD), min_size=1, max_size=12),
    other=st.tuples(WILD, WILD, WILD, WILD),
    data=st.data(),
)
def test_replacing_any_record_by_any_other_moves_the_sum_by_at_most_the_bound(
    rows: list[tuple[float, ...]], other: tuple[float, ...], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    a = np.array(rows)
    b = np.array(rows)
    b[at, 1:] = other[
        1:
    ]  # a neighbour has another context and reward; the action is the algorithm's own coin
    sums = [total(DESIGN.statistic().add(t[:, :1], t[:, 1:3], t[:, 3])) for t in (a, b)]
    moved = sum((x - y) ** 2 for x, y in zip(*sums, strict=True))
    assert moved <= DESIGN.encoding.sensitivity**2


def test_opposite_rewards_move_the_sum_by_almost_the_whole_bound() -> None:
    """The bound is not only true but tight: half of it would be wrong."""
    doses, contexts, _ = records(300)
    moved = []
    for i in range(0, 300, 10):
        sums = [
            np.array(
                total(DESIGN.statistic().add(doses[i : i + 1], contexts[i : i + 1], [reward])),
                dtype=float,
            )
            for reward in (0.0, 1.0)
        ]
        moved.append(np.linalg.norm(sums[0] - sums[1]))
    assert max(moved) > 0.999 * DESIGN.encoding.sensitivity
    assert max(moved) > DESIGN.encoding.bound


def test_pieces_in_any_order_and_of_any_kind_give_the_same_sum() -> None:
    doses, contexts, rewards = records(700)
    whole = DESIGN.statistic().add(doses, contexts, rewards)
    a = DESIGN.statistic()
    b = DESIGN.statistic()
    frame = pd.DataFrame(
        {"dose": doses[:, 0], "age": contexts[:, 0], "weight": contexts[:, 1], "reward": rewards}
    )
    tables: list[Any] = [
        frame[400:],
        pl.from_pandas(frame[:150]),
        pa.Table.from_pandas(frame[150:400]),
    ]
    for part, statistic in zip(tables, (a, b, a), strict=True):
        statistic.add(part, part, part["reward"])
    assert total(b.merge(a)) == total(whole)
    assert b.records == whole.records == 700


def test_merging_commutes() -> None:
    doses, contexts, rewards = records(600)
    parts = [(doses[i::3], contexts[i::3], rewards[i::3]) for i in range(3)]

    def merged(order: list[int]) -> list[int]:
        statistic = DESIGN.statistic()
        for i in order:
            statistic.merge(DESIGN.statistic().add(*parts[i]))
        return total(statistic)

    assert merged([0, 1, 2]) == merged([2, 0, 1]) == merged([1, 2, 0])


def test_a_record_is_encoded_alike_alone_and_in_a_crowd() -> None:
    doses, contexts, rewards = records(300)
    crowd = np.array(total(DESIGN.statistic().add(doses, contexts, rewards)), dtype=object)
    alone = sum(
        np.array(
            total(
                DESIGN.statistic().add(doses[i : i + 1], contexts[i : i + 1], rewards[i : i + 1])
            ),
            dtype=object,
        )
        for i in range(300)
    )
    assert list(crowd) == list(np.asarray(alone))


@pytest.mark.parametrize(
    ("dose", "age", "reward"),
    [
        (50.0, np.nan, 0.5),
        (50.0, 60.0, np.nan),
        (np.nan, 60.0, 0.5),
        (50.0, "unknown", 0.5),
        (50.0, 60.0, None),
    ],
)
def test_a_record_that_means_nothing_counts_and_adds_nothing(
    dose: Any, age: Any, reward: Any
) -> None:
    statistic = DESIGN.statistic().add({"dose": dose}, {"age": age, "weight": 70.0}, [reward])
    assert statistic.records == 1
    assert not any(total(statistic))


def test_out_of_range_values_count_as_the_nearest_in_range() -> None:
    inside = DESIGN.statistic().add([[100.0]], [[95.0, 40.0]], [1.0])
    outside = DESIGN.statistic().add([[1e9]], [[np.inf, -np.inf]], [7.0])
    assert total(inside) == total(outside)


def test_it_shows_its_size_and_nothing_else() -> None:
    a = DESIGN.statistic().add(*records(100))
    b = DESIGN.statistic().add(*records(100, seed=1))
    assert repr(a) == repr(b) == str(a) == "Statistic(<private>, records=100, rank=20)"
    assert repr(a._sum) == repr(b._sum)


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy, copy.copy])
def test_it_refuses_to_be_pickled_or_copied(leak: Any) -> None:
    with pytest.raises(StateError, match="not pickled"):
        leak(DESIGN.statistic().add(*records(10))._sum)
    with pytest.raises(StateError, match="not pickled"):
        pickle.dumps(DESIGN.statistic())


def test_more_records_than_the_horizon_are_refused_before_any_is_added() -> None:
    statistic = DESIGN.statistic().add(*records(990))
    before = total(statistic)
    with pytest.raises(StateError, match="horizon is 1000 rounds and 990 are in"):
        statistic.add(*records(11))
    assert total(statistic) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[1.0]], [[60, 70], [60, 70]], [0.5]), "as many rows"),
        (([[1.0]], [[60, 70]], [0.5, 0.5]), "one entry per row"),
        ((np.array([[1.0, 2.0]]), [[60, 70]], [0.5]), "1 column"),
        (([[1.0]], np.array([[60]]), [0.5]), "2 column"),
        (([[1.0]], {"age": 60}, [0.5]), "no column 'weight'"),
        ((np.empty((0, 1)), np.empty((0, 2)), []), "no rows"),
        (([[1.0]], "nonsense", [0.5]), "contexts must be"),
    ],
)
def test_wrong_shapes_are_said_plainly(arguments: tuple[Any, Any, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        DESIGN.statistic().add(*arguments)


def test_only_statistics_of_one_design_merge() -> None:
    with pytest.raises(InputError, match="same design"):
        DESIGN.statistic().merge(small_design(seed=1).statistic())
    statistic = DESIGN.statistic()
    with pytest.raises(InputError, match="twice"):
        statistic.merge(statistic)


def test_a_kernel_that_looks_at_the_whole_batch_cannot_spread_one_record_over_others() -> None:
    """Such a kernel would let one record move all contributions. It is evaluated record by record
    instead."""

    def nosy(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        width = A.std(axis=0).mean() + 0.3
        return np.exp(-0.5 * np.sum((A[:, None] - B[None]) ** 2, axis=2) / width**2)

    problem = unit_problem(kernel=nosy)
    design = build_design(
        problem, horizon=300, budget=BUDGET, rng=0, rank=15, tau=5.0, public_points=1000
    )
    assert not sees_batches(problem.k)
    points = np.full((250, 2), 0.5)
    neighbour = points.copy()
    neighbour[7, 1] = 0.0
    sums = []
    for table in (points, neighbour):
        statistic = design.statistic()
        statistic.add_points(table, np.ones(250))
        sums.append(total(statistic))
    assert sum((a - b) ** 2 for a, b in zip(*sums, strict=True)) <= design.encoding.sensitivity**2


def test_a_merged_statistic_is_spent() -> None:
    """Merging it twice would count its records twice and break the bound."""
    a, b = (DESIGN.statistic().add(*records(50, seed=seed)) for seed in (1, 2))
    a.merge(b)
    for again in (
        lambda: a.merge(b),
        lambda: b.merge(a),
        lambda: b.add(*records(1)),
        lambda: b.simulate_release(RNG),
    ):
        with pytest.raises(StateError, match="spent"):
            again()
    assert a.records == 100


def test_an_interrupted_add_adds_nothing() -> None:
    statistic = DESIGN.statistic()

    def interrupt(what: str, done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        statistic.add(*records(600), progress=interrupt)
    assert statistic.records == 0
    assert not any(total(statistic))


def test_a_ledger_may_be_named_by_its_url(tmp_path: Path) -> None:
    """It is made for the budget of all passes, opened if it is there, and charged like any."""
    url = sqlite(tmp_path, "ledger.db")
    design = small_design(plain=False, passes=2)
    policy = design.statistic().add(*records(300)).release(ledger=url, request="first")
    ledger = tacit.Ledger.open(url)
    assert ledger.budget == BUDGET
    assert [charge.request for charge in ledger.charges()] == ["first"]
    again = design.statistic().add(*records(300)).release(ledger=ledger, request="first")
    assert np.array_equal(again.posterior.weights, policy.posterior.weights)


def test_users_of_a_design_that_protects_records_are_refused() -> None:
    """Whoever names users means to protect them."""
    statistic = DESIGN.statistic()
    with pytest.raises(InputError, match="protects single records, which have no users"):
        statistic.add(*records(4), users=["a", "a", "b", "b"])
    assert statistic.records == 0


def test_no_records_are_neither_released_nor_charged(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    empty = DESIGN.statistic()
    with pytest.raises(StateError, match="no records to release"):
        empty.release(ledger=url)
    with pytest.raises(StateError, match="no records to release"):
        tacit.release_decision(empty, {"age": 61, "weight": 74}, epsilon=0.1, ledger=url)
    with pytest.raises(StateError, match="there is no file"):  # not even a ledger was made
        tacit.Ledger.open(url)
