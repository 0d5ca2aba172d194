"""Charts: whole SVG whatever is drawn, names that cannot become markup, scales that are right."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.charts import (
    Area,
    Band,
    Bars,
    Colours,
    Dots,
    Figure,
    Intervals,
    Key,
    Line,
    Note,
    Panel,
    Rule,
    Scale,
    Spans,
    Tiles,
)
from tacit.charts.marks import Mark
from tacit.charts.scales import round_values
from tacit.charts.tiles import ACTION, blended, runs

EVIL = "<script>alert('x')</script> & \"more\""
GAP = [0.0, math.nan, 2.0, 3.0]


def everything() -> Figure:
    x = [0.0, 1.0, 2.0, 3.0]
    marks: list[Mark] = [
        Line(x, GAP),
        Band(x, GAP, [4.0] * 4),
        Area(x, [0.0] * 4, x, "#123456"),
        Dots(x, GAP),
        Intervals(x, [-9.0] * 4, [99.0] * 4),
        Intervals(x, x, x, flat=True),
        Bars(x, x),
        Bars(x, x, flat=True, starts=x),
        Rule(1.0),
        Rule(1.0, upright=True),
        Spans(0.0, 2.0),
        Spans(0.0, 2.0, upright=True),
        Note(1.0, 1.0, EVIL),
    ]
    side = Scale(0.0, 3.0, EVIL)
    colours = Colours.between([0.0, 1.0], ACTION)
    tiles = Tiles([0, 1, 2], [0, 1, 2], [[0, 1], [-1, 0]], colours.colours, [[1, 2], [3, 4]])
    labels = Scale.of_labels([EVIL, "a" * 99, "c"], EVIL, down=True)
    panels = [
        Panel(side, side, marks, EVIL),
        Panel(side, side, [tiles], EVIL, colours, EVIL),
        Panel(labels, labels, []),
    ]
    return Figure(panels, EVIL, wide=2, keys=[Key(EVIL, "accent"), Key("x", colour="#000000")])


def test_a_chart_is_whole_and_its_words_are_words() -> None:
    svg = everything().svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == EVIL
    assert "<script" not in svg
    assert " style=" not in svg  # a strict policy would drop it
    assert not re.search(r"nan|inf", svg)


def test_nothing_leaves_the_panel_upwards_or_downwards() -> None:
    side = Scale(0.0, 1.0, bare=True)
    drawn = Figure([Panel(side, side, [Intervals([0.5], [-99.0], [99.0])])], "x", height=100).svg()
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)V", drawn)]
    ends = [float(y) for y in re.findall(r"V([\d.]+)", drawn)]
    assert all(0 <= y <= 100 for y in [*heights, *ends])


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(1e-3, 1e6),
    most=st.integers(2, 12),
)
def test_ticks_are_round_few_and_within(low: float, span: float, most: int) -> None:
    scale = Scale(low, low + span)
    found = round_values(scale, most)
    assert len(found) <= most + 2
    assert all(scale.low - 1e-6 * span <= at <= scale.high + 1e-6 * span for at in found)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9))
def test_every_value_has_a_band_and_bands_are_in_order(values: list[float]) -> None:
    colours = Colours.between(values, ACTION)
    bands = [colours.band(value) for value in sorted(values)]
    assert bands == sorted(bands)
    assert all(0 <= band < len(colours.colours) for band in bands)
    assert colours.band(math.nan) == -1
    assert list(colours.edges) == sorted(colours.edges)


def test_runs_and_colours() -> None:
    assert runs([1, 1, 2, 2, 2, 1]) == [(0, 2), (2, 5), (5, 6)]
    assert blended(("#000000", "#ffffff"), 0.5) == "#808080"
    assert blended(ACTION, 0.0) == ACTION[0]
    assert blended(ACTION, 1.0) == ACTION[-1]


def test_whole_scales_name_whole_numbers_only() -> None:
    names = [text for _, text in Scale(0.5, 2.5, whole=True).ticks(9)]
    assert names == ["1", "2"]
    assert Scale.around([], "").span > 0
    assert Scale.around([2.0, 2.0]).span > 0
    with pytest.raises(ZeroDivisionError):
        Scale(1.0, 1.0).share(1.0)
