"""Tables of any kind to columns and back: dicts, NumPy, pandas, polars, Arrow.

Only names and shapes can be wrong here. Values never raise: what is not a number becomes NaN, because an
error that depends on a private value would leak it. And each cell is read by itself: if an odd value in one
record changed how the others are read, one record could move the sum by more than its bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
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
        answer = nw.from_dict({k: v.tolist() for k, v in columns.items()}, backend=frame.implementation).to_native()
        if (index := nw.maybe_get_index(frame)) is not None:  # pandas aligns rows by their labels
            answer.index = index
        return answer


def read(data: Any, names: Sequence[str], what: str) -> Table:
    """The columns `names` of whatever `data` is. Extra columns are ignored; missing ones are an error."""
    if isinstance(data, Mapping):
        return _from_mapping(data, names, what)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        for row in data:
            _require(row.keys(), names, what)
        return Table({name: _cells([row[name] for row in data]) for name in names}, len(data), data)
    if _is_array(data):
        return _from_array(data, names, what)
    try:
        frame = nw.from_native(data, eager_only=True)
    except DuplicateError:
        raise InputError(f"{what} has two columns of one name: rename or drop one.") from None
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
    if not (_is_array(data) or _is_series(data)):
        raise InputError(f"{what} must be a column of numbers, got {type(data).__name__}.")
    cells = np.atleast_1d(_column(data))
    if _is_ragged(data, cells):
        raise InputError(f"{what} must be a flat column of numbers: some of its entries are lists.")
    column = floats(cells)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (rows,):
        raise InputError(f"{what} must have one entry per row, {rows}, got shape {column.shape}.")
    return column


def labels(data: Any, rows: int, what: str) -> list[Any]:
    """One column of ids, whatever they are. Only the length can be wrong."""
    if not (_is_array(data) or _is_series(data)):
        raise InputError(f"{what} must be a column of ids, got {type(data).__name__}.")
    column = np.atleast_1d(_column(data)).reshape(-1)
    if len(column) != rows:
        raise InputError(f"{what} must have one id per row, {rows}, got {len(column)}.")
    return column.tolist()


def numbers(values: Any) -> Floats:
    """Numbers in any nesting as float64; what does not read as a number is NaN."""
    return floats(_column(values))


def floats(column: NDArray[Any]) -> Floats:
    """A column as float64; what does not read as a number is NaN."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    return np.array([number(value) for value in column.reshape(-1)], dtype=np.float64).reshape(column.shape)


def number(value: Any) -> float:
    """One cell as a float, NaN if it is none. NumPy would warn about the odd ones, and so speak of private values."""
    odd = isinstance(value, np.complexfloating | np.ma.MaskedArray) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )
    try:
        return float("nan") if odd else float(value)
    except Exception:  # whatever a stranger's __float__ raises
        return float("nan")


def _column(values: Any) -> NDArray[Any]:
    """An array whose dtype says nothing that a cell did not say: lists are not promoted to text or to float."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.array(None), values.data)
    if nw.dependencies.is_into_series(values):
        return _series(nw.from_native(values, series_only=True))
    if _is_series(values):
        return _cells(values.to_pylist())
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        return np.array(values, dtype=object)
    except ValueError:
        return _cells(values)


def _cells(values: Sequence[Any]) -> NDArray[Any]:
    """A flat column of whatever the cells are, lists and arrays included."""
    return np.fromiter(values, dtype=object, count=len(values))


def _series(series: nw.Series[Any]) -> NDArray[Any]:
    # A gap turns integers into floats, which cannot hold every label; Arrow's dictionaries forget theirs.
    if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
        return series.to_numpy()
    return _cells(series.to_list())


def _is_array(data: Any) -> bool:
    return isinstance(data, np.ndarray | np.generic | list | tuple | int | float)


def _is_series(data: Any) -> bool:
    """A column of pandas, polars or Arrow."""
    return nw.dependencies.is_into_series(data) or (hasattr(data, "to_pylist") and not hasattr(data, "columns"))


def _is_ragged(data: Any, array: NDArray[Any]) -> bool:
    """Nested lists of different lengths, which make a flat array of lists."""
    return isinstance(data, list | tuple) and array.ndim == 1 and not all(map(_is_cell, array))


def _is_record(row: Mapping[str, Any]) -> bool:
    return all(_is_cell(value) for value in row.values())


def _is_cell(value: Any) -> bool:
    return isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0


def _from_mapping(data: Mapping[str, Any], names: Sequence[str], what: str) -> Table:
    _require(data.keys(), names, what)
    data = {name: data[name] for name in names}
    if _is_record(data):
        return Table({name: _cells([value]) for name, value in data.items()}, 1, data)
    columns = {name: np.atleast_1d(_column(value)) for name, value in data.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or any(column.ndim != 1 for column in columns.values()):
        raise InputError(f"the columns of {what} must be flat and of one length, got lengths {sorted(lengths)}.")
    rows = lengths.pop()
    if not rows:
        raise InputError(f"{what} has no rows: pass at least one.")
    return Table(columns, rows, data)


def _from_array(data: Any, names: Sequence[str], what: str) -> Table:
    array = _column(data)
    shape = array.shape
    flat = array.ndim == 1 and len(names) != 1
    if _is_ragged(data, array):
        raise InputError(f"the rows of {what} must all have {len(names)} entries ({', '.join(names)}).")
    if array.ndim == 0 or (array.ndim == 1 and len(names) == 1):
        array = array.reshape(-1, 1)
    elif array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InputError(f"{what} must have {len(names)} column(s) ({', '.join(names)}), got shape {shape}.")
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
