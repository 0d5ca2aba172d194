"""unit="user": the guarantee is for one person with all of their rounds, however many."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import records, small_design, small_problem, sqlite, user_study
from tacit import InputError, Policy, Statistic, Study
from tacit.core import Encoding, private_sum
from tacit.core.sums import PrivateSum, UserSum
from tacit.progress import silent

RECORD = small_design()
DESIGN = replace(RECORD, unit="user")
BOUND = DESIGN.encoding.bound
SENSITIVITY = DESIGN.encoding.sensitivity
WILD = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-200, 200),
    st.sampled_from([1e308, -1e308, 5e-324]),
)


def total(statistic: Statistic) -> list[int]:
    return [int(value) for value in statistic._sum._value()]


def distance2(a: list[int], b: list[int]) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def statistic(table: np.ndarray, users: Any, design: Any = DESIGN) -> Statistic:
    """Columns: dose, age, weight, reward."""
    filled: Statistic = design.statistic().add(
        table[:, :1], table[:, 1:3], table[:, 3], users=users
    )
    return filled


def rounds(n: int, seed: int = 0) -> np.ndarray:
    doses, contexts, rewards = records(n, seed)
    return np.column_stack([doses, contexts, rewards])


# -- the bound ------------------------------------------------------------------------------------


@given(
    whose=st.lists(st.integers(0, 3), min_size=1, max_size=40),
    other=arrays(np.float64, (40, 3), elements=WILD),
    seed=st.integers(0, 99),
)
@example(whose=[0] * 40, other=np.tile([18.0, 40.0, 1e308], (40, 1)), seed=0)
def test_replacing_all_of_a_users_rounds_moves_the_sum_by_at_most_the_sensitivity(
    whose: list[int], other: np.ndarray, seed: int
) -> None:
    users = np.array(whose)
    table = rounds(len(users), seed)
    neighbour = table.copy()
    mine = users == users[0]
    # Other contexts and rewards; the actions are the algorithm's own coins.
    neighbour[mine, 1:] = other[: mine.sum()]
    moved = distance2(total(statistic(table, users)), total(statistic(neighbour, users)))
    assert moved <= SENSITIVITY**2


@pytest.mark.parametrize("n", [1, 2, 15, 100, 900])
def test_the_bound_holds_and_is_almost_attained_whatever_the_number_of_rounds(n: int) -> None:
    """One user, always the same context, rewards all of one sign or all of the other: what adds up
    the fastest."""
    table = np.tile(rounds(1), (n, 1))
    sums = []
    for reward in (0.0, 1.0):
        table[:, 3] = reward
        filled = statistic(np.vstack([rounds(50, 1), table]), ["many"] * 50 + ["one"] * n)
        sums.append(total(filled))
    moved = distance2(*sums)
    assert moved <= SENSITIVITY**2
    if n > 1:  # alone a round may be less than the bound
        assert moved > (0.999 * SENSITIVITY) ** 2


def test_hundreds_of_rounds_are_halved_before_they_are_shrunk() -> None:
    """So many that their integers do not fit into a 64-bit norm: the loop in `shrink` runs."""
    filled = statistic(np.tile([50.0, 60.0, 70.0, 1.0], (900, 1)), ["one"] * 900)
    assert isinstance(filled._sum, UserSum)
    largest = int(np.abs(filled._sum._rows).max())
    assert largest > 2 ** ((62 - DESIGN.rank.bit_length()) // 2)
    assert (BOUND - DESIGN.rank) ** 2 < sum(value**2 for value in total(filled)) <= BOUND**2


HUGE = st.one_of(
    st.integers(-(2**62) + 1, 2**62 - 1), st.integers(-(2**25), 2**25), st.integers(-3, 3)
)


@given(rows=arrays(np.int64, (4, 7), elements=HUGE), bits=st.integers(1, 24))
@example(rows=np.full((4, 7), 2**62 - 1), bits=24)
@example(rows=np.full((4, 7), 1 - 2**62), bits=1)
@example(rows=np.eye(4, 7, dtype=np.int64) * (2**24 + 1), bits=24)
def test_integers_of_any_size_are_shrunk_into_the_ball_and_keep_their_direction(
    rows: np.ndarray, bits: int
) -> None:
    encoding = Encoding(size=7, horizon=10, bits=bits)
    for row, shrunk in zip(rows, encoding.shrink(rows), strict=True):
        norm2 = sum(int(value) ** 2 for value in shrunk)
        assert norm2 <= encoding.bound**2
        assert all(int(a) * int(b) >= 0 for a, b in zip(row, shrunk, strict=True))
        if sum(int(value) ** 2 for value in row) <= encoding.bound**2:
            assert np.array_equal(row, shrunk)
        else:
            # Never by more than rounding asks for: each entry loses less than 2, and one over the
            # new norm.
            assert norm2 >= max(0, encoding.bound - 3 * 7) ** 2


# -- mutants --------------------------------------------------------------------------------------


class Unshrunk(UserSum):
    """Forgets that a user's records must be shrunk together."""

    def _value(self) -> Any:
        return self._rows.sum(0)


