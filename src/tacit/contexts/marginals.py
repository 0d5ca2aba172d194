"""Who came, learned privately: one histogram per column and a coarse one per pair, released
together.

    row = [ sqrt((1 - t) / p) onehot of each of p columns | sqrt(t / m) onehot of each of m pairs ]
    |row| = 1

One sum, one release. Which pairs matter is read off the released numbers: a tree over the columns
that keeps the strongest dependences that stand clear of the noise (Chow and Liu, 1968). Contexts
are then drawn along the tree.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from tacit._typing import Floats, Rng
from tacit.contexts.cells import Cells
from tacit.core import (
    Budget,
    Cohort,
    Encoding,
    Guarantee,
    Ledger,
    PrivateSum,
    Released,
    private_sum,
    release_gaussian,
    simulate_gaussian,
)
from tacit.domains import Domain, record_points
from tacit.quiet import quiet

PAIR_SHARE = 0.5
PARTS = 6  # coarse cells of one column in a table of pairs
CLEAR = 4.0  # standard deviations by which a dependence must exceed what noise alone would show
# rows that are counted at a time, always so many: one record cannot change the rounding of another
BLOCK = 512


def release_marginals(
    table: Any,
    domain: Domain,
    *,
    budget: Budget,
    ledger: Ledger,
    request: str | None = None,
    pairs: bool = True,
    cohort: Cohort | None = None,
) -> LearnedContexts:
    """A context generator learned from private contexts, charged to `ledger` like any release.

    Pass it as `Problem(generator=...)`. Replacing one row of `table` is protected under `budget`;
    how many rows there are is public. A row with a missing or unknown value counts, and adds
    nothing. The same `request` on the same ledger returns the same generator. On a ledger that is
    divided say which `cohort` the rows are of: they count as its first records.
    """
    counts = _Counts(domain, pairs)
    total = counts.collect(table, cohort)
    about = {"contexts": list(domain.names), "pairs": bool(counts.pairs), "budget": str(budget)}
    name = request or f"contexts-{secrets.token_hex(8)}"
    return counts.learned(release_gaussian(total, budget, ledger, name, about))


def simulate_marginals(
    table: Any, domain: Domain, *, budget: Budget, rng: Rng, pairs: bool = True
) -> LearnedContexts:
    """The same from a seeded generator: free, reproducible, and marked NOT private."""
    counts = _Counts(domain, pairs)
    return counts.learned(simulate_gaussian(counts.collect(table), budget, rng))


@dataclass(frozen=True, eq=False)
class LearnedContexts:
    """A generator made of released numbers. `tree[j]` is the column that column `j` is drawn given,
    -1 for none."""

    domain: Domain
    guarantee: Guarantee
    tree: tuple[int, ...]
    order: tuple[int, ...]
    _cells: Cells
    _laws: list[Floats]
    _given: dict[int, Floats]  # coarse law of column j in each coarse cell of its parent

    def sample(self, n: int, rng: Rng) -> dict[str, Any]:
        """`n` contexts in the user's units."""
        fine = [np.empty(0, dtype=np.intp)] * len(self.tree)
        for j in self.order:
            if self.tree[j] < 0:
                fine[j] = rng.choice(len(self._laws[j]), size=n, p=self._laws[j])
                continue
            parent = _coarse(fine[self.tree[j]], len(self._laws[self.tree[j]]))
            rows = self._conditional(j).cumsum(axis=1)[parent]
            fine[j] = np.minimum(
                (rng.random((n, 1)) * rows[:, -1:] > rows).sum(axis=1), rows.shape[1] - 1
            )
        points = [
            column.place(cells, rng) for column, cells in zip(self._cells.parts, fine, strict=True)
        ]
        return self.domain.decode(self.domain.project_points(np.hstack(points)))

    def _conditional(self, j: int) -> Floats:
        """P(fine cell of j | coarse cell of its parent): the pair says which coarse cell, the
        column which fine one."""
        law = self._laws[j]
        table = self._given[j]
        part = _coarse(np.arange(len(law)), len(law))
        within = law / np.bincount(part, weights=law, minlength=table.shape[1])[part]
        return table[:, part] * within

    def __repr__(self) -> str:
        return f"LearnedContexts({', '.join(self.domain.names)}; private={self.guarantee.private})"


