"""The parts of a log: how its rows are split, and how many are in each part. All is public."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tacit.core import Ledger, Part
from tacit.core.parts import LEARN
from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.logs.log_files import LogFile
from tacit.logs.reading import pieces
from tacit.quiet import quiet
from tacit.tables import labels

ROWS = 2**20  # hashed at a time

Layout = list[tuple[str, int]]  # names of files, without what all of them share, and their rows


def layout_of(files: Sequence[LogFile]) -> Layout:
    """What gives each row its number in the log: which files there are, in which order."""
    common = os.path.commonpath([file.path for file in files])
    return [(os.path.relpath(file.path, common), file.rows) for file in files]


def table_layout(rows: int) -> Layout:
    """A table in memory has the layout of one file."""
    return [(os.curdir, rows)]


def learning_part(share: float, unit: str, layout: Layout) -> Part:
    """The people to learn from where a share of all is held out. `other` are those held out.

    The key is the same for every problem and every ledger, so that whoever splits the same log
    finds the same parts, with nothing to remember. A row is known by its number, so its key stands
    for the layout: the same rows in another order would be other parts, and a ledger refuses those.
    A user is known by an id wherever it stands, so there the key stands for nothing.
    """
    named = layout if unit == "record" else []
    key = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]
    return Part(LEARN, share, unit, key)


def require_layout(part: Part, layout: Layout) -> None:
    """Fails if this is not the log that the part is of."""
    if learning_part(part.share, part.unit, layout).key != part.key:
        raise InputError(
            "these are not the rows that were split when people were held out: name the same "
            "files, in the same order."
        )


def rows_of_table(part: Part, rows: int, users: Any = None) -> int:
    """How many rows of a table are of the part. Of its cells only user ids are read."""
    if part.unit == "record":
        spans = [(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]
        return sum(int(part.mask(start, stop - start).sum()) for start, stop in spans)
    with quiet():
        return int(part.mask(0, rows, labels(users, rows, "users")).sum())


def rows_of_files(part: Part, files: Sequence[LogFile], columns: LogColumns) -> int:
    """The same of the rows of files."""
    if columns.user is None:
        return rows_of_table(part, sum(file.rows for file in files))
    ids = replace(columns, called={columns.user: columns.called[columns.user]})
    found = 0
    for file in files:
        if not file.rows:
            continue
        for piece in pieces(file.path, ids, 0, file.rows):
            found += rows_of_table(part, piece.num_rows, ids.cells(piece)[columns.user])
    return found


def open_accounts(ledger: Ledger, part: Part) -> None:
    """Opens an account for each of both parts, unless they are open. Spends nothing."""
    for each in (part, part.other):
        ledger.add_cohort(each.cohort)
