"""A Euclidean ball."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain, bounded, count
from tacit.domains.naming import coordinate_names, is_unnamed
from tacit.errors import InputError
from tacit.tables import Columns, floats, number, numbers


@dataclass(frozen=True)
class Ball(Domain):
    """All points within `radius` of `centre`. In unit coordinates it is the ball of radius 1/2
    around the middle of the cube.

    >>> disc = tacit.Ball([0.0, 0.0], radius=2.0, names=["east", "north"])
    >>> disc.project({"east": [3.0], "north": [0.0]})
    array([[2., 0.]])
    """

    centre: Sequence[float]
    radius: float = 1.0
    names: Sequence[str] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        centre = np.atleast_1d(numbers(self.centre))
        radius = number(self.radius)
        if centre.ndim != 1 or not centre.size or not np.isfinite(centre).all():
            raise InputError(f"the centre of a Ball must be a finite vector, got {self.centre!r}.")
        if not (math.isfinite(2 * radius) and radius > 0):
            raise InputError(
                f"the radius of a Ball must be positive and finite, got {self.radius!r}."
            )
        object.__setattr__(self, "centre", tuple(centre.tolist()))
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "unnamed", is_unnamed(self.names))
        object.__setattr__(self, "names", coordinate_names(self.names, centre.size))

    @property
    def dimension(self) -> int:
        return len(self.centre)

    @property
    def uniform_density(self) -> float:
        # 1 / volume, by logarithms: volume = pi^(d/2) r^d / Gamma(d/2 + 1).
        d = self.dimension
        return float(
            np.exp(math.lgamma(d / 2 + 1) - d / 2 * math.log(math.pi) - d * math.log(self.radius))
        )

    def encode(self, columns: Columns) -> Floats:
        values = np.column_stack([floats(columns[name]) for name in self.names])
        with np.errstate(over="ignore"):
            return self.project_points((values - np.asarray(self.centre)) / (2 * self.radius) + 0.5)

    def decode(self, points: Floats) -> Columns:
        values = np.asarray(self.centre) + (points - 0.5) * 2 * self.radius
        return {name: values[:, i] for i, name in enumerate(self.names)}

    def sample_points(self, n: int, rng: Rng) -> Floats:
        # A uniform direction times U^(1/d).
        n = count(n)
        direction = rng.normal(size=(n, self.dimension))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return 0.5 + 0.5 * direction * rng.random((n, 1)) ** (1 / self.dimension)

    def project_points(self, points: Floats) -> Floats:
        # Divided by the largest coordinate first, so that no square overflows.
        offset = bounded(points) - 0.5
        largest = np.maximum(np.abs(offset).max(axis=1, keepdims=True), 0.5)
        offset /= largest
        norm = np.linalg.norm(offset, axis=1, keepdims=True)
        return 0.5 + offset * np.minimum(largest, 0.5 / np.maximum(norm, 0.5))

    @property
    def cube_dimension(self) -> int:
        return self.dimension + 1

    def from_cube(self, cube: Floats) -> Floats:
        from scipy.special import ndtri

        # A radius, and a direction by the normal quantiles.
        direction = ndtri(np.clip(cube[:, 1:], 1e-9, 1 - 1e-9)) + 1e-12
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return 0.5 + 0.5 * direction * cube[:, :1] ** (1 / self.dimension)
