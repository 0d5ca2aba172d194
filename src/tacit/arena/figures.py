"""Figures of a results table: error against rounds, epsilon and dimension; cost; the ranking. Needs tacit[plot]."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arena.environments import RKHS
from tacit.arena.environments.rkhs import KERNELS, SIZES
from tacit.arena.job import Row
from tacit.arena.rate import rate, rate_slope
from tacit.arena.selection import OURS, PAPER, Selection
from tacit.arena.statistics import Interval, ranking
from tacit.errors import MissingExtraError

INK, MUTED, FAINT = "#1c2430", "#5b6675", "#e3e6ec"
BLUE, ORANGE = "#0b6e8f", "#c2410c"
OTHERS = (
    "#6b4fa0", "#3f8f5b", "#b0497f", "#8a6d1d", "#4f6fd0", "#2f9e9e", "#a3562a", "#7a8b2a", "#9a4fb8", "#5b7a99",
    "#c06a6a", "#3d6b4f",
)  # fmt: skip
GREYS = ("#1c2430", "#59626f", "#8a93a1", "#b3bac5", "#737c89", "#a0a8b4")
MARKERS = "osD^vP*X<>hd"
STYLE: Any = {
    "font.family": "DejaVu Sans", "font.size": 9.0, "text.color": INK, "axes.labelcolor": MUTED, "axes.grid": True,
    "axes.edgecolor": "#b9c0ca", "grid.color": FAINT, "grid.linewidth": 0.7, "legend.frameon": False,
    "xtick.color": MUTED, "ytick.color": MUTED, "axes.spines.top": False, "axes.spines.right": False,
    "lines.linewidth": 1.2, "lines.markersize": 4.0, "axes.titlesize": 9.5, "axes.titleweight": "bold",
}  # fmt: skip
Draw = Callable[[Any, Selection], bool]  # draws into a figure; False where the table has nothing to draw


def draw_all(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Every figure that the table has rows for."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("figures need matplotlib: install tacit[plot].") from None
    folder.mkdir(parents=True, exist_ok=True)
    selection, written = Selection(rows), []
    with matplotlib.rc_context(STYLE):
        for name, draw in FIGURES.items():
            figure = Figure(layout="constrained")
            if draw(figure, selection):
                written.append(folder / f"{name}.png")
                figure.savefig(written[-1], dpi=130, metadata={"Software": None})
    return written


def look(selection: Selection, learner: str) -> dict[str, Any]:
    """How a learner is drawn, the same in every figure: ours and the paper's stand out, the open ones are grey."""
    if learner.startswith(OURS):
        number = selection.ours().index(learner) if learner in selection.ours() else 0
        return {"color": BLUE, "linewidth": 2.2, "marker": MARKERS[number], "zorder": 5, "alpha": 1 - 0.3 * number}
    if learner == PAPER:
        return {"color": ORANGE, "linewidth": 2.2, "marker": "s", "zorder": 4}
    if learner in selection.open:
        number = selection.open.index(learner)
        return {"color": GREYS[number % len(GREYS)], "linestyle": "--", "marker": MARKERS[number % len(MARKERS)]}
    number = [name for name in selection.private if not name.startswith(OURS) and name != PAPER].index(learner)
    return {"color": OTHERS[number % len(OTHERS)], "marker": MARKERS[number % len(MARKERS)]}


def error_against_rounds(figure: Any, selection: Selection) -> bool:
    """Log-log, with the theory's rate through the first point of the paper's learner, or of ours."""
    names = selection.with_curves()
    names = [name for name in names if name in RKHS] or names
    for axes, name in zip(_panels(figure, len(names)), names, strict=True):
        for learner in _learners(selection):
            _line(axes, selection.curve(learner, name), look(selection, learner) | {"label": learner})
        axes.set(xscale="log", yscale="log", title=_slopes(axes, selection, name), xlabel="Rounds")
    return _finish(figure, names, f"Error rate (ε = {selection.epsilon:g})")


def _slopes(axes: Any, selection: Selection, name: str) -> str:
    """Draws the theory's curve and says all slopes."""
    fitted = {learner: selection.slope(learner, name) for learner in (*selection.ours(), PAPER)}
    said = [f"{learner} {found.mean:.2f}" for learner, found in fitted.items() if found is not None]
    anchor = next((learner for learner in (PAPER, *selection.ours()) if selection.curve(learner, name)), None)
    if name not in RKHS or anchor is None:
        return f"{name}\nslopes: {', '.join(said)}" if said else name
    curve = selection.curve(anchor, name)
    rounds = sorted({T for learner in selection.private for T in selection.curve(learner, name)})
    theory = np.array([rate(name, T, selection.epsilon) for T in rounds])
    first = min(curve)
    scale = curve[first].mean / rate(name, first, selection.epsilon)
    axes.plot(rounds, scale * theory, color=INK, linestyle=":", linewidth=1.6, label="theory's rate", zorder=6)
    return f"{name}\nslopes: {', '.join([*said, f'theory {rate_slope(name, rounds, selection.epsilon):.2f}'])}"


