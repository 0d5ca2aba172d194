"""Tables of any kind come in as columns, and answers go out as the same kind."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import InputError
from tacit._typing import Floats
from tacit.tables import floats, labels, number, numbers, read, records, vector

NAMES = ("a", "b")
ROWS = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]
COLUMNS = {"a": [1.0, 2.0, 3.0], "b": [10.0, 20.0, 30.0]}
BIG = 2**53 + 1  # the first whole number that no float holds


def kind_of(data: Any) -> str:
    """For test ids: no addresses, no tables."""
    return f"{type(data).__module__}.{type(data).__name__}"


def values(data: Any, names: tuple[str, ...] = NAMES) -> Floats:
    columns = read(data, names, "the table").columns
    return np.column_stack([floats(columns[name]) for name in names])


def cells(data: Any) -> list[Any]:
    return list(read(data, ("a",), "the table").columns["a"].tolist())


def frames(columns: dict[str, Any]) -> list[Any]:
    return [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]


TABLES: dict[str, Any] = {
    "numpy": np.array(ROWS),
    "float32": np.array(ROWS, dtype=np.float32),
    "integers": np.array(ROWS, dtype=int),
    "fortran": np.asfortranarray(ROWS),
    "list of lists": ROWS,
    "list of tuples": [tuple(row) for row in ROWS],
    "tuple of lists": tuple(ROWS),
    "list of arrays": [np.array(row) for row in ROWS],
    "masked": np.ma.array(ROWS, mask=False),
    "dict of lists": COLUMNS,
    "dict of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "dict of pandas": {
        name: pd.Series(column, index=[5, 6, 7]) for name, column in COLUMNS.items()
    },
    "dict of polars": {name: pl.Series(column) for name, column in COLUMNS.items()},
    "dict of arrow": {name: pa.array(column) for name, column in COLUMNS.items()},
    "dict of chunked arrow": {
        name: pa.chunked_array([column[:1], column[1:]]) for name, column in COLUMNS.items()
    },
    "list of dicts": [dict(zip(NAMES, row, strict=True)) for row in ROWS],
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with an index": pd.DataFrame(COLUMNS, index=[9, 8, 7]),
    "pandas of arrow": pd.DataFrame(COLUMNS, dtype="float64[pyarrow]"),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "texts": [["1", "10"], ["2.0", " 20 "], ["3e0", "30"]],
    "objects": np.array([[1, Decimal(10)], ["2", 20.0], [np.int8(3), b"30"]], dtype=object),
}


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES.keys())
def test_every_kind_of_table_says_the_same(data: Any) -> None:
    assert values(data).tolist() == ROWS
    assert read(data, NAMES, "the table").rows == 3


@pytest.mark.parametrize(
    "data", [value for value in TABLES.values() if not isinstance(value, np.ndarray | list | tuple)]
)
def test_columns_go_by_name_and_extra_ones_are_ignored(data: Any) -> None:
    assert values(data, ("b", "a")).tolist() == [row[::-1] for row in ROWS]
    assert values(data, ("b",)).tolist() == [row[1:] for row in ROWS]


@pytest.mark.parametrize(
    "data", [{"a": 1.0, "b": 10.0}, {"a": np.float64(1), "b": np.array(10)}, [1.0, 10.0], (1, 10)]
)
def test_one_row_may_be_given_as_such(data: Any) -> None:
    assert values(data).tolist() == [[1.0, 10.0]]


@pytest.mark.parametrize(
    "data", [3.0, 3, np.float32(3), np.int64(3), np.array(3.0), [3.0], {"a": 3.0}, {"a": [3.0]}]
)
def test_one_number_may_be_given_as_such(data: Any) -> None:
    assert values(data, ("a",)).tolist() == [[3.0]]


@pytest.mark.parametrize(
    "data", [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), [[1.0], [2.0]]]
)
def test_a_flat_list_is_a_column_where_there_is_only_one(data: Any) -> None:
    assert values(data, ("a",)).tolist() == [[1.0], [2.0]]


# -- values never raise ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "number_of_it"),
    [
        (None, math.nan),
        ("high", math.nan),
        ("", math.nan),
        ("1e3", 1000.0),
        ("inf", math.inf),
        (b"2.5", 2.5),
        (True, 1.0),
        (10**400, math.nan),
        (Decimal("2.5"), 2.5),
        (Decimal("sNaN"), math.nan),
        (1 + 2j, math.nan),
        (np.complex64(1), 1.0),
        (2 + 0j, 2.0),
        (np.array(3 + 0j), 3.0),
        (np.timedelta64(3, "D"), math.nan),
        (pd.NA, math.nan),
        (pd.NaT, math.nan),
        (np.datetime64("2024-01-01"), math.nan),
        (datetime.date(2024, 1, 1), math.nan),
        ([1.0], math.nan),
        ({"a": 1.0}, math.nan),
        (object(), math.nan),
    ],
)
def test_a_cell_is_a_number_or_nan(cell: Any, number_of_it: float) -> None:
    assert number(cell) == pytest.approx(number_of_it, nan_ok=True)
    assert values([{"a": cell}], ("a",))[0, 0] == pytest.approx(number_of_it, nan_ok=True)
    column = np.empty(2, dtype=object)
    column[0] = cell
    assert floats(column)[0] == pytest.approx(number_of_it, nan_ok=True)


@pytest.mark.parametrize("kind", range(3), ids=["pandas", "polars", "arrow"])
def test_text_in_a_column_of_numbers_is_nan(kind: int) -> None:
    assert values(frames({"a": ["1.5", "high", None]})[kind], ("a",))[:, 0] == pytest.approx(
        [1.5, math.nan, math.nan], nan_ok=True
    )


@pytest.mark.parametrize("kind", range(3), ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize(
    "column",
    [
        [datetime.datetime(2024, 1, 1), None],
        [[1, 2], [3, 4]],
        [{"x": 1}, {"x": 2}],
        [datetime.timedelta(1)] * 2,
    ],
)
def test_columns_that_are_no_numbers_are_nan(kind: int, column: list[Any]) -> None:
    assert np.isnan(values(frames({"a": column})[kind], ("a",))).all()


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "int64[pyarrow]", "double[pyarrow]", "category", object]
)
def test_gaps_of_pandas_are_nan(dtype: Any) -> None:
    frame = pd.DataFrame({"a": pd.Series([1, None, 3], dtype=dtype)})
    assert values(frame, ("a",))[:, 0] == pytest.approx([1.0, math.nan, 3.0], nan_ok=True)
    assert values({"a": frame["a"]}, ("a",))[:, 0] == pytest.approx(
        [1.0, math.nan, 3.0], nan_ok=True
    )


def test_booleans_with_gaps_are_read() -> None:
    for frame in (
        pd.DataFrame({"a": pd.array([True, None], "boolean")}),
        *frames({"a": [True, None]})[1:],
    ):
        assert values(frame, ("a",))[:, 0] == pytest.approx([1.0, math.nan], nan_ok=True)


def test_masked_cells_are_missing_whatever_the_rest_is() -> None:
    mask = [[False, True], [False, False]]
    assert values(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=mask)) == pytest.approx(
        np.array([[1.0, math.nan], [3.0, 4.0]]), nan_ok=True
    )
    assert values(np.ma.array([[1, 2], [3, 4]], mask=mask)) == pytest.approx(
        np.array([[1.0, math.nan], [3.0, 4.0]]), nan_ok=True
    )
    assert cells(np.ma.array(["x", "y"], mask=[False, True])) == ["x", None]
    assert cells({"a": np.ma.array([BIG, 1], mask=[False, True])}) == [BIG, None]


# -- labels ---------------------------------------------------------------------------------------


def test_dictionaries_and_categoricals_are_their_labels() -> None:
    words = pa.array(["x", None, "y"]).dictionary_encode()
    counts = pa.array([3, None, 5]).dictionary_encode()
    assert cells(pa.table({"a": words})) == cells({"a": words}) == ["x", None, "y"]
    assert cells(pa.table({"a": counts})) == cells({"a": counts}) == [3, None, 5]
    assert values(pa.table({"a": counts}), ("a",))[:, 0] == pytest.approx(
        [3.0, math.nan, 5.0], nan_ok=True
    )
    assert cells(pl.DataFrame({"a": pl.Series(["x", None], dtype=pl.Categorical)})) == ["x", None]
    assert cells(pd.DataFrame({"a": pd.Categorical(["x", "y", "x"])})) == ["x", "y", "x"]
    assert cells(pd.DataFrame({"a": pd.Categorical([1, 2, 1])})) == [1, 2, 1]


def test_decimals_are_numbers_and_keep_their_digits() -> None:
    column = [Decimal("1.50"), None, Decimal(BIG)]
    for frame in frames({"a": column})[1:]:
        assert values(frame, ("a",))[:, 0] == pytest.approx(
            [1.5, math.nan, float(BIG)], nan_ok=True
        )
        assert cells(frame) == column


@pytest.mark.parametrize(
    "data",
    [
        [{"a": BIG}, {"a": None}],
        [{"a": BIG}, {"a": 0.5}],
        {"a": [BIG, 0.5]},
        [BIG, 0.5],
        [[BIG], [math.nan]],
        pd.DataFrame({"a": pd.array([BIG, None], "Int64")}),
        pl.DataFrame({"a": [BIG, None]}),
        pa.table({"a": [BIG, None]}),
        {"a": pl.Series([BIG, None])},
        {"a": pa.array([BIG, None])},
    ],
    ids=kind_of,
)
def test_a_gap_or_a_fraction_in_one_row_leaves_long_ids_of_others_alone(data: Any) -> None:
    assert cells(data)[0] == BIG


@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
        min_size=2,
    )
)
def test_a_list_is_read_cell_by_cell(column: list[Any]) -> None:
    """Nothing is promoted: the type of one record says nothing about another's."""
    for data in (
        column,
        {"a": column},
        [{"a": cell} for cell in column],
        [[cell] for cell in column],
    ):
        assert [type(cell) for cell in cells(data)] == [type(cell) for cell in column]
    together = values(column, ("a",))[:, 0]
    alone = [values([{"a": cell}], ("a",))[0, 0] for cell in column]
    assert np.array_equal(together, np.array(alone), equal_nan=True)


