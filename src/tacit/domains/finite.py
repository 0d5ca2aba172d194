"""Finite domains: a catalogue of items with features, and plain categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain, bounded, count
from tacit.domains.naming import coordinate_names
from tacit.errors import InputError
from tacit.tables import Columns, number, numbers, text

CONTAINERS = (list, tuple, range, set, frozenset, Mapping, np.ndarray)  # cells that are no labels


class Finite(Domain):
    """The base of finite domains: a list of labels, each at a fixed place in unit coordinates."""

    labels: tuple[Any, ...]
    _places: Floats
    _texts: dict[str, int]
    _numbers: dict[float, int]
    _unknown: int | None = None  # the number of the label that stands for what is none of them

    @property
    def dimension(self) -> int:
        return int(self._places.shape[1])

    @property
    def uniform_density(self) -> float:
        return 1.0 / len(self.labels)

    @property
    def continuous(self) -> bool:
        return False

    def encode(self, columns: Columns) -> Floats:
        # What is found nowhere, -1, takes the last row: that of `_unknown`, or else NaN.
        last = np.full(self.dimension, np.nan)
        if self._unknown is not None:
            last = self._places[self._unknown]
        places = np.vstack([self._places, last])
        return places[[self._find(value) for value in columns[self.names[0]].tolist()]]

    def decode(self, points: Floats) -> Columns:
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return {self.names[0]: labels[self.nearest(points)]}

    def nearest(self, points: Floats) -> np.ndarray[Any, Any]:
        """The index of the closest label to each row."""
        # argmin |p|^2 - 2 x'p, divided by the largest coordinate of x where that is huge.
        x = np.nan_to_num(bounded(points))
        largest = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1.0)
        norm2 = np.sum(self._places**2, axis=1)
        return np.argmin(norm2 / largest - 2 * (x / largest) @ self._places.T, axis=1)

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return self._places[rng.integers(len(self.labels), size=count(n))]

    def project_points(self, points: Floats) -> Floats:
        missing = np.isnan(points).any(axis=1, keepdims=True)
        return np.where(missing, np.nan, self._places[self.nearest(points)])

    @property
    def cube_dimension(self) -> int:
        return 1

    def from_cube(self, cube: Floats) -> Floats:
        return self._places[(cube[:, 0] * len(self.labels)).astype(int)]

    def candidate_points(self, n: int) -> Floats:
        return self._places

    def _settle(self, labels: Sequence[Any], places: Floats) -> None:
        """Checks the labels and keeps them with their places, for the constructors."""
        if any(label is None or label != label for label in labels):
            raise InputError(
                f"the labels of {type(self).__name__} must not be None or NaN, which mean that one "
                "is missing."
            )
        texts = [_printed(label) for label in labels]
        values = [number(label) for label in labels]
        known = [value for value in values if value == value]
        if len(set(texts)) != len(labels) or len(set(known)) != len(known):
            raise InputError(
                f"the labels of {type(self).__name__} must all differ, also as numbers: 1, 1.0 and "
                "'1' are one label, and so are whole numbers that no float tells apart."
            )
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_texts", {name: i for i, name in enumerate(texts)})
        object.__setattr__(
            self, "_numbers", {value: i for i, value in enumerate(values) if value == value}
        )

    def _find(self, value: Any) -> int:
        """The number of a label, -1 for anything else.

        Text is looked up as it stands, then as the number that it spells; numbers by their float
        value, in which a column may come because of a gap, or a fraction, in another row; other
        things by what they print.
        """
        try:
            if isinstance(value, np.generic):
                value = value.item()
            if value is None or isinstance(value, CONTAINERS):
                return -1
            if not isinstance(value, int | float | complex | Decimal):
                name = _printed(value)
                if name in self._texts:
                    return self._texts[name]
            return self._numbers.get(number(value), -1)
        except Exception:  # whatever somebody else's __class__ or __str__ raises
            return -1


@dataclass(frozen=True, eq=False)
class Catalogue(Finite):
    """Items with ids and feature vectors: what may be recommended.

    Each feature is scaled to [0, 1] over the catalogue, so a lengthscale of 1 spans it.

    >>> films = tacit.Catalogue([[0.9, 0.1], [0.2, 0.8]], ids=["Alien", "Amelie"], names=["film"])
    >>> films.candidates(10).tolist()
    ['Alien', 'Amelie']
    """

    features: ArrayLike
    ids: Sequence[Any] | None = None
    names: Sequence[str] = ("item",)  # type: ignore[assignment]
    labels: tuple[Any, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        features = numbers(self.features)
        if features.ndim == 1:
            features = features.reshape(-1, 1)
        if features.ndim != 2 or not features.size or not np.isfinite(features).all():
            raise InputError(
                "a Catalogue needs at least one item, each with as many features, all of them "
                "finite."
            )
        ids = list(range(len(features))) if self.ids is None else _labels(self.ids)
        if len(ids) != len(features):
            raise InputError(
                f"a Catalogue needs one id per item, got {len(ids)} ids for {len(features)} items."
            )
        with np.errstate(over="ignore"):
            span = np.ptp(features, axis=0)
        if not np.isfinite(span).all():
            raise InputError(
                "the features of a Catalogue are too far apart for a float: rescale them."
            )
        # A feature that all items share is 1/2.
        scaled = (features - features.min(axis=0)) / np.where(span > 0, span, 1.0)
        places = np.where(span > 0, scaled, 0.5)
        object.__setattr__(self, "features", tuple(map(tuple, features.tolist())))
        object.__setattr__(self, "ids", tuple(ids))
        object.__setattr__(self, "names", coordinate_names(self.names, 1))
        object.__setattr__(self, "unnamed", self.names == ("item",))
        self._settle(ids, places)


@dataclass(frozen=True, eq=False)
class Categories(Finite):
    """Labels without features: `Categories(["G/G", "A/G", "A/A"], "gene")`.

    `ordered=True` says that the order of the levels means something, as in "none", "mild",
    "severe". The default kernel of a problem then reads them as a scale, and as mere labels
    otherwise. Unit coordinates are evenly spaced either way: a kernel that is given reads them as
    it likes, `Categorical` as labels and any other as a scale.

    `missing="unknown"` is the label of every cell that is missing or holds none of the levels: one
    of them, or else a further one of that name, which comes after them. Without it such a record
    counts, and adds nothing.

    >>> severity = tacit.Categories(["none", "mild", "severe"], "severity", ordered=True)
    >>> severity.encode({"severity": np.array(["none", "severe", "?"])})[:, 0].tolist()
    [0.0, 1.0, nan]
    """

    levels: Sequence[Any]
    name: str = "category"
    ordered: bool = False
    missing: Any = None
    labels: tuple[Any, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        levels = _labels(self.levels)
        if not levels:
            raise InputError("Categories need at least one level, got none: list the labels.")
        if not isinstance(self.ordered, bool):
            raise InputError(f"ordered must be True or False, got {self.ordered!r}.")
        object.__setattr__(self, "levels", tuple(levels))
        object.__setattr__(self, "names", coordinate_names([self.name], 1))
        object.__setattr__(self, "unnamed", self.names == ("category",))
        self._settle(levels, _evenly(len(levels)))
        if self.missing is not None:
            self._settle_missing(levels)

    def _settle_missing(self, levels: list[Any]) -> None:
        """Keeps the label for what is missing, and adds it if it is none of the levels."""
        if isinstance(self.missing, CONTAINERS):
            raise InputError(f"missing must be one label, got {type(self.missing).__name__}.")
        label = _key(self.missing)
        found = self._find(label)
        if found < 0 and self.ordered:
            raise InputError(
                f"the label of missing values, {label!r}, has no place in the order of the levels: "
                "name one of them."
            )
        if found < 0:
            found = len(levels)
            self._settle([*levels, label], _evenly(len(levels) + 1))
        object.__setattr__(self, "missing", label)
        object.__setattr__(self, "fills", True)
        object.__setattr__(self, "_unknown", found)


def _evenly(n: int) -> Floats:
    """The places of `n` labels."""
    return np.linspace(0.0, 1.0, n).reshape(-1, 1)


def _labels(values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"labels must be a list, got {values!r}.")
    return [_key(value) for value in values]


def _key(label: Any) -> Any:
    """A label as it is kept. Labels compare by value: NumPy's 3, 3.0 and Decimal(3) are Python's 3;
    other things compare by what they print."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, Decimal):
        # Not beyond 40 digits: int(Decimal("1e1000000")) would write out a million of them.
        whole = label.is_finite() and label.adjusted() < 40 and label == label.to_integral_value()
        return int(label) if whole else float(label)
    if isinstance(label, str | int | float | bytes | None):
        return label
    return str(label)


def _printed(label: Any) -> str | None:
    """The text by which a label is looked up: its own, or what it prints."""
    if isinstance(label, str | bytes):
        return text(label)
    return str(label)
