"""The columns of a table by its schema: names and kinds of values. No row is ever looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.tables import LISTS

NUMBER = "numbers"
TRUTH = "truth values"
TEXT = "text"
BINARY = "bytes"
TIME = "times"
LABEL = "labels"
NESTED = "lists"
UNKNOWN = "anything"

# How the names of dtypes begin in NumPy, pandas, polars, Arrow and Python. The first that fits
# counts: a struct is no string, and an interval no integer.
PREFIXES = {
    LABEL: ("categor", "enum", "dictionary"),
    NESTED: (
        "list",
        "large_list",
        "fixed_size_list",
        "array",
        "struct",
        "map",
        "dict",
        "tuple",
        "set",
        "interval",
    ),
    NUMBER: ("int", "uint", "float", "double", "half", "decimal"),
    TRUTH: ("bool",),
    TEXT: ("str", "utf8", "large_str", "large_utf8"),
    BINARY: ("bytes", "binary", "large_binary", "fixed_size_binary"),
    TIME: ("date", "time", "duration", "period", "month_day_nano"),
}
# By the letter of NumPy's `dtype.kind`.
NUMPY_KINDS = (
    dict.fromkeys("fiu", NUMBER)
    | dict.fromkeys("b", TRUTH)
    | dict.fromkeys("UT", TEXT)
    | dict.fromkeys("S", BINARY)
    | dict.fromkeys("Mm", TIME)
    | dict.fromkeys("V", NESTED)
)


def kinds_of(table: Any) -> dict[str, str]:
    """The kind of values of each column, by its dtype: of a frame, of a schema, or of a mapping of
    dtypes or columns.

    Columns whose dtype says nothing, such as pandas' "object", may hold anything: what they do hold
    would have to be read from rows.
    """
    found: dict[str, str] = {}
    for name, dtype in _dtypes(table):
        if name in found:
            raise InputError(f"the table has two columns named {name!r}: rename or drop one.")
        found[name] = kind_of(dtype)
    return found


def kind_of(dtype: Any) -> str:
    """The kind of values that a column of this dtype holds. A dictionary of numbers holds numbers;
    any other, and pandas' and polars' categories, hold labels."""
    if isinstance(dtype, np.dtype):
        return NUMPY_KINDS.get(dtype.kind, UNKNOWN)
    inner = _inner(dtype)
    if inner is not None and kind_of(inner) in (NUMBER, TRUTH):
        return NUMBER
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype)
    for kind, prefixes in PREFIXES.items():
        if name.lower().startswith(prefixes):
            return kind
    return UNKNOWN


def kind_of_column(column: Any) -> str:
    """The kind of values of one column of records, which is a container of cells. A list may hold
    anything."""
    if isinstance(column, LISTS):
        return UNKNOWN
    return kind_of(getattr(column, "dtype", getattr(column, "type", None)))


def _inner(dtype: Any) -> Any:
    """The dtype of what a dictionary, or a column of categories, refers to; None of any other."""
    categories: Any = getattr(dtype, "categories", None)  # pandas
    if hasattr(categories, "dtype"):
        return categories.dtype
    arrow = getattr(dtype, "pyarrow_dtype", dtype)
    if str(arrow).startswith("dictionary"):
        return getattr(arrow, "value_type", None)
    return None


def _dtypes(table: Any) -> list[tuple[str, Any]]:
    """Names and dtypes of the columns, in the table's order."""
    dtype = getattr(table, "dtype", table)
    if isinstance(dtype, np.dtype) and dtype.names is not None:  # a structured array, or its dtype
        return [(name, dtype[name]) for name in dtype.names]
    if hasattr(table, "collect_schema"):  # polars and narwhals; of a lazy frame too
        table = table.collect_schema()
    if isinstance(table, Mapping):
        return [(str(name), _dtype_of(value)) for name, value in table.items()]
    schema = getattr(table, "schema", table)  # Arrow
    if hasattr(schema, "names") and hasattr(schema, "types"):
        return list(zip(map(str, schema.names), schema.types, strict=True))
    if hasattr(table, "columns") and hasattr(table, "dtypes"):  # pandas
        return list(zip(map(str, table.columns), table.dtypes, strict=True))
    raise InputError(
        "a table must be a frame, a schema, or a mapping of names to dtypes or columns, got "
        f"{type(table).__name__}."
    )


def _dtype_of(value: Any) -> Any:
    """The dtype of an entry of a mapping, which is a dtype itself or a column that has one. A list
    has none."""
    if isinstance(value, type | str | np.dtype):
        return value
    if isinstance(value, LISTS):
        return UNKNOWN
    return getattr(value, "dtype", getattr(value, "type", value))