# -- names and shapes can be wrong ----------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [COLUMNS, [{"a": 1.0, "b": 2.0}], {"a": 1.0, "b": 2.0}, *frames(COLUMNS)]
)
def test_a_missing_column_is_named_with_what_is_needed_and_there(data: Any) -> None:
    with pytest.raises(
        InputError, match=r"contexts has no column 'age': it needs a, age and has a, b\."
    ):
        read(data, ("a", "age"), "contexts")


def test_a_row_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(InputError, match="has no column 'b'"):
        read([{"a": 1.0, "b": 2.0}, {"a": 1.0}], NAMES, "contexts")


@pytest.mark.parametrize(
    "data",
    [
        np.empty((0, 2)),
        {"a": [], "b": []},
        *frames({"a": [], "b": []}),
        {"a": pl.Series([]), "b": np.array([])},
    ],
)
def test_an_empty_table_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="the table has no rows: pass at least one"):
        read(data, NAMES, "the table")


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        read([], ("a",), "the table")
    with pytest.raises(InputError, match=r"must have 2 column\(s\) \(a, b\)"):
        read([], NAMES, "the table")


@pytest.mark.parametrize(
    "data",
    [np.ones((3, 3)), np.ones(3), np.ones((1, 2, 2)), [[1.0, 2.0, 3.0]], [1.0], 5.0, np.float64(5)],
    ids=kind_of,
)
def test_a_wrong_shape_is_refused_with_the_shape_that_came(data: Any) -> None:
    shape = str(np.shape(data)).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(
        InputError, match=rf"the table must have 2 column\(s\) \(a, b\), got shape {shape}"
    ):
        read(data, NAMES, "the table")


