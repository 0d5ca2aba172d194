"""The distribution of contexts, learned privately: one histogram per column and a coarse one per
pair of columns, released together.

    row = [ sqrt((1 - t) / p) onehot of each of p columns | sqrt(t / m) onehot of each of m pairs ]
    |row| = 1

This is one sum and one release. Which pairs matter is read off the released numbers: a tree over
the columns keeps the strongest dependences among those that clearly exceed the noise (Chow and Liu,
1968). Contexts are then drawn along the tree.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.contexts.cells import Cells, Integers
from tacit.core import (
    Budget,
    Cohort,
    Encoding,
    Guarantee,
    Ledger,
    PrivateSum,
    Released,
    as_ledger,
    private_sum,
    release_gaussian,
    simulate_gaussian,
)
from tacit.domains import Domain, record_points
from tacit.quiet import quiet

PAIR_SHARE = 0.5  # t: the part of a row's squared norm that goes to pairs
PARTS = 6  # coarse cells of one column in a table of pairs, and one of missing values
CLEAR = 4.0  # standard deviations by which a dependence must exceed what noise alone would show
# Rows that are counted at a time. Blocks are padded to this height, because the rounding of a row
# must not depend on how many rows there are.
BLOCK = 512


def release_marginals(
    table: Any,
    domain: Domain,
    *,
    budget: Budget,
    ledger: Ledger | str,
    request: str | None = None,
    pairs: bool = True,
    cohort: Cohort | None = None,
) -> LearnedContexts:
    """A context generator learned from private contexts, charged to `ledger` like any release.

    Pass it as `Problem(generator=...)`. Replacing one row of `table` is protected under `budget`;
    how many rows there are is public. A row with a missing or unknown value counts, and adds
    nothing. `ledger` is a ledger or its URL, where one is created with `budget` if there is none
    yet. The same `request` on the same ledger returns the same generator. On a ledger that is
    divided say which `cohort` the rows are of: they count as its first records.
    """
    counts = _Counts(domain, pairs)
    total = counts.collect(table, cohort)
    about = {"contexts": list(domain.names), "pairs": bool(counts.pairs), "budget": str(budget)}
    name = request or f"contexts-{secrets.token_hex(8)}"
    released = release_gaussian(total, budget, as_ledger(ledger, budget), name, about)
    return counts.learned(released)


def simulate_marginals(
    table: Any, domain: Domain, *, budget: Budget, rng: Rng, pairs: bool = True
) -> LearnedContexts:
    """The same with noise from a seeded generator: charges nothing, and is marked not private."""
    counts = _Counts(domain, pairs)
    return counts.learned(simulate_gaussian(counts.collect(table), budget, rng))


@dataclass(frozen=True, eq=False)
class LearnedContexts:
    """A generator made of released numbers.

    `tree[j]` is the parent of column `j`, the column given whose value it is drawn, or -1 if it has
    none. `order` lists parents before their children.
    """

    domain: Domain
    guarantee: Guarantee
    tree: tuple[int, ...]
    order: tuple[int, ...]
    _cells: Cells
    _probabilities: list[Floats]  # of the cells of each column
    _given: dict[int, Floats]  # P(coarse cell of column j | coarse cell of its parent), by j

    def sample(self, n: int, rng: Rng) -> dict[str, Any]:
        """`n` contexts in the user's units."""
        fine = [np.empty(0, dtype=np.intp)] * len(self.tree)
        for j in self.order:
            p = self._probabilities[j]
            parent = self.tree[j]
            if parent < 0:
                fine[j] = rng.choice(len(p), size=n, p=p)
                continue
            # Inverse transform sampling: the number of cumulative probabilities below a uniform.
            given = self._groups[parent][fine[parent]]
            cumulative = self._conditional(j).cumsum(axis=1)
            u = rng.random(n) * cumulative[given, -1]
            below = np.empty(n, dtype=np.intp)
            for coarse, row in enumerate(cumulative):
                below[given == coarse] = np.searchsorted(row, u[given == coarse])
            fine[j] = np.minimum(below, len(p) - 1)
        points = [
            column.place(cells, rng) for column, cells in zip(self._cells.parts, fine, strict=True)
        ]
        return self.domain.decode(self._cells.joined(points))

    @cached_property
    def _groups(self) -> list[Integers]:
        """The coarse cell of each cell, column by column."""
        return [column.groups(PARTS) for column in self._cells.parts]

    def _conditional(self, j: int) -> Floats:
        """P(fine cell of j | coarse cell of its parent): P(coarse cell | parent) from the pair
        times P(fine cell | coarse cell) from the column."""
        p = self._probabilities[j]
        table = self._given[j]
        coarse = self._groups[j]
        within = p / np.bincount(coarse, weights=p, minlength=table.shape[1])[coarse]
        return table[:, coarse] * within

    def __repr__(self) -> str:
        return f"LearnedContexts({', '.join(self.domain.names)}; private={self.guarantee.private})"


