"""An axis-parallel box, the domain of doses, prices, ages and weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain, bounded, count
from tacit.domains.naming import coordinate_names, is_unnamed
from tacit.domains.ranges import DROP, INDICATOR, columns_of, fill_of, interval
from tacit.errors import InputError
from tacit.tables import Columns, floats, numbers

MISSING_SHARE = 0.1  # of uniform draws of a coordinate that has an indicator


@dataclass(frozen=True)
class Box(Domain):
    """All points between `low` and `high`, coordinate by coordinate.

    `missing` says for each of them what a missing cell is read as (see `Range`); none of them are
    filled by default. One whose missing values have an indicator may be missing besides: in unit
    coordinates it is then in the middle, and its indicator, which comes after all numbers, is 1. A
    uniform draw of it is missing one time in ten.

    >>> box = tacit.Box.of(age=(18, 95), weight=(40, 140))
    >>> box.names
    ('age', 'weight')
    >>> box.project({"age": [10, 50], "weight": [70, 200]}).tolist()
    [[18.0, 70.0], [50.0, 140.0]]
    """

    low: Sequence[float]
    high: Sequence[float]
    names: Sequence[str] = ()  # type: ignore[assignment]
    missing: Sequence[float | str] = ()
    # The columns whose missing values have an indicator.
    indicated: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

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
        self._settle(self.missing)

    def _settle(self, missing: Any) -> None:
        """Checks what becomes of missing cells, and keeps it."""
        if isinstance(missing, str | Mapping) or not isinstance(missing, Iterable):
            raise InputError(
                f"missing must be a list with one entry per coordinate, got {missing!r}."
            )
        given = list(missing) or [DROP] * len(self.low)
        if len(given) != len(self.low):
            raise InputError(
                f"missing must have one entry for each of {len(self.low)} coordinate(s), got "
                f"{len(given)}."
            )
        columns = zip(self.names, given, self.low, self.high, strict=True)
        kept = tuple(fill_of(*column) for column in columns)
        fills = any(entry != DROP for entry in kept)
        marked = [i for i, entry in enumerate(kept) if entry == INDICATOR]
        object.__setattr__(self, "missing", kept if fills else ())
        object.__setattr__(self, "fills", fills)
        object.__setattr__(self, "indicated", tuple(marked))

    @classmethod
    def of(cls, ranges: Mapping[str, Any] | None = None, /, **named: Any) -> Box:
        """A box by names and ranges: `Box.of(age=(18, 95), weight=(40, 140))`.

        Names that are no identifiers go into one mapping: `Box.of({"body weight": (40, 140)})`.
        """
        columns = columns_of(ranges, named, "Box.of(dose=(0, 100))")
        given = [interval(name, value) for name, value in columns.items()]
        return cls(
            [each.low for each in given],
            [each.high for each in given],
            list(columns),
            [each.missing for each in given],
        )

    @property
    def dimension(self) -> int:
        return len(self.low) + len(self.indicated)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return (*self.names, *(self.names[i] for i in self.indicated))

    @property
    def uniform_density(self) -> float:
        # Of a draw of which nothing is missing.
        return float((1.0 - MISSING_SHARE) ** len(self.indicated) / np.prod(self._width))

    @property
    def _width(self) -> Floats:
        return np.asarray(self.high) - np.asarray(self.low)

    def encode(self, columns: Columns) -> Floats:
        values = np.column_stack([floats(columns[name]) for name in self.names])
        inside = np.clip(values, self.low, self.high)  # first, so that nothing overflows
        units = np.clip((inside - np.asarray(self.low)) / self._width, 0.0, 1.0)
        if not self.fills:
            return units
        # Each cell by itself: NaN becomes what was declared for its column, a number stays.
        gaps = np.isnan(values)
        units = np.where(gaps, self._fills, units)
        return np.hstack([units, gaps[:, list(self.indicated)].astype(np.float64)])

    @property
    def _fills(self) -> Floats:
        """The unit coordinates of missing cells; NaN where they are not filled."""
        fills = np.full(len(self.low), np.nan)
        for i, entry in enumerate(self.missing):
            if entry == INDICATOR:
                fills[i] = 0.5
            elif not isinstance(entry, str):
                fills[i] = (entry - self.low[i]) / self._width[i]
        return fills

    def decode(self, points: Floats) -> Columns:
        numbers = len(self.low)
        values = np.asarray(self.low) + points[:, :numbers] * self._width
        values = np.clip(values, self.low, self.high)
        for i, column in enumerate(self.indicated):
            values[:, column] = np.where(points[:, numbers + i] > 0.5, np.nan, values[:, column])
        return {name: values[:, i] for i, name in enumerate(self.names)}

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return self.from_cube(rng.random((count(n), self.dimension)))

    def project_points(self, points: Floats) -> Floats:
        numbers = len(self.low)
        projected = np.minimum(np.maximum(points, 0.0), 1.0)
        for i, column in enumerate(self.indicated):
            # Of a number x with indicator t the nearest are (c, 0), where c is x clipped, and
            # (1/2, 1): |x - c|^2 + t^2 - |x - 1/2|^2 - |t - 1|^2 = (c - 1/2)(c + 1/2 - 2x) + 2t - 1
            x = bounded(points[:, column])
            t = bounded(points[:, numbers + i])
            c = projected[:, column]
            with np.errstate(over="ignore", invalid="ignore"):
                gap = (c - 0.5) * (c + 0.5 - 2.0 * x) + (2.0 * t - 1.0) > 0.0
            known = ~np.isnan(x) & ~np.isnan(t)
            projected[:, column] = np.where(known & gap, 0.5, c)
            projected[:, numbers + i] = np.where(known, gap, np.nan)
        return projected

    @property
    def cube_dimension(self) -> int:
        return self.dimension

    def from_cube(self, cube: Floats) -> Floats:
        if not self.indicated:
            return cube
        numbers = len(self.low)
        points = cube.copy()
        for i, column in enumerate(self.indicated):
            gap = cube[:, numbers + i] < MISSING_SHARE
            points[:, column] = np.where(gap, 0.5, cube[:, column])
            points[:, numbers + i] = gap
        return points

    def candidate_points(self, n: int) -> Floats:
        # One coordinate: an even grid with both ends, where best doses and prices often lie.
        if self.dimension == 1:
            return np.linspace(0.0, 1.0, count(n)).reshape(-1, 1)
        return super().candidate_points(n)
