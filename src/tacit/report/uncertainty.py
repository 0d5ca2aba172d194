"""Figures of how sure the policy is: the posterior's standard deviation, and the advantage over
random play with its bands."""

from __future__ import annotations

import numpy as np

from tacit.charts import Dots, Figure, Intervals, Key, Line, Panel, Rule, Scale
from tacit.charts.marks import Mark
from tacit.charts.tiles import UNCERTAINTY
from tacit.report.advantage import BAND_90, Comparison
from tacit.report.drawing import WIDTH, scale_of, shaded
from tacit.report.findings import Findings

LINES = 128  # contexts of which a figure shows the advantage one by one
DEVIATION = "Standard deviation of reward"


def standard_deviation(found: Findings, alt: str, width: float = WIDTH) -> Figure:
    """The standard deviation of the expected reward at the chosen action, over the contexts that
    matter most."""
    plane = found.plane
    std = plane.laid_out(found.view.std(plane.actions, plane.contexts))
    if plane.up is not None:
        tiles, colours = shaded(plane.across, plane.up, std, UNCERTAINTY)
        sides = (scale_of(plane.across), scale_of(plane.up))
        return Figure([Panel(*sides, [tiles], DEVIATION, colours)], alt, width, 290.0)
    at = plane.across.at.tolist()
    values = std[0].tolist()
    mark: Mark = Dots(at, values, "low") if plane.across.labels else Line(at, values, "low")
    up = Scale.around(values, DEVIATION, zero=True)
    return Figure([Panel(scale_of(plane.across), up, [mark])], alt, width, 220.0)


def advantage(measured: Comparison, alt: str, width: float = WIDTH) -> Figure:
    """The advantage over random play in some contexts, from the smallest to the largest, with
    90 % bands."""
    order = np.argsort(measured.mean[:LINES], kind="stable")
    mean = measured.mean[order]
    band = BAND_90 * measured.std[order]
    sure = mean > band
    rank = np.arange(len(mean), dtype=np.float64)
    marks: list[Mark] = [Rule(0.0)]
    keys = []
    for own, kind, text in ((sure, "accent", "at least 95 % sure"), (~sure, "other", "less sure")):
        if own.any():
            low = (mean - band)[own].tolist()
            high = (mean + band)[own].tolist()
            marks.append(Intervals(rank[own].tolist(), low, high, f"{kind} thin"))
            keys.append(Key(text, kind))
    marks.append(Dots(rank.tolist(), mean.tolist(), "ink", 1.6))
    across = Scale(
        -1.5, len(mean) + 0.5, "Contexts, from the smallest advantage to the largest", bare=True
    )
    ends = [*(mean - band).tolist(), *(mean + band).tolist(), 0.0]
    up = Scale.around(ends, "Reward above random play")
    return Figure([Panel(across, up, marks)], alt, width, 240.0, keys=keys)
