"""Tables in memory: their columns under the problem's own names. No cell is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.quiet import quiet
from tacit.tables import is_column


def read_columns(data: Any, columns: LogColumns) -> dict[str, Any]:
    """The columns of a table under the problem's own names, as they are: no cell is read."""
    if isinstance(data, Mapping):
        _require_names(list(data), columns)
        return {name: data[column] for name, column in columns.called.items()}
    try:
        with quiet():
            frame = nw.from_native(data, eager_only=True)
    except DuplicateError:
        raise InputError("the data has two columns of one name: rename or drop one.") from None
    except TypeError:
        raise InputError(
            "data must be a pandas, polars or Arrow table, a dict of columns, a path or a list of "
            f"paths, got {type(data).__name__}."
        ) from None
    _require_names(frame.columns, columns)
    return {name: frame.get_column(column).to_native() for name, column in columns.called.items()}


def _require_names(have: Sequence[Any], columns: LogColumns) -> None:
    for name, column in columns.called.items():
        if column not in have:
            raise InputError(
                f"the data has no column {column!r}: it has {', '.join(map(str, have))}; say which "
                f"one it is by RunOptions(columns={{{name!r}: ...}})."
            )


def rows_in(table: Mapping[str, Any]) -> int:
    """How many rows there are: the same number in every column, and not none."""
    for name, column in table.items():
        if not is_column(column):
            raise InputError(
                f"column {name!r} of the data must be an array or a list with one entry for every "
                f"round, got {type(column).__name__}."
            )
    lengths = sorted({len(column) for column in table.values()})
    if len(lengths) > 1:
        raise InputError(f"the columns of the data must have one length, got lengths {lengths}.")
    if not lengths[0]:
        raise InputError("the data has no rows: there is nothing to learn from.")
    return lengths[0]
