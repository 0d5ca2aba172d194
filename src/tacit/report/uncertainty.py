"""Figures of how sure the policy is: the posterior's standard deviation, and the advantage over
random play with its bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.report.advantage import BAND_90, Comparison
from tacit.report.canvas import ACCENT, INK, LOW, OTHER, WIDTH, blank
from tacit.report.findings import Findings
from tacit.report.shading import UNCERTAINTY, shade, ticks

LINES = 128  # contexts of which a figure shows the advantage one by one


def standard_deviation(found: Findings) -> Any:
    """The standard deviation of the expected reward at the chosen action, over the contexts that
    matter most."""
    plane = found.plane
    std = plane.laid_out(found.view.std(plane.actions, plane.contexts))
    if plane.up is not None:
        figure = blank(WIDTH, 3.7)
        axes = figure.subplots()
        mesh = shade(axes, plane.across, plane.up, std, UNCERTAINTY)
        bar = figure.colorbar(mesh, ax=axes, label="Standard deviation of reward", pad=0.02)
        bar.outline.set_visible(False)
        return figure
    figure = blank(WIDTH, 2.8)
    axes = figure.subplots()
    style = "o" if plane.across.labels else "-"
    axes.plot(plane.across.at, std[0], style, color=LOW, linewidth=2.2)
    ticks(axes.xaxis, plane.across)
    axes.set(xlabel=plane.across.axis.title, ylabel="Standard deviation", ylim=(0, 1.1 * std.max()))
    return figure


def advantage(measured: Comparison) -> Any:
    """The advantage over random play in some contexts, from the smallest to the largest, with
    90 % bands."""
    order = np.argsort(measured.mean[:LINES], kind="stable")
    mean = measured.mean[order]
    band = BAND_90 * measured.std[order]
    sure = mean > band
    figure = blank(WIDTH, 3.0)
    axes = figure.subplots()
    rank = np.arange(len(mean))
    for own, colour, label in ((sure, ACCENT, "at least 95 % sure"), (~sure, OTHER, "less sure")):
        if own.any():
            low = (mean - band)[own]
            high = (mean + band)[own]
            axes.vlines(rank[own], low, high, color=colour, linewidth=2.2, label=label)
    axes.plot(rank, mean, ".", color=INK, markersize=3)
    axes.axhline(0.0, color=INK, linewidth=1.0)
    axes.set(
        xlabel="Contexts, from the smallest advantage to the largest",
        ylabel="Reward above random play",
    )
    axes.set_xticks([])
    axes.set_xlim(-1.5, len(mean) + 0.5)
    axes.legend(loc="upper left", fontsize=9)
    return figure
