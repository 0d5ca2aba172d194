"""The same problem without one of its context columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.contexts import Law
from tacit.domains import Box, Categories, Domain, Mixed
from tacit.domains.finite import Finite
from tacit.errors import InputError
from tacit.kernels import (
    RBF,
    Categorical,
    Kernel,
    Linear,
    On,
    Pooled,
    Product,
    Separable,
    Sum,
    default_kernel,
    with_levels,
)
from tacit.kernels.stationary import Stationary
from tacit.problem import Problem

YES_OR_NO = 2  # labels
EVERYBODY = "everybody"  # the one label of contexts that have no column left
CONSTANT = RBF(1e6)  # on columns of which a kernel says nothing


@dataclass(frozen=True)
class Reduced:
    """A problem that lacks a column, and how points of the whole problem become points of it."""

    column: str
    kind: str  # of the column: "number", "yes or no", "30 labels", ...
    problem: Problem
    dropped: frozenset[int]  # unit coordinates of the context that belong to the column
    whole: Problem

    @property
    def emptied(self) -> bool:
        """Whether no context is left: everybody is the same."""
        return len(self.dropped) == self.whole.contexts.dimension

    def project(self, points: Floats) -> Floats:
        """Joint points without the coordinates of the column."""
        actions = self.whole.actions.dimension
        if self.emptied:
            same = self.problem.contexts.candidate_points(1)
            return np.hstack([points[:, :actions], np.repeat(same, len(points), axis=0)])
        lost = {actions + i for i in self.dropped}
        kept = [i for i in range(points.shape[1]) if i not in lost]
        return points[:, kept]

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel on points of the whole problem, without the column."""
        return _separable_without(kernel, self.dropped, self.emptied)


def reduced_problems(problem: Problem) -> list[Reduced]:
    """The problem without each of its context columns in turn. Columns that have one value only
    tell nothing and are passed over; those of a ball or a simplex go together."""
    found = []
    parts = list(problem.contexts.parts) if isinstance(problem.contexts, Mixed) else None
    parts = parts or [problem.contexts]
    start = 0
    for i, part in enumerate(parts):
        for column, kind, own, rest in _columns(part):
            left = [*parts[:i], *([rest] if rest is not None else []), *parts[i + 1 :]]
            dropped = frozenset(start + j for j in own)
            found.append(_reduced(problem, column, kind, dropped, left))
        start += part.dimension
    if not found:
        raise InputError(
            "there is no context column to leave out, since all visitors are alike to this "
            "problem: declare contexts of more than one value."
        )
    return found


def _columns(part: Domain) -> list[tuple[str, str, list[int], Domain | None]]:
    """(name, kind, own coordinates, the part without it) of each column of a part."""
    if isinstance(part, Box):
        columns: list[tuple[str, str, list[int], Domain | None]] = []
        for name in part.names:
            own = [j for j, each in enumerate(part.coordinates) if each == name]
            columns.append((name, "number", own, _box_without(part, name)))
        return columns
    everything = list(range(part.dimension))
    if isinstance(part, Finite):
        if len(part.labels) == 1:
            return []
        kind = f"{len(part.labels)} labels"
        if isinstance(part, Categories) and part.ordered:
            kind = f"{len(part.labels)} ordered labels"
        elif len(part.labels) == YES_OR_NO:
            kind = "yes or no"
        return [(part.names[0], kind, everything, None)]
    return [(", ".join(part.names), type(part).__name__.lower(), everything, None)]


def _box_without(box: Box, name: str) -> Box | None:
    kept = [i for i, each in enumerate(box.names) if each != name]
    if not kept:
        return None
    return Box(
        [box.low[i] for i in kept],
        [box.high[i] for i in kept],
        [box.names[i] for i in kept],
        [box.missing[i] for i in kept] if box.missing else (),
    )


def _reduced(
    problem: Problem, column: str, kind: str, dropped: frozenset[int], left: list[Domain]
) -> Reduced:
    emptied = not left
    contexts: Domain = Categories([EVERYBODY], f"without {column}")
    if len(left) == 1:
        contexts = left[0]
    elif left:
        contexts = Mixed(left)
    kernel = None
    usual = default_kernel(problem.actions, problem.contexts)
    if problem.kernel != with_levels(usual, problem.actions, problem.contexts):
        kernel = _separable_without(_uncentred(problem), dropped, emptied)
    smaller = Problem(
        problem.actions,
        contexts,
        kernel,
        problem.reward_range,
        generator=None if problem.generator is None else _generator(problem, contexts),
        advantage=problem.advantage,
    )
    return Reduced(column, kind, smaller, dropped, problem)


def _generator(problem: Problem, contexts: Domain) -> Law:
    """Who comes, as far as the columns that are left tell."""

    def draw(n: int, rng: Rng) -> Any:
        table = problem.contexts.decode(problem.draw_contexts(n, rng))
        same = np.full(n, EVERYBODY, dtype=object)
        return {name: table.get(name, same) for name in contexts.names}

    return draw


def _uncentred(problem: Problem) -> Kernel:
    """The kernel before it was made one of advantages."""
    return replace(problem, advantage=False).k


def _separable_without(kernel: Kernel, dropped: Collection[int], emptied: bool) -> Kernel:
    if not isinstance(kernel, Separable):
        raise InputError(
            f"columns cannot be left out of a {type(kernel).__name__} kernel: pass one on actions "
            "times one on contexts, such as tacit.Separable."
        )
    contexts = None if emptied else _without(kernel.contexts, dropped)
    return replace(kernel, contexts=contexts or CONSTANT)


def _without(kernel: Any, dropped: Collection[int]) -> Any:
    """A kernel on contexts without these columns; None if it is on no others."""
    if isinstance(kernel, Stationary):
        if not isinstance(kernel.lengthscale, list | tuple):
            return kernel
        kept = tuple(v for i, v in enumerate(kernel.lengthscale) if i not in dropped)
        return replace(kernel, lengthscale=kept) if kept else None  # type: ignore[type-var]
    if isinstance(kernel, Categorical | Linear):
        return kernel
    if isinstance(kernel, On):
        columns = [int(i) for i in kernel.columns]
        inner = _without(kernel.kernel, {at for at, i in enumerate(columns) if i in dropped})
        kept = tuple(i - sum(j < i for j in dropped) for i in columns if i not in dropped)
        return On(inner, kept) if kept and inner is not None else None
    if isinstance(kernel, Product):
        parts = [part for part in (_without(k, dropped) for k in kernel.kernels) if part]
        return Product(tuple(parts)) if parts else None
    if isinstance(kernel, Sum):
        pairs = [
            (_without(k, dropped), w) for k, w in zip(kernel.kernels, kernel.shares, strict=True)
        ]
        pairs = [(part, w) for part, w in pairs if part]
        if not pairs:
            return None
        return Sum(tuple(part for part, _ in pairs), tuple(w for _, w in pairs))
    if isinstance(kernel, Pooled):
        levels = None
        if kernel.levels is not None:
            levels = tuple(n for i, n in enumerate(kernel.levels) if i not in dropped)
        return replace(kernel, kernel=_without(kernel.kernel, dropped), levels=levels)
    raise InputError(
        f"a column cannot be left out of a {type(kernel).__name__} kernel: pass one that is made "
        "of stationary kernels and Categorical, on columns."
    )