@pytest.mark.parametrize(
    "data", [[[1.0, 2.0], [3.0]], [[1.0], [2.0, 3.0]], [[1.0, 2.0], 3.0], [[1.0, 2.0], [3.0], []]]
)
def test_rows_of_different_lengths_are_refused(data: Any) -> None:
    for names in (("a",), NAMES):
        with pytest.raises(
            InputError, match=rf"rows of the table must all have {len(names)} entries"
        ):
            read(data, names, "the table")


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1.0], "b": [1.0, 2.0]},
        {"a": 1.0, "b": [1.0, 2.0]},
        {"a": np.ones((2, 2)), "b": [1.0, 2.0]},
    ],
)
def test_columns_must_be_flat_and_of_one_length(data: Any) -> None:
    with pytest.raises(InputError, match="must be flat and of one length, got lengths"):
        read(data, NAMES, "the table")


@pytest.mark.parametrize(
    "frame", [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])]
)
def test_two_columns_of_one_name_are_refused(frame: Any) -> None:
    with pytest.raises(InputError, match="two columns of one name"):
        read(frame, ("a",), "the table")


@pytest.mark.parametrize(
    "data",
    [None, "table.csv", object(), {1, 2}, pl.LazyFrame({"a": [1]}), pd.Series([1.0])],
    ids=kind_of,
)
def test_what_is_no_table_is_refused_by_its_kind(data: Any) -> None:
    with pytest.raises(
        InputError, match=f"must be a dict, a NumPy array, or a pandas.*got {type(data).__name__}"
    ):
        read(data, ("a",), "the table")


