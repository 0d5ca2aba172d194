"""Whether a table's columns can hold what a domain declares, by their types alone.

Types are public, cells are private. A column whose type says nothing of its cells (a Python list,
an array of objects, a file of text) is never refused, whatever it holds. So two tables of one
schema are both taken, or both refused in the same words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tacit.domains.ball import Ball
from tacit.domains.base import Domain
from tacit.domains.box import Box
from tacit.domains.finite import Catalogue, Categories, Finite
from tacit.domains.product import Mixed
from tacit.domains.schema import (
    BINARY,
    LABEL,
    NESTED,
    NUMBER,
    TEXT,
    TIME,
    TRUTH,
    UNKNOWN,
    kind_of,
    kind_of_column,
    kinds_of,
)
from tacit.domains.simplex import Simplex
from tacit.errors import InputError
from tacit.tables import is_column, number

NO_NUMBERS = (TEXT, BINARY, TIME, LABEL, NESTED)


def require_types(
    domain: Domain, kinds: Mapping[str, str], what: str, called: Mapping[str, str] | None = None
) -> None:
    """Fails if a column is of a kind (see `tacit.domains.schema`) that the domain cannot hold.

    `called` are the names that the table has for the domain's columns, where they differ. A domain
    that is not Tacit's own may make anything of a cell, so its columns are not checked.
    """
    if type(domain) is Mixed:
        for part in domain.parts:
            require_types(part, kinds, what, called)
        return
    for name in domain.names:
        kind = kinds.get(name, UNKNOWN)
        if may_hold(domain, kind):
            continue
        column = (called or {}).get(name, name)
        if isinstance(domain, Finite):
            raise InputError(
                f"column {column!r} of {what} holds {kind}, in which none of the declared levels "
                "of the problem can occur: convert it first, or declare other levels."
            )
        raise _no_numbers(column, what, kind, "convert it first, or declare its levels")


def require_numbers(kind: str, column: str, what: str) -> None:
    """Fails if a column of rewards, or of propensities, is of a kind that holds no numbers."""
    if kind in NO_NUMBERS:
        raise _no_numbers(column, what, kind, "convert it first")


def require_record_types(domain: Domain, data: Any, what: str) -> None:
    """The same for a table of records that is given as a mapping of columns, an array or a
    frame."""
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        # One dtype for all columns: text may stand there for one column of labels among numbers.
        kind = kind_of(data.dtype)
        if not any(may_hold(part, kind) for part in _parts(domain)):
            require_types(domain, dict.fromkeys(domain.names, kind), what)
        return
    require_types(domain, record_kinds(data, domain.names), what)


def record_kinds(data: Any, names: Sequence[str]) -> dict[str, str]:
    """The kinds of these columns of a table of records; nothing of a list of rows, of a single
    record, or of something that is no table."""
    if isinstance(data, Mapping):
        columns = {name: data[name] for name in names if name in data}
        if not all(is_column(column) for column in columns.values()):
            return {}  # a single record: its values are cells
        return {name: kind_of_column(column) for name, column in columns.items()}
    if isinstance(data, np.ndarray | nw.DataFrame) or nw.dependencies.is_into_dataframe(data):
        return kinds_of(data)
    return {}


def may_hold(domain: Domain, kind: str) -> bool:
    """Whether a column of this kind can hold members of the domain, which is not made of parts."""
    if type(domain) in (Ball, Box, Simplex):
        return kind not in NO_NUMBERS
    if type(domain) in (Categories, Catalogue):
        assert isinstance(domain, Finite)
        return _may_hold_labels(domain, kind)
    return True


def _may_hold_labels(domain: Finite, kind: str) -> bool:
    """Numbers are looked up among labels by value, so a label that spells no number never occurs in
    a numeric column."""
    if kind in (NUMBER, TRUTH):
        return any(not math.isnan(number(label)) for label in domain.labels)
    return kind != NESTED


def _parts(domain: Domain) -> tuple[Domain, ...]:
    return tuple(domain.parts) if isinstance(domain, Mixed) else (domain,)


def _no_numbers(column: str, what: str, kind: str, remedy: str) -> InputError:
    return InputError(
        f"column {column!r} of {what} holds {kind}, where numbers are expected: {remedy}."
    )
