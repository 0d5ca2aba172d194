"""Figures of a results table: error against rounds, epsilon and dimension; cost; the ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit_lab.arena.drawing import (
    INK,
    MUTED,
    STYLE,
    finish,
    in_order,
    line,
    logarithmic,
    panels,
    style_of,
)
from tacit_lab.arena.environments import RKHS
from tacit_lab.arena.environments.rkhs import SIZE_NAMES
from tacit_lab.arena.job import Row
from tacit_lab.arena.rate import rate, rate_slope
from tacit_lab.arena.selection import PAPER, Selection
from tacit_lab.arena.statistics import Interval, ranking

# Draws into a figure; False where the table has nothing to draw.
Draw = Callable[[Any, Selection], bool]


def draw_all(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Every figure that the table has rows for."""
    import matplotlib
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    selection = Selection(rows)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, draw in FIGURES.items():
            figure = Figure(layout="constrained")
            if draw(figure, selection):
                path = folder / f"{name}.png"
                figure.savefig(path, dpi=130, metadata={"Software": None})
                written.append(path)
    return written


def error_against_rounds(figure: Any, selection: Selection) -> bool:
    """Log-log, with the theory's rate through the first point of the paper's learner, or ours."""
    names = selection.with_curves()
    names = [name for name in names if name in RKHS] or names
    for axes, name in zip(panels(figure, len(names)), names, strict=True):
        for learner in in_order(selection):
            _draw_learner(axes, selection, learner, selection.curve(learner, name))
        logarithmic(axes)
        axes.set(title=name, xlabel="Rounds")
        _slopes(axes, selection, name)
    return finish(figure, names, f"Error rate (ε = {selection.epsilon:g})")


def _draw_learner(
    axes: Any, selection: Selection, learner: str, points: dict[Any, Interval]
) -> None:
    line(axes, points, style_of(selection, learner) | {"label": learner})


def _slopes(axes: Any, selection: Selection, name: str) -> None:
    """Draws the theory's curve and writes all slopes into the corner."""
    fitted = {learner: selection.slope(learner, name) for learner in (*selection.ours(), PAPER)}
    words = [
        f"{learner} {slope.mean:.2f}" for learner, slope in fitted.items() if slope is not None
    ]
    anchors = [learner for learner in (PAPER, *selection.ours()) if selection.curve(learner, name)]
    if name in RKHS and anchors:
        curve = selection.curve(anchors[0], name)
        rounds = sorted(
            {T for learner in selection.private for T in selection.curve(learner, name)}
        )
        first = min(curve)
        scale = curve[first].mean / rate(name, first, selection.epsilon)
        theory = [scale * rate(name, T, selection.epsilon) for T in rounds]
        axes.plot(
            rounds, theory, color=INK, linestyle=":", linewidth=1.6, label="theory's rate", zorder=6
        )
        words.append(f"theory {rate_slope(name, rounds, selection.epsilon):.2f}")
    if words:
        corner = {"transform": axes.transAxes, "va": "bottom", "fontsize": 7.5, "color": MUTED}
        axes.text(0.02, 0.02, "\n".join(["slopes", *words]), **corner)


def error_against_epsilon(figure: Any, selection: Selection) -> bool:
    """Private learners by epsilon; the error of the open ones is the same at each."""
    settings = selection.with_epsilons()
    for axes, (name, rounds) in zip(panels(figure, len(settings)), settings, strict=True):
        epsilons = selection.cells.epsilons(name)
        for learner in in_order(selection):
            points = {}
            for epsilon in epsilons:
                level = epsilon if learner in selection.private else math.inf
                key = (learner, name, rounds, level)
                if key in selection.cells.rows:
                    points[epsilon] = selection.cells.interval(key)
            _draw_learner(axes, selection, learner, points)
        logarithmic(axes)
        axes.set(xlabel="ε", title=f"{name}, {rounds:,} rounds")
    return finish(figure, settings, "Error rate")


def error_against_dimension(figure: Any, selection: Selection) -> bool:
    """As a share of uniform play's error, since functions of more dimensions vary less over
    actions."""
    kernels = selection.with_sizes()
    for axes, kernel in zip(panels(figure, len(kernels)), kernels, strict=True):
        for learner in in_order(selection):
            points = {}
            for i, size in enumerate(SIZE_NAMES):
                key = (learner, f"{kernel}-{size}", selection.rounds, selection.level(learner))
                if key in selection.cells.rows:
                    uniform = selection.cells.interval(key, "uniform_error").mean
                    error = selection.cells.interval(key)
                    points[i] = Interval(
                        error.mean / uniform, error.low / uniform, error.high / uniform, error.seeds
                    )
            _draw_learner(axes, selection, learner, points)
        axes.set(
            xlabel="Action + context dimensions", title=f"{kernel}, {selection.rounds:,} rounds"
        )
        axes.set_xticks(range(len(SIZE_NAMES)), SIZE_NAMES)
    return finish(figure, kernels, f"Error, share of uniform play's (ε = {selection.epsilon:g})")


def cost_against_rounds(figure: Any, selection: Selection) -> bool:
    """Seconds and memory of the learner alone, on the environment that was played most."""
    columns = {"seconds": "Seconds", "peak_memory": "Megabytes"}
    name = selection.busiest
    for axes, (column, label) in zip(panels(figure, 2), columns.items(), strict=True):
        for learner in in_order(selection):
            level = selection.level(learner)
            keys = [(learner, name, T, level) for T in selection.cells.rounds(name, learner, level)]
            points = {key[2]: selection.cells.interval(key, column) for key in keys}
            _draw_learner(axes, selection, learner, points)
        logarithmic(axes)
        axes.set(xlabel="Rounds", title=f"{label}, {name}")
    return finish(figure, [name], "")


def ranking_with_intervals(figure: Any, selection: Selection) -> bool:
    """One line per learner: its error as a share of uniform play's, averaged over environments."""
    places = ranking(selection.cells, selection.rounds, selection.epsilon, selection.environments)
    places.reverse()  # the best at the top
    figure.set_size_inches(8.4, 1.2 + 0.28 * len(places))
    axes = figure.subplots()
    for y, place in enumerate(places):
        style = style_of(selection, place.learner)
        margin = 0.0 if math.isnan(place.left.margin) else place.left.margin
        axes.errorbar(
            place.left.mean, y, xerr=margin, color=style["color"], marker=style["marker"], capsize=2
        )
    axes.axvline(1.0, color=MUTED, linestyle=":")
    axes.set_yticks(range(len(places)), [place.learner for place in places])
    title = (
        f"{selection.rounds:,} rounds, private learners at ε = {selection.epsilon:g}, "
        "95 % intervals over seeds"
    )
    axes.set(xlabel="Error, share of uniform play's (mean over environments)", title=title)
    return bool(places)


FIGURES: dict[str, Draw] = {
    "error-rounds": error_against_rounds,
    "error-epsilon": error_against_epsilon,
    "error-dimension": error_against_dimension,
    "cost": cost_against_rounds,
    "ranking": ranking_with_intervals,
}
