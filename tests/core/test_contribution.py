"""The bound that everything rests on, checked in Python's own integers."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.core import Encoding
from tacit.core.contribution import _isqrt
from tacit.errors import InputError

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
NEAR_ONE = st.floats(-1.5, 1.5)


def exact_norm2(row: np.ndarray) -> int:
    return sum(int(value) ** 2 for value in row)


@given(
    rows=arrays(np.float64, (5, 7), elements=st.one_of(ANY_FLOAT, NEAR_ONE)),
    bits=st.integers(1, 29),
)
@example(rows=np.full((5, 7), 1 / np.sqrt(7)), bits=24)
@example(rows=np.full((5, 7), np.nextafter(0, 1)), bits=24)
@example(rows=np.full((5, 7), 1e308), bits=24)
def test_no_record_exceeds_the_bound_whatever_it_holds(rows: np.ndarray, bits: int) -> None:
    encoding = Encoding(size=7, horizon=10, bits=bits)
    integers = encoding.encode(rows)
    assert integers.dtype == np.int64
    assert all(exact_norm2(row) <= encoding.bound**2 for row in integers)


@given(
    rows=arrays(np.float64, (6, 5), elements=st.one_of(ANY_FLOAT, NEAR_ONE)),
    other=arrays(np.float64, (1, 5), elements=st.one_of(ANY_FLOAT, NEAR_ONE)),
    at=st.integers(0, 5),
)
def test_replacing_one_record_moves_the_sum_by_at_most_the_sensitivity(
    rows: np.ndarray, other: np.ndarray, at: int
) -> None:
    encoding = Encoding(size=5, horizon=10)
    neighbour = rows.copy()
    neighbour[at] = other
    a = encoding.encode(rows)
    b = encoding.encode(neighbour)
    difference = [sum(int(v) for v in a[:, j]) - sum(int(v) for v in b[:, j]) for j in range(5)]
    assert sum(value**2 for value in difference) <= encoding.sensitivity**2


def test_add_remove_sensitivity_would_not_cover_replacement() -> None:
    """The mutant: bound instead of 2 * bound. Opposite unit records break it."""
    encoding = Encoding(size=3, horizon=10)
    up = np.array([[1.0, 0.0, 0.0]])
    down = np.array([[-1.0, 0.0, 0.0]])
    difference = encoding.encode(up) - encoding.encode(down)
    assert exact_norm2(difference[0]) > encoding.bound**2
    assert exact_norm2(difference[0]) == encoding.sensitivity**2


def test_without_the_shrink_rounding_would_break_the_bound() -> None:
    """The mutant: rint alone. Unit rows in general position round outside the ball about half of
    the time."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 50))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    encoding = Encoding(size=50, horizon=1000, bits=20)
    careless = np.rint(rows * encoding.bound).astype(np.int64)
    assert any(exact_norm2(row) > encoding.bound**2 for row in careless)
    assert all(exact_norm2(row) <= encoding.bound**2 for row in encoding.encode(rows))


def test_rows_inside_the_ball_are_rounded_and_not_shrunk() -> None:
    encoding = Encoding(size=4, horizon=10)
    rows = np.random.default_rng(2).uniform(-0.4, 0.4, size=(100, 4))
    assert np.array_equal(encoding.encode(rows), np.rint(rows * encoding.bound).astype(np.int64))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_a_value_that_is_no_number_adds_nothing(bad: float) -> None:
    rows = np.array([[0.5, bad, 0.1], [0.5, 0.2, 0.1]])
    integers = Encoding(size=3, horizon=10).encode(rows)
    assert not integers[0].any()
    assert integers[1].any()


@given(st.lists(st.integers(0, 2**62 - 1), min_size=1, max_size=20))
@example([0, 1, 2, 3, 4, 2**62 - 1, (2**31 - 1) ** 2, (2**31 - 1) ** 2 - 1, (2**26 + 1) ** 2 - 1])
def test_vector_isqrt_equals_python_isqrt(values: list[int]) -> None:
    assert _isqrt(np, np.array(values, dtype=np.int64)).tolist() == [
        isqrt(value) for value in values
    ]


@pytest.mark.parametrize(
    ("size", "horizon", "bits"),
    [(10, 10, 30), (2**20, 10, 24), (10, 2**40, 24), (0, 1, 8), (1, 0, 8)],
)
def test_what_could_overflow_is_refused_before_any_data(size: int, horizon: int, bits: int) -> None:
    with pytest.raises(InputError):
        Encoding(size=size, horizon=horizon, bits=bits)


def test_the_largest_admitted_encoding_does_not_overflow() -> None:
    encoding = Encoding(size=2**13, horizon=2**37, bits=24)
    assert encoding.size * encoding.bound**2 < 2**63
    assert encoding.horizon * encoding.bound < 2**62
    integers = encoding.encode(np.ones((2, 2**13)))
    assert all(exact_norm2(row) <= encoding.bound**2 for row in integers)


def test_narrow_floats_are_widened_before_they_are_scaled() -> None:
    """In float16 the scaled value overflows, and a cast turns it into the one integer whose abs is
    negative."""
    integers = Encoding(size=2, horizon=10).encode(
        np.array([[1.0, 0.5], [0.25, 0.25]], dtype=np.float16)
    )
    assert all(exact_norm2(row) <= 2**48 for row in integers)
    assert integers[1].tolist() == [2**22, 2**22]


def test_shrinking_survives_the_smallest_integer() -> None:
    encoding = Encoding(size=2, horizon=10)
    shrunk = encoding.shrink(np.array([[-(2**63), 2**63 - 1], [2**40, 3], [5, 5]], dtype=np.int64))
    assert all(exact_norm2(row) <= encoding.bound**2 for row in shrunk)
    assert exact_norm2(shrunk[0]) > 0.99 * encoding.bound**2
    assert shrunk[2].tolist() == [5, 5]


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(InputError, match="2 columns"):
        Encoding(size=2, horizon=10).encode(np.ones((1, 16)))


def test_the_overflow_check_does_not_overflow_itself() -> None:
    with pytest.raises(InputError):
        Encoding(size=1, horizon=np.int64(2**40))  # type: ignore[arg-type]
