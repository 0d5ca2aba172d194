"""Points of a domain with some of its axes set: the other coordinates stay, or give way where the
point would leave a ball or a simplex."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.domains import Ball, Domain, Mixed, Simplex
from tacit.domains.finite import Finite
from tacit.report.axes import Axis, Ruler

Mask = NDArray[np.bool_]
Setting = tuple[Axis, Floats]


@dataclass(frozen=True, eq=False)
class Frame:
    """A domain and its axes."""

    domain: Domain
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, domain: Domain) -> Frame:
        axes = [axis for start, part in parts(domain) for axis in _axes(part, start)]
        return cls(domain, tuple(axes))

    @property
    def middle(self) -> Floats:
        """The middle of every range: what a policy takes a missing coordinate for."""
        return self.domain.project_points(np.full((1, self.domain.dimension), 0.5))

    def typical(self, points: Floats) -> Floats:
        """The one of some points, as a row, that is nearest to the middle of them: to the median of
        each number and to the commonest label, every axis in units of its own mean distance."""
        distances = np.sum([_distance(axis, points) for axis in self.axes], axis=0)
        nearest = int(np.argmin(distances))
        return points[nearest : nearest + 1]

    def place(self, base: Floats, *settings: Setting) -> tuple[Floats, Mask]:
        """`base` with some axes set, and whether that is possible: the rest of a ball or a simplex
        gives way."""
        rows = max(len(base), *(len(places) for _, places in settings))
        points = np.array(np.broadcast_to(base, (rows, base.shape[1])))
        held = np.zeros(base.shape[1], dtype=bool)
        for axis, places in settings:
            points[:, axis.columns] = places
            if axis.indicator is not None:
                points[:, axis.indicator] = 0.0  # a number that is set is not missing
            held[axis.columns] = True
        inside = np.ones(rows, dtype=bool)
        for start, part in parts(self.domain):
            at = slice(start, start + part.dimension)
            if held[at].any():
                points[:, at], fits = _give_way(part, points[:, at], held[at])
                inside &= fits
        return points, inside


def parts(domain: Domain) -> Iterator[tuple[int, Domain]]:
    """The parts of a domain with the unit coordinate at which each starts."""
    start = 0
    for part in domain.parts if isinstance(domain, Mixed) else (domain,):
        yield start, part
        start += part.dimension


def crossed(across: Ruler, up: Ruler) -> tuple[Setting, Setting]:
    """Every pair of places of two rulers, those across moving fastest."""
    wide = np.tile(across.places, (len(up), 1))
    high = np.repeat(up.places, len(across), axis=0)
    return (across.axis, wide), (up.axis, high)


def _distance(axis: Axis, points: Floats) -> Floats:
    """How far each point is from the middle of all on one axis: 1 on average."""
    values = axis.values(points[:, axis.columns])
    gaps = axis.missing(points)
    if gaps.mean() > 0.5:
        far = (~gaps).astype(np.float64)  # most lack the number, and so does who is typical
    elif axis.labels:
        numbers, count = np.unique(values, return_counts=True)
        far = (values != numbers[np.argmax(count)]).astype(np.float64)
    else:
        far = np.abs(values - np.median(values[~gaps]))
        far[gaps] = far.max()
    return far / max(float(far.mean()), math.ulp(1.0))


def _axes(part: Domain, start: int) -> Iterator[Axis]:
    if isinstance(part, Finite):
        yield Axis(part.names[0], part, start, None)
        return
    names: Sequence[str] = part.names
    if isinstance(part, Simplex) and part.dimension == 2:
        names = part.names[:1]  # the second of two shares is what the first leaves
    for index, name in enumerate(names):
        yield Axis(name, part, start, index)


def _give_way(part: Domain, points: Floats, held: Mask) -> tuple[Floats, Any]:
    if isinstance(part, Simplex):
        return _share_the_rest(points, held)
    if isinstance(part, Ball):
        return _draw_in(points, held)
    return part.project_points(points), True


def _share_the_rest(points: Floats, held: Mask) -> tuple[Floats, Mask]:
    """The free shares keep their proportions and take what the held ones leave."""
    left = 1.0 - points[:, held].sum(axis=1, keepdims=True)
    free = points[:, ~held]
    total = free.sum(axis=1, keepdims=True)
    even = 1.0 / max(1, free.shape[1])
    share = np.where(total > 0, free / np.where(total > 0, total, 1.0), even)
    points[:, ~held] = share * np.maximum(left, 0.0)
    return points, np.asarray(left[:, 0] > -1e-9)


def _draw_in(points: Floats, held: Mask) -> tuple[Floats, Mask]:
    """The free coordinates move towards the centre until the point is in the ball."""
    room = 0.25 - np.sum((points[:, held] - 0.5) ** 2, axis=1, keepdims=True)
    offset = points[:, ~held] - 0.5
    norm = np.linalg.norm(offset, axis=1, keepdims=True)
    reach = np.sqrt(np.maximum(room, 0.0))
    points[:, ~held] = 0.5 + offset * np.minimum(1.0, reach / np.maximum(norm, math.ulp(1.0)))
    return points, np.asarray(room[:, 0] > -1e-9)
