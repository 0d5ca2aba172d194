"""Contexts in cells: one histogram per column, and the probabilities that noisy counts of its cells
stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from tacit._typing import Array, Floats, Rng
from tacit.domains import Box, Domain, Mixed
from tacit.domains.finite import Finite

Integers = NDArray[np.int64]

BINS = 12  # of a coordinate
CLEARLY = 2.0  # standard deviations by which counts must contradict a prior
FITTING = 30  # rounds of proportional fitting: far more than it needs
MIDDLE = 0.5  # where a number is that is missing (see `Box`)


@dataclass(frozen=True, eq=False)
class Column:
    """One column that is counted: a coordinate cut into bins, or a set of labels.

    A coordinate whose missing values have an indicator has one more cell for them, the last one.
    """

    at: slice
    labels: Finite | None
    indicator: int | None = None  # the coordinate that is 1 where the number is missing

    @property
    def size(self) -> int:
        if self.labels is not None:
            return len(self.labels.labels)
        return BINS if self.indicator is None else BINS + 1

    @property
    def coordinates(self) -> list[int]:
        """Those that `at_quantile` and `place` fill."""
        found = list(range(self.at.start, self.at.stop))
        return found if self.indicator is None else [*found, self.indicator]

    def index(self, points: Array) -> Array:
        """The number of the cell that each point is in. Points must be finite."""
        xp = array_namespace(points)
        if self.labels is None:
            scaled = xp.clip(points[:, self.at.start] * BINS, 0.0, BINS - 1.0)
            if self.indicator is not None:
                scaled = xp.where(points[:, self.indicator] > 0.5, float(BINS), scaled)
            return xp.astype(scaled, xp.int64)
        places = xp.asarray(
            self.labels.candidate_points(0), dtype=points.dtype, device=device(points)
        )
        # One coordinate at a time: memory is points times labels, and not times coordinates too.
        apart = xp.zeros((points.shape[0], self.size), dtype=points.dtype, device=device(points))
        for i in range(places.shape[1]):
            difference = points[:, self.at.start + i][:, None] - places[:, i][None, :]
            difference *= difference
            apart += difference
        return xp.argmin(apart, axis=1)

    def position(self, points: Array) -> Array:
        """Where each point lies among the cells: the number of its cell, and how far into it."""
        xp = array_namespace(points)
        if self.labels is not None:
            return xp.astype(self.index(points), points.dtype) + 0.5
        position = xp.clip(points[:, self.at.start] * BINS, 0.0, float(BINS))
        if self.indicator is not None:
            position = xp.where(points[:, self.indicator] > 0.5, BINS + 0.5, position)
        return position

    def middle(self, probabilities: Floats) -> float:
        """The position that about half of a column with these probabilities of cells lies below.
        Labels, and missing values, are not cut in two."""
        cumulative = np.cumsum(probabilities)
        if self.labels is None:
            cell = int(np.searchsorted(cumulative, 0.5, side="right"))
            if cell >= BINS:
                return float(BINS)
            above = float(cumulative[cell]) - 0.5
            return cell + 1.0 - above / float(probabilities[cell])
        if self.size < 2:
            return 0.0
        return 1.0 + int(np.argmin(np.abs(cumulative[:-1] - 0.5)))

    def groups(self, most: int) -> Integers:
        """The coarse cell of each cell: at most so many of about equal width, and that of missing
        values besides."""
        known = self.size if self.indicator is None else BINS
        found = np.arange(known) * min(most, known) // known
        return found if self.indicator is None else np.append(found, found[-1] + 1)

    def at_quantile(self, probabilities: Floats, u: Floats) -> Floats:
        """The quantiles `u` of a column whose cells have these probabilities."""
        cumulative = np.cumsum(probabilities)
        cells = np.minimum(np.searchsorted(cumulative, u, side="right"), self.size - 1)
        # A bin is uniform inside: how far into it the quantile lies.
        inside = (u - (cumulative[cells] - probabilities[cells])) / probabilities[cells]
        return self._points(cells, np.clip(inside, 0.0, 1.0))

    def place(self, cells: Any, rng: Rng) -> Floats:
        """A random point in each cell: that of the label, or uniform in the bin."""
        if self.labels is not None:
            return self._points(cells, np.zeros(len(cells)))
        return self._points(cells, rng.random(len(cells)))

    def at_places(self, cells: Any, places: Floats) -> Floats:
        """The point of each cell that lies so far into it, given one number for each cell."""
        return self._points(cells, places[cells])

    def _points(self, cells: Any, inside: Floats) -> Floats:
        """Points of cells; those in bins are so far into them."""
        if self.labels is not None:
            return self.labels.candidate_points(0)[cells]
        numbers = (cells + inside) / BINS
        if self.indicator is None:
            return numbers[:, None]
        missing = cells == BINS
        return np.column_stack([np.where(missing, MIDDLE, numbers), missing])


class Cells:
    """The columns of a context domain and their cells, side by side."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.parts = _columns_of(domain)
        self._starts = np.cumsum([0] + [column.size for column in self.parts])

    @property
    def size(self) -> int:
        return int(self._starts[-1])

    @property
    def columns(self) -> int:
        return len(self.parts)

    def onehot(self, contexts: Array) -> Array:
        """One row per context with a 1 in one cell of each column: its norm is sqrt(columns)."""
        xp = array_namespace(contexts)
        marks = []
        for column in self.parts:
            cells = xp.arange(column.size, device=device(contexts))
            marks.append(column.index(contexts)[:, None] == cells[None, :])
        return xp.astype(xp.concat(marks, axis=1), contexts.dtype)

    def column_probabilities(
        self, counts: Floats, noise: float, records: float, prior: Floats | None = None
    ) -> list[Floats]:
        """The probabilities of each column's cells, given noisy counts of all cells and the prior
        probabilities of all cells, if there are any (see `probabilities`)."""
        # A record counts once in every column, or in none where something is missing.
        total = float(np.clip(counts.sum() / self.columns, 0.5 * records, records))
        priors: list[Floats | None] = [None] * self.columns
        if prior is not None:
            priors = list(np.split(prior, self._starts[1:-1]))
        counted = np.split(counts, self._starts[1:-1])
        return [
            probabilities(column, noise, total, column_prior)
            for column, column_prior in zip(counted, priors, strict=True)
        ]

    def middles(self, column_probabilities: Sequence[Floats]) -> Floats:
        """The middle of each column (see `Column.middle`)."""
        each = zip(self.parts, column_probabilities, strict=True)
        return np.array([column.middle(p) for column, p in each])

    def from_cube(self, column_probabilities: list[Floats], cube: Floats) -> Floats:
        """Rows of uniform numbers, one per column, to unit coordinates whose columns have these
        probabilities and are independent."""
        drawn = [
            column.at_quantile(p, u)
            for column, p, u in zip(self.parts, column_probabilities, cube.T, strict=True)
        ]
        return self.joined(drawn)

    def joined(self, drawn: Sequence[Floats]) -> Floats:
        """Points of the domain from those of its columns."""
        points = np.empty((len(drawn[0]), self.domain.dimension))
        for column, own in zip(self.parts, drawn, strict=True):
            points[:, column.coordinates] = own
        return self.domain.project_points(points)

    def concentrated(self, points: Floats, rng: Rng) -> Floats:
        """The same contexts with all numbers of a bin at one random place in it."""
        moved = [
            column.at_places(column.index(points), rng.random(column.size)) for column in self.parts
        ]
        return self.joined(moved)

    def fitted(self, points: Floats, weights: Floats, column_probabilities: list[Floats]) -> Floats:
        """Weights under which the columns of these contexts have these probabilities.

        By iterative proportional fitting (Deming and Stephan, 1940), which changes as little as
        possible how columns depend on each other.
        """
        cells = [column.index(points) for column in self.parts]
        weights = weights / weights.sum()
        for _ in range(FITTING):
            for index, p in zip(cells, column_probabilities, strict=True):
                weighted = np.bincount(index, weights, len(p))
                weights = weights * (p / np.maximum(weighted, 1e-300))[index]
        return weights


