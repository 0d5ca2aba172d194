"""Names for coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import InputError


def coordinate_names(names: Sequence[str], dimension: int) -> tuple[str, ...]:
    """The given names, checked, or x0, x1, ..."""
    if isinstance(names, str):
        raise InputError(f"names must be a list of {dimension} name(s), got {names!r}: write [{names!r}].")
    given = tuple(str(name) for name in names)
    if given and (len(given) != dimension or len(set(given)) != dimension):
        raise InputError(f"names must be {dimension} different name(s), one per coordinate, got {names!r}.")
    return given or tuple(f"x{i}" for i in range(dimension))


def is_unnamed(names: Sequence[str]) -> bool:
    """Whether a domain was given no names, so that it takes the default ones."""
    return isinstance(names, Sequence) and not names


def columns_of(declared: Any, named: Mapping[str, Any], example: str) -> dict[str, Any]:
    """What `of` was given, by name: a mapping, keyword arguments, or both."""
    if declared is not None and not isinstance(declared, Mapping):
        kind = type(declared).__name__
        raise InputError(f"names and ranges must be keyword arguments or one mapping, got {kind}: write {example}.")
    columns = dict(declared or {})
    for name in columns:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a column must be a text, got {name!r}: write {example}.")
        if name in named:
            raise InputError(f"column {name!r} is given twice: name it once.")
    columns.update(named)
    if not columns:
        raise InputError(f"a domain needs at least one column: write {example}.")
    return columns
