"""Cohorts: a record belongs to one, each may spend the whole budget, and nobody pays twice."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import BUDGET, records, small_design, sqlite
from tacit import BudgetError, Cohort, InputError, Ledger, StateError, Statistic
from tacit.contexts import release_marginals
from tacit.core import Encoding, PrivateSum
from tacit.core.cohorts import joined
from tacit.core.events import Exponential
from tacit.core.saved import dump_sum, load_sum
from tacit.core.sums import UserSum
from tacit.logs import Partial, load_partial, save_partial

pytestmark = pytest.mark.usefixtures("coarse_fits")

SHAPE = Encoding(size=3, horizon=1000)
FIRST = Cohort("first", 0, 100)
SECOND = Cohort("second", 100, 300)
ONES = np.full((10, 3), 0.5)
DESIGN = small_design()


def collected(
    cohort: Cohort | None, rows: slice = slice(None), design: Any = DESIGN, **options: Any
) -> Statistic:
    doses, people, rewards = records(300)
    statistic: Statistic = design.statistic(cohort=cohort)
    return statistic.add(doses[rows], people[rows], rewards[rows], **options)


# -- which numbers --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=12))
def test_spans_join_to_what_they_hold_and_never_count_a_number_twice(
    pairs: list[tuple[int, int]],
) -> None:
    spans: list[tuple[int, int]] = []
    held: set[int] = set()
    for start, length in pairs:
        new = set(range(start, start + length))
        if new & held:
            with pytest.raises(StateError, match="counted already"):
                joined(spans, [(start, start + length)])
            continue
        held |= new
        spans = joined(spans, [(start, start + length)])
    assert sorted(n for start, stop in spans for n in range(start, stop)) == sorted(held)
    assert all(stop < start for (_, stop), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("name", "first", "last"), [("", 0, 1), ("x", 3, 3), ("x", -1, 4), ("x", 5, 2)]
)
def test_a_cohort_has_a_name_and_records(name: str, first: int, last: int) -> None:
    with pytest.raises(InputError, match="cohort"):
        Cohort(name, first, last)


@pytest.mark.parametrize("number", [0.5, 5.0, "5", None, math.inf, math.nan])
def test_the_number_of_a_record_is_a_whole_one(number: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        Cohort("x", 0, number)
    if number is not None:  # as a first number None says that there is none
        with pytest.raises(InputError, match="whole number"):
            PrivateSum(SHAPE, FIRST).add(ONES, records=10, first=number)


def test_a_cohort_of_numpys_numbers_is_kept_as_any_other(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    ledger.add_cohort(Cohort("first", np.int64(0), np.uint8(100)))  # type: ignore[arg-type]
    assert [account.cohort for account in Ledger.open(sqlite(tmp_path)).accounts()] == [FIRST]
    with pytest.raises(StateError, match="overlaps"):
        ledger.add_cohort(Cohort("other", 99, 200))
    collected(FIRST, slice(0, 100), first=np.int8(0)).release(ledger=ledger)
    with pytest.raises(InputError, match="cohort"):
        Cohort("x", 0, 2**63)


# -- sums -----------------------------------------------------------------------------------------


def test_a_record_of_another_cohort_is_refused_before_anything_is_added() -> None:
    total = PrivateSum(SHAPE, FIRST)
    for first in (95, 100, 250):
        with pytest.raises(InputError, match="not all of cohort 'first'"):
            total.add(ONES, 10, first=first)
    with pytest.raises(InputError, match="have numbers"):
        total.add(ONES, 10)
    assert total.records == 0
    assert not total._value().any()


def test_a_record_counts_once_in_its_cohort() -> None:
    total = PrivateSum(SHAPE, FIRST)
    total.add(ONES, 10, first=20)
    with pytest.raises(StateError, match="counted already"):
        total.add(ONES, 10, first=29)
    total.add(ONES, 10, first=30)
    total.add(ONES, 10, first=10)
    assert total._spans == [(10, 40)]
    assert total.records == 30


@pytest.mark.parametrize("kind", [PrivateSum, UserSum])
def test_only_sums_of_one_cohort_merge_and_no_record_comes_twice(kind: type[PrivateSum]) -> None:
    users = [f"user {i}" for i in range(10)]
    total = kind(SHAPE, FIRST)
    total.add(ONES, 10, users, first=0)
    for cohort in (SECOND, None):
        other = kind(SHAPE, cohort)
        other.add(ONES, 10, users, first=100)
        with pytest.raises(InputError, match="one cohort"):
            total.merge(other)
    again = kind(SHAPE, FIRST)
    again.add(ONES, 10, users, first=5)
    with pytest.raises(StateError, match="counted already"):
        total.merge(again)
    more = kind(SHAPE, FIRST)
    more.add(ONES, 10, users, first=50)
    total.merge(more)
    assert total._spans == [(0, 10), (50, 60)]


def test_a_statistic_numbers_its_records_whatever_the_number_of_blocks() -> None:
    design = small_design(horizon=6000)
    doses, people, rewards = records(5000)
    cohort = Cohort("all", 1000, 6000)
    statistic = design.statistic(cohort=cohort).add(doses, people, rewards, first=1000)
    plain = design.statistic().add(doses, people, rewards)
    assert statistic._sum._spans == [(1000, 6000)]
    assert np.array_equal(statistic._sum._value(), plain._sum._value())
    with pytest.raises(StateError, match="counted already"):
        statistic.add(doses[:10], people[:10], rewards[:10], first=3000)


def test_a_saved_sum_remembers_its_cohort_and_its_records(tmp_path: Path) -> None:
    statistic = collected(FIRST, slice(40), first=10)
    save_partial(statistic, tmp_path / "sum", {})
    loaded: Partial = load_partial(DESIGN, tmp_path / "sum")
    total = loaded.statistic._sum
    assert (total.cohort, total._spans) == (FIRST, [(10, 50)])
    assert np.array_equal(total._value(), statistic._sum._value())


@pytest.mark.parametrize(
    "wrong",
    [[(0, 40), (39, 40)], [(90, 130)], [(0, 39)], [(0, 41)], [(10, 30), (20, 40)], [(5, 5)]],
)
def test_a_saved_sum_with_other_numbers_is_refused(wrong: list[tuple[int, int]]) -> None:
    arrays = dump_sum(collected(FIRST, slice(40), first=10)._sum)
    load_sum(DESIGN.encoding, "record", arrays)
    arrays["spans"] = np.array(wrong, dtype=np.int64)
    with pytest.raises(ValueError, match="not a sum"):
        load_sum(DESIGN.encoding, "record", arrays)


# -- releases -------------------------------------------------------------------------------------


def divided(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    for cohort in (FIRST, SECOND):
        ledger.add_cohort(cohort)
    return ledger


def test_each_cohort_spends_the_whole_budget_on_its_own_people(tmp_path: Path) -> None:
    ledger = divided(tmp_path)
    policies = [
        collected(cohort, slice(cohort.first, cohort.last), first=cohort.first).release(
            ledger=ledger
        )
        for cohort in (FIRST, SECOND)
    ]
    for policy in policies:
        assert policy.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
        assert "each person counts in one epoch" in str(policy.guarantee)
    assert [account.remaining for account in ledger.accounts()] == [0, 0]
    assert ledger.spent == pytest.approx(BUDGET.gaussian)
    with pytest.raises(BudgetError, match="of cohort 'second'"):
        collected(SECOND, slice(100, 200), first=100).release(ledger=ledger)


def test_a_release_for_everybody_is_refused_where_there_are_cohorts(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="divided into cohorts"):
        collected(None).release(ledger=divided(tmp_path))


def test_single_decisions_of_a_cohort_are_charged_to_it(tmp_path: Path) -> None:
    from tacit import release_decision

    ledger = divided(tmp_path)
    here = {"age": 61, "weight": 74}
    release_decision(collected(FIRST, slice(50), first=0), here, epsilon=0.1, ledger=ledger)
    spent = {account.cohort: account.spent > 0 for account in ledger.accounts()}
    assert spent == {FIRST: True, SECOND: False}
    assert [account.measure for account in ledger.accounts()] == ["zcdp", "gaussian"]


def test_a_retry_is_for_the_cohort_that_was_charged_range_and_all(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    for cohort in (FIRST, SECOND):
        ledger.add_cohort(cohort)

    def crash() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.spend("once", Exponential(0.1), {}, draw=crash, cohort=FIRST)
    other = Cohort("first", 100, 300)  # the same name for other people, who never paid
    with pytest.raises(StateError, match="no cohort"):
        ledger.spend("once", Exponential(0.1), {}, draw=lambda: b"about others", cohort=other)
    assert (
        ledger.spend("once", Exponential(0.1), {}, draw=lambda: b"right", cohort=FIRST) == b"right"
    )


def test_a_returning_user_is_counted_in_one_cohort(tmp_path: Path) -> None:
    design = small_design(unit="user")
    ledger = divided(tmp_path)
    early = collected(
        FIRST, slice(0, 100), design, users=[f"user {i % 50}" for i in range(100)], first=0
    )
    early.release(ledger=ledger)
    returning = collected(
        SECOND, slice(100, 200), design, users=[i % 60 for i in range(100)], first=100
    )
    returning.release(ledger=ledger, request="others")  # "7" and "user 7" are different people
    third = Cohort("third", 300, 400)
    ledger.add_cohort(third)
    back = collected(third, slice(200, 300), design, users=["new"] * 99 + ["user 7"], first=300)
    with pytest.raises(StateError, match="counted in another cohort"):
        back.release(ledger=ledger)
    assert ledger.account(third).spent == 0


def test_marginals_of_a_cohort_are_charged_to_it(tmp_path: Path) -> None:
    ledger = divided(tmp_path)
    people = records(80)[1]
    learned = release_marginals(
        people, DESIGN.problem.contexts, budget=BUDGET, ledger=ledger, cohort=FIRST
    )
    assert learned.guarantee.private
    assert ledger.account(FIRST).remaining <= 2
    assert ledger.account(SECOND).spent == 0
    with pytest.raises(InputError, match="not all of cohort 'first'"):
        release_marginals(
            records(150)[1], DESIGN.problem.contexts, budget=BUDGET, ledger=ledger, cohort=FIRST
        )
    with pytest.raises(StateError, match="divided into cohorts"):
        release_marginals(people, DESIGN.problem.contexts, budget=BUDGET, ledger=ledger)


# -- what would go wrong --------------------------------------------------------------------------


def test_without_the_check_a_person_in_two_cohorts_would_be_told_more_than_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums of both cohorts move together: two releases of the whole budget each are one of
    twice its rho."""
    monkeypatch.setattr(Cohort, "require", lambda self, span: None)
    moved = 0.0
    for cohort in (FIRST, SECOND):
        sums = []
        for sign in (1.0, -1.0):
            total = PrivateSum(SHAPE, cohort)
            total.add(sign * np.full((1, 3), 1e6), 1, first=7)
            sums.append(total._value())
        moved += float(np.sum((sums[0] - sums[1]).astype(float) ** 2))
    assert math.sqrt(moved) > 1.4 * SHAPE.sensitivity
