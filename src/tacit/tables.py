"""Tables of any kind to columns and back: dicts, NumPy, pandas, polars, Arrow.

There are two ways in. `records`, `vector` and `labels` read *private* data: what kind of container
came, its length, its dtypes and its outermost keys decide how it is read, and then each row and
each cell is read by itself. Nothing that stands in a cell raises, warns, or changes how another
cell is read: if it did, one record could move the sum by more than its bound. `reading.md` has the
argument. `read` is for public tables and for visitors, whose values are the caller's own: it reads
the same way, and first says what is wrong with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.errors import InputError
from tacit.quiet import quiet

Columns = dict[str, NDArray[Any]]
NAN = float("nan")
LISTS = (list, tuple, range)
# Truth values as NumPy, pandas, polars and Arrow write them.
TRUTHS = {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0}


class Table:
    """Named columns of one length. `like` is what they came from, so that an answer has the form of
    the question: the frame itself, or one of the words below."""

    def __init__(self, columns: Columns, rows: int, like: Any) -> None:
        self.columns = columns
        self.rows = rows
        self.like = like

    def answer(self, columns: Columns) -> Any:
        """Columns of the same length in the form of the question: a dict for a dict, pandas for
        pandas."""
        if self.like is RECORD:
            return {name: _item(column[0]) for name, column in columns.items()}
        if self.like is COLUMNS:
            return columns
        if self.like is DICTS:
            return [
                {name: _item(column[i]) for name, column in columns.items()}
                for i in range(self.rows)
            ]
        if self.like is ROW or self.like is ROWS:
            values = list(columns.values())
            if len(values) == 1 and values[0].dtype.kind not in "fiu":
                table = values[0]  # a column of labels
            else:
                table = np.column_stack(values)
            return table[0] if self.like is ROW else table
        frame = nw.from_native(self.like, eager_only=True)
        answer = nw.from_dict(
            {k: v.tolist() for k, v in columns.items()}, backend=frame.implementation
        ).to_native()
        if (index := nw.maybe_get_index(frame)) is not None:  # pandas aligns rows by their labels
            answer.index = index
        return answer


RECORD = "a dict of values"
COLUMNS = "a dict of columns"
DICTS = "a list of dicts"
ROW = "a list of values"
ROWS = "a list of lists, or an array"


# -- tables ---------------------------------------------------------------------------------------


def records(data: Any, names: Sequence[str], what: str, *, single: bool = False) -> Table:
    """The columns `names` of a private table, row by row. Only the outermost structure can be
    wrong.

    | container              | how it is read                                                    |
    |------------------------|-------------------------------------------------------------------|
    | list, array of objects | a list of rows: mappings by name, sequences by position, any      |
    |                        | other row is missing                                              |
    | mapping                | columns by name; one record if not all of its values are columns  |
    | array of another dtype | columns by position, or by the names of its fields                |
    | pandas, polars, Arrow  | columns by name                                                   |

    `single` says that exactly one record is expected: a mapping is then a record whatever its
    values are, and so is a list of as many values as there are names.
    """
    names = tuple(names)
    with quiet():
        if isinstance(data, Mapping):
            return _from_mapping(data, names, what, single)
        if isinstance(data, LISTS):
            return _from_list(data, names, what, single)
        if isinstance(data, np.ndarray):
            return _from_array(data, names, what, single)
        one_cell = single and len(names) == 1 and not _is_table(data)
        if one_cell or isinstance(data, int | float | np.generic):
            return _from_array(_cells([data]).reshape(()), names, what, single)
        return _from_frame(data, names, what)


def read(data: Any, names: Sequence[str], what: str) -> Table:
    """The columns `names` of a public table, or of a visitor's. Unlike in `records`, rows that lack
    a column or have too many are an error.

    A flat list of as many values as there are names is one record.
    """
    if isinstance(data, Mapping):
        _require_columns(data, names, what)
    if not (isinstance(data, LISTS) or (_is_objects(data) and data.ndim == 1)):
        return records(data, names, what)
    rows = list(data)
    if len(names) > 1 and not any(map(_is_row, rows)):
        if len(rows) != len(names):
            raise _wrong_shape(names, what, (len(rows),))
        return Table({name: _cells([cell]) for name, cell in zip(names, rows, strict=True)}, 1, ROW)
    _require_rows(rows, names, what)
    table = records(rows, names, what)
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in rows):
        table.like = DICTS
    return table


def _from_mapping(
    data: Mapping[str, Any], names: tuple[str, ...], what: str, single: bool
) -> Table:
    _require(data.keys(), names, what)
    if single or not all(is_column(data[name]) for name in names):
        return Table({name: _cells([_only(data[name])]) for name in names}, 1, RECORD)
    columns = {name: _column(data[name]) for name in names}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or any(column.ndim != 1 for column in columns.values()):
        raise InputError(
            f"the columns of {what} must be flat and of one length, got lengths {sorted(lengths)}."
        )
    return Table(columns, _some(lengths.pop(), what), COLUMNS)


def _from_list(data: Sequence[Any], names: tuple[str, ...], what: str, single: bool) -> Table:
    """Rows, or the values of one record where one is expected. A list whose entries are all rows
    themselves is not one record."""
    one = single and 1 < len(names) == len(data) and not all(map(_is_row, data))
    rows = [_entries(row, names) for row in ([list(data)] if one else data)]
    columns = {name: _cells([row[j] for row in rows]) for j, name in enumerate(names)}
    return Table(columns, _some(len(rows), what), ROW if one else ROWS)


def _from_array(data: NDArray[Any], names: tuple[str, ...], what: str, single: bool) -> Table:
    if data.dtype.names is not None:
        return _from_mapping(
            {name: np.atleast_1d(data[name]) for name in data.dtype.names}, names, what, False
        )
    array = _unmasked(data)
    if _is_objects(array) and array.ndim == 1:
        return _from_list(list(array), names, what, single)
    flat = array.ndim == 1 and len(names) != 1
    if array.ndim == 0 or (array.ndim == 1 and not flat):
        array = array.reshape(-1, 1)
    elif flat:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise _wrong_shape(names, what, data.shape)
    columns = {name: array[:, i] for i, name in enumerate(names)}
    return Table(columns, _some(len(array), what), ROW if flat else ROWS)


def _from_frame(data: Any, names: tuple[str, ...], what: str) -> Table:
    try:
        frame = nw.from_native(data, eager_only=True)
    except DuplicateError:
        raise InputError(f"{what} has two columns of one name: rename or drop one.") from None
    except TypeError:
        raise InputError(
            f"{what} must be a dict, a NumPy array, or a pandas, polars or Arrow table with "
            f"columns {', '.join(names)}; got {type(data).__name__}."
        ) from None
    _require(frame.columns, names, what)
    _some(len(frame), what)
    return Table({name: _series(frame[name]) for name in names}, len(frame), data)


def _entries(row: Any, names: tuple[str, ...]) -> list[Any]:
    """The cells of one row, read from that row alone. Something that is no such row is a row of
    missing cells."""
    missing = [None] * len(names)
    try:
        if isinstance(row, Mapping):
            return [_entry(row, name) for name in names]
        if isinstance(row, LISTS) or (isinstance(row, np.ndarray) and row.ndim == 1):
            if len(row) != len(names):  # first, because a range may be very long
                return missing
            cells = list(row)
            return cells if len(cells) == len(names) else missing
        return [row] if len(names) == 1 else missing
    except Exception:  # whatever somebody else's __class__, __len__ or __iter__ raises
        return missing


def _entry(row: Mapping[str, Any], name: str) -> Any:
    try:
        return row.get(name)
    except Exception:  # whatever somebody else's mapping raises
        return None


def _only(value: Any) -> Any:
    """The value of a single record, which may be given as a column of one cell. A column of any
    other length is a missing value."""
    if not is_column(value):
        return value
    try:
        column = _column(value)
        return column[0] if column.shape == (1,) else None
    except Exception:  # whatever somebody else's container raises
        return None


# -- columns --------------------------------------------------------------------------------------


def vector(data: Any, rows: int, what: str) -> Floats:
    """One column of numbers (rewards), or one number. The length must match; what is no number
    becomes NaN."""
    with quiet():
        column = floats(_flat(data, rows, what, "numbers"))
    if column.shape != (rows,):
        raise InputError(
            f"{what} must have one entry per row, {rows}, got shape {np.shape(column)}."
        )
    return column


def labels(data: Any, rows: int, what: str) -> list[Any]:
    """One column of ids, whatever they are, or one id. Only the length can be wrong."""
    if not is_column(data) and (rows != 1 or isinstance(data, set | frozenset)):
        raise InputError(
            f"{what} must be a column of ids, one id per row, {rows}, got {type(data).__name__}."
        )
    with quiet():
        column = _flat(data, rows, what, "ids").reshape(-1)
    if len(column) != rows:
        raise InputError(f"{what} must have one id per row, {rows}, got {len(column)}.")
    return column.tolist()


def is_column(data: Any) -> bool:
    """Whether this is a container of cells, by its type alone."""
    try:
        if isinstance(data, LISTS) or _is_series(data):
            return True
        return not isinstance(data, np.generic) and hasattr(data, "__array__") and data.ndim > 0
    except Exception:  # whatever somebody else's __class__ or __getattr__ raises
        return False


def _flat(data: Any, rows: int, what: str, of: str) -> NDArray[Any]:
    if is_column(data) and not _is_table(data):
        return _column(data)
    if _is_table(data):
        raise InputError(f"{what} must be a column of {of}, got {type(data).__name__}.")
    return _cells([data]) if rows == 1 else np.empty(())


def _column(values: Any) -> NDArray[Any]:
    """A column as an array. A list becomes an array of objects, so that no cell is promoted to text
    or float because of another.

    An entry of a list that is itself a list of one is that one.
    """
    if _is_series(values):
        return _series(values)
    if isinstance(values, LISTS):
        array = _cells(values)
    else:
        array = _unmasked(np.asanyarray(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if _is_objects(array) and array.ndim == 1:
        return _cells([_one(cell) for cell in array])
    return array


def _one(cell: Any) -> Any:
    """The entry of a cell that is a list of one; any other cell as it is."""
    try:
        if isinstance(cell, LISTS) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
            if len(cell) != 1:  # first, because a range may be very long
                return cell
            entries = list(cell)
            return entries[0] if len(entries) == 1 else cell
        return cell
    except Exception:  # whatever somebody else's __class__ or __iter__ raises
        return cell


def _unmasked(array: NDArray[Any]) -> NDArray[Any]:
    """A plain array, with None where it was masked."""
    if isinstance(array, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(array), np.array(None), np.ma.getdata(array))
    return np.asarray(array)


def _series(values: Any) -> NDArray[Any]:
    """A column of pandas, polars or Arrow as an array, by its dtype.

    Integers with a gap go through a list, since an array of floats cannot hold all of them. So a
    gap changes how integers are held, and not their values. If one cell makes the whole column
    fail, such as a text that is no UTF-8 or a time that Python cannot hold, cells are read one by
    one and that one is missing.
    """
    if nw.dependencies.is_into_series(values) or isinstance(values, nw.Series):
        series = nw.from_native(values, series_only=True)
        try:
            if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
                return np.asarray(series.to_numpy())
            return _cells(series.to_list())
        except Exception:  # whatever one cell makes a library raise
            return _cells([_at(series, i) for i in range(len(series))])
    try:
        return _cells(values.to_pylist())
    except Exception:
        return _cells([_at(values, i) for i in range(len(values))])


def _at(series: Any, i: int) -> Any:
    """One cell of a column; None if it cannot be read."""
    try:
        cell = series[i]
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except Exception:
        return None


def _cells(values: Sequence[Any]) -> NDArray[Any]:
    """A flat array of objects, whatever the cells are, lists and arrays included."""
    return np.fromiter(values, dtype=object, count=len(values))


# -- cells ----------------------------------------------------------------------------------------


def floats(column: NDArray[Any]) -> Floats:
    """A column as float64; what does not read as a number is NaN."""
    with quiet():
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        values = [number(value) for value in column.reshape(-1)]
        return np.array(values, dtype=np.float64).reshape(column.shape)


def number(value: Any) -> float:
    """One cell as a float, NaN if it is no number. Text is the number that it spells, a complex
    number without imaginary part its real part; lists, arrays and times are no numbers."""
    if type(value) is float:
        return value
    try:
        if type(value) is int:
            return float(value)
        if isinstance(value, np.ndarray | np.generic):
            if isinstance(value, np.ma.MaskedArray) or value.ndim or value.dtype.kind in "mM":
                return NAN
            if isinstance(value, np.ndarray):
                value = value.item()
        if isinstance(value, complex | np.complexfloating):
            return float(value.real) if value.imag == 0 else NAN
        return float(value)
    except Exception:  # whatever somebody else's __float__ raises
        return _truth(value)


def _truth(value: Any) -> float:
    """The number of a truth value that is written as text, as a table does if another cell of the
    column is text."""
    try:
        return TRUTHS.get(text(value) or "", NAN)
    except Exception:  # whatever somebody else's __class__ or __str__ raises
        return NAN


def text(value: Any) -> str | None:
    """One cell as text if it is text or bytes, else None."""
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    return str(value) if isinstance(value, str) else None


def alone(cell: Any) -> NDArray[Any]:
    """A column of this one cell: a number as float64, anything else as it is.

    The dtype of the whole column does not show, because another cell may have decided it: pandas
    and NumPy promote a column for a single cell.
    """
    numeric = issubclass(type(cell), bool | int | float | complex | np.number | np.bool_)
    return np.array([number(cell)]) if numeric else _cells([cell])


def numbers(values: Any) -> Floats:
    """Numbers of a public parameter, in any nesting, as float64; what does not read as a number is
    NaN."""
    if not isinstance(values, list | tuple):
        if is_column(values) and not _is_table(values):
            return floats(_column(values))
        return floats(np.asarray(values))
    try:
        return floats(np.array(values, dtype=object))
    except ValueError:  # rows of different lengths
        return floats(_cells(values))


# -- kinds and complaints, by public structure ----------------------------------------------------


def _is_series(data: Any) -> bool:
    """A column of pandas, polars or Arrow."""
    if nw.dependencies.is_into_series(data) or isinstance(data, nw.Series):
        return True
    return hasattr(data, "to_pylist") and not hasattr(data, "columns")


def _is_table(data: Any) -> bool:
    try:
        return isinstance(data, Mapping) or nw.dependencies.is_into_dataframe(data)
    except Exception:
        return False


def _is_objects(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.dtype == object


def _is_row(value: Any) -> bool:
    try:
        if isinstance(value, np.ndarray):
            return value.ndim > 0
        return isinstance(value, Mapping | list | tuple | range)
    except Exception:
        return False


def _some(rows: int, what: str) -> int:
    """The number of rows, which must not be 0."""
    if not rows:
        raise InputError(f"{what} has no rows: pass at least one.")
    return rows


def _wrong_shape(names: Sequence[str], what: str, shape: tuple[int, ...]) -> InputError:
    return InputError(
        f"{what} must have {len(names)} column(s) ({', '.join(names)}), got shape {shape}."
    )


def _require(columns: Any, names: Sequence[str], what: str) -> None:
    have = list(columns)
    if missing := [name for name in names if name not in have]:
        raise InputError(
            f"{what} has no column {missing[0]!r}: it needs {', '.join(names)} and has "
            f"{', '.join(map(str, have))}."
        )


def _require_columns(data: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Fails unless a public mapping holds columns of one length, or the values of one record."""
    _require(data.keys(), names, what)
    lengths = {len(data[name]) if is_column(data[name]) else 1 for name in names}
    if len(lengths) > 1:
        raise InputError(
            f"the columns of {what} must be flat and of one length, got lengths {sorted(lengths)}."
        )


def _require_rows(rows: Sequence[Any], names: Sequence[str], what: str) -> None:
    """Fails unless each row of a public list has every column, and no others if it goes by
    position."""
    lengths = set()
    for row in rows:
        if isinstance(row, Mapping):
            _require(row.keys(), names, what)
        else:
            lengths.add(len(row) if _is_row(row) else None)
    fitting = {len(names), None} if len(names) == 1 else {len(names)}
    if lengths <= fitting:
        return
    if len(lengths) == 1 and None not in lengths:
        raise _wrong_shape(names, what, (len(rows), *lengths))  # type: ignore[arg-type]
    raise InputError(f"the rows of {what} must all have {len(names)} entries ({', '.join(names)}).")


def _item(value: Any) -> Any:
    """A scalar of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value
