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


@given(st.floats(1e-6, 1e6), st.floats(11.0, 1e6), st.integers(3, 12))
def test_logarithmic_ticks_are_round_few_and_within(low: float, ratio: float, most: int) -> None:
    scale = Scale(low, low * ratio, log=True)
    found = [at for at, _ in scale.ticks(most)]
    assert len(found) <= most
    assert all(low * (1 - 1e-6) <= at <= low * ratio * (1 + 1e-6) for at in found)
    digits = {f"{at:.0e}".partition("e")[0] for at in found}
    assert digits <= {"1", "2", "3", "5"}
    assert len(found) > 1


def test_a_short_logarithmic_side_has_ticks_too() -> None:
    assert [at for at, _ in Scale(6.0, 9.0, log=True).ticks(4)] == [6.0, 7.0, 8.0, 9.0]


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_side() -> None:
    scale = Scale(0.1, 1000.0, log=True)
    shares = [scale.share(value) for value in (0.1, 1.0, 10.0, 100.0, 1000.0)]
    assert shares == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    assert math.isfinite(scale.share(0.0))


def test_labels_are_cut_where_a_scale_says() -> None:
    label = "a name of many letters"
    assert Scale(0.0, 1.0).cut(label) == "a name of many …"
    assert Scale(0.0, 1.0, letters=30).cut(label) == label


def test_every_label_beside_a_high_panel_is_written() -> None:
    labels = tuple(f"learner {i}" for i in range(40))
    up = Scale(-0.5, 39.5, labels=labels, down=True)
    drawn = Figure([Panel(Scale(0.0, 1.0), up, [])], "labels", height=800.0).svg()
    assert all(f">{label}</text>" in drawn for label in labels)


def test_names_at_the_right_end_stay_within_the_figure() -> None:
    figure = Figure([Panel(Scale(1000.0, 110_000.0, log=True), Scale(0.0, 1.0), [])], "wide", 300.0)
    (end,) = re.findall(r'x="([\d.]+)"[^>]*text-anchor="end">100,000<', figure.svg())
    assert float(end) <= 300.0
