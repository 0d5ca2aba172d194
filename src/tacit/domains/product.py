"""Several domains side by side: ages and weights next to a genotype."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains.base import Domain
from tacit.domains.parts import parts_of
from tacit.domains.ranges import columns_of
from tacit.errors import InputError
from tacit.tables import Columns

MOST_COMBINATIONS = 4096  # of labels of the finite parts, up to which all are listed as candidates
FEWEST_EACH = 8  # points of the continuous parts that go with each of these combinations


@dataclass(frozen=True)
class Mixed(Domain):
    """Several domains side by side: `Mixed([Box(...), Categories(...), ...])`. A Mixed among them
    is replaced by its parts.

    >>> people = tacit.Mixed.of(age=(18, 95), gene=["G/G", "A/G", "A/A"])
    >>> people.names
    ('age', 'gene')
    """

    parts: Sequence[Domain]

    def __post_init__(self) -> None:
        given = tuple(self.parts) if isinstance(self.parts, Iterable) else ()
        if not given or not all(isinstance(part, Domain) for part in given):
            raise InputError("Mixed takes a list of domains: Mixed([Box(...), Categories(...)]).")
        parts: list[Domain] = []
        for part in given:
            if isinstance(part, Mixed):
                parts += part.parts
            else:
                parts.append(part)
        names = tuple(name for part in parts for name in part.names)
        if len(set(names)) != len(names):
            raise InputError(
                f"the parts of a Mixed domain must have different names, got {', '.join(names)}."
            )
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "fills", any(part.fills for part in parts))

    @classmethod
    def of(cls, columns: Mapping[str, Any] | None = None, /, **named: Any) -> Mixed:
        """A domain by the names of its columns: `Mixed.of(age=(18, 95), weight=(40, 140),
        gene=["G/G", "A/G", "A/A"])`.

        A *tuple* of two numbers is an interval; a *list* is labels, also one of two numbers: `(0,
        1)` is every number from 0 to 1, `[0, 1]` is the two labels 0 and 1. A `tacit.Range` is an
        interval that says what a missing cell is read as; Python's range, or a tuple of anything
        else, is labels too. A domain is taken as it is, and one of a single column is
        called what it is called here: `Mixed.of(pain=Categories(["none", "mild", "severe"],
        ordered=True))`. Intervals side by side are one Box. Names that are no identifiers go into
        one mapping.
        """
        given = columns_of(columns, named, 'Mixed.of(age=(18, 95), gene=["G/G", "A/G", "A/A"])')
        return cls(parts_of(given))

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self.parts)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.coordinates)

    @property
    def uniform_density(self) -> float:
        return float(np.prod([part.uniform_density for part in self.parts]))

    @property
    def continuous(self) -> bool:
        return any(part.continuous for part in self.parts)

    def _slices(self) -> Iterator[tuple[Domain, slice]]:
        start = 0
        for part in self.parts:
            yield part, slice(start, start + part.dimension)
            start += part.dimension

    def encode(self, columns: Columns) -> Floats:
        return np.hstack([part.encode(columns) for part in self.parts])

    def decode(self, points: Floats) -> Columns:
        columns: Columns = {}
        for part, at in self._slices():
            columns |= part.decode(points[:, at])
        return columns

    def sample_points(self, n: int, rng: Rng) -> Floats:
        return np.hstack([part.sample_points(n, rng) for part in self.parts])

    def project_points(self, points: Floats) -> Floats:
        return np.hstack([part.project_points(points[:, at]) for part, at in self._slices()])

    @property
    def cube_dimension(self) -> int:
        return sum(part.cube_dimension for part in self.parts)

    def from_cube(self, cube: Floats) -> Floats:
        ends = np.cumsum([part.cube_dimension for part in self.parts])
        cubes = np.split(cube, ends[:-1], axis=1)
        points = [part.from_cube(own) for part, own in zip(self.parts, cubes, strict=True)]
        return np.hstack(points)

    def candidate_points(self, n: int) -> Floats:
        if len(self.parts) == 1:
            return self.parts[0].candidate_points(n)
        menus = [part.candidate_points(n) for part in self.parts if not part.continuous]
        combinations = math.prod(map(len, menus))
        if not menus or combinations > MOST_COMBINATIONS:
            return super().candidate_points(n)
        # Every combination of the finite parts, each with the same points of the continuous ones.
        rest = tuple(part for part in self.parts if part.continuous)
        each = max(FEWEST_EACH, n // combinations) if rest else 1
        *choices, row = np.indices([*map(len, menus), each]).reshape(len(menus) + 1, -1)
        finite = iter([menu[i] for menu, i in zip(menus, choices, strict=True)])
        continuous = iter(Mixed(rest)._blocks(each, row) if rest else ())
        blocks = [next(continuous if part.continuous else finite) for part in self.parts]
        return np.hstack(blocks)

    def _blocks(self, n: int, rows: Any) -> list[Floats]:
        """These rows of `n` candidates, one block of columns for each part."""
        points = self.candidate_points(n)[rows]
        return [points[:, at] for _, at in self._slices()]
