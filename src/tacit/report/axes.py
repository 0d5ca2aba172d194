"""The named coordinates of a domain as axes of a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.charts.formatting import clean, number
from tacit.domains import Box, Domain
from tacit.domains.finite import Finite

MOST_LABELS = 24  # of one axis in a drawing
MOST_LISTED = 6  # labels that a sentence names one by one


@dataclass(frozen=True, eq=False)
class Axis:
    """One named coordinate: a range of numbers, or a list of labels (which may take several unit
    coordinates)."""

    name: str
    part: Domain
    start: int  # of the part, in unit coordinates of the whole domain
    index: int | None  # of the coordinate within the part; none for labels

    @property
    def title(self) -> str:
        return clean(self.name)

    @property
    def columns(self) -> slice:
        """Where the axis is in unit coordinates of the whole domain."""
        if self.index is None:
            return slice(self.start, self.start + self.part.dimension)
        return slice(self.start + self.index, self.start + self.index + 1)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels; empty for a range of numbers."""
        if not isinstance(self.part, Finite):
            return ()
        return tuple(clean(label) for label in self.part.labels)

    def ruler(self, n: int, most: int = MOST_LABELS) -> Ruler:
        """`n` even steps over the range; or every label, at most so many of them."""
        if not self.labels:
            return self.ruler_at(np.linspace(0.0, 1.0, n))
        spread = np.linspace(0, len(self.labels) - 1, most)
        return self.ruler_of(np.unique(spread.round().astype(int)))

    def ruler_at(self, units: Floats) -> Ruler:
        """Numbers at these unit coordinates."""
        return Ruler(self, units[:, None], self.values(units[:, None]), ())

    def ruler_of(self, numbers: NDArray[np.int64]) -> Ruler:
        """The labels of these numbers."""
        places = self.part.candidate_points(len(self.labels))[numbers]
        at = np.arange(len(places), dtype=np.float64)
        return Ruler(self, places, at, tuple(numbers.tolist()))

    def values(self, places: Floats) -> Floats:
        """Unit coordinates of this axis in the user's units; of labels, their numbers in the
        list."""
        if isinstance(self.part, Finite):
            return self.part.nearest(places).astype(np.float64)
        points = np.full((len(places), self.part.dimension), 0.5)
        assert self.index is not None
        points[:, self.index] = places[:, 0]
        return np.asarray(self.part.decode(points)[self.name], dtype=np.float64)

    def missing(self, points: Floats) -> NDArray[np.bool_]:
        """Which points of the whole domain lack this number: those whose indicator says so."""
        at = self.indicator
        if at is None:
            return np.zeros(len(points), dtype=bool)
        return np.asarray(points[:, at] > 0.5)

    @property
    def indicator(self) -> int | None:
        """The unit coordinate that says whether the number is missing, where there is one."""
        if not isinstance(self.part, Box) or self.index not in self.part.indicated:
            return None
        return self.start + len(self.part.names) + self.part.indicated.index(self.index)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value, in the user's units."""
        low, high = self.values(np.array([[0.0], [1.0]])).tolist()
        return low, high

    @property
    def span(self) -> float:
        low, high = self.range
        return high - low

    def says(self, place: Floats) -> str:
        """One place on the axis, in words: 56.5, or A/G."""
        value = float(self.values(place.reshape(1, -1))[0])
        if self.labels:
            return self.labels[int(value)]
        return number(value, self.span)

    def says_of(self, point: Floats) -> str:
        """The name of the axis and where a point of the whole domain is on it: age 56.5."""
        if self.missing(point.reshape(1, -1))[0]:
            return f"{self.title} missing"
        return f"{self.title} {self.says(point[self.columns])}"

    @property
    def domain_says(self) -> str:
        """What there is to choose from: 0 to 100, or one of 20."""
        if len(self.labels) > MOST_LISTED:
            return f"one of {len(self.labels):,}"
        if self.labels:
            return " / ".join(self.labels)
        low, high = self.range
        return f"{number(low, self.span)} to {number(high, self.span)}"


@dataclass(frozen=True, eq=False)
class Ruler:
    """Some places on an axis: where they are in unit coordinates, and where they are drawn."""

    axis: Axis
    places: Floats
    at: Floats
    numbers: tuple[int, ...]  # of the labels; none where the axis is a range

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.axis.labels[i] for i in self.numbers)

    def find(self, number: float) -> float:
        """Where the label of this number is drawn; NaN if it is not."""
        if number not in self.numbers:
            return np.nan
        return float(self.numbers.index(int(number)))

    def __len__(self) -> int:
        return len(self.at)
