"""Which column of a log is which, and what its cells may be.

Names and types are public, so they may be wrong out loud. Cells are private: whatever they hold,
reading them raises nothing, and each is read by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tacit.arrow import kinds, pa
from tacit.errors import InputError
from tacit.logs.plain_csv import TextPiece

CELLS = 2**21  # per piece: 16 MiB of numbers
MOST_ROWS = 2**16
LEAST_ROWS = 2**10


@dataclass(frozen=True)
class LogColumns:
    """The problem's columns, and what the files call them."""

    names: tuple[str, ...]
    reward: str
    user: str | None
    called: Mapping[str, str]
    propensity: str | None = None

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        reward: str,
        user: str | None,
        called: Mapping[str, str],
        propensity: str | None = None,
    ) -> LogColumns:
        if reward in names or reward == user:
            raise InputError(
                f"the column of rewards, {reward!r}, is also one of the actions, the contexts or "
                "the users: name another, or map it by --column, in Python RunOptions(columns=...)."
            )
        if propensity is not None and propensity in (*names, reward, user):
            raise InputError(
                f"the column of propensities, {propensity!r}, is also one of the actions, the "
                "contexts, the rewards or the users: name another."
            )
        every = (*names, reward)
        if user is not None:
            every += (user,)
        if propensity is not None:
            every += (propensity,)
        if unknown := [name for name in called if name not in every]:
            raise InputError(
                f"the problem has no column {unknown[0]!r} to look for: it has {', '.join(every)}."
            )
        found = {name: called.get(name, name) for name in every}
        return cls(names, reward, user, found, propensity)

    @property
    def in_file(self) -> list[str]:
        """What has to be read, each column once."""
        return list(dict.fromkeys(self.called.values()))

    @property
    def piece(self) -> int:
        """How many rows are read at a time: a power of two that fits into little memory."""
        fits = max(CELLS // len(self.called), LEAST_ROWS)
        return min(MOST_ROWS, 1 << (fits.bit_length() - 1))

    def check(self, path: str, schema: pa.Schema) -> None:
        """Fails unless the file has every column once, of a type that can be meant."""
        self.check_names(path, schema.names)
        for column in self.in_file:
            kind = schema.field(column).type
            ids = self.user is not None and column == self.called[self.user]
            if not _readable(kind, ids):
                raise InputError(
                    f"column {column!r} of {path} holds {kind}, where numbers or text are "
                    "expected: convert it first, a time to a number of days for example."
                )

    def check_names(self, path: str, names: Sequence[str], named: bool = True) -> None:
        """Fails unless the file has every column once.

        With `named=False` the names may be a first row of data that lacks a header, and are not
        quoted.
        """
        for column in self.in_file:
            found = names.count(column)
            if not found:
                have = " in its first line"
                if named:
                    have = f": it has {', '.join(names)}"
                raise InputError(
                    f"{path} has no column {column!r}{have}; say which one it is by --column "
                    "NAME=COLUMN, in Python by RunOptions(columns={name: column})."
                )
            if found > 1:
                raise InputError(
                    f"{path} has {found} columns {column!r}: rename or drop all but one."
                )

    def table(self, read: pa.Table) -> pa.Table:
        """A piece under the problem's own names, its cells as plain numbers or text."""
        plain = {column: _plain(read[column]) for column in self.in_file}
        return pa.table({name: plain[column] for name, column in self.called.items()})

    def cells(self, piece: pa.Table | TextPiece) -> dict[str, Any]:
        """The columns of a piece, numbers as they are and text in lists, whose type says nothing:
        the text of a CSV may spell numbers. Whether the file's own types fit is checked once."""
        if isinstance(piece, TextPiece):
            return {name: piece.columns[column] for name, column in self.called.items()}
        columns = {}
        for name in piece.column_names:
            column = piece[name]
            columns[name] = column if _is_number(column.type) else column.to_pylist()
        return columns


def _readable(kind: pa.DataType, ids: bool) -> bool:
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    return _is_number(kind) or kind in _bytes_of() or (ids and _is_bytes(kind))


def _is_number(kind: pa.DataType) -> bool:
    """What Python can read as a number, or nothing at all."""
    tests = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean, kinds.is_null)
    return any(test(kind) for test in tests)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_fixed_size_binary(kind)
    )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = [_chunk(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks) if chunks else column


def _chunk(array: pa.Array) -> pa.Array:
    """Numbers as they are, dictionaries looked up, bytes as text: none of it depends on another
    cell.

    Everything is checked before it is followed: what a damaged file points at may lie anywhere in
    memory.
    """
    if isinstance(array, pa.DictionaryArray):
        # Built again, which checks that every index is in range.
        values = _checked(array.dictionary)
        array = pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    array = _checked(array)
    if _is_number(array.type) or kinds.is_fixed_size_binary(array.type):
        return array
    return _text(array)


def _checked(array: pa.Array) -> pa.Array:
    """Sound, with text as bytes: they need not be UTF-8."""
    for text, as_bytes in _bytes_of().items():
        if array.type == text:
            array = array.view(as_bytes)
    array.validate(full=True)
    return array


def _text(array: pa.Array) -> pa.Array:
    array = array.cast(pa.large_binary())
    try:
        return array.cast(pa.large_string())
    except pa.ArrowInvalid:
        # A cell that is no UTF-8 is no reason to stop, or to read other cells in another way.
        cells = [
            None if cell is None else cell.decode(errors="backslashreplace")
            for cell in array.to_pylist()
        ]
        return pa.array(cells, pa.large_string())


@cache
def _bytes_of() -> dict[Any, Any]:
    """Types of text, and those of the same bytes."""
    return {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
