"""The parts of a mixed domain, made from what its columns are declared to be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tacit.domains.base import Domain
from tacit.domains.box import Box
from tacit.domains.finite import Categories
from tacit.domains.ranges import is_interval
from tacit.errors import InputError


def parts_of(columns: Mapping[str, Any]) -> list[Domain]:
    """A domain for each column, in their order; intervals side by side are one Box."""
    parts: list[Domain] = []
    for numeric, group in groupby(columns.items(), key=lambda column: is_interval(column[1])):
        if numeric:
            parts.append(Box.of(dict(group)))
        else:
            parts += [_part(name, value) for name, value in group]
    return parts


def _part(name: str, value: Any) -> Domain:
    """A column that is no interval: a domain, or labels."""
    if isinstance(value, Domain):
        if len(value.names) > 1 or value.names == (name,):
            return value
        if not value.unnamed:
            own = value.names[0]
            raise InputError(
                f"column {name!r} is given as a domain named {own!r}: leave out the domain's own "
                "name."
            )
        return renamed(value, [name])
    if not isinstance(value, list | tuple | range):
        raise InputError(
            f"column {name!r} must be an interval, labels or a domain, got {type(value).__name__}: "
            "a tuple of two numbers is an interval, a list is labels."
        )
    try:
        return Categories(list(value), name)
    except InputError as error:
        why = str(error).removesuffix(".")
        raise InputError(
            f"column {name!r} is read as labels, and {why}: a tuple of two numbers is an interval, "
            "a list is labels."
        ) from None


def renamed(domain: Domain, names: Sequence[str]) -> Domain:
    """The same domain with these names: one of ours that is not made of parts."""
    if isinstance(domain, Categories):
        return dataclasses.replace(domain, name=names[0])
    return dataclasses.replace(domain, names=tuple(names))  # type: ignore[type-var]
