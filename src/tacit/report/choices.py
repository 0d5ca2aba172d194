"""Figures of what is decided: the chosen action across each context, for many people, and across
the two that matter most, for one who is typical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.report.axes import Axis
from tacit.report.canvas import ACCENT, INK, WIDTH, blank
from tacit.report.findings import Findings
from tacit.report.shading import (
    ACTION,
    LABELS,
    OTHERS,
    label_colour,
    shade,
    ticks,
    tiles,
)


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

    def shares(self, numbers: Floats) -> Floats:
        """How often each of `names` is chosen at each place, in percent, `(names, places)`, from
        numbers by `(person, place)`."""
        places = self.places(numbers).reshape(numbers.shape)
        return np.array([100.0 * np.mean(places == i, axis=0) for i in range(len(self.names))])


def curves(found: Findings, action: Axis) -> Any:
    """One panel per context coordinate, which moves over its range in the contexts of some people:
    the median of a number that is chosen for them with its spread, or how often each label is."""
    shown = found.curves
    wide = min(3, len(shown))
    high = -(-len(shown) // wide)
    figure = blank(WIDTH, 0.35 + (2.3 if action.labels else 2.5) * high)
    panels = figure.subplots(high, wide, sharey=True, squeeze=False).ravel()
    if action.labels:
        _label_panels(figure, panels, found, action)
    else:
        _number_panels(panels, found, action)
    for panel, curve in zip(panels, shown, strict=False):
        ticks(panel.xaxis, curve.ruler, room=22)
        panel.set_xlabel(curve.ruler.axis.title)
        _mark_people(panel, found, curve.ruler.axis)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
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
        _mark_people(axes, found, at.across.axis)
        _mark_people(axes, found, at.up.axis, up=True)
    return figure


def _mark_people(panel: Any, found: Findings, axis: Axis, up: bool = False) -> None:
    """A bar along the foot of a panel, or up its side, where the middle 90 % of the people are."""
    if not found.view.knows_people or axis.labels:
        return
    span = axis.values(found.view.quantiles(axis, [0.05, 0.95])[:, None])
    at = (np.zeros(2), span) if up else (span, np.zeros(2))
    panel.plot(
        *at,
        color=INK,
        linewidth=4.0,
        solid_capstyle="butt",
        transform=panel.get_yaxis_transform() if up else panel.get_xaxis_transform(),
        clip_on=False,
        zorder=5,
    )


def _number_panels(panels: Any, found: Findings, action: Axis) -> None:
    quantiles = [curve.quantiles(action) for curve in found.curves]
    for panel, curve, (low, middle, high) in zip(panels, found.curves, quantiles, strict=False):
        at = curve.ruler.at
        if curve.ruler.labels:
            panel.vlines(at, low, high, color=ACCENT, alpha=0.18, linewidth=9)
            panel.plot(at, middle, "o", color=ACCENT, markersize=6.5)
            panel.set_xlim(-0.6, len(at) - 0.4)
            panel.grid(visible=False, axis="x")
        else:
            panel.fill_between(at, low, high, color=ACCENT, alpha=0.14, linewidth=0)
            panel.plot(at, middle, color=ACCENT, linewidth=2.2)
            panel.set_xlim(at[0], at[-1])
    for panel in panels[:: min(3, len(found.curves))]:
        panel.set_ylabel(f"Chosen {action.title}")
    panels[0].set_ylim(*_limits(action, quantiles))


def _label_panels(figure: Any, panels: Any, found: Findings, action: Axis) -> None:
    from matplotlib.patches import Patch

    menu = Menu.of(action, found.shown(action))
    colours = [label_colour(i, menu.names) for i in range(len(menu.names))]
    for panel, curve in zip(panels, found.curves, strict=False):
        shares = menu.shares(curve.values(action))
        below = np.cumsum(shares, axis=0) - shares
        at = curve.ruler.at
        for share, start, colour in zip(shares, below, colours, strict=True):
            if curve.ruler.labels:
                panel.bar(at, share, 0.7, bottom=start, color=colour, linewidth=0)
            else:
                panel.fill_between(at, start, start + share, color=colour, linewidth=0)
        ends = (-0.6, len(at) - 0.4) if curve.ruler.labels else (at[0], at[-1])
        panel.set_xlim(*ends)
    panels[0].set_ylim(0.0, 100.0)
    for panel in panels[:: min(3, len(found.curves))]:
        panel.set_ylabel(f"Share of {found.view.unit}, %")
    patches = [
        Patch(color=colour, label=name) for colour, name in zip(colours, menu.names, strict=True)
    ]
    figure.legend(
        handles=patches, title=f"Chosen {action.title}", loc="outside lower center", ncols=4
    )


def _limits(action: Axis, drawn: Sequence[Floats]) -> tuple[float, float]:
    """Round everything drawn, at least a fifth of the action's range and hardly beyond it."""
    low = min(float(values.min()) for values in drawn)
    high = max(float(values.max()) for values in drawn)
    pad = max(0.06 * (high - low), 0.1 * action.span - (high - low) / 2)
    end = 0.02 * action.span
    return max(low - pad, action.range[0] - end), min(high + pad, action.range[1] + end)
