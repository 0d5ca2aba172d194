"""CSV files where pyarrow is not installed: Python's own reader, the same cells as Arrow's.

Cells are text. What Arrow takes for a missing cell is one here, too (`MISSING`), empty lines are no
rows, and a row with too many cells or too few makes the file unreadable.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

Text = str | None
# How Arrow's reader spells a missing cell, quoted or not.
MISSING = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "N/A", "NA", "n/a"),
        *("NULL", "null", "NaN", "nan", "-NaN", "-nan"),
        *("1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
    ]
)
LONGEST = 2**22  # characters of a cell: as long as the longest row that Arrow takes


@dataclass(frozen=True)
class TextPiece:
    """Some rows of a file, each cell as text, or None where it is missing."""

    columns: Mapping[str, list[Text]]
    num_rows: int


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The names in the first line, and the rows after it."""
    csv.field_size_limit(max(LONGEST, csv.field_size_limit()))
    # A cell that is no UTF-8 is no reason to stop, or to read other cells in another way.
    with open(path, encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        lines = (line for line in csv.reader(file) if line)
        names = next(lines, None)
        if names is None:
            raise ValueError("no first line")
        yield names, _whole(lines, len(names))


def rows_in(path: str | Path) -> int:
    with opened(path) as (_, rows):
        return sum(1 for _ in rows)


def text_pieces(
    path: str | Path, wanted: Sequence[str], start: int, piece: int
) -> Iterator[TextPiece]:
    """The rows from `start` on, so many at a time, of the columns that are wanted."""
    with opened(path) as (names, rows):
        places = {name: names.index(name) for name in wanted}
        rows = islice(rows, start, None)
        while block := list(islice(rows, piece)):
            yield TextPiece(_columns(block, places), len(block))


def read_csv(path: str | Path) -> dict[str, list[Text]]:
    """A whole small table."""
    with opened(path) as (names, rows):
        if len(set(names)) < len(names):
            raise ValueError("two columns of one name")
        return _columns(list(rows), {name: i for i, name in enumerate(names)})


def write_csv(columns: Mapping[str, Iterable[Any]], file: Any) -> None:
    """As Arrow writes it: texts and names in quotes, nothing where a value is missing."""
    file.write(",".join(map(_cell, columns)) + "\n")
    for row in zip(*columns.values(), strict=True):
        file.write(",".join(map(_cell, row)) + "\n")


def _columns(rows: Sequence[list[str]], places: Mapping[str, int]) -> dict[str, list[Text]]:
    return {
        name: [None if row[at] in MISSING else row[at] for row in rows]
        for name, at in places.items()
    }


def _whole(rows: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    for row in rows:
        if len(row) != width:
            raise ValueError("a row of another length")
        yield row


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return str(value)
