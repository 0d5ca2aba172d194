"""Figures of what is expected: the reward over action and context, and slices of it with their
bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.report.advantage import BAND_90
from tacit.report.axes import Axis, Ruler
from tacit.report.canvas import HIGH, MIDDLE, PAPER, WIDTH, blank
from tacit.report.findings import Findings
from tacit.report.shading import REWARD, edges, mark, runs, shade

SHOWN = 15  # labels of an action at most
FEW = 5  # contexts that choose them
THREE = (0.1, 0.5, 0.9)  # low, middle, high


def surface(found: Findings, action: Axis) -> Any:
    """The expected reward over one action coordinate and the context that matters most."""
    view = found.view
    across = found.importances[0].axis.ruler(view.detail.curve)
    C, _ = view.contexts.place(view.typical, (across.axis, across.places))
    X = view.decide(C)
    up, Z = best_rows(found, action, C, X)
    height = 3.9
    if up.labels:
        height = max(3.0, 1.2 + 0.27 * len(up))
    figure = blank(WIDTH, height)
    axes = figure.subplots()
    mesh = shade(axes, across, up, Z, REWARD)
    bar = figure.colorbar(mesh, ax=axes, label=f"Expected {view.quantity}", pad=0.02)
    bar.outline.set_visible(False)
    _mark(axes, across, up, action.values(X[:, action.columns]))
    if up.labels:
        axes.invert_yaxis()
    return figure


def slices(found: Findings, action: Axis) -> Any:
    """The expected reward of every action, with 90 % bands, in a low, a middle and a high
    context."""
    at = three(found)
    view = found.view
    C, _ = view.contexts.place(view.typical, (at.axis, at.places))
    X = view.decide(C)
    up, _ = best_rows(found, action, C, X)
    height = 3.4
    draw = _line
    if up.labels:
        height = max(2.6, 1.3 + 0.27 * len(up))
        draw = _dots
    figure = blank(WIDTH, height)
    panels = figure.subplots(1, len(at), sharey=True, sharex=True, squeeze=False).ravel()
    for i, panel in enumerate(panels):
        tried, inside = view.actions.place(X[i : i + 1], (action, up.places))
        contexts = np.repeat(C[i : i + 1], len(tried), axis=0)
        mean = view.mean(tried, contexts)
        band = BAND_90 * view.std(tried, contexts)
        mean[~inside] = np.nan
        draw(panel, up, mean, band, f"Expected {view.quantity}")
        _choice(panel, up, action, view.mean(X[i : i + 1], C[i : i + 1]), X[i : i + 1])
        panel.set_title(f"{at.axis.title} {at.axis.says(at.places[i])}")
    panels[0].set_ylabel(action.title if up.labels else f"Expected {view.quantity}")
    if up.labels:
        panels[0].invert_yaxis()
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9)
    return figure


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


def _mark(axes: Any, across: Ruler, up: Ruler, chosen: Floats) -> None:
    """The chosen action in every context, where it is on the map."""
    x = across.at
    if up.labels:
        chosen = np.array([up.find(i) for i in chosen])
    if up.labels and not across.labels:
        x, chosen = _steps(edges(across), chosen)
    if up.labels and across.labels:
        chosen = chosen + 0.25  # below the number in the tile
    mark(axes, x, chosen, "o" if across.labels else "-", f"Chosen {up.axis.title}")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=9)


def _steps(ends: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """A line along each run of equal rows, broken where the row changes."""
    x = []
    y = []
    for start, stop in runs(rows):
        x += [ends[start], ends[stop], ends[stop]]
        y += [rows[start], rows[start], np.nan]
    return np.array(x), np.array(y)


def _line(panel: Any, up: Ruler, mean: Floats, band: Floats, name: str) -> None:
    panel.fill_between(
        up.at, mean - band, mean + band, color=MIDDLE, alpha=0.2, linewidth=0, label="90 % band"
    )
    panel.plot(up.at, mean, color=MIDDLE, linewidth=2.2, label=name)
    panel.set_xlim(up.at[0], up.at[-1])
    panel.set_xlabel(up.axis.title)


def _dots(panel: Any, up: Ruler, mean: Floats, band: Floats, name: str) -> None:
    panel.hlines(
        up.at, mean - band, mean + band, color=MIDDLE, alpha=0.4, linewidth=3, label="90 % band"
    )
    panel.plot(mean, up.at, "o", color=MIDDLE, markersize=5, label=name)
    panel.set_yticks(up.at, up.labels)
    panel.set_ylim(-0.6, len(up) - 0.4)
    panel.tick_params(axis="y", length=0)
    panel.set_xlabel(name)


def _choice(panel: Any, up: Ruler, action: Axis, reward: Floats, X: Floats) -> None:
    chosen = action.values(X[:, action.columns])
    at = (chosen, reward)
    if up.labels:
        at = (reward, np.array([up.find(chosen[0])]))
    panel.plot(
        *at,
        "o",
        color=HIGH,
        markersize=8,
        markeredgecolor=PAPER,
        zorder=4,
        clip_on=False,
        label=f"Chosen {action.title}",
    )
