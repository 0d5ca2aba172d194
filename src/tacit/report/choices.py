"""Figures of what is decided: the chosen action across each context, and across the two that matter
most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.report.axes import Axis, Ruler
from tacit.report.canvas import ACCENT, blank
from tacit.report.findings import Findings
from tacit.report.matters import Matter
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
WIDTH = 8.4


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
        return cls(
            tuple(action.labels[i] for i in top) + more, {number: i for i, number in enumerate(top)}
        )

    def places(self, numbers: Floats) -> Floats:
        return np.array(
            [self.position.get(int(i), len(self.position)) for i in numbers.ravel()],
            dtype=np.float64,
        )


def curves(found: Findings, action: Axis) -> Any:
    """One panel per context coordinate: it moves over its range, the others stay in the middle."""
    shown = found.matters[:MOST_PANELS]
    lines = [
        (ruler, action.values(X[:, action.columns])) for ruler, X in found.curves[:MOST_PANELS]
    ]
    menu = Menu.of(action, found.shown(action)) if action.labels else None
    wide = min(3, len(shown))
    high = -(-len(shown) // wide)
    figure = blank(WIDTH, 0.35 + (2.5 if menu is None else 1.2 + 0.3 * len(menu.names)) * high)
    panels = figure.subplots(high, wide, sharey=True, squeeze=False).ravel()
    for panel, matter, (ruler, values) in zip(panels, shown, lines, strict=False):
        if menu is None:
            _numbers(panel, matter, action, ruler, values)
        else:
            _labels(panel, ruler, menu.places(values), menu)
        ticks(panel.xaxis, ruler, room=22)
        panel.set_xlabel(matter.axis.title)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    for panel in panels[::wide]:
        panel.set_ylabel(f"Chosen {action.title}")
    if menu is None:
        panels[0].set_ylim(
            *_limits(action, [v for _, v in lines], [matter.band(action) for matter in shown])
        )
    return figure


def plane(found: Findings, actions: Sequence[Axis]) -> Any:
    """A map of the chosen action over the two contexts that matter most."""
    at = found.plane
    assert at.up is not None
    figure = blank(WIDTH, 3.9 if len(actions) == 1 else 3.4)
    for axes, action in zip(
        figure.subplots(1, len(actions), squeeze=False).ravel(), actions, strict=True
    ):
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
            figure.colorbar(
                mesh, ax=axes, label=f"Chosen {action.title}", pad=0.02
            ).outline.set_visible(False)
    return figure


def _numbers(panel: Any, matter: Matter, action: Axis, ruler: Ruler, values: Floats) -> None:
    low, high = matter.band(action)
    if ruler.labels:
        panel.vlines(
            [ruler.find(i) for i in matter.ruler.numbers],
            low,
            high,
            color=ACCENT,
            alpha=0.18,
            linewidth=9,
        )
        panel.plot(ruler.at, values, "o", color=ACCENT, markersize=6.5)
        panel.set_xlim(-0.6, len(ruler) - 0.4)
        panel.grid(visible=False, axis="x")
    else:
        panel.fill_between(matter.ruler.at, low, high, color=ACCENT, alpha=0.14, linewidth=0)
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
