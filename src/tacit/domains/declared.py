"""Domains of a table's columns, from ranges and levels that somebody declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domains.base import Domain
from tacit.domains.box import Box
from tacit.domains.finite import Finite
from tacit.domains.product import Mixed
from tacit.domains.ranges import interval
from tacit.domains.schema import kinds_of
from tacit.domains.types import NO_NUMBERS, may_hold
from tacit.errors import InputError


@dataclass(frozen=True)
class Declared:
    """The declared columns of a table: name to a range, a list of labels or a domain, in the
    table's order."""

    columns: Mapping[str, Any]

    @classmethod
    def of(
        cls, table: Any, ranges: Mapping[str, Any] | None, levels: Mapping[str, Any] | None
    ) -> Declared:
        """The declared columns, after a check that each is in the table and that its dtype can hold
        what was declared."""
        kinds = kinds_of(table)
        given: dict[str, Any] = {}
        for name, value in _mapping(ranges, "ranges").items():
            _require_column(name, kinds)
            if kinds[name] in NO_NUMBERS:
                raise InputError(
                    f"column {name!r} holds {kinds[name]} and cannot have a range: declare its "
                    "levels, or convert it."
                )
            given[name] = interval(name, value)
        for name, value in _mapping(levels, "levels").items():
            _require_column(name, kinds)
            if name in given:
                raise InputError(f"column {name!r} has a range and levels: declare one of them.")
            part = _labels(name, value)
            _require_possible(part, kinds[name])
            given[name] = part
        return cls({name: given[name] for name in kinds if name in given})

    def domain(self, names: Sequence[str]) -> Domain:
        """The domain of these columns, in this order."""
        for name in names:
            if name not in self.columns:
                raise InputError(
                    f"column {name!r} has neither a range nor levels: declare "
                    f"ranges={{{name!r}: (low, high)}} or levels={{{name!r}: [...]}}; they are not "
                    "learned from rows."
                )
        picked = {name: self.columns[name] for name in names}
        if not any(isinstance(value, Domain) for value in picked.values()):
            return Box.of(picked)
        mixed = Mixed.of(picked)
        return mixed.parts[0] if len(mixed.parts) == 1 else mixed


def _labels(name: str, value: Any) -> Finite:
    """The domain of a column whose levels are declared."""
    if isinstance(value, tuple | range):
        value = list(value)  # in `Mixed.of` a tuple of two numbers is an interval
    part = Mixed.of({name: value}).parts[0]
    if not isinstance(part, Finite) or part.names != (name,):
        raise InputError(
            f"the levels of {name!r} must be a list of labels or Categories, got "
            f"{type(value).__name__}."
        )
    return part


def _require_possible(part: Finite, kind: str) -> None:
    """Fails if none of the levels can occur in a column of this kind."""
    if not may_hold(part, kind):
        raise InputError(
            f"column {part.names[0]!r} holds {kind} and none of its declared levels can occur in "
            "it."
        )


def _require_column(name: str, kinds: Mapping[str, str]) -> None:
    if name not in kinds:
        raise InputError(f"the table has no column {name!r}: it has {', '.join(kinds)}.")


def _mapping(declared: Any, what: str) -> Mapping[str, Any]:
    if declared is not None and not isinstance(declared, Mapping):
        raise InputError(
            f"{what} must be a mapping of column names, got {type(declared).__name__}."
        )
    return declared or {}
