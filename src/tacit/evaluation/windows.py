"""Windows: which played actions count as what a policy would have done, and how likely they were.

Of labels only the label itself counts. Numbers count if they are at most half the width of the
window away in every coordinate, and a window that would stick out of a box is shifted to lie inside
of it, so that it has the same probability everywhere.

The mean over a window of width h differs from its middle by about f'' h^2 / 24. In a box a second
window, r times as wide around the same middle, tells by how much: the two means together,

    r^2 / (r^2 - 1)  mean over the inner  -  1 / (r^2 - 1)  mean over the outer,

are right up to the fourth order. At r = 2 that raises the largest weight by a sixth. Near the ends
of its range, where no outer window of at least `LEAST_RATIO` fits, an action has the inner alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.domains import Box, Domain, Mixed
from tacit.domains.base import sobol
from tacit.play.base import SAME

PUBLIC_ACTIONS = 4096  # by which the share of a window in a ball or a simplex is counted
PIECE = 256  # rows at a time
RATIO = 2.0
LEAST_RATIO = 1.9


class Outer(NamedTuple):
    """The outer windows of some actions: their widths as multiples of the inner, 1 where there is
    none, and the factors of both means."""

    ratio: Floats
    inner_factor: Floats
    factor: Floats


@dataclass(frozen=True)
class Window:
    """The window of this width, in unit coordinates, around actions of a domain. `corrected` says
    whether an outer window corrects for curvature."""

    actions: Domain
    width: float
    corrected: bool = False

    def inside(self, X: Floats, centres: Floats, ratio: Floats | float = 1.0) -> NDArray[np.bool_]:
        """Whether each action is in the window around its centre, so many times as wide; false for
        NaN."""
        width = np.broadcast_to(self.width * np.asarray(ratio), len(X))
        found = np.ones(len(X), dtype=bool)
        for part, at in parts_of(self.actions):
            found &= _inside(part, width, X[:, at], centres[:, at])
        return found

    def uniform_share(self, centres: Floats, ratio: Floats | float = 1.0) -> Floats:
        """How likely a uniformly random action is in the window around each centre."""
        width = np.broadcast_to(self.width * np.asarray(ratio), len(centres))
        found = np.ones(len(centres))
        for part, at in parts_of(self.actions):
            found = found * _share(part, width, centres[:, at])
        return found

    def outer(self, centres: Floats) -> Outer:
        """The outer window of each centre."""
        ratio = np.ones(len(centres))
        if self.corrected:
            ratio = np.full(len(centres), RATIO)
            for part, at in parts_of(self.actions):
                if isinstance(part, Box):
                    room = 2.0 * np.minimum(centres[:, at], 1.0 - centres[:, at]).min(axis=1)
                    ratio = np.minimum(ratio, room / self.width)
            ratio = np.where(ratio >= LEAST_RATIO, ratio, 1.0)
        with np.errstate(divide="ignore"):
            factor = np.where(ratio > 1.0, 1.0 / (ratio**2 - 1.0), 0.0)
        return Outer(ratio, 1.0 + factor, factor)

    def around(self, centres: Floats, steps: int, ratio: Floats | float = 1.0) -> list[Floats]:
        """Actions that are spread over each window, one list entry per step: public mathematics."""
        width = np.broadcast_to(self.width * np.asarray(ratio), len(centres))[:, None]
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


def can_correct(actions: Domain) -> bool:
    """Whether all numbers of an action are those of boxes."""
    parts = [part for part, _ in parts_of(actions) if part.continuous]
    return bool(parts) and all(isinstance(part, Box) for part in parts)


def parts_of(domain: Domain) -> Iterator[tuple[Domain, Any]]:
    """The parts of a mixed domain with their coordinates; the domain itself otherwise."""
    parts = domain.parts if isinstance(domain, Mixed) else (domain,)
    start = 0
    for part in parts:
        yield part, slice(start, start + part.dimension)
        start += part.dimension


def _inside(part: Domain, width: Floats, X: Floats, centres: Floats) -> NDArray[np.bool_]:
    if not part.continuous:
        return np.asarray(np.max(np.abs(X - centres), axis=1, initial=0.0) < SAME)
    if isinstance(part, Box):
        centres = _middle(width[:, None], centres)
    return np.asarray(np.max(np.abs(X - centres), axis=1) <= width / 2)


def _middle(width: Floats, centres: Floats) -> Floats:
    """Of windows inside the unit cube."""
    return np.clip(centres, np.minimum(width / 2, 0.5), np.maximum(1.0 - width / 2, 0.5))


def _share(part: Domain, width: Floats, centres: Floats) -> Floats:
    if not part.continuous:
        return np.full(len(centres), part.uniform_density)
    if isinstance(part, Box):
        return np.asarray(np.minimum(width, 1.0) ** part.dimension)
    every = part.from_cube(sobol(PUBLIC_ACTIONS, part.cube_dimension))
    found = np.empty(len(centres))
    for start in range(0, len(centres), PIECE):
        rows = slice(start, start + PIECE)
        apart = np.max(np.abs(every[None] - centres[rows][:, None]), axis=2)
        found[rows] = np.mean(apart <= width[rows, None] / 2, axis=1)
    return np.maximum(found, 1.0 / PUBLIC_ACTIONS)