class ShrunkEarly(UserSum):
    """Shrinks whenever records come in, and not all of them together."""

    def _collect(self, integers: Any, users: Any) -> None:
        super()._collect(integers, users)
        self._done = getattr(self, "_done", 0) + self.encoding.shrink(self._rows).sum(0)
        self._rows[:] = 0

    def _absorb(self, other: Any) -> None:
        self._done = getattr(self, "_done", 0) + other._done

    def _value(self) -> Any:
        return self._done


@pytest.mark.parametrize("kind", [UserSum, Unshrunk, ShrunkEarly, PrivateSum])
def test_a_sum_that_does_not_shrink_per_user_breaks_the_bound(kind: type[PrivateSum]) -> None:
    sums = []
    for reward in (-1.0, 1.0):
        one = kind(DESIGN.encoding)
        for _ in range(3):
            one.add(np.eye(1, DESIGN.rank) * reward, 1, ["one"])
        sums.append([int(value) for value in one._value()])
    assert (distance2(*sums) <= SENSITIVITY**2) == (kind is UserSum)


# -- exact sums -----------------------------------------------------------------------------------


@given(cuts=st.lists(st.integers(1, 59), min_size=1, max_size=3), seed=st.integers(0, 9))
def test_pieces_merged_in_any_order_give_the_same_sum(cuts: list[int], seed: int) -> None:
    table = rounds(60, seed)
    users = np.random.default_rng(seed).integers(0, 6, size=60)
    whole = total(statistic(table, users))
    pieces = np.split(np.arange(60), sorted(set(cuts)))
    for order in itertools.permutations(pieces):
        merged = DESIGN.statistic()
        for piece in order:
            merged.merge(statistic(table[piece], users[piece]))
        assert total(merged) == whole
        assert merged.records == 60


def test_the_sum_is_read_again_and_again_without_a_change() -> None:
    filled = statistic(rounds(200), ["one", "two"] * 100)
    assert total(filled) == total(filled)
    assert total(filled) == total(statistic(rounds(200), ["one", "two"] * 100))


def test_users_with_one_round_each_add_what_their_records_would() -> None:
    table = rounds(300)
    assert total(statistic(table, np.arange(300))) == total(statistic(table, None, RECORD))


# -- who is who -----------------------------------------------------------------------------------


def number_of_users(users: Any) -> int:
    filled = statistic(rounds(len(users)), users)
    assert isinstance(filled._sum, UserSum)
    return len(filled._sum._index)


@pytest.mark.parametrize(
    "users",
    [
        [None, float("nan"), "", np.nan, None],
        pd.Series([None, float("nan")], dtype=object),
        pd.Series([pd.NA, "x", pd.NA], dtype="string")[[0, 2]],
        pd.Series([1.0, np.nan]).astype("Int64").shift(2),
        [pd.NA, pd.NaT, None],
    ],
)
def test_records_without_a_user_count_as_one_users(users: Any) -> None:
    assert number_of_users(users) == 1


@pytest.mark.parametrize(
    "users",
    [
        [7, 7.0, "7", np.int8(7), np.float32(7), Decimal(7), " 7"],
        ["Zoë", "Zoë "],
        [b"x", np.bytes_(b"x")],
    ],
)
def test_one_user_is_one_however_the_id_is_written(users: list[Any]) -> None:
    """An id that is read as a float in one file and as an integer in another must not make two
    people of one."""
    assert number_of_users(users) == 1


