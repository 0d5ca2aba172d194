"""Columns by name, and their ranges, as `Box.of` and `Mixed.of` are given them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from tacit.errors import InputError
from tacit.tables import number

DROP = "drop"
INDICATOR = "indicator"


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, and what becomes of a record that has none of them here.

    | `missing` | a cell that is missing, or no number |
    |---|---|
    | "drop" | the record counts, and adds nothing |
    | a number between low and high | is read as that number |
    | "indicator" | is distinguished from every number, by a coordinate of its own that is 0 or 1 |

    `Box.of(age=Range(18, 95, missing=50), weight=Range(40, 140, missing="indicator"))`

    >>> box = tacit.Box.of(age=tacit.Range(18, 95, missing=50))
    >>> box.project({"age": [30, float("nan")]})[:, 0].tolist()
    [30.0, 50.0]
    """

    low: float
    high: float
    missing: float | str = DROP


def columns_of(declared: Any, named: Mapping[str, Any], example: str) -> dict[str, Any]:
    """The columns that `of` was given by name, in a mapping, as keyword arguments, or both."""
    if declared is not None and not isinstance(declared, Mapping):
        kind = type(declared).__name__
        raise InputError(
            f"names and ranges must be keyword arguments or one mapping, got {kind}: write "
            f"{example}."
        )
    given = dict(declared or {})
    if twice := [name for name in given if name in named]:
        raise InputError(f"column {twice[0]!r} is given twice: name it once.")
    columns = given | dict(named)
    if not columns:
        raise InputError(f"a domain needs at least one column: write {example}.")
    for name in columns:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a column must be a text, got {name!r}: write {example}.")
    return columns


def is_interval(value: Any) -> bool:
    """Whether this is a Range, or a tuple of two numbers. A list is not an interval: it holds
    labels."""
    if isinstance(value, Range):
        return True
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))


def interval(name: str, value: Any) -> Range:
    """The range of the column `name`, checked."""
    pair = tuple(value) if isinstance(value, list) else value
    missing: float | str = DROP
    if isinstance(value, Range):
        pair = (value.low, value.high)
        missing = value.missing
    if not is_interval(pair):
        kind = type(value).__name__  # the kind only: it could be somebody's column
        raise InputError(
            f"the range of {name!r} must be two numbers, got {kind}: write (low, high)."
        )
    low, high = (number(value) for value in pair)
    if not (math.isfinite(high - low) and low < high):
        raise InputError(
            f"the range of {name!r} must be finite and increasing, got {value!r}: write (low, "
            "high)."
        )
    return Range(low, high, fill_of(name, missing, low, high))


def fill_of(name: str, missing: Any, low: float, high: float) -> float | str:
    """What becomes of a missing cell of the column `name`, checked (see `Range`)."""
    if isinstance(missing, str) and missing in (DROP, INDICATOR):
        return missing
    if _is_number(missing) and low <= missing <= high:
        return float(missing)
    raise InputError(
        f"missing values of {name!r} must be a number from {low} to {high}, {INDICATOR!r} or "
        f"{DROP!r}, got {missing!r}."
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
