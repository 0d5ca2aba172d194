"""Tables of any kind to columns and back: dicts, NumPy, pandas, polars, Arrow.

Only names and shapes can be wrong here. Values never raise: what is not a number becomes NaN, because an
error that depends on a private value would leak it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError

Columns = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


class Table:
    """Named columns of one length, and a memory of what they came from so that answers look like questions."""

    def __init__(self, columns: Columns, rows: int, source: Any) -> None:
        self.columns = columns
        self.rows = rows
        self._source = source

    def answer(self, columns: Columns) -> Any:
        """Columns of the same length in the shape of the question: a dict for a dict, pandas for pandas."""
        source = self._source
        if isinstance(source, Mapping) and _is_record(source):
            return {name: _item(column[0]) for name, column in columns.items()}
        if isinstance(source, Mapping):
            return columns
        if isinstance(source, list):
            return [{name: _item(column[i]) for name, column in columns.items()} for i in range(self.rows)]
        if isinstance(source, np.ndarray):
            values = list(columns.values())
            table = values[0] if len(values) == 1 and values[0].dtype.kind not in "fiu" else np.column_stack(values)
            return table[0] if source.ndim == 1 else table
        frame = nw.from_native(source, eager_only=True)
        return nw.from_dict({k: v.tolist() for k, v in columns.items()}, backend=frame.implementation).to_native()


def read(data: Any, names: Sequence[str], what: str) -> Table:
    """The columns `names` of whatever `data` is. Extra columns are ignored; missing ones are an error."""
    if isinstance(data, Mapping):
        return _from_mapping(data, names, what)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        for row in data:
            _require(row.keys(), names, what)
        return Table({name: _column([row[name] for row in data]) for name in names}, len(data), data)
    if isinstance(data, np.ndarray | list | tuple | int | float):
        return _from_array(data, names, what)
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise InputError(
            f"{what} must be a dict, a NumPy array, or a pandas, polars or Arrow table with columns "
            f"{', '.join(names)}; got {type(data).__name__}."
        ) from None
    _require(frame.columns, names, what)
    if not len(frame):
        raise InputError(f"{what} has no rows: pass at least one.")
    return Table({name: _series(frame[name]) for name in names}, len(frame), data)


def vector(data: Any, rows: int, what: str) -> Floats:
    """One column of numbers (rewards). The length must match; anything that is no number becomes NaN."""
    if not isinstance(data, np.ndarray | list | tuple | int | float):
        try:
            data = _series(nw.from_native(data, series_only=True))
        except TypeError:
            raise InputError(f"{what} must be a column of numbers, got {type(data).__name__}.") from None
    column = floats(_column(np.atleast_1d(_filled(data))))
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (rows,):
        raise InputError(f"{what} must have one entry per row, {rows}, got shape {column.shape}.")
    return column


def floats(column: NDArray[Any]) -> Floats:
    """A column as float64; what does not read as a number is NaN."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    return np.array([_float(value) for value in column.reshape(-1)], dtype=np.float64).reshape(column.shape)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _filled(data: Any) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), np.nan, floats(np.asarray(data.data)))
    return data


def _column(values: Any) -> NDArray[Any]:
    values = _filled(values)
    try:
        column = np.asarray(values)
    except (ValueError, OverflowError):
        column = np.empty(len(values), dtype=object)
        column[:] = list(values)
    return column


def _series(series: Any) -> NDArray[Any]:
    column = _column(series.to_numpy())
    return column if column.dtype.kind in "fiub" else _column(np.array(series.to_list(), dtype=object))


def _is_record(row: Mapping[str, Any]) -> bool:
    return all(np.ndim(value) == 0 for value in row.values())


def _from_mapping(data: Mapping[str, Any], names: Sequence[str], what: str) -> Table:
    _require(data.keys(), names, what)
    if _is_record(data):
        return Table({name: _column([data[name]]) for name in names}, 1, data)
    columns = {name: np.atleast_1d(_column(data[name])) for name in names}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or any(column.ndim != 1 for column in columns.values()):
        raise InputError(f"the columns of {what} must be flat and of one length, got lengths {sorted(lengths)}.")
    rows = lengths.pop()
    if not rows:
        raise InputError(f"{what} has no rows: pass at least one.")
    return Table(columns, rows, data)


def _from_array(data: Any, names: Sequence[str], what: str) -> Table:
    array = _column(data)
    flat = array.ndim == 1 and len(names) != 1
    if array.ndim == 0 or (array.ndim == 1 and len(names) == 1):
        array = array.reshape(-1, 1)
    elif array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InputError(f"{what} must have {len(names)} column(s) ({', '.join(names)}), got shape {np.shape(data)}.")
    if not len(array):
        raise InputError(f"{what} has no rows: pass at least one.")
    source = np.empty(len(names)) if flat else np.empty((1, 1))
    return Table({name: array[:, i] for i, name in enumerate(names)}, len(array), source)


def _require(columns: Any, names: Sequence[str], what: str) -> None:
    have = list(columns)
    if missing := [name for name in names if name not in have]:
        raise InputError(
            f"{what} has no column {missing[0]!r}: it needs {', '.join(names)} and has {', '.join(map(str, have))}."
        )


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
