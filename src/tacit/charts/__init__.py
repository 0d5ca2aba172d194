"""Charts as SVG, drawn without any library: what pages and reports have in common.

A chart is plain data: a `Figure` of `Panel`s, each with two `Scale`s and some marks. Colours are
classes of `charts.css`, so that a page's light and dark theme, and a strict content security
policy, hold for charts as well.
"""

from tacit.charts.figure import Figure, Key, Panel
from tacit.charts.marks import Area, Band, Bars, Dots, Intervals, Line, Note, Rule, Spans
from tacit.charts.scales import Scale
from tacit.charts.tiles import Colours, Tiles

__all__ = [
    "Area",
    "Band",
    "Bars",
    "Colours",
    "Dots",
    "Figure",
    "Intervals",
    "Key",
    "Line",
    "Note",
    "Panel",
    "Rule",
    "Scale",
    "Spans",
    "Tiles",
]