def test_different_users_are_different() -> None:
    assert (
        number_of_users([1, 2, "Zoë", "Zoe", None, 1.5, (1, 2), date := pd.Timestamp("2024-01-01")])
        == 8
    )
    assert number_of_users([date, date]) == 1


def test_nameless_records_are_bounded_together() -> None:
    table = np.tile([50.0, 60.0, 70.0, 0.0], (40, 1))
    sums = []
    for reward in (0.0, 1.0):
        table[:, 3] = reward
        sums.append(total(statistic(table, [None] * 40)))
    assert distance2(*sums) <= SENSITIVITY**2


@pytest.mark.parametrize(
    ("users", "says"),
    [
        (None, "one user id per record"),
        (["one"], "one id per row, 3"),
        ("one", "column of ids"),
        (7, "one id per row"),
    ],
)
def test_users_that_are_missing_or_too_few_are_said_plainly(users: Any, says: str) -> None:
    filled = statistic(rounds(2), ["a", "b"])
    before = total(filled)
    table = rounds(3)
    with pytest.raises(InputError, match=says):
        filled.add(table[:, :1], table[:, 1:3], table[:, 3], users=users)
    assert filled.records == 2
    assert total(filled) == before


def test_sums_of_records_and_of_users_do_not_merge() -> None:
    with pytest.raises(InputError, match="same design"):
        DESIGN.statistic().merge(RECORD.statistic())
    with pytest.raises(InputError, match="one privacy unit"):
        private_sum(DESIGN.encoding, "user").merge(private_sum(DESIGN.encoding, "record"))
    with pytest.raises(InputError, match="unit must be one of record, user"):
        private_sum(DESIGN.encoding, "household")


# -- a study --------------------------------------------------------------------------------------


def test_a_study_of_users_from_ask_to_policy(tmp_path: Path) -> None:
    study = user_study(sqlite(tmp_path), small_problem(), horizon=60)
    here = {"age": 61, "weight": 74}
    with pytest.raises(InputError, match="say whose round it is"):
        study.ask(here)
    with pytest.raises(InputError, match="say whose round it is"):
        study.ask_many([[61, 74]])
    assert study.asked == 0

    for i in range(20):
        study.tell(study.ask(here, user=f"patient {i % 2}").id, 1.0)
    decisions = study.ask_many(
        pd.DataFrame({"age": [61.0] * 4, "weight": [74.0] * 4}), users=[3, 3.0, None, np.nan]
    )
    study.tell_many([decision.id for decision in decisions], [1.0] * 4)
    reopened = Study.open(sqlite(tmp_path))
    assert reopened.design.unit == "user"
    again = reopened._statistic(24, silent)._sum
    assert isinstance(again, UserSum)
    assert sorted(again._index) == ["", "3.0", "patient 0", "patient 1"]
    assert (
        sum(int(value) ** 2 for value in again._value()) <= (4 * study.design.encoding.bound) ** 2
    )

    policy = reopened.release()
    assert policy.guarantee.unit == "user"
    assert "all rounds of one user" in policy.guarantee.relation
    assert "per user" in str(policy.guarantee)
    assert study.ledger.charges()[0].parameters["unit"] == "user"
    loaded = Policy.load(policy.save(tmp_path / "policy"))
    assert loaded.guarantee == policy.guarantee
    assert loaded.decide(here) == policy.decide(here)


def test_a_study_of_users_sums_what_its_statistic_would(tmp_path: Path) -> None:
    study = user_study(sqlite(tmp_path), small_problem(), horizon=60)
    contexts = rounds(50)[:, 1:3]
    rewards = rounds(50)[:, 3]
    users = np.arange(50) % 7
    decisions = study.ask_many(contexts, users=users)
    study.tell_many([decision.id for decision in decisions], rewards)
    actions = [[decision.action["dose"]] for decision in decisions]
    beside = study.design.statistic().add(actions, contexts, rewards, users=users)
    kept = np.array(total(study._statistic(50, silent)), dtype=float)
    # Up to the rounding of an action to the user's units and back.
    assert np.abs(kept - np.array(total(beside), dtype=float)).max() <= 1e-9 * BOUND * 50
