"""How the arena's figures look: charts of `tacit.charts` as files of their own, one colour for each
learner in every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from tacit.charts import Band, Dots, Figure, Intervals, Key, Line, Scale
from tacit.charts.elements import element
from tacit.charts.marks import Mark
from tacit_lab.arena.promise import Promise
from tacit_lab.arena.selection import EPOCHS, OURS, PAPER, Selection
from tacit_lab.arena.statistics import Interval

# Ours and the paper's stand out; the others with joint privacy have a colour each.
STANDING_OUT = {OURS: "#0b6e8f", EPOCHS: "#3aa0c4", PAPER: "#c2410c"}
COLOURS = (
    "#6b4fa0", "#3f8f5b", "#b0497f", "#8a6d1d", "#4f6fd0", "#2f9e9e",
    "#a3562a", "#7a8b2a", "#9a4fb8", "#5b7a99", "#c06a6a", "#3d6b4f",
)  # fmt: skip
PROMISES = {Promise.JOINT: "#0b6e8f", Promise.OTHER: "#b3661a", Promise.NONE: "#8a93a1"}
FREE = "#59626f"  # without privacy
THEME = """
svg { --ink: #1c2430; --muted: #5b6675; --faint: #e3e6ec; --paper: #fff; --sans: sans-serif;
  --accent: #0b6e8f; --other: #c2410c; background: #fff; }
.chart .interval { stroke-width: 3; }
.chart .line { stroke-width: 1.6; }
.chart .hair { stroke-width: 1.2; stroke-dasharray: none; opacity: .55; }
.chart .open { stroke-dasharray: 5 4; }
"""
SMALLEST = 1e-4  # of a share or an error on a logarithmic side


class Palette:
    """Classes of colour: one for each learner with joint privacy, and one for each promise."""

    def __init__(self, selection: Selection) -> None:
        others = [name for name in selection.joint if name not in STANDING_OUT]
        self._colours = dict(STANDING_OUT)
        for i, name in enumerate(others):
            self._colours[name] = COLOURS[i % len(COLOURS)]
        self._names = {name: f"l{i}" for i, name in enumerate(self._colours)}

    def learner(self, name: str) -> str:
        """Of a learner; those without joint privacy share one."""
        return self._names.get(name, "free open")

    @staticmethod
    def promise(promise: Promise) -> str:
        return f"promise-{promise.name.lower()}"

    def keys(self, names: Sequence[str]) -> list[Key]:
        return [Key(name, colour=self._colours.get(name, FREE)) for name in names]

    def style(self) -> str:
        rules = {self._names[name]: colour for name, colour in self._colours.items()}
        rules |= {self.promise(promise): colour for promise, colour in PROMISES.items()}
        rules["free"] = FREE
        return "".join(f".chart .{name} {{ --own: {c}; }}\n" for name, c in rules.items())


def as_file(figure: Figure, palette: Palette) -> str:
    """A figure that stands by itself: with its colours, on white."""
    charts = resources.files("tacit.charts").joinpath("charts.css").read_text()
    style = element("style", charts + THEME + palette.style())
    head, _, rest = figure.svg().partition(">")
    size = f' width="{figure.width:g}"'
    return f'{head} xmlns="http://www.w3.org/2000/svg"{size}>{style}{rest}\n'


def curve(points: Mapping[float, Interval], kind: str, banded: bool) -> list[Mark]:
    """A line through means with a dot at each, and their intervals as a band or as thin bars."""
    x = list(points)
    mean = [max(point.mean, SMALLEST) for point in points.values()]
    known = {at: point for at, point in points.items() if point.seeds > 1}
    low = [max(point.low, SMALLEST) for point in known.values()]
    high = [max(point.high, SMALLEST) for point in known.values()]
    around: Mark = Intervals(list(known), low, high, f"{kind} hair")
    if banded:
        around = Band(list(known), low, high, kind)
    return [around, Line(x, mean, kind), Dots(x, mean, kind, radius=2.6)]


def log_scale(values: Sequence[float], title: str) -> Scale:
    """All of these values, from the one below to the one above."""
    known = [max(value, SMALLEST) for value in values]
    low = min(known, default=SMALLEST)
    high = max(known, default=1.0)
    return Scale(low / 1.15, high * 1.15, title, log=True)
