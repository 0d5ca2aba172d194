"""Values of visitors that cannot be read: missing, unknown, or far outside their range.

A policy decides for such a visitor all the same: as for the middle of the range where a value is
missing or unknown, as for the nearest end where it lies outside. Whoever would rather know finds
here which values they are. Visitors' values are the caller's own, and may be named.
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.domains import Ball, Box, Domain, Mixed, Simplex
from tacit.errors import InputError
from tacit.tables import Columns, Table, floats

FAR = 0.5  # of the width of a range: further outside a number is unread, such as 1.8 for a height
Marks = dict[str, NDArray[np.bool_]]  # for each column, which rows


def unread(domain: Domain, columns: Columns) -> Marks:
    """For each column of a domain, the rows whose value in it cannot be read.

    | domain                | unread                                                             |
    |-----------------------|--------------------------------------------------------------------|
    | box, ball, simplex    | what is no number, or lies outside its range by more than half the |
    |                       | width of it                                                        |
    | categories, catalogue | what is none of the labels                                         |
    | one of your own       | the whole row, if `encode` gives NaN for any of it                 |
    """
    marks: Marks = {}
    for part in domain.parts if isinstance(domain, Mixed) else (domain,):
        with np.errstate(all="ignore"):  # NumPy would warn of odd values
            missing = np.isnan(part.encode(columns))
        bounds = _bounds(part)
        for i, name in enumerate(part.names):
            if bounds is None:
                marks[name] = np.asarray(missing.any(axis=1))
                continue
            low, high = bounds[i]
            # Of a ball and a simplex one odd coordinate takes the others with it.
            own = missing[:, i] if isinstance(part, Box) else np.isnan(floats(columns[name]))
            marks[name] = own | _far(floats(columns[name]), low, high)
    return marks


def unread_columns(domain: Domain, table: Table) -> list[list[str]]:
    """For each row, the names of the columns that cannot be read."""
    marks = unread(domain, table.columns)
    return [[name for name in domain.names if marks[name][row]] for row in range(table.rows)]


def require_read(domain: Domain, table: Table, what: str) -> None:
    """Fails at the first value that cannot be read, and names it."""
    marks = unread(domain, table.columns)
    rows = np.any(list(marks.values()), axis=0)
    if not rows.any():
        return
    row = int(np.argmax(rows))
    name = next(name for name in domain.names if marks[name][row])
    many = int(np.count_nonzero(rows))
    more = f" (one of {many} such rows)" if many > 1 else ""
    raise InputError(
        f"{name!r} in row {row + 1} of {what} cannot be read, got "
        f"{_shown(table.columns[name][row])}{more}: it must be {_expected(domain, name)}; without "
        "strict it is decided as for a value in the middle, or at the nearest end."
    )


def _far(values: Floats, low: float, high: float) -> NDArray[np.bool_]:
    slack = FAR * (high - low)
    with np.errstate(all="ignore"):
        return (values < low - slack) | (values > high + slack)


def _bounds(part: Domain) -> list[tuple[float, float]] | None:
    """The range of each column, where the columns are numbers."""
    if isinstance(part, Box):
        return list(zip(part.low, part.high, strict=True))
    if isinstance(part, Ball):
        return [(centre - part.radius, centre + part.radius) for centre in part.centre]
    if isinstance(part, Simplex):
        return [(0.0, 1.0)] * len(part.names)
    return None


def _expected(domain: Domain, name: str) -> str:
    for part in domain.parts if isinstance(domain, Mixed) else (domain,):
        bounds = _bounds(part)
        if name in part.names and bounds is not None:
            low, high = bounds[part.names.index(name)]
            return f"a number from {low:g} to {high:g}, or near them"
        if name in part.names and hasattr(part, "labels"):
            return f"one of {reprlib.repr(list(part.labels))}"
    return "a value of its domain"


def _shown(value: Any) -> str:
    """A value as it would be typed, cut off where it is long."""
    if isinstance(value, np.generic):
        value = value.item()
    return reprlib.repr(value)
