"""Figures of what the policy does not know, and of which context matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.report.axes import Axis
from tacit.report.canvas import ACCENT, INK, LOW, MIDDLE, OTHER, blank
from tacit.report.choices import WIDTH
from tacit.report.findings import Findings
from tacit.report.gain import LEVEL_90
from tacit.report.shading import DOUBT, shade, ticks


def doubt(found: Findings) -> Any:
    """The standard deviation of the expected reward at the chosen action, over the contexts that
    matter most."""
    at = found.plane
    std = at.laid_out(found.view.std(at.actions, at.contexts))
    figure = blank(WIDTH, 3.7 if at.up else 2.8)
    axes = figure.subplots()
    if at.up is not None:
        mesh = shade(axes, at.across, at.up, std, DOUBT)
        figure.colorbar(
            mesh, ax=axes, label="Standard deviation of reward", pad=0.02
        ).outline.set_visible(False)
        return figure
    axes.plot(at.across.at, std[0], "o" if at.across.labels else "-", color=LOW, linewidth=2.2)
    ticks(axes.xaxis, at.across)
    axes.set(xlabel=at.across.axis.title, ylabel="Standard deviation", ylim=(0, 1.1 * std.max()))
    return figure


def gain(found: Findings) -> Any:
    """The advantage over random play in random contexts, from the smallest to the largest, with 90
    % bands."""
    order = np.argsort(found.gain.mean, kind="stable")
    mean = found.gain.mean[order]
    band = LEVEL_90 * found.gain.std[order]
    sure = mean > band
    figure = blank(WIDTH, 3.0)
    axes = figure.subplots()
    rank = np.arange(len(mean))
    for own, colour, says in ((sure, ACCENT, "at least 95 % sure"), (~sure, OTHER, "less sure")):
        if own.any():
            axes.vlines(
                rank[own],
                (mean - band)[own],
                (mean + band)[own],
                color=colour,
                linewidth=2.2,
                label=says,
            )
    axes.plot(rank, mean, ".", color=INK, markersize=3)
    axes.axhline(0.0, color=INK, linewidth=1.0)
    axes.set(
        xlabel="Random contexts, from the smallest advantage to the largest",
        ylabel="Reward above random play",
    )
    axes.set_xticks([])
    axes.set_xlim(-1.5, len(mean) + 0.5)
    axes.legend(loc="upper left", fontsize=9)
    return figure


def stakes(found: Findings, actions: list[Axis]) -> Any:
    """How far each context moves the action, and what reward hangs on it."""
    names = [matter.axis.title for matter in found.matters]
    figure = blank(WIDTH, 1.0 + 0.34 * len(names))
    panels = figure.subplots(1, 1 + len(actions), sharey=True)
    _bars(panels[0], names, [matter.stake for matter in found.matters], MIDDLE)
    panels[0].set_title("Reward at stake")
    for panel, action in zip(panels[1:], actions, strict=True):
        share = 100.0 if action.labels else 1.0
        _bars(panel, names, [share * matter.moves(action) for matter in found.matters], ACCENT)
        panel.set_title(
            f"Changed {action.title}, %" if action.labels else f"Change of {action.title}"
        )
    panels[0].invert_yaxis()
    return figure


def scales(found: Findings) -> Any:
    """How fast the reward changes with each coordinate: one over the lengthscale, found and
    assumed."""
    rows = found.scales
    figure = blank(WIDTH, 1.2 + 0.36 * len(rows))
    axes = figure.subplots()
    at = np.arange(len(rows))
    axes.barh(
        at - 0.19,
        [row.found for row in rows],
        0.36,
        color=ACCENT,
        label="found by the evidence of the release",
    )
    axes.barh(
        at + 0.19, [row.design for row in rows], 0.36, color=OTHER, label="assumed by the design"
    )
    _names(axes, [f"{row.name} (action)" if row.action else row.name for row in rows])
    axes.set_xlabel("1 / lengthscale, per whole range of the coordinate")
    axes.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    return figure


def _bars(axes: Any, names: list[str], values: list[float], colour: str) -> None:
    axes.barh(range(len(names)), values, 0.6, color=colour)
    for y, value in enumerate(values):
        axes.annotate(
            f"{value:.3g}", (value, y), (5, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_xlim(0.0, 1.25 * max(*values, 1e-12))
    _names(axes, names)


def _names(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
