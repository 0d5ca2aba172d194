"""Several domains side by side: ages and weights next to a genotype."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.domains.base import Domain, Rng, sobol
from tacit.domains.box import Box
from tacit.errors import InputError
from tacit.tables import Columns, Floats

MOST_COMBINATIONS = 4096  # of finite parts that are all listed as candidates
FEWEST_EACH = 8  # points of the continuous parts that go with each of them


@dataclass(frozen=True)
class Mixed(Domain):
    """`Mixed([Box(...), Categories(...), ...])`: one coordinate block after another. A Mixed inside is unpacked."""

    parts: tuple[Domain, ...]

    def __post_init__(self) -> None:
        given = tuple(self.parts) if isinstance(self.parts, Iterable) else ()
        if not given or not all(isinstance(part, Domain) for part in given):
            raise InputError("Mixed takes a list of domains: Mixed([Box(...), Categories(...)]).")
        parts = tuple(leaf for part in given for leaf in (part.parts if isinstance(part, Mixed) else (part,)))
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
        finite = [part for part in self.parts if not part.continuous]
        if math.prod(len(part.candidate_points(n)) for part in finite) > MOST_COMBINATIONS:
            finite = []
        rest = [part for part in self.parts if part not in finite]
        listed = _combinations(finite, n)
        rows = max((len(block) for block in listed), default=1)
        each = max(FEWEST_EACH, n // rows) if rest else 1
        # Every combination of the finite parts, each with the same points of the rest.
        blocks = {part.names: np.repeat(block, each, axis=0) for part, block in zip(finite, listed, strict=True)}
        spread = _spread(rest, each)
        blocks |= {part.names: np.tile(block, (rows, 1)) for part, block in zip(rest, spread, strict=True)}
        return np.hstack([blocks[part.names] for part in self.parts])


def _combinations(parts: Sequence[Domain], n: int) -> list[Floats]:
    """Every combination of the candidates of each part, like an odometer."""
    own = [part.candidate_points(n) for part in parts]
    turn = np.indices([len(candidates) for candidates in own]).reshape(len(own) or 1, -1)
    return [candidates[i] for candidates, i in zip(own, turn, strict=False)]


def _spread(parts: Sequence[Domain], n: int) -> list[Floats]:
    """`n` points of each part that fill the product: a Sobol coordinate is a box's own, or picks a candidate."""
    if len(parts) == 1:
        return [parts[0].candidate_points(n)]
    widths = [part.dimension if isinstance(part, Box) else 1 for part in parts]
    cubes = np.split(sobol(n, max(1, sum(widths))), np.cumsum(widths), axis=1)
    return [
        cube if isinstance(part, Box) else _pick(part.candidate_points(n), cube[:, 0])
        for part, cube in zip(parts, cubes, strict=False)
    ]


def _pick(candidates: Floats, u: Floats) -> Floats:
    return candidates[(u * len(candidates)).astype(int)]
