"""An axis-parallel box, the domain of doses, prices, ages and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain, count
from tacit.domains.naming import coordinate_names, is_unnamed
from tacit.domains.ranges import columns_of, interval
from tacit.errors import InputError
from tacit.tables import Columns, floats, numbers


@dataclass(frozen=True)
class Box(Domain):
    """All points between `low` and `high`, coordinate by coordinate."""

    low: Sequence[float]
    high: Sequence[float]
    names: Sequence[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        low = np.atleast_1d(numbers(self.low))
        high = np.atleast_1d(numbers(self.high))
        if low.ndim != 1 or low.shape != high.shape or not low.size:
            raise InputError(
                f"a Box needs as many lows as highs, got {low.shape} and {high.shape}."
            )
        with np.errstate(over="ignore"):
            width = high - low
        if not (np.isfinite(width).all() and (width > 0).all()):
            raise InputError(
                f"a Box needs finite low < high in every coordinate, got low={self.low!r} and "
                f"high={self.high!r}."
            )
        object.__setattr__(self, "low", tuple(low.tolist()))
        object.__setattr__(self, "high", tuple(high.tolist()))
        object.__setattr__(self, "unnamed", is_unnamed(self.names))
        object.__setattr__(self, "names", coordinate_names(self.names, low.size))

    @classmethod
    def of(cls, ranges: Mapping[str, Any] | None = None, /, **named: Any) -> Box:
        """A box by names and ranges: `Box.of(age=(18, 95), weight=(40, 140))`.

        Names that are no identifiers go into one mapping: `Box.of({"body weight": (40, 140)})`.
        """
        columns = columns_of(ranges, named, "Box.of(dose=(0, 100))")
        pairs = [interval(name, value) for name, value in columns.items()]
        return cls([low for low, _ in pairs], [high for _, high in pairs], list(columns))

    @property
    def dimension(self) -> int:
        return len(self.low)

    @property
    def uniform_density(self) -> float:
        return float(1.0 / np.prod(self._width))

    @property
    def _width(self) -> Floats:
        return np.asarray(self.high) - np.asarray(self.low)

    def encode(self, columns: Columns) -> Floats:
        values = np.column_stack([floats(columns[name]) for name in self.names])
        inside = np.clip(values, self.low, self.high)  # first, so that nothing overflows
        return self.project_points((inside - np.asarray(self.low)) / self._width)

    def decode(self, points: Floats) -> Columns:
        values = np.asarray(self.low) + points * self._width
        values = np.clip(values, self.low, self.high)
        return {name: values[:, i] for i, name in enumerate(self.names)}

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return rng.random((count(n), self.dimension))

    def project_points(self, points: Floats) -> Floats:
        return np.clip(points, 0.0, 1.0)

    @property
    def cube_dimension(self) -> int:
        return self.dimension

    def from_cube(self, cube: Floats) -> Floats:
        return cube

    def candidate_points(self, n: int) -> Floats:
        # One coordinate: an even grid with both ends, where best doses and prices often lie.
        if self.dimension == 1:
            return np.linspace(0.0, 1.0, count(n)).reshape(-1, 1)
        return super().candidate_points(n)
