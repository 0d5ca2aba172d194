"""Subgroups: the levels of a stated context column, or ranges of it between stated cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.domains.finite import Finite
from tacit.errors import InputError
from tacit.evaluation.windows import parts_of

MOST_GROUPS = 32


@dataclass(frozen=True, eq=False)
class Groups:
    """Few, public groups of people by one context column."""

    contexts: Domain
    column: str
    names: tuple[str, ...]
    cuts: tuple[float, ...] | None = None  # None for labels

    def of(self, C: Floats) -> NDArray[np.int64]:
        """The group of each context in unit coordinates."""
        part, at = _part(self.contexts, self.column)
        if self.cuts is None:
            assert isinstance(part, Finite)
            return np.asarray(part.nearest(C[:, at]), dtype=np.int64)
        values = np.asarray(part.decode(C[:, at])[self.column], dtype=np.float64)
        return np.searchsorted(np.array(self.cuts), values, side="right").astype(np.int64)


def find_groups(contexts: Domain, by: str | Mapping[str, Sequence[float]] | None) -> Groups | None:
    """The groups that were stated; None where none were."""
    if by is None:
        return None
    column, cuts = _stated(by)
    part, _ = _part(contexts, column)
    if isinstance(part, Finite):
        if cuts is not None:
            raise InputError(
                f"column {column!r} has labels, which need no cuts: write by={column!r}."
            )
        names = tuple(map(str, part.labels))
    else:
        if cuts is None:
            raise InputError(
                f"column {column!r} holds numbers: say where to cut them, as in by={{{column!r}: "
                "[40, 60]}."
            )
        names = _ranges(cuts)
    if not 2 <= len(names) <= MOST_GROUPS:
        raise InputError(
            f"subgroups must be 2 to {MOST_GROUPS}, got {len(names)} by {column!r}: the more there "
            "are, the wider are their intervals."
        )
    return Groups(contexts, column, names, cuts)


def _stated(by: Any) -> tuple[str, tuple[float, ...] | None]:
    if isinstance(by, str):
        return by, None
    try:
        ((column, cuts),) = by.items()
        found = tuple(float(cut) for cut in cuts)
        increasing = all(a < b for a, b in pairwise(found))
        if found and increasing and np.isfinite(found).all():
            return str(column), found
    except (AttributeError, TypeError, ValueError):
        pass
    raise InputError(
        "by must be the name of one context column, or one with increasing cuts: 'gene', or "
        "{'age': [40, 60]}."
    )


def _ranges(cuts: tuple[float, ...]) -> tuple[str, ...]:
    inner = [f"{a:g} to {b:g}" for a, b in pairwise(cuts)]
    return (f"below {cuts[0]:g}", *inner, f"{cuts[-1]:g} and above")


def _part(contexts: Domain, column: str) -> tuple[Domain, Any]:
    for part, at in parts_of(contexts):
        if column in part.names:
            return part, at
    raise InputError(
        f"there is no context column {column!r} to compare by: there are "
        f"{', '.join(contexts.names)}."
    )
