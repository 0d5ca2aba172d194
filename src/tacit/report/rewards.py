"""Figures of what is expected: the reward over action and context, and slices of it with their
bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit._typing import Floats
from tacit.charts import Band, Dots, Figure, Intervals, Key, Line, Panel, Scale
from tacit.charts.marks import Mark
from tacit.charts.tiles import REWARD, runs
from tacit.report.advantage import BAND_90
from tacit.report.axes import Axis, Ruler
from tacit.report.drawing import WIDTH, scale_of, shaded, tile_edges
from tacit.report.findings import Findings

SHOWN = 15  # labels of an action at most
FEW = 5  # contexts that choose them
THREE = (0.1, 0.5, 0.9)  # low, middle, high


def surface(found: Findings, action: Axis, alt: str, width: float = WIDTH) -> Figure:
    """The expected reward over one action coordinate and the context that matters most."""
    view = found.view
    across = found.importances[0].axis.ruler(view.detail.curve)
    C, _ = view.contexts.place(view.typical, (across.axis, across.places))
    X = view.decide(C)
    up, Z = best_rows(found, action, C, X)
    tiles, colours = shaded(across, up, Z, REWARD)
    marks: list[Mark] = [tiles, *_chosen(across, up, action.values(X[:, action.columns]))]
    sides = (scale_of(across), scale_of(up, down=bool(up.labels)))
    title = f"Expected {view.quantity}"
    height = max(240.0, 90.0 + 22.0 * len(up)) if up.labels else 300.0
    return Figure([Panel(*sides, marks, title, colours)], alt, width, height)


def slices(found: Findings, action: Axis, alt: str, width: float = WIDTH) -> Figure:
    """The expected reward of every action, with 90 % bands, in a low, a middle and a high
    context."""
    at = three(found)
    view = found.view
    C, _ = view.contexts.place(view.typical, (at.axis, at.places))
    X = view.decide(C)
    up, _ = best_rows(found, action, C, X)
    drawn = [slice_marks(found, action, up, C[i : i + 1], X[i : i + 1]) for i in range(len(at))]
    ends = [end for _, found_ends in drawn for end in found_ends]
    reward = Scale.around(ends, f"Expected {view.quantity}")
    sides = (scale_of(up), reward)
    if up.labels:
        sides = (reward, scale_of(up, down=True))
    panels = [
        Panel(*sides, marks, f"{at.axis.title} {at.axis.says(at.places[i])}")
        for i, (marks, _) in enumerate(drawn)
    ]
    keys = [
        Key(f"expected {view.quantity} with its 90 % band", "middle"),
        Key(f"chosen {action.title}", "high"),
    ]
    height = max(200.0, 90.0 + 22.0 * len(up)) if up.labels else 240.0
    wide = max(1, min(len(panels), int(width // 240)))
    return Figure(panels, alt, width, height, wide, keys, shared=True)


def slice_marks(
    found: Findings, action: Axis, up: Ruler, C: Floats, X: Floats
) -> tuple[list[Mark], Sequence[float]]:
    """The expected reward along one action coordinate in one context, with its band, and the ends
    of that."""
    view = found.view
    tried, inside = view.actions.place(X, (action, up.places))
    contexts = np.repeat(C, len(tried), axis=0)
    mean = view.mean(tried, contexts)
    band = BAND_90 * view.std(tried, contexts)
    mean[~inside] = np.nan
    low = (mean - band).tolist()
    high = (mean + band).tolist()
    at = up.at.tolist()
    chosen = action.values(X[:, action.columns])
    reward = view.mean(X, C).tolist()
    marks: list[Mark]
    if up.labels:
        place = [up.find(chosen[0])]
        marks = [Intervals(at, low, high, "middle", flat=True), Dots(mean.tolist(), at, "middle")]
        marks.append(Dots(reward, place, "high", 5.5))
    else:
        marks = [Band(at, low, high, "middle"), Line(at, mean.tolist(), "middle")]
        marks.append(Dots(chosen.tolist(), reward, "high", 5.5))
    return marks, [*low, *high]


def three(found: Findings) -> Ruler:
    """Low, middle and high among the people on the axis that matters most; of labels the first, the
    middle one and the last."""
    axis = found.importances[0].axis
    if axis.labels:
        return axis.ruler(3, most=3)
    return axis.ruler_at(np.unique(found.view.quantiles(axis, THREE)))


def best_rows(found: Findings, action: Axis, C: Floats, X: Floats) -> tuple[Ruler, Floats]:
    """Rewards by action and context, `(action, context)`: the rest of each action as chosen for its
    context.

    Of many labels the ones with the largest rewards are kept, in the order of the list.
    """
    up = action.ruler(found.view.detail.curve, most=len(action.labels))
    if len(up.labels) > SHOWN:
        few = np.unique(np.linspace(0, len(C) - 1, FEW).astype(int))
        largest = _rewards(found, up, C[few], X[few]).max(axis=1)
        up = action.ruler_of(np.sort(np.argsort(-largest, kind="stable")[:SHOWN]))
    return up, _rewards(found, up, C, X)


def _rewards(found: Findings, up: Ruler, C: Floats, X: Floats) -> Floats:
    places = np.repeat(up.places, len(C), axis=0)
    tried, inside = found.view.actions.place(np.tile(X, (len(up), 1)), (up.axis, places))
    Z = found.view.mean(tried, np.tile(C, (len(up), 1)))
    return np.where(inside, Z, np.nan).reshape(len(up), len(C))


def _chosen(across: Ruler, up: Ruler, chosen: Floats) -> list[Mark]:
    """The chosen action in every context, where it is on the map: dark on a light edge, which is
    seen on any colour."""
    if up.labels:
        chosen = np.array([up.find(i) for i in chosen])
    if across.labels:
        lift = 0.25 if up.labels else 0.0  # below the number in the tile
        return [Dots(across.at.tolist(), (chosen + lift).tolist(), "ink")]
    x = across.at.tolist()
    y = chosen.tolist()
    if up.labels:
        x, y = _steps(tile_edges(across), y)
    return [Line(x, y, "around"), Line(x, y, "choice")]


def _steps(ends: Sequence[float], rows: Sequence[float]) -> tuple[list[float], list[float]]:
    """A line along each run of equal rows, broken where the row changes."""
    x: list[float] = []
    y: list[float] = []
    for start, stop in runs(rows):
        x += [ends[start], ends[stop], ends[stop]]
        y += [rows[start], rows[start], np.nan]
    return x, y
