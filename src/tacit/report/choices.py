"""Figures of what is decided: the chosen action across each context, for many people, and across
the two that matter most, for one who is typical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.charts import Area, Band, Bars, Dots, Figure, Intervals, Key, Line, Panel, Scale
from tacit.charts.marks import Mark
from tacit.charts.tiles import ACTION, LABELS
from tacit.report.axes import Axis
from tacit.report.drawing import (
    REST,
    WIDTH,
    label_colour,
    label_keys,
    labelled,
    people_spans,
    scale_of,
    shaded,
)
from tacit.report.findings import Curve, Findings


@dataclass(frozen=True)
class Menu:
    """The labels that are shown by name; the rest are `others`."""

    names: tuple[str, ...]
    position: dict[int, int]

    @classmethod
    def of(cls, action: Axis, numbers: Floats) -> Menu:
        """The labels chosen most often, in the order of the list."""
        seen, count = np.unique(numbers.astype(int), return_counts=True)
        top = sorted(seen[np.argsort(-count, kind="stable")][: len(LABELS)].tolist())
        more = (REST,) if len(seen) > len(top) else ()
        names = tuple(action.labels[i] for i in top) + more
        return cls(names, {number: i for i, number in enumerate(top)})

    def places(self, numbers: Floats) -> Floats:
        """The position of each number in `names`; those of `others` come last."""
        last = len(self.position)
        found = [self.position.get(int(i), last) for i in numbers.ravel()]
        return np.array(found, dtype=np.float64)

    def shares(self, numbers: Floats) -> Floats:
        """How often each of `names` is chosen at each place, in percent, `(names, places)`, from
        numbers by `(person, place)`."""
        places = self.places(numbers).reshape(numbers.shape)
        return np.array([100.0 * np.mean(places == i, axis=0) for i in range(len(self.names))])


def curves(found: Findings, action: Axis, alt: str, width: float = WIDTH) -> Figure:
    """One panel per context coordinate, which moves over its range in the contexts of some people:
    the median of a number that is chosen for them with its spread, or how often each label is."""
    wide = max(1, min(int(width // 240), len(found.curves)))
    keys: list[Key] = []
    if action.labels:
        menu = Menu.of(action, found.shown(action))
        side = Scale(0.0, 100.0, f"Share of {found.view.unit}, %")
        drawn = [_label_marks(curve, action, menu) for curve in found.curves]
        keys = label_keys(menu.names)
    else:
        quantiles = [curve.quantiles(action) for curve in found.curves]
        side = Scale(*_limits(action, quantiles), f"Chosen {action.title}")
        drawn = [_number_marks(curve, action) for curve in found.curves]
    panels = [
        Panel(
            scale_of(curve.ruler),
            side,
            [*marks, *people_spans(found, curve.ruler.axis)],
        )
        for curve, marks in zip(found.curves, drawn, strict=True)
    ]
    return Figure(panels, alt, width, 220.0, wide, keys, shared=True)


def plane(found: Findings, actions: Sequence[Axis], alt: str, width: float = WIDTH) -> Figure:
    """A map of the chosen action over the two contexts that matter most."""
    at = found.plane
    assert at.up is not None
    panels = []
    keys: list[Key] = []
    for action in actions:
        values = action.values(at.actions[:, action.columns])
        people = [
            *people_spans(found, at.across.axis),
            *people_spans(found, at.up.axis, upright=True),
        ]
        sides = (scale_of(at.across), scale_of(at.up))
        if action.labels:
            menu = Menu.of(action, found.shown(action))
            tiles = labelled(at.across, at.up, at.laid_out(menu.places(values)), menu.names)
            panels.append(Panel(*sides, [tiles, *people], f"Chosen {action.title}"))
            keys += label_keys(menu.names)
        else:
            tiles, colours = shaded(at.across, at.up, at.laid_out(values), ACTION)
            panels.append(
                Panel(*sides, [tiles, *people], f"Chosen {action.title}", colours, action.title)
            )
    wide = max(1, min(int(width // 360), len(panels)))
    return Figure(panels, alt, width, 300.0, wide, keys)


def _number_marks(curve: Curve, action: Axis) -> list[Mark]:
    low, middle, high = curve.quantiles(action).tolist()
    at = curve.ruler.at.tolist()
    if curve.ruler.labels:
        return [Intervals(at, low, high), Dots(at, middle)]
    return [Band(at, low, high), Line(at, middle)]


def _label_marks(curve: Curve, action: Axis, menu: Menu) -> list[Mark]:
    shares = menu.shares(curve.values(action))
    below = np.cumsum(shares, axis=0) - shares
    at = curve.ruler.at.tolist()
    marks: list[Mark] = []
    for i, (share, start) in enumerate(zip(shares, below, strict=True)):
        colour = label_colour(i, menu.names)
        if curve.ruler.labels:
            values = share.tolist()
            marks.append(Bars(at, values, width=0.7, starts=start.tolist(), colour=colour))
        else:
            marks.append(Area(at, start.tolist(), (start + share).tolist(), colour))
    return marks


def _limits(action: Axis, drawn: Sequence[Floats]) -> tuple[float, float]:
    """Round everything drawn, at least a fifth of the action's range and hardly beyond it."""
    low = min(float(values.min()) for values in drawn)
    high = max(float(values.max()) for values in drawn)
    pad = max(0.06 * (high - low), 0.1 * action.span - (high - low) / 2)
    end = 0.02 * action.span
    return max(low - pad, action.range[0] - end), min(high + pad, action.range[1] + end)
