"""Figures of what is decided: the chosen action across each context, and across the two that matter
most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.report.axes import Axis, Ruler
from tacit.report.canvas import ACCENT, WIDTH, blank
from tacit.report.findings import Findings
from tacit.report.importance import Importance
from tacit.report.shading import (
    ACTION,
    LABELS,
    OTHERS,
    edges,
    label_colour,
    runs,
    shade,
    ticks,
    tiles,
)

MOST_PANELS = 9


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
        more = (OTHERS,) if len(seen) > len(top) else ()
        names = tuple(action.labels[i] for i in top) + more
        return cls(names, {number: i for i, number in enumerate(top)})

    def places(self, numbers: Floats) -> Floats:
        """The position of each number in `names`; those of `others` come last."""
        last = len(self.position)
        found = [self.position.get(int(i), last) for i in numbers.ravel()]
        return np.array(found, dtype=np.float64)


def curves(found: Findings, action: Axis) -> Any:
    """One panel per context coordinate: it moves over its range, the others stay in the middle."""
    shown = found.importances[:MOST_PANELS]
    lines = []
    for ruler, X in found.curves[:MOST_PANELS]:
        lines.append((ruler, action.values(X[:, action.columns])))
    menu = None
    panel_height = 2.5
    if action.labels:
        menu = Menu.of(action, found.shown(action))
        panel_height = 1.2 + 0.3 * len(menu.names)
    wide = min(3, len(shown))
    high = -(-len(shown) // wide)
    figure = blank(WIDTH, 0.35 + panel_height * high)
    panels = figure.subplots(high, wide, sharey=True, squeeze=False).ravel()
    for panel, importance, (ruler, values) in zip(panels, shown, lines, strict=False):
        if menu is None:
            _numbers(panel, importance, action, ruler, values)
        else:
            _labels(panel, ruler, menu.places(values), menu)
        ticks(panel.xaxis, ruler, room=22)
        panel.set_xlabel(importance.axis.title)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    for panel in panels[::wide]:
        panel.set_ylabel(f"Chosen {action.title}")
    if menu is None:
        bands = [importance.action_band(action) for importance in shown]
        panels[0].set_ylim(*_limits(action, [values for _, values in lines], bands))
    return figure


def plane(found: Findings, actions: Sequence[Axis]) -> Any:
    """A map of the chosen action over the two contexts that matter most."""
    at = found.plane
    assert at.up is not None
    figure = blank(WIDTH, 3.9 if len(actions) == 1 else 3.4)
    panels = figure.subplots(1, len(actions), squeeze=False).ravel()
    for axes, action in zip(panels, actions, strict=True):
        values = action.values(at.actions[:, action.columns])
        if action.labels:
            menu = Menu.of(action, found.shown(action))
            patches = tiles(axes, at.across, at.up, at.laid_out(menu.places(values)), menu.names)
            axes.legend(
                handles=patches,
                title=action.title,
                loc="center left",
                bbox_to_anchor=(1.01, 0.5),
                fontsize=9,
            )
        else:
            mesh = shade(axes, at.across, at.up, at.laid_out(values), ACTION)
            bar = figure.colorbar(mesh, ax=axes, label=f"Chosen {action.title}", pad=0.02)
            bar.outline.set_visible(False)
    return figure


def _numbers(
    panel: Any, importance: Importance, action: Axis, ruler: Ruler, values: Floats
) -> None:
    low, high = importance.action_band(action)
    if ruler.labels:
        places = [ruler.find(i) for i in importance.ruler.numbers]
        panel.vlines(places, low, high, color=ACCENT, alpha=0.18, linewidth=9)
        panel.plot(ruler.at, values, "o", color=ACCENT, markersize=6.5)
        panel.set_xlim(-0.6, len(ruler) - 0.4)
        panel.grid(visible=False, axis="x")
    else:
        panel.fill_between(importance.ruler.at, low, high, color=ACCENT, alpha=0.14, linewidth=0)
        panel.plot(ruler.at, values, color=ACCENT, linewidth=2.2)
        panel.set_xlim(ruler.at[0], ruler.at[-1])


def _labels(panel: Any, ruler: Ruler, places: Floats, menu: Menu) -> None:
    colours = [label_colour(int(place), menu.names) for place in places]
    if ruler.labels:
        panel.scatter(ruler.at, places, s=48, c=colours)
        panel.set_xlim(-0.6, len(ruler) - 0.4)
    else:
        ends = edges(ruler)
        for start, stop in runs(places):
            y = places[start]
            span = (ends[start], ends[stop] - ends[start])
            panel.broken_barh([span], (y - 0.22, 0.44), color=colours[start], linewidth=0)
        panel.set_xlim(ruler.at[0], ruler.at[-1])
    panel.set_yticks(range(len(menu.names)), menu.names)
    panel.set_ylim(len(menu.names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def _limits(action: Axis, lines: Sequence[Floats], bands: Sequence[Floats]) -> tuple[float, float]:
    """Round everything drawn, at least a fifth of the action's range and hardly beyond it."""
    drawn = np.concatenate([*lines, *(band.ravel() for band in bands)])
    low = float(drawn.min())
    high = float(drawn.max())
    pad = max(0.06 * (high - low), 0.1 * action.span - (high - low) / 2)
    end = 0.02 * action.span
    return max(low - pad, action.range[0] - end), min(high + pad, action.range[1] + end)
