"""The probability simplex: shares that add up to one, such as an allocation over channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain, bounded, count
from tacit.domains.naming import coordinate_names, is_unnamed
from tacit.errors import InputError
from tacit.tables import Columns, floats


@dataclass(frozen=True)
class Simplex(Domain):
    """`parts` non-negative shares with sum 1. Unit coordinates are the shares themselves.

    >>> shares = tacit.Simplex(3, names=["shares", "bonds", "cash"])
    >>> shares.project({"shares": [0.5], "bonds": [0.5], "cash": [0.5]}).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    """

    parts: int
    names: Sequence[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, int) or self.parts < 2:
            raise InputError(f"a Simplex needs at least 2 parts, got {self.parts!r}.")
        object.__setattr__(self, "parts", int(self.parts))
        object.__setattr__(self, "unnamed", is_unnamed(self.names))
        object.__setattr__(self, "names", coordinate_names(self.names, self.parts))

    @property
    def dimension(self) -> int:
        return self.parts

    @property
    def uniform_density(self) -> float:
        return math.factorial(self.parts - 1) / math.sqrt(self.parts)

    def encode(self, columns: Columns) -> Floats:
        return self.project_points(np.column_stack([floats(columns[name]) for name in self.names]))

    def decode(self, points: Floats) -> Columns:
        return {name: points[:, i] for i, name in enumerate(self.names)}

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return rng.dirichlet(np.ones(self.parts), size=count(n))

    def project_points(self, points: Floats) -> Floats:
        """Euclidean projection: subtract the threshold that leaves positive parts with sum 1."""
        missing = np.isnan(points).any(axis=1, keepdims=True)
        points = np.where(missing, 0.0, bounded(points))
        # Only differences matter, and a part that is 1 below the largest gets nothing.
        with np.errstate(over="ignore"):
            points = np.maximum(points - points.max(axis=1, keepdims=True), -1.0)
        descending = -np.sort(-points, axis=1)
        # If the k largest parts stay positive, the threshold is (their sum - 1) / k.
        excess = np.cumsum(descending, axis=1) - 1.0
        thresholds = excess / np.arange(1, self.parts + 1)
        support = np.count_nonzero(descending - thresholds > 0, axis=1)
        threshold = excess[np.arange(len(points)), support - 1] / support
        projected = np.maximum(points - threshold[:, None], 0.0)
        projected /= projected.sum(axis=1, keepdims=True)
        return np.where(missing, np.nan, projected)

    @property
    def cube_dimension(self) -> int:
        return self.parts - 1

    def from_cube(self, cube: Floats) -> Floats:
        # Stick breaking: what the first part leaves to k others is U^(1/k) of the whole, and so on.
        left = np.cumprod(cube ** (1 / np.arange(self.parts - 1, 0, -1)), axis=1)
        ends = np.column_stack([np.ones(len(left)), left, np.zeros(len(left))])
        return -np.diff(ends, axis=1)
