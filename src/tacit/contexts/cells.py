"""Contexts in cells: a histogram per column, counted privately, and a generator made from the noisy
counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from tacit._typing import Array, Floats, Rng
from tacit.domains import Domain, Mixed
from tacit.domains.finite import Finite

BINS = 12
CLEARLY = 2.0  # standard deviations
FITTING = 30  # rounds of proportional fitting: far more than it needs


@dataclass(frozen=True, eq=False)
class Column:
    """One thing that is counted: a coordinate cut into bins, or a label."""

    at: slice
    labels: Finite | None

    @property
    def size(self) -> int:
        return BINS if self.labels is None else len(self.labels.labels)

    def index(self, points: Array) -> Array:
        """The number of each point's cell. Points are finite."""
        xp = array_namespace(points)
        if self.labels is None:
            return xp.astype(xp.clip(points[:, self.at.start] * BINS, 0.0, BINS - 1.0), xp.int64)
        places = xp.asarray(
            self.labels.candidate_points(0), dtype=points.dtype, device=device(points)
        )
        apart = points[:, self.at][:, None, :] - places[None, :, :]
        return xp.argmin(xp.sum(apart * apart, axis=2), axis=1)

    def at_quantile(self, probabilities: Floats, u: Floats) -> Floats:
        """The point below which a share `u` of this law lies."""
        above = np.cumsum(probabilities)
        cells = np.minimum(np.searchsorted(above, u, side="right"), self.size - 1)
        if self.labels is not None:
            return self.labels.candidate_points(0)[cells]
        inside = (u - (above[cells] - probabilities[cells])) / probabilities[cells]
        return ((cells + np.clip(inside, 0.0, 1.0)) / BINS)[:, None]

    def place(self, cells: Any, rng: Rng) -> Floats:
        """A point in each cell: the label's own, or anywhere in the bin."""
        if self.labels is not None:
            return self.labels.candidate_points(0)[cells]
        return ((cells + rng.random(len(cells))) / BINS)[:, None]


class Cells:
    """Every column of a context domain, side by side."""

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
        marks = [
            column.index(contexts)[:, None]
            == xp.arange(column.size, device=device(contexts))[None, :]
            for column in self.parts
        ]
        return xp.astype(xp.concat(marks, axis=1), contexts.dtype)

    def laws(
        self, counts: Floats, noise: float, records: int, believed: Floats | None = None
    ) -> list[Floats]:
        """The probabilities of each column's cells, given noisy counts and the shares that were
        expected of them.

        A record counts once in every column, or in none where something is missing.
        """
        total = float(np.clip(counts.sum() / self.columns, 0.5 * records, records))
        guesses = (
            np.split(believed, self._starts[1:-1])
            if believed is not None
            else [None] * self.columns
        )
        counted = np.split(counts, self._starts[1:-1])
        return [
            probabilities(column, noise, total, guess)
            for column, guess in zip(counted, guesses, strict=True)
        ]

    def from_cube(self, laws: list[Floats], cube: Floats) -> Floats:
        """Rows of uniform numbers, one per column, to unit coordinates under these laws, column by
        column."""
        drawn = [
            column.at_quantile(law, u)
            for column, law, u in zip(self.parts, laws, cube.T, strict=True)
        ]
        return self.domain.project_points(np.hstack(drawn))

    def fitted(self, points: Floats, weights: Floats, laws: list[Floats]) -> Floats:
        """Weights under which each column of these contexts follows its law. How columns depend on
        each other changes as little as can be (proportional fitting: Deming and Stephan, 1940)."""
        cells = [column.index(points) for column in self.parts]
        weights = weights / weights.sum()
        for _ in range(FITTING):
            for index, law in zip(cells, laws, strict=True):
                weights = (
                    weights
                    * (law / np.maximum(np.bincount(index, weights, len(law)), 1e-300))[index]
                )
        return weights


def probabilities(
    counts: Floats, noise: float, total: float, believed: Floats | None = None
) -> Floats:
    """Noisy counts of `total` people to probabilities: shrunk towards what is believed as far as
    the noise demands (James and Stein), and floored. A belief must be contradicted clearly; uniform
    is none, only the want of better.
    """
    even = 1.0 / len(counts)
    free = len(counts) - 1
    guess = np.full(len(counts), even) if believed is None else believed
    excess = counts - total * guess
    excess -= excess.mean()
    chance = free if believed is None else free + CLEARLY * np.sqrt(2.0 * free)
    trust = max(0.0, 1.0 - chance * noise**2 / max(float(np.sum(excess**2)), 1e-300))
    p = np.maximum(guess + trust * excess / total, np.clip(guess, 1e-9, 0.02 * even))
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
    return [Column(slice(i, i + 1), None) for i in range(start, start + domain.dimension)]