# -- answers --------------------------------------------------------------------------------------

ANSWER = {"dose": np.array([0.5, 0.25, 0.125]), "item": np.array(["x", "y", "z"], dtype=object)}


def test_a_dict_is_answered_by_a_dict() -> None:
    first = {name: column[:1] for name, column in ANSWER.items()}
    answer = read({"a": 1.0, "b": 2.0}, NAMES, "the table").answer(first)
    assert answer == {"dose": 0.5, "item": "x"}
    assert type(answer["dose"]) is float


def test_an_extra_entry_that_is_a_list_leaves_a_record_a_record() -> None:
    first = {"dose": np.array([0.5])}
    assert read({"a": 1.0, "b": 2.0, "tags": ["p", "q"]}, NAMES, "the table").answer(first) == {
        "dose": 0.5
    }


def test_a_dict_of_columns_is_answered_by_a_dict_of_columns() -> None:
    answer = read(COLUMNS, NAMES, "the table").answer(ANSWER)
    assert {name: column.tolist() for name, column in answer.items()} == {
        "dose": [0.5, 0.25, 0.125],
        "item": ["x", "y", "z"],
    }


def test_a_list_of_dicts_is_answered_by_a_list_of_dicts() -> None:
    answer = read(TABLES["list of dicts"], NAMES, "the table").answer(ANSWER)
    assert answer[2] == {"dose": 0.125, "item": "z"}
    assert len(answer) == 3


@pytest.mark.parametrize("data", [np.array(ROWS), ROWS], ids=["array", "list"])
def test_an_array_is_answered_by_an_array(data: Any) -> None:
    table = read(data, NAMES, "the table")
    assert table.answer({"dose": ANSWER["dose"]}).tolist() == [[0.5], [0.25], [0.125]]
    assert table.answer({"item": ANSWER["item"]}).tolist() == ["x", "y", "z"]
    assert table.answer(ANSWER).tolist() == [[0.5, "x"], [0.25, "y"], [0.125, "z"]]
    one = read([1.0, 10.0], NAMES, "the table")
    assert one.answer({"dose": ANSWER["dose"][:1]}).tolist() == [0.5]
    assert one.answer({"item": ANSWER["item"][:1]}) == "x"


@pytest.mark.parametrize("kind", range(3), ids=["pandas", "polars", "arrow"])
def test_a_table_is_answered_by_a_table_of_the_same_library(kind: int) -> None:
    frame = frames(COLUMNS)[kind]
    answer = read(frame, NAMES, "the table").answer(ANSWER)
    assert type(answer) is type(frame)
    assert values(answer, ("dose",))[:, 0].tolist() == [0.5, 0.25, 0.125]
    assert read(answer, ("item",), "the answer").columns["item"].tolist() == ["x", "y", "z"]


def test_pandas_keeps_its_index() -> None:
    frame = pd.DataFrame(COLUMNS, index=pd.Index(["r", "s", "t"], name="patient"))
    answer = read(frame, NAMES, "the table").answer(ANSWER)
    assert answer.index.equals(frame.index)
    assert frame.join(answer)["dose"].tolist() == [0.5, 0.25, 0.125]


# -- one column of numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        [1.0, None, 3.0],
        (1, math.nan, 3),
        ["1", "?", "3"],
        [True, "?", 3],
        np.array([1.0, np.nan, 3.0]),
        np.array([[1.0], [np.nan], [3.0]]),
        [[1.0], [None], [3.0]],
        np.ma.array([1, 2, 3], mask=[False, True, False]),
        pd.Series([1, None, 3], dtype="Int64", index=[7, 7, 8]),
        pl.Series([1, None, 3]),
        pa.array([1, None, 3]),
        pa.chunked_array([[1, None], [3]]),
        pa.array([1, None, 3]).dictionary_encode(),
    ],
    ids=kind_of,
)
def test_a_vector_is_read_from_any_column(data: Any) -> None:
    assert vector(data, 3, "rewards") == pytest.approx([1.0, math.nan, 3.0], nan_ok=True)