class _Counts:
    """The layout of a record's row of counts, and how a noisy sum of rows is read."""

    def __init__(self, domain: Domain, pairs: bool) -> None:
        self.domain = domain
        self.cells = Cells(domain)
        self.pairs: list[tuple[int, int]] = []
        if pairs:
            self.pairs = [(i, j) for j in range(self.cells.columns) for i in range(j)]
        self._share = PAIR_SHARE if self.pairs else 0.0
        self._groups = [column.groups(PARTS) for column in self.cells.parts]
        self._sizes = [int(groups[-1]) + 1 for groups in self._groups]

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
        """The generator that a release stands for."""
        step = 1.0 / 2**released.bits  # one integer of the encoding
        values = released.values * step
        noise = released.scale * step
        records = max(1, released.records)
        counts = values[: self.cells.size] / self._column_weight
        p = self.cells.column_probabilities(counts, noise / self._column_weight, records)
        tables: dict[tuple[int, int], Floats] = {}
        pair_noise = 0.0
        if self.pairs:
            tables = self._tables(values[self.cells.size :] / self._pair_weight)
            pair_noise = noise / self._pair_weight
        coarse = [
            np.asarray(np.bincount(groups, weights=own), dtype=np.float64)
            for groups, own in zip(self._groups, p, strict=True)
        ]
        tree = _tree(coarse, tables, pair_noise, records)
        given = {}
        for j, i in enumerate(tree):
            if i >= 0:
                table = tables[i, j] if i < j else tables[j, i].T
                given[j] = _shrunk(table, coarse[i], coarse[j], pair_noise, records)
        return LearnedContexts(
            self.domain, released.guarantee, tuple(tree), _order(tree), self.cells, p, given
        )

    @cached_property
    def _column_weight(self) -> float:
        return float(np.sqrt((1.0 - self._share) / self.cells.columns))

    @cached_property
    def _pair_weight(self) -> float:
        return float(np.sqrt(self._share / len(self.pairs)))

    def _rows(self, points: Floats) -> Floats:
        """One row per record; zeros for a record with a missing value."""
        known = np.asarray(np.isfinite(points).all(axis=1))
        points = np.where(known[:, None], points, 0.5)
        blocks = [self.cells.onehot(points) * self._column_weight]
        parts = [
            groups[column.index(points)]
            for groups, column in zip(self._groups, self.cells.parts, strict=True)
        ]
        for i, j in self.pairs:
            marks = np.zeros((len(points), self._sizes[i] * self._sizes[j]))
            marks[np.arange(len(points)), parts[i] * self._sizes[j] + parts[j]] = self._pair_weight
            blocks.append(marks)
        return np.hstack(blocks) * known[:, None]

    def _tables(self, values: Floats) -> dict[tuple[int, int], Floats]:
        """The coarse table of each pair of columns."""
        tables = {}
        start = 0
        for i, j in self.pairs:
            size = self._sizes[i] * self._sizes[j]
            tables[i, j] = values[start : start + size].reshape(self._sizes[i], self._sizes[j])
            start += size
        return tables


def _beyond(table: Floats, p: Floats, c: Floats, records: int) -> Floats:
    """How far a table of counts is from independence, with the errors of its margins taken out."""
    rest = table - records * np.outer(p, c)
    return rest - rest.mean(axis=0) - rest.mean(axis=1, keepdims=True) + rest.mean()


def _freedom(table: Floats) -> int:
    """Degrees of freedom of a test for independence."""
    return (table.shape[0] - 1) * (table.shape[1] - 1)


def _tree(
    coarse: list[Floats], tables: dict[tuple[int, int], Floats], noise: float, records: int
) -> list[int]:
    """The parent of each column, -1 for none: the spanning forest of the strongest dependences
    among those that clearly exceed the noise."""
    # Late: serving a policy does not need it.
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    columns = len(coarse)
    strength = np.zeros((columns, columns))
    for (i, j), table in tables.items():
        rest = _beyond(table, coarse[i], coarse[j], records)
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
    """The columns, parents before children."""

    def depth(j: int) -> int:
        return 0 if tree[j] < 0 else 1 + depth(tree[j])

    return tuple(sorted(range(len(tree)), key=depth))


def _shrunk(table: Floats, p: Floats, c: Floats, noise: float, records: int) -> Floats:
    """P(coarse child | coarse parent) by positive-part James-Stein shrinkage of the table towards
    independence, given the probabilities of the parent's coarse cells and of the child's."""
    rest = _beyond(table, p, c, records)
    trust = max(0.0, 1.0 - _freedom(table) * noise**2 / max(float(np.sum(rest**2)), 1e-300))
    joint = np.maximum(np.outer(p, c) + trust * rest / records, 0.02 * np.outer(p, c))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
