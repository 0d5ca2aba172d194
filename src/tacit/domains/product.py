"""Several domains side by side: ages and weights next to a genotype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.domains.base import Domain, Rng, sobol
from tacit.domains.box import Box
from tacit.errors import InputError
from tacit.tables import Columns, Floats


@dataclass(frozen=True)
class Mixed(Domain):
    """`Mixed([Box(...), Categories(...), ...])`: one coordinate block after another."""

    parts: tuple[Domain, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        if not parts or not all(isinstance(part, Domain) for part in parts):
            raise InputError("Mixed takes a list of domains: Mixed([Box(...), Categories(...)]).")
        names = tuple(name for part in parts for name in part.names)
        if len(set(names)) != len(names):
            raise InputError(f"the parts of a Mixed domain must have different names, got {', '.join(names)}.")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "names", names)

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self.parts)

    @property
    def density(self) -> float:
        return float(np.prod([part.density for part in self.parts]))

    @property
    def continuous(self) -> bool:
        return all(part.continuous for part in self.parts)

    def _slices(self) -> Iterator[tuple[Domain, slice]]:
        start = 0
        for part in self.parts:
            yield part, slice(start, start + part.dimension)
            start += part.dimension

    def encode(self, columns: Columns) -> Floats:
        return np.hstack([part.encode(columns) for part in self.parts])

    def decode(self, points: Floats) -> Columns:
        return {name: column for part, at in self._slices() for name, column in part.decode(points[:, at]).items()}

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return np.hstack([part.sample_points(n, rng) for part in self.parts])

    def project_points(self, points: Floats) -> Floats:
        return np.hstack([part.project_points(points[:, at]) for part, at in self._slices()])

    def candidate_points(self, n: int) -> Floats:
        # Boxes share one Sobol sequence; finite parts run through all their combinations like an odometer.
        cube, turn, stride = sobol(n, self.dimension), np.arange(n), 1
        blocks = []
        for part, at in self._slices():
            if isinstance(part, Box):
                blocks.append(cube[:, at])
                continue
            own = part.candidate_points(n)
            blocks.append(own[(turn // stride) % len(own)])
            if not part.continuous:
                stride *= len(own)
        return np.hstack(blocks)
