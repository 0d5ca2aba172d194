"""Whether two tables are the same memory: a public sample must not be the records of the study.

Decided by where cells are kept, never by what they hold: a comparison of values would itself tell
something about the records. So a copy is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tacit.arrow import has_arrow

ARRAYS_INSIDE = ("_pa_array", "_data", "_ndarray", "_codes")  # of pandas' own kinds of columns
ROWS = (list, dict, np.ndarray)  # what a row of a list may be, by its type
# Steps in which NumPy may find out whether two arrays overlap. If that is not enough, they count as
# overlapping.
HARDEST = 10_000
# Bits per cell of what says where each text begins, by Arrow's type.
OFFSET_BITS = {
    "string": 32,
    "binary": 32,
    "large_string": 64,
    "large_binary": 64,
    "string_view": 128,
    "binary_view": 128,
}


@dataclass(frozen=True, eq=False)
class Memory:
    """Where a table is kept: objects of Python's (tables, columns, rows), and arrays of cells."""

    objects: Mapping[int, Any]  # by their address; they are kept alive, so that it stays theirs
    arrays: Sequence[NDArray[Any]]

    @classmethod
    def of(cls, table: Any, names: Sequence[str]) -> Memory:
        """The memory of these columns. Single cells do not count: Python keeps equal ones in one
        place."""
        objects = {}
        arrays = []
        for thing in _walk(table, names):
            if not isinstance(thing, np.ndarray):
                objects[id(thing)] = thing
            elif thing.size:
                arrays.append(thing)
        return cls(objects, arrays)

    def overlaps(self, other: Memory) -> bool:
        if not self.objects.keys().isdisjoint(other.objects):
            return True
        return any(
            np.may_share_memory(mine, theirs) and _shared(mine, theirs)
            for mine in self.arrays
            for theirs in other.arrays
        )


def _shared(one: NDArray[Any], other: NDArray[Any]) -> bool:
    try:
        return np.shares_memory(one, other, max_work=HARDEST)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _walk(table: Any, names: Sequence[str]) -> Iterator[Any]:
    """The table, its columns and its rows, as far as they are containers."""
    if isinstance(table, np.ndarray):
        yield table
    elif isinstance(table, Mapping):
        yield table
        for name in names:
            yield from _column(table.get(name))
    elif isinstance(table, list | tuple):
        # Not a tuple itself: Python may keep equal ones in one place.
        if isinstance(table, list):
            yield table
        # By the type of a row: an object of somebody else's class may raise when it is asked.
        yield from (row for row in table if issubclass(type(row), ROWS))
    elif nw.dependencies.is_into_dataframe(table):
        yield table
        frame = nw.from_native(table, eager_only=True)
        for name in set(names) & set(frame.columns):
            yield from _column(frame[name].to_native())
    else:
        yield from _column(table)


def _column(column: Any) -> Iterator[Any]:
    """The memory of one column; none if it is a cell, as in a single record, or raises."""
    try:
        places = list(_places(column))
    except Exception:  # whatever an object of somebody else's class raises
        return
    yield from places


def _places(column: Any) -> Iterator[Any]:
    if isinstance(column, list | np.ndarray):
        yield column
    elif hasattr(column, "get_chunks"):  # polars
        for chunk in column.get_chunks():
            yield from _chunk(chunk)
    elif hasattr(column, "buffers") or hasattr(column, "chunks"):  # Arrow
        for chunk in getattr(column, "chunks", [column]):
            yield from _cells(chunk)
    elif hasattr(column, "array"):  # pandas
        for name in ARRAYS_INSIDE:
            yield from _column(getattr(column.array, name, None))


def _chunk(chunk: Any) -> Iterator[NDArray[Any]]:
    """The memory of a chunk of polars; without pyarrow, of numbers only."""
    if has_arrow():
        yield from _cells(chunk.to_arrow(compat_level=_newest()))
    else:
        yield chunk.to_numpy(allow_copy=False)


def _newest() -> Any:
    """Polars hands over text without copying it only in its newest form."""
    import polars

    return polars.CompatLevel.newest()


def _cells(array: Any) -> Iterator[NDArray[np.uint8]]:
    """The bytes of an Arrow array's cells; of text, those that say where each cell begins."""
    array = getattr(array, "storage", array)  # of an extension array
    array = getattr(array, "indices", array)  # of a dictionary array
    bits = _width(array.type)
    if bits is not None and (cells := array.buffers()[1]) is not None:
        start = array.offset * bits
        stop = (array.offset + len(array)) * bits
        yield np.frombuffer(cells, dtype=np.uint8)[-(-start // 8) : stop // 8]


def _width(kind: Any) -> int | None:
    """Bits per cell in an array's second buffer; None where it holds no cells, as for lists."""
    try:
        return OFFSET_BITS.get(str(kind)) or int(kind.bit_width)
    except ValueError:
        return None