@pytest.mark.parametrize("data", [0.5, np.float32(0.5), [0.5], np.array(0.5)])
def test_a_vector_of_one_may_be_a_number(data: Any) -> None:
    assert vector(data, 1, "rewards").tolist() == [0.5]


@pytest.mark.parametrize("data", [[1.0], np.ones(3), np.ones((2, 2)), [[1.0, 2.0]], [], 1.0])
def test_a_vector_of_the_wrong_length_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match=r"rewards must have one entry per row, 2, got shape"):
        vector(data, 2, "rewards")


def test_an_entry_of_a_vector_that_is_a_list_is_what_is_in_it_or_missing() -> None:
    """It used to be refused, which told that there was one."""
    column = vector([[1.0], [2.0, 3.0], [], (4.0,), {5.0}, np.array([6.0])], 6, "rewards")
    assert column == pytest.approx([1.0, math.nan, math.nan, 4.0, math.nan, 6.0], nan_ok=True)


@pytest.mark.parametrize(
    ("data", "value"), [(None, math.nan), ("0.5", 0.5), ("?", math.nan), (object(), math.nan)]
)
def test_one_reward_may_be_any_cell(data: Any, value: float) -> None:
    """It used to be refused, which told what kind it was."""
    assert vector(data, 1, "rewards") == pytest.approx([value], nan_ok=True)


@pytest.mark.parametrize(
    "data", [{"reward": [1.0]}, pd.DataFrame({"a": [1.0]}), pa.table({"a": [1.0]})], ids=kind_of
)
def test_a_vector_must_be_a_column(data: Any) -> None:
    with pytest.raises(
        InputError, match=f"rewards must be a column of numbers, got {type(data).__name__}"
    ):
        vector(data, 1, "rewards")


def test_numbers_are_read_in_any_nesting() -> None:
    assert numbers([[1, "2"], [None, Decimal(4)]]) == pytest.approx(
        np.array([[1.0, 2.0], [math.nan, 4.0]]), nan_ok=True
    )
    assert numbers(pd.DataFrame({"a": [1], "b": ["2"]})).tolist() == [[1.0, 2.0]]
    assert numbers(7).shape == ()


# -- one column of ids ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        [BIG, None, "u3"],
        np.array([BIG, None, "u3"], dtype=object),
        [[BIG], [None], ["u3"]],
        pd.Series([BIG, None, "u3"], dtype=object, index=[7, 7, 8]),
        pa.array([str(BIG), None, "u3"]).dictionary_encode(),
        pl.Series([str(BIG), None, "u3"]),
    ],
    ids=kind_of,
)
def test_ids_are_read_as_they_are(data: Any) -> None:
    first, second, third = labels(data, 3, "users")
    assert (str(first), second, third) == (str(BIG), None, "u3")


@pytest.mark.parametrize(
    "data", [pl.Series([BIG, None]), pa.array([BIG, None]), pd.Series([BIG, None], dtype="Int64")]
)
def test_long_ids_keep_their_digits_next_to_a_gap(data: Any) -> None:
    assert labels(data, 2, "users")[0] == BIG


def test_ids_must_be_a_column_of_the_right_length() -> None:
    with pytest.raises(InputError, match="users must have one id per row, 3, got 2"):
        labels(["a", "b"], 3, "users")
    with pytest.raises(InputError, match="users must be a column of ids, got dict"):
        labels({"user": ["a"]}, 1, "users")


def test_truth_values_that_became_text_because_of_another_cell_are_what_they_were() -> None:
    for column in (
        np.array([True, False, "x"]),
        np.array([True, False, b"x"]),
        ["true", "false", "x"],
    ):
        np.testing.assert_array_equal(vector(column, 3, "rewards"), [1.0, 0.0, math.nan])


def test_a_long_range_is_a_missing_cell_and_is_not_written_out() -> None:
    endless = range(10**15)
    assert read([[1.0, 2.0]], ("a", "b"), "it").rows == 1
    for table in ([endless, [1.0, 2.0]], {"a": [endless, 1.0], "b": [0.0, 2.0]}):
        columns = records(table, ("a", "b"), "it").columns
        assert floats(columns["a"]).tolist()[1] == 1.0
        assert math.isnan(floats(columns["a"])[0])
    assert math.isnan(vector([endless, 1.0], 2, "rewards")[0])
