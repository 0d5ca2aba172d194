"""Finite domains: a catalogue of items with features, and plain categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.domains.base import Domain, Rng
from tacit.errors import InputError
from tacit.tables import Columns, Floats


class Finite(Domain):
    """Shared by both: a list of labels, each at a fixed place in unit coordinates."""

    labels: tuple[Any, ...]
    _places: Floats
    _index: dict[Any, int]

    @property
    def dimension(self) -> int:
        return int(self._places.shape[1])

    @property
    def density(self) -> float:
        return 1.0 / len(self.labels)

    @property
    def continuous(self) -> bool:
        return False

    def encode(self, columns: Columns) -> Floats:
        places = np.vstack([self._places, np.full(self.dimension, np.nan)])
        values = columns[self.names[0]]
        return places[[self._index.get(_key(value), -1) for value in values.tolist()]]

    def decode(self, points: Floats) -> Columns:
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return {self.names[0]: labels[self.nearest(points)]}

    def nearest(self, points: Floats) -> np.ndarray[Any, Any]:
        """The index of the closest label to each row."""
        square = np.sum(self._places**2, axis=1) - 2 * np.nan_to_num(points) @ self._places.T
        return np.argmin(square, axis=1)

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return self._places[rng.integers(len(self.labels), size=n)]

    def project_points(self, points: Floats) -> Floats:
        missing = np.isnan(points).any(axis=1, keepdims=True)
        return np.where(missing, np.nan, self._places[self.nearest(np.clip(points, -1e6, 1e6))])

    def candidate_points(self, n: int) -> Floats:
        return self._places

    def _settle(self, labels: Sequence[Any], places: Floats) -> None:
        keys = [_key(label) for label in labels]
        if len(set(keys)) != len(keys):
            raise InputError(f"the labels of a {type(self).__name__} must all differ.")
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_index", {key: i for i, key in enumerate(keys)})


@dataclass(frozen=True, eq=False)
class Catalogue(Finite):
    """Items with ids and feature vectors: what may be recommended.

    Each feature is scaled to [0, 1] over the catalogue, so a lengthscale of 1 spans it.
    """

    features: Sequence[Sequence[float]]
    ids: Sequence[Any] | None = None
    names: Sequence[str] = ("item",)  # type: ignore[assignment]
    labels: tuple[Any, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        features = np.asarray(self.features, dtype=float)
        features = features.reshape(len(features), -1)
        if not features.size or not np.isfinite(features).all():
            raise InputError("a Catalogue needs at least one item, with finite features.")
        ids = list(range(len(features))) if self.ids is None else [_key(i) for i in self.ids]
        if len(ids) != len(features):
            raise InputError(f"a Catalogue needs one id per item, got {len(ids)} ids for {len(features)} items.")
        span = np.ptp(features, axis=0)
        places = np.where(span > 0, (features - features.min(axis=0)) / np.where(span > 0, span, 1.0), 0.5)
        object.__setattr__(self, "features", tuple(map(tuple, features.tolist())))
        object.__setattr__(self, "ids", tuple(ids))
        object.__setattr__(self, "names", tuple(self.names))
        self._settle(ids, places)


@dataclass(frozen=True, eq=False)
class Categories(Finite):
    """Labels without features, in an order that may mean something: `Categories(["none", "one", "two"], "copies")`.

    Unit coordinates are evenly spaced. A `Categorical` kernel reads them as mere labels, any other as a scale.
    """

    levels: Sequence[Any]
    name: str = "category"
    labels: tuple[Any, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        levels = [_key(level) for level in self.levels]
        if len(levels) < 2:
            raise InputError(f"Categories need at least two levels, got {self.levels!r}.")
        object.__setattr__(self, "levels", tuple(levels))
        object.__setattr__(self, "names", (self.name,))
        self._settle(levels, np.linspace(0.0, 1.0, len(levels)).reshape(-1, 1))


def _key(label: Any) -> Any:
    """Labels compare by value: NumPy's 3 is Python's 3; anything unhashable matches nothing."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, str | int | float | bool | bytes) else str(label)
