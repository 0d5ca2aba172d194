"""Values that nobody expects in a record, and containers of every kind to hold them."""

from __future__ import annotations

import math
import warnings
from collections import UserDict, defaultdict
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

# -- values ---------------------------------------------------------------------------------------


class Rude:
    """Raises whatever is done with it."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    __str__ = __repr__ = __hash__ = __eq__ = __float__  # type: ignore[assignment]
    __len__ = __iter__ = __bool__ = __float__


class Faceless:
    """Does not even say what it is."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("no")

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")


class Loud:
    """A number that warns."""

    def __float__(self) -> float:
        warnings.warn("somebody is here", UserWarning, stacklevel=2)
        return 0.5

    def __str__(self) -> str:
        warnings.warn("somebody is here", DeprecationWarning, stacklevel=2)
        return "a"


class Shut(UserDict[str, Any]):
    """A mapping that holds everything and gives nothing."""

    def get(self, key: Any, default: Any = None) -> Any:
        raise RuntimeError("no")

    __getitem__ = __len__ = __iter__ = keys = get  # type: ignore[assignment]


class Long(list[Any]):
    """A list that does not say how long it is."""

    def __len__(self) -> int:
        raise RuntimeError("no")


# fmt: off
NUMBERS: list[Any] = [
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 0.5, 1.0, 60.0, -60.0, 1e16,
    2**53 + 1, 2**63, -(2**63), True, False, None,
]
TEXTS: list[Any] = [
    "", " ", "0.25", "60", "text", "nan", "inf", "1e999", "0x10", "a\x00b", "٣", "a", "True",
    "1_0", "0" * 999,
]
CELLS: list[Any] = [
    *NUMBERS,
    *TEXTS,
    # half a character, and integers that are no float64
    "\ud800", 10**400, -(10**400),
    # missing values, bytes, complex numbers
    pd.NA, pd.NaT, b"0.25", b"\xff", bytearray(b"1"),
    1 + 2j, 0j, 60 + 0j, complex(math.nan, 0), np.complex64(1j), np.complex128(1e308),
    # scalars of NumPy
    np.float16(6e4), np.float32(3e38), np.longdouble("1e4000"), np.int8(-128), np.uint64(2**64 - 1),
    np.bool_(True), np.str_("60"), np.bytes_(b"60"), np.datetime64("NaT", "ns"),
    np.datetime64("2024-01-01", "ns"), np.timedelta64(3, "D"), np.ma.masked,
    np.ma.array(60.0, mask=True), np.array(60.0), np.array(1j), np.array(None, dtype=object),
    # numbers and dates of the standard library
    Decimal("0.25"), Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3), Fraction(10**400, 3),
    date(2024, 1, 1), datetime(1, 1, 1), timedelta(days=1),
    # collections where one value is expected
    [], [0.5], [[0.5]], [1.0, 2.0], (), (0.5,), (1.0, 2.0, 3.0), set(), {0.5}, frozenset({1}),
    {}, {"a": 1}, {"": 0.5}, range(1), range(3),
    np.array([0.5]), np.array([1.0, 2.0]), np.ones((2, 2)), np.empty(0),
    pd.Series([1.0]), pd.DataFrame({"a": [1.0]}), pl.Series([1.0]), pa.array([1.0]), pa.scalar(1.0),
    # anything else
    slice(1), object(), Rude(), Faceless(), Loud(), Shut(), Long([1.0]), int, Ellipsis,
    NotImplemented, math.sin, iter([]), memoryview(b"1"),
]
ROWS: list[Any] = [
    *CELLS,
    {"wrong": 1.0}, {"dose": 1.0}, {"age": 1.0}, {"age": [1.0, 2.0], "dose": {}}, {1: 2, None: 3},
    [None], [1.0] * 7, (math.nan,) * 5, [[1.0, 2.0]], [{}, {}],
    np.arange(6), np.array([None, "x"]), defaultdict(list),
    np.array([(1.0, 2)], dtype=[("age", float), ("dose", int)])[0],
]
# fmt: on


# -- containers -----------------------------------------------------------------------------------

Cells = Sequence[Sequence[Any]]  # one row of cells per record
Container = Callable[[Cells, Sequence[str]], Any]


def objects(cells: Sequence[Any]) -> np.ndarray:
    return np.fromiter(cells, dtype=object, count=len(cells))


def _grid(rows: Cells, names: Sequence[str]) -> np.ndarray:
    return np.column_stack([objects([row[j] for row in rows]) for j in range(len(names))])


def _columns(rows: Cells, names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def _dicts(rows: Cells, names: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def _dict_of_tuples(rows: Cells, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(cells) for name, cells in _columns(rows, names).items()}


def _dict_of_arrays(rows: Cells, names: Sequence[str]) -> dict[str, np.ndarray]:
    return {name: objects(cells) for name, cells in _columns(rows, names).items()}


def _structured(rows: Cells, names: Sequence[str]) -> np.ndarray:
    table = np.empty(len(rows), dtype=[(name, object) for name in names])
    for name, column in _dict_of_arrays(rows, names).items():
        table[name] = column
    return table


def _frame(rows: Cells, names: Sequence[str]) -> pd.DataFrame:
    columns = _dict_of_arrays(rows, names).items()
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns})


def _polars(rows: Cells, names: Sequence[str]) -> pl.DataFrame:
    columns = _columns(rows, names).items()
    return pl.DataFrame({name: pl.Series(name, cells, dtype=pl.Object) for name, cells in columns})


# These can hold a row of any kind.
LISTS_OF_ROWS: dict[str, Container] = {
    "list of dicts": _dicts,
    "tuple of dicts": lambda rows, names: tuple(_dicts(rows, names)),
    "array of dicts": lambda rows, names: objects(_dicts(rows, names)),
    "list of lists": lambda rows, names: [list(row) for row in rows],
    "list of tuples": lambda rows, names: [tuple(row) for row in rows],
    "list of arrays": lambda rows, names: [objects(row) for row in rows],
}
# These can hold a cell of any kind.
CONTAINERS: dict[str, Container] = LISTS_OF_ROWS | {
    "dict of lists": _columns,
    "dict of tuples": _dict_of_tuples,
    "dict of arrays": _dict_of_arrays,
    "dict of pandas": lambda rows, names: dict(_frame(rows, names).items()),
    "objects": _grid,
    "masked objects": lambda rows, names: np.ma.array(_grid(rows, names), mask=False),
    "structured": _structured,
    "pandas": _frame,
    "polars": _polars,
}


def column(kind: int, cells: Sequence[Any]) -> Any:
    """One column of any cells, in one of five kinds."""
    array = objects(cells)
    kinds = [
        list(cells),
        tuple(cells),
        array,
        np.ma.array(array, mask=False),
        pd.Series(array, dtype=object),
    ]
    return kinds[kind % len(kinds)]
