"""Maps: a plane of tiles in bands of colour, or in one colour for each label. Tiles of one colour
are one path, which keeps a map small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.charts.elements import element, short, words
from tacit.charts.formatting import number
from tacit.charts.marks import Sheet
from tacit.charts.scales import Scale, round_values

# One colour for each kind of quantity, from little to much: it prints in grey as well.
ACTION = ("#eaf4f7", "#a5d0dd", "#4a9cb8", "#0d6c8c", "#0a3a4c")
REWARD = ("#fdf5e8", "#f3cf98", "#dd9a45", "#b3661a", "#5a2f0b")
UNCERTAINTY = ("#f6f1f9", "#d6bfe2", "#ac80c2", "#7d4596", "#3c1d4b")
CHANGE = ("#2f7f9f", "#a5d0dd", "#f4f4f2", "#f3cf98", "#c9791a")
LABELS = ("#2f7f9f", "#d9902f", "#8d59a6", "#5a9a4b", "#c8566a", "#7a8fd0", "#a58a3d", "#4bb0a5")
OTHERS = "#a9b2bd"
BANDS = 9
MOST_WRITTEN = 60  # tiles with their number in them
DARK = 0.55  # luminance above which ink on a tile is dark


@dataclass(frozen=True)
class Colours:
    """Edges of bands, and the colour of each."""

    edges: tuple[float, ...]
    colours: tuple[str, ...]

    @classmethod
    def between(cls, values: Sequence[float], palette: Sequence[str]) -> Colours:
        """About nine bands with round edges over all finite values."""
        known = [value for value in values if math.isfinite(value)]
        low, high = min(known), max(known)
        if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
            pad = 0.5 * max(abs(low), 1e-3)  # all alike: a band around it
            low -= pad
            high += pad
        step = Scale(low, high)
        inner = round_values(step, BANDS)
        size = inner[1] - inner[0] if len(inner) > 1 else high - low
        start = math.floor(low / size + 1e-9)
        stop = math.ceil(high / size - 1e-9)
        edges = tuple(i * size for i in range(start, max(stop, start + 1) + 1))
        n = len(edges) - 1
        shades = tuple(blended(palette, (i + 0.5) / n) for i in range(n))
        return cls(edges, shades)

    def band(self, value: float) -> int:
        """The number of the band that a value is in; -1 for none."""
        if not math.isfinite(value):
            return -1
        inside = sum(value >= edge for edge in self.edges) - 1
        return min(max(inside, 0), len(self.colours) - 1)


@dataclass(frozen=True)
class Tiles:
    """Tiles by `codes[row][column]`, which are numbers of `colours`; -1 stays blank. `across` and
    `up` are the edges of columns and rows. `values` are written into few tiles."""

    across: Sequence[float]
    up: Sequence[float]
    codes: Sequence[Sequence[int]]
    colours: Sequence[str]
    values: Sequence[Sequence[float]] = ()
    span: float = 1.0

    def draw(self, sheet: Sheet) -> str:
        paths: dict[int, str] = {}
        for row, codes in enumerate(self.codes):
            ends = sorted([sheet.y(self.up[row]), sheet.y(self.up[row + 1])])
            for start, stop in runs(codes):
                if codes[start] >= 0:
                    box = _box(sheet.x(self.across[start]), sheet.x(self.across[stop]), ends)
                    paths[codes[start]] = paths.get(codes[start], "") + box
        drawn = [
            element("path", d=path, fill=self.colours[i], class_="tile")
            for i, path in sorted(paths.items())
        ]
        return "".join(drawn) + self._written(sheet)

    def _written(self, sheet: Sheet) -> str:
        if not self.values or len(self.values) * len(self.values[0]) > MOST_WRITTEN:
            return ""
        found = ""
        for row, values in enumerate(self.values):
            y = (sheet.y(self.up[row]) + sheet.y(self.up[row + 1])) / 2 + 4
            for column, value in enumerate(values):
                code = self.codes[row][column]
                if code >= 0:
                    x = (sheet.x(self.across[column]) + sheet.x(self.across[column + 1])) / 2
                    ink = "on-light" if luminance(self.colours[code]) > DARK else "on-dark"
                    text = number(value, self.span, trim=False)
                    found += words(text, x, y, ink, text_anchor="middle")
        return found


def colour_bar(colours: Colours, left: float, top: float, height: float, title: str) -> str:
    """What each band of colour means, beside a map."""
    step = height / len(colours.colours)
    found = ""
    for i, colour in enumerate(colours.colours):
        y = top + height - (i + 1) * step
        found += element("rect", x=left, y=y, width=12, height=step + 0.5, fill=colour)
    span = 20 * (colours.edges[1] - colours.edges[0])
    every = -(-len(colours.edges) // max(2, int(height / 18)))
    for i, edge in enumerate(colours.edges):
        if i % every == 0:
            found += words(number(edge, span), left + 17, top + height - i * step + 4, "tick")
    return found + words(title, left + 12, top - 8, "tick", text_anchor="middle")


def blended(palette: Sequence[str], share: float) -> str:
    """A colour of a palette, 0 for its first and 1 for its last."""
    at = share * (len(palette) - 1)
    i = min(int(at), len(palette) - 2)
    first, second = _rgb(palette[i]), _rgb(palette[i + 1])
    mixed = [round(a + (b - a) * (at - i)) for a, b in zip(first, second, strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def luminance(colour: str) -> float:
    return sum(w * c for w, c in zip((0.3, 0.6, 0.1), _rgb(colour), strict=True)) / 255


def runs(codes: Sequence[float]) -> list[tuple[int, int]]:
    """Where equal codes follow each other: first place and the place after the last."""
    found = []
    start = 0
    for i in range(1, len(codes) + 1):
        if i == len(codes) or codes[i] != codes[start]:
            found.append((start, i))
            start = i
    return found


def _rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _box(left: float, right: float, ends: Sequence[float]) -> str:
    top, bottom = (short(end) for end in ends)
    return f"M{short(left)} {top}H{short(right)}V{bottom}H{short(left)}z"
