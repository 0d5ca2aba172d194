"""Names of coordinates: given ones, checked, or default ones."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import InputError


def coordinate_names(names: Sequence[str], dimension: int) -> tuple[str, ...]:
    """The given names, checked, or x0, x1, ..."""
    if isinstance(names, str):
        raise InputError(
            f"names must be a list of {dimension} name(s), got {names!r}: write [{names!r}]."
        )
    given = tuple(str(name) for name in names)
    if given and (len(given) != dimension or len(set(given)) != dimension):
        raise InputError(
            f"names must be {dimension} different name(s), one per coordinate, got {names!r}."
        )
    return given or tuple(f"x{i}" for i in range(dimension))


def is_unnamed(names: Sequence[str]) -> bool:
    """Whether a domain was given no names, so that it takes the default ones."""
    return isinstance(names, Sequence) and not names