class _Counts:
    """The layout of a row, and how to read a sum of them."""

    def __init__(self, domain: Domain, pairs: bool) -> None:
        self.domain = domain
        self.cells = Cells(domain)
        p = self.cells.columns
        self.pairs = [(i, j) for j in range(p) for i in range(j)] if pairs else []
        self._share = PAIR_SHARE if self.pairs else 0.0
        self._sizes = [min(PARTS, column.size) for column in self.cells.parts]

    @quiet()
    def collect(self, table: Any, cohort: Cohort | None = None) -> PrivateSum:
        """The private sum of all rows, which are the first records of the cohort."""
        points = record_points(self.domain, table, "the contexts")
        width = self.cells.size + sum(self._sizes[i] * self._sizes[j] for i, j in self.pairs)
        total = private_sum(Encoding(size=width, horizon=max(1, len(points))), "record", cohort)
        number = 0 if cohort is None else cohort.first
        for start in range(0, len(points), BLOCK):
            rows = points[start : start + BLOCK]
            block = np.full((BLOCK, points.shape[1]), np.nan)
            block[: len(rows)] = rows
            total.add(self._rows(block), records=len(rows), first=number + start)
        return total

    def learned(self, released: Released) -> LearnedContexts:
        unit = 1.0 / 2**released.bits
        values = released.values * unit
        noise = released.scale * unit
        counts = values[: self.cells.size] / self._column_weight
        laws = self.cells.laws(counts, noise / self._column_weight, max(1, released.records))
        tables = self._tables(values[self.cells.size :] / self._pair_weight) if self.pairs else {}
        pair_noise = noise / self._pair_weight if self.pairs else 0.0
        n = max(1, released.records)
        tree = _tree(laws, tables, pair_noise, n)
        given = {
            j: _shrunk(tables[i, j] if i < j else tables[j, i].T, laws[i], laws[j], pair_noise, n)
            for j, i in enumerate(tree)
            if i >= 0
        }
        return LearnedContexts(
            self.domain, released.guarantee, tuple(tree), _order(tree), self.cells, laws, given
        )

    @cached_property
    def _column_weight(self) -> float:
        return float(np.sqrt((1.0 - self._share) / self.cells.columns))

    @cached_property
    def _pair_weight(self) -> float:
        return float(np.sqrt(self._share / len(self.pairs)))

    def _rows(self, points: Floats) -> Floats:
        known = np.asarray(np.isfinite(points).all(axis=1))
        points = np.where(known[:, None], points, 0.5)
        blocks = [self.cells.onehot(points) * self._column_weight]
        parts = [_coarse(column.index(points), column.size) for column in self.cells.parts]
        for i, j in self.pairs:
            marks = np.zeros((len(points), self._sizes[i] * self._sizes[j]))
            marks[np.arange(len(points)), parts[i] * self._sizes[j] + parts[j]] = self._pair_weight
            blocks.append(marks)
        return np.hstack(blocks) * known[:, None]

    def _tables(self, values: Floats) -> dict[tuple[int, int], Floats]:
        tables = {}
        start = 0
        for i, j in self.pairs:
            size = self._sizes[i] * self._sizes[j]
            tables[i, j] = values[start : start + size].reshape(self._sizes[i], self._sizes[j])
            start += size
        return tables


def _coarse(cells: Any, size: int) -> Any:
    """Fine cells to at most `PARTS` coarse ones of equal width."""
    return cells * min(PARTS, size) // size


def _coarse_law(law: Floats) -> Floats:
    return np.asarray(
        np.bincount(_coarse(np.arange(len(law)), len(law)), weights=law), dtype=np.float64
    )


def _beyond(table: Floats, p: Floats, c: Floats, records: int) -> Floats:
    """What a table of counts has beyond independence, with errors of its margins taken out."""
    rest = table - records * np.outer(p, c)
    return rest - rest.mean(axis=0) - rest.mean(axis=1, keepdims=True) + rest.mean()


def _freedom(table: Floats) -> int:
    return (table.shape[0] - 1) * (table.shape[1] - 1)


def _tree(
    laws: list[Floats], tables: dict[tuple[int, int], Floats], noise: float, records: int
) -> list[int]:
    """Parents: the spanning forest of the strongest dependences that are clear of the noise."""
    columns = len(laws)
    strength = np.zeros((columns, columns))
    for (i, j), table in tables.items():
        rest = _beyond(table, _coarse_law(laws[i]), _coarse_law(laws[j]), records)
        # Chance alone moves a cell by the privacy noise and, under independence, by about
        # sqrt(count).
        excess = float(np.sum(rest**2)) / (noise**2 + records / table.size) - _freedom(table)
        if excess > CLEAR * np.sqrt(2.0 * _freedom(table)):
            strength[i, j] = excess
    forest = minimum_spanning_tree(-strength)
    parents = [-1] * columns
    seen: set[int] = set()
    for root in range(columns):
        if root not in seen:
            order, before = breadth_first_order(forest, root, directed=False)
            seen |= set(order.tolist())
            for j in order[1:]:
                parents[j] = int(before[j])
    return parents


def _order(tree: list[int]) -> tuple[int, ...]:
    """Parents before children."""

    def depth(j: int) -> int:
        return 0 if tree[j] < 0 else 1 + depth(tree[j])

    return tuple(sorted(range(len(tree)), key=depth))


def _shrunk(table: Floats, parent: Floats, child: Floats, noise: float, records: int) -> Floats:
    """P(coarse child | coarse parent): independence plus as much of the rest as stands above the
    noise."""
    p = _coarse_law(parent)
    c = _coarse_law(child)
    rest = _beyond(table, p, c, records)
    trust = max(0.0, 1.0 - _freedom(table) * noise**2 / max(float(np.sum(rest**2)), 1e-300))
    joint = np.maximum(np.outer(p, c) + trust * rest / records, 0.02 * np.outer(p, c))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
