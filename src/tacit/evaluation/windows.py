"""Windows: which played actions count as what a policy would have done, and how likely they were.

Of labels only the label itself counts. Numbers count if they are at most half the width of the
window away in every coordinate, and a window that would stick out of a box is shifted to lie inside
of it, so that it has the same probability everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.domains import Box, Domain, Mixed
from tacit.domains.base import sobol
from tacit.play.base import SAME

PUBLIC_ACTIONS = 4096  # by which the share of a window in a ball or a simplex is counted
PIECE = 256  # rows at a time


@dataclass(frozen=True)
class Window:
    """The window of this width, in unit coordinates, around actions of a domain."""

    actions: Domain
    width: float

    def inside(self, X: Floats, centres: Floats) -> NDArray[np.bool_]:
        """Whether each action is in the window around its centre; false for NaN."""
        found = np.ones(len(X), dtype=bool)
        for part, at in parts_of(self.actions):
            found &= _inside(part, self.width, X[:, at], centres[:, at])
        return found

    def uniform_share(self, centres: Floats) -> Floats:
        """How likely a uniformly random action is in the window around each centre."""
        found = np.ones(len(centres))
        for part, at in parts_of(self.actions):
            found = found * _share(part, self.width, centres[:, at])
        return found

    def around(self, centres: Floats, steps: int) -> list[Floats]:
        """Actions that are spread over each window, one list entry per step: public mathematics."""
        width = self.width
        found = []
        for row in sobol(steps, max(1, self.actions.dimension)):
            points = centres.copy()
            for part, at in parts_of(self.actions):
                if isinstance(part, Box):
                    points[:, at] = _middle(width, centres[:, at]) + (row[at] - 0.5) * width
                elif part.continuous:
                    moved = centres[:, at] + (row[at] - 0.5) * width
                    points[:, at] = part.project_points(moved)
            found.append(points)
        return found


def parts_of(domain: Domain) -> Iterator[tuple[Domain, Any]]:
    """The parts of a mixed domain with their coordinates; the domain itself otherwise."""
    parts = domain.parts if isinstance(domain, Mixed) else (domain,)
    start = 0
    for part in parts:
        yield part, slice(start, start + part.dimension)
        start += part.dimension


def _inside(part: Domain, width: float, X: Floats, centres: Floats) -> NDArray[np.bool_]:
    if not part.continuous:
        return np.asarray(np.max(np.abs(X - centres), axis=1, initial=0.0) < SAME)
    if isinstance(part, Box):
        centres = _middle(width, centres)
    return np.asarray(np.max(np.abs(X - centres), axis=1) <= width / 2)


def _middle(width: float, centres: Floats) -> Floats:
    """Of windows inside the unit cube."""
    return np.clip(centres, width / 2, 1.0 - width / 2)


def _share(part: Domain, width: float, centres: Floats) -> Floats:
    if not part.continuous:
        return np.full(len(centres), part.uniform_density)
    if isinstance(part, Box):
        return np.full(len(centres), width**part.dimension)
    every = part.from_cube(sobol(PUBLIC_ACTIONS, part.cube_dimension))
    found = np.empty(len(centres))
    for start in range(0, len(centres), PIECE):
        rows = slice(start, start + PIECE)
        apart = np.max(np.abs(every[None] - centres[rows][:, None]), axis=2)
        found[rows] = np.mean(apart <= width / 2, axis=1)
    return np.maximum(found, 1.0 / PUBLIC_ACTIONS)
