"""Cells and rows of a table that nobody expects, and the kinds of tables that hold them."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

Cells = list[Any]


class Rude:
    """A cell that raises whatever is done with it."""

    def _no(self, *_: object) -> Any:
        raise RuntimeError("no")

    __float__ = __int__ = __index__ = __complex__ = __bool__ = _no
    __len__ = __iter__ = __getitem__ = __hash__ = __eq__ = _no
    __str__ = __repr__ = __format__ = _no


class RudeRow(dict[str, Any]):
    """A row that has no cell, though it says that it has."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    get = __getitem__  # type: ignore[assignment]
    pop = __getitem__  # type: ignore[assignment]


CELLS: tuple[Any, ...] = (
    None,
    math.nan,
    math.inf,
    -1e308,
    5e-324,
    10**400,
    -(10**5000),
    2**64,
    True,
    "",
    "text",
    "nan",
    "1e999",
    "\ud800",
    b"\xff",
    b"7",
    1 + 2j,
    complex("nan"),
    np.complex64(1j),
    np.longdouble("1e4000"),
    np.datetime64("NaT", "ns"),
    np.float16("inf"),
    np.str_("7"),
    np.ma.masked,
    np.array(1j),
    np.array([1.0, 2.0]),
    decimal.Decimal("sNaN"),
    datetime.date(2024, 1, 1),
    [],
    [1.0],
    [1.0, 2.0],
    (),
    (3,),
    {},
    {"age": 1},
    set(),
    frozenset({1}),
    range(3),
    object(),
    int,
    Rude(),
)
ROWS: tuple[Any, ...] = (
    None,
    math.nan,
    7,
    7.5,
    True,
    "text",
    b"bytes",
    1 + 2j,
    np.float64(3.0),
    np.array([1.0] * 9),
    np.ma.masked,
    [],
    [1.0],
    [1.0] * 9,
    (),
    ("a", "b"),
    {},
    {"wrong": 1.0},
    {"age": 1.0},
    {7: 1.0},
    {"age": [1.0, 2.0]},
    set(),
    {1.0},
    [[1.0]],
    [None],
    object(),
    RudeRow(age=1.0),
    Rude(),
)


@dataclass(frozen=True)
class Row:
    """Stands for a whole row of a table, where the table is a list of rows."""

    value: Any


# -- tables ---------------------------------------------------------------------------------------


Table = Callable[[Sequence[str], Cells], Any]  # (names of columns, rows) -> a table of some kind


def list_of_dicts(names: Sequence[str], rows: Cells) -> Any:
    table = []
    for row in rows:
        if isinstance(row, Row):
            table.append(row.value)
        else:
            table.append(dict(zip(names, row, strict=True)))
    return table


def list_of_lists(names: Sequence[str], rows: Cells) -> Any:
    return [row.value if isinstance(row, Row) else list(row) for row in rows]


def tuple_of_tuples(names: Sequence[str], rows: Cells) -> Any:
    return tuple(row.value if isinstance(row, Row) else tuple(row) for row in rows)


def dict_of_lists(names: Sequence[str], rows: Cells) -> Any:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def dict_of_arrays(names: Sequence[str], rows: Cells) -> Any:
    return {name: _objects([row[i] for row in rows]) for i, name in enumerate(names)}


def array_of_objects(names: Sequence[str], rows: Cells) -> Any:
    table = np.empty((len(rows), len(names)), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            table[i, j] = cell
    return table


def pandas_frame(names: Sequence[str], rows: Cells) -> Any:
    import pandas as pd

    return pd.DataFrame(dict_of_lists(names, rows))


def flat_list(names: Sequence[str], rows: Cells) -> Any:
    return [row.value if isinstance(row, Row) else row[0] for row in rows]


def flat_array(names: Sequence[str], rows: Cells) -> Any:
    return _objects(flat_list(names, rows))


def pandas_series(names: Sequence[str], rows: Cells) -> Any:
    import pandas as pd

    return pd.Series(flat_list(names, rows))


# Tables in which a whole row can be odd, those in which only cells can, tables of one column (which
# need no rows), and columns that are arguments of their own.
OF_ROWS: tuple[Table, ...] = (list_of_dicts, list_of_lists, tuple_of_tuples)
OF_CELLS: tuple[Table, ...] = (dict_of_lists, dict_of_arrays, array_of_objects)
FLAT: tuple[Table, ...] = (flat_list, flat_array)
VECTORS: tuple[Table, ...] = FLAT
if find_spec("pandas") is not None:
    OF_CELLS = (*OF_CELLS, pandas_frame)
    VECTORS = (*VECTORS, pandas_series)


def _objects(cells: Cells) -> Any:
    """A flat array of whatever the cells are."""
    column = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        column[i] = cell
    return column