def error_against_epsilon(figure: Any, selection: Selection) -> bool:
    """Private learners by epsilon; the open ones are levels."""
    settings = selection.with_epsilons()
    for axes, (name, rounds) in zip(_panels(figure, len(settings)), settings, strict=True):
        epsilons = selection.cells.epsilons(name)
        for learner in _learners(selection):
            level = epsilons if learner in selection.private else [math.inf]
            keys = [(learner, name, rounds, epsilon) for epsilon in level]
            found = {key[3]: selection.cells.interval(key) for key in keys if key in selection.cells.rows}
            if found and learner in selection.open:
                found = dict.fromkeys(epsilons, next(iter(found.values())))
            _line(axes, found, look(selection, learner) | {"label": learner})
        axes.set(xscale="log", yscale="log", xlabel="ε", title=f"{name}, {rounds:,} rounds")
    return _finish(figure, settings, "Error rate")


def error_against_dimension(figure: Any, selection: Selection) -> bool:
    """As a share of uniform play's error, since functions of more dimensions vary less over actions."""
    sizes = [f"{x}+{c}" for x, c in SIZES]
    have = set(selection.cells.environments())
    kernels = [kernel for kernel in KERNELS if sum(f"{kernel}-{size}" in have for size in sizes) > 1]
    for axes, kernel in zip(_panels(figure, len(kernels)), kernels, strict=True):
        for learner in _learners(selection):
            found = {}
            for i, size in enumerate(sizes):
                key = (learner, f"{kernel}-{size}", selection.rounds, selection.level(learner))
                if key in selection.cells.rows:
                    uniform = selection.cells.interval(key, "uniform_error").mean
                    error = selection.cells.interval(key)
                    found[i] = Interval(error.mean / uniform, error.low / uniform, error.high / uniform, error.seeds)
            _line(axes, found, look(selection, learner) | {"label": learner})
        axes.set(xlabel="Action + context dimensions", title=f"{kernel}, {selection.rounds:,} rounds")
        axes.set_xticks(range(len(sizes)), sizes)
    return _finish(figure, kernels, f"Error, share of uniform play's (ε = {selection.epsilon:g})")


def cost_against_rounds(figure: Any, selection: Selection) -> bool:
    """Seconds and memory of the learner alone, averaged over the environments that it played at those rounds."""
    columns = {"seconds": "Seconds", "peak_memory": "Megabytes"}
    for axes, (column, label) in zip(_panels(figure, 2), columns.items(), strict=True):
        for learner in _learners(selection):
            found = {}
            for T in sorted({key[2] for key in selection.cells.rows if key[0] == learner}):
                rows = [row for row in selection.rows if row["learner"] == learner and row["rounds"] == T]
                mean = float(np.mean([row[column] for row in rows]))
                found[T] = Interval(mean, math.nan, math.nan, 1)
            _line(axes, found, look(selection, learner) | {"label": learner})
        axes.set(xscale="log", yscale="log", xlabel="Rounds", title=label)
    return _finish(figure, ["cost"], "")


def ranking_with_intervals(figure: Any, selection: Selection) -> bool:
    """One line per learner: its error as a share of uniform play's, averaged over environments."""
    places = ranking(selection.cells, selection.rounds, selection.epsilon, selection.cells.environments())[::-1]
    figure.set_size_inches(8.4, 1.2 + 0.28 * len(places))
    axes = figure.subplots()
    for y, place in enumerate(places):
        style = look(selection, place.learner)
        margin = 0.0 if math.isnan(place.left.margin) else place.left.margin
        axes.errorbar(place.left.mean, y, xerr=margin, color=style["color"], marker=style["marker"], capsize=2)
    axes.axvline(1.0, color=MUTED, linestyle=":")
    axes.set_yticks(range(len(places)), [place.learner for place in places])
    title = f"{selection.rounds:,} rounds, private learners at ε = {selection.epsilon:g}, 95 % intervals over seeds"
    axes.set(xlabel="Error, share of uniform play's (mean over environments)", title=title)
    return bool(places)


FIGURES: dict[str, Draw] = {
    "error-rounds": error_against_rounds,
    "error-epsilon": error_against_epsilon,
    "error-dimension": error_against_dimension,
    "cost": cost_against_rounds,
    "ranking": ranking_with_intervals,
}


def _learners(selection: Selection) -> list[str]:
    return [*selection.open, *selection.private]


def _panels(figure: Any, number: int) -> list[Any]:
    if not number:
        return []
    across = min(number, 2 if number <= 4 else 3)
    down = math.ceil(number / across)
    figure.set_size_inches((7.0, 10.5, 13.0)[across - 1], 3.3 * down + 1.4)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes in grid[number:]:
        axes.set_axis_off()
    return list(grid[:number])


def _line(axes: Any, points: dict[Any, Interval], style: dict[str, Any]) -> None:
    if not points:
        return
    x = list(points)
    axes.plot(x, [point.mean for point in points.values()], **style)
    low, high = ([getattr(point, end) for point in points.values()] for end in ("low", "high"))
    if style["color"] in (BLUE, ORANGE) and not np.isnan([*low, *high]).any():
        axes.fill_between(x, np.maximum(low, 1e-4), high, color=style["color"], alpha=0.12, linewidth=0)


def _finish(figure: Any, drawn: Sequence[Any], label: str) -> bool:
    """One legend for all panels."""
    if not drawn:
        return False
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter("")
        handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8)
    figure.supylabel(label, color=MUTED, fontsize=9)
    return True