def probabilities(
    counts: Floats, noise: float, total: float, prior: Floats | None = None
) -> Floats:
    """Positive-part James-Stein shrinkage towards `prior`. A given prior is left only where the
    excess exceeds the chi-square mean by two standard deviations.

    `counts` add up to about `total`, and each has noise of standard deviation `noise`. Without a
    prior they are shrunk towards the uniform distribution, by the chi-square mean alone. No
    probability becomes 0.
    """
    uniform = 1.0 / len(counts)
    freedom = len(counts) - 1
    # The excess of pure noise, squared and in units of its variance, is chi-square with `freedom`
    # degrees: its mean is `freedom`, its variance twice that.
    threshold = float(freedom)
    if prior is None:
        prior = np.full(len(counts), uniform)
    else:
        threshold += CLEARLY * np.sqrt(2.0 * freedom)
    excess = counts - total * prior
    excess -= excess.mean()
    trust = max(0.0, 1.0 - threshold * noise**2 / max(float(np.sum(excess**2)), 1e-300))
    p = np.maximum(prior + trust * excess / total, np.clip(prior, 1e-9, 0.02 * uniform))
    return np.asarray(p / p.sum())


def _columns_of(domain: Domain, start: int = 0) -> list[Column]:
    if isinstance(domain, Mixed):
        columns = []
        for part in domain.parts:
            columns += _columns_of(part, start)
            start += part.dimension
        return columns
    if isinstance(domain, Finite):
        return [Column(slice(start, start + domain.dimension), domain)]
    columns = [Column(slice(i, i + 1), None) for i in range(start, start + domain.dimension)]
    if isinstance(domain, Box) and domain.indicated:
        # Indicators come after all numbers. They are counted with their numbers.
        columns = columns[: len(domain.low)]
        for i, column in enumerate(domain.indicated):
            indicator = start + len(domain.low) + i
            columns[column] = replace(columns[column], indicator=indicator)
    return columns
