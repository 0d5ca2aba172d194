"""Names for coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import InputError


def coordinate_names(names: Sequence[str], dimension: int) -> tuple[str, ...]:
    """The given names, checked, or x0, x1, ..."""
    if not names:
        return tuple(f"x{i}" for i in range(dimension))
    if isinstance(names, str) or len(names) != dimension or len(set(names)) != dimension:
        raise InputError(f"names must be {dimension} different name(s), one per coordinate, got {names!r}.")
    return tuple(str(name) for name in names)
