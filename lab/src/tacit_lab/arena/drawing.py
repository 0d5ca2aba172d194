"""How the arena's figures look: one style per learner, panels, lines with bands, one legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit_lab.arena.selection import OURS, PAPER, Selection
from tacit_lab.arena.statistics import Interval

INK = "#1c2430"
MUTED = "#5b6675"
FAINT = "#e3e6ec"
BLUE = "#0b6e8f"
ORANGE = "#c2410c"
OTHERS = (
    "#6b4fa0", "#3f8f5b", "#b0497f", "#8a6d1d", "#4f6fd0", "#2f9e9e",
    "#a3562a", "#7a8b2a", "#9a4fb8", "#5b7a99", "#c06a6a", "#3d6b4f",
)  # fmt: skip
GREYS = ("#1c2430", "#59626f", "#8a93a1", "#b3bac5", "#737c89", "#a0a8b4")
MARKERS = "osD^vP*X<>hd"
WIDEST = 3.0  # a band that is wider than this factor is cut
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.grid": True,
    "axes.edgecolor": "#b9c0ca",
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
}


def style_of(selection: Selection, learner: str) -> dict[str, Any]:
    """How a learner is drawn, the same in every figure: ours and the paper's stand out, those that
    protect nothing are grey."""
    if learner.startswith(OURS):
        number = selection.ours().index(learner) if learner in selection.ours() else 0
        return {
            "color": BLUE,
            "linewidth": 2.2,
            "marker": MARKERS[number],
            "zorder": 5,
            "alpha": 1 - 0.3 * number,
        }
    if learner == PAPER:
        return {"color": ORANGE, "linewidth": 2.2, "marker": "s", "zorder": 4}
    if learner in selection.open:
        number = selection.open.index(learner)
        return {
            "color": GREYS[number % len(GREYS)],
            "linestyle": "--",
            "marker": MARKERS[number % len(MARKERS)],
        }
    others = [name for name in selection.private if not name.startswith(OURS) and name != PAPER]
    number = others.index(learner)
    return {"color": OTHERS[number % len(OTHERS)], "marker": MARKERS[number % len(MARKERS)]}


def in_order(selection: Selection) -> list[str]:
    """The private learners last, so that they are drawn above the others."""
    return [*selection.open, *selection.private]


def panels(figure: Any, number: int) -> list[Any]:
    """So many axes, two or three abreast."""
    if not number:
        return []
    across = min(number, 2 if number <= 4 else 3)
    down = math.ceil(number / across)
    figure.set_size_inches((7.0, 10.5, 13.0)[across - 1], 3.3 * down + 1.4)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes in grid[number:]:
        axes.set_axis_off()
    return list(grid[:number])


def line(axes: Any, points: dict[Any, Interval], style: dict[str, Any]) -> None:
    """A line through the means; those that stand out have a band of their intervals as well."""
    if not points:
        return
    x = list(points)
    mean = np.array([point.mean for point in points.values()])
    low = np.array([point.low for point in points.values()])
    high = np.array([point.high for point in points.values()])
    axes.plot(x, mean, **style)
    if style["color"] in (BLUE, ORANGE) and not np.isnan([low, high]).any():
        bottom = np.maximum(low, mean / WIDEST)
        top = np.minimum(high, WIDEST * mean)
        axes.fill_between(x, bottom, top, color=style["color"], alpha=0.12, linewidth=0)


def logarithmic(axes: Any) -> None:
    """Log-log where the lines allow it: a cost too small to measure is 0 and has no logarithm."""
    if any(np.any(np.asarray(drawn.get_xdata()) > 0) for drawn in axes.lines):
        axes.set_xscale("log")
    if any(np.any(np.asarray(drawn.get_ydata()) > 0) for drawn in axes.lines):
        axes.set_yscale("log")


def finish(figure: Any, drawn: Sequence[Any], label: str) -> bool:
    """One legend for all panels. False where nothing was drawn."""
    if not drawn:
        return False
    from matplotlib.ticker import LogLocator

    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter("")
        drawn_handles, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, drawn_handles, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8)
    figure.supylabel(label, color=MUTED, fontsize=9)
    return True
