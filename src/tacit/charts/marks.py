"""Marks: what is drawn in a panel. Each knows its values and becomes SVG on a `Sheet`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.charts.elements import element, short, words
from tacit.charts.scales import Scale

Values = Sequence[float]


@dataclass(frozen=True)
class Sheet:
    """The inside of a panel in pixels, with the scales of its sides."""

    left: float
    top: float
    width: float
    height: float
    across: Scale
    up: Scale

    def x(self, value: float) -> float:
        return self.left + self.width * self.across.share(value)

    def y(self, value: float) -> float:
        share = self.up.share(value)
        return self.top + self.height * (share if self.up.down else 1.0 - share)

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def right(self) -> float:
        return self.left + self.width

    def inside(self, y: float) -> float:
        """A height that does not leave the panel."""
        return min(max(y, self.top), self.bottom)


class Mark(Protocol):
    """Anything that can be drawn."""

    def draw(self, sheet: Sheet) -> str: ...


@dataclass(frozen=True)
class Line:
    """A line through points; it breaks where a value is not finite."""

    x: Values
    y: Values
    kind: str = "accent"

    def draw(self, sheet: Sheet) -> str:
        parts = [_path(sheet, points) for points in _runs(self.x, self.y)]
        return element("path", d="".join(parts), class_=f"line {self.kind}") if parts else ""


@dataclass(frozen=True)
class Band:
    """A shade between two lines."""

    x: Values
    low: Values
    high: Values
    kind: str = "accent"

    def draw(self, sheet: Sheet) -> str:
        found = ""
        for points in _runs(self.x, self.low, self.high):
            there = [(x, high) for x, _, high in points]
            back = [(x, low) for x, low, _ in reversed(points)]
            found += _path(sheet, [*there, *back]) + "z"
        return element("path", d=found, class_=f"band {self.kind}") if found else ""


@dataclass(frozen=True)
class Area:
    """A filled area between two lines: a share of a whole."""

    x: Values
    low: Values
    high: Values
    colour: str

    def draw(self, sheet: Sheet) -> str:
        there = list(zip(self.x, self.high, strict=True))
        back = list(zip(self.x, self.low, strict=True))[::-1]
        return element("path", d=_path(sheet, [*there, *back]) + "z", fill=self.colour)


@dataclass(frozen=True)
class Dots:
    """Dots."""

    x: Values
    y: Values
    kind: str = "accent"
    radius: float = 4.0

    def draw(self, sheet: Sheet) -> str:
        return "".join(
            element(
                "circle", cx=sheet.x(x), cy=sheet.y(y), r=self.radius, class_=f"dot {self.kind}"
            )
            for x, y in zip(self.x, self.y, strict=True)
            if math.isfinite(x) and math.isfinite(y)
        )


@dataclass(frozen=True)
class Intervals:
    """Bars from low to high at places: upright, or along the other side where `flat`."""

    at: Values
    low: Values
    high: Values
    kind: str = "accent"
    flat: bool = False

    def draw(self, sheet: Sheet) -> str:
        found = ""
        for at, low, high in zip(self.at, self.low, self.high, strict=True):
            if self.flat:
                y = short(sheet.y(at))
                found += f"M{short(sheet.x(low))} {y}H{short(sheet.x(high))}"
            else:
                ends = [short(sheet.inside(sheet.y(end))) for end in (low, high)]
                found += f"M{short(sheet.x(at))} {ends[0]}V{ends[1]}"
        return element("path", d=found, class_=f"interval {self.kind}") if found else ""


@dataclass(frozen=True)
class Bars:
    """Bars from zero: upright, or to the right where `flat`. `width` is in units of the side that
    they stand on."""

    at: Values
    values: Values
    kind: str = "accent"
    width: float = 0.6
    flat: bool = False
    starts: Values | None = None
    colour: str | None = None  # instead of that of the kind

    def draw(self, sheet: Sheet) -> str:
        found = ""
        starts = self.starts or [0.0] * len(self.at)
        half = self.width / 2
        for at, value, start in zip(self.at, self.values, starts, strict=True):
            if self.flat:
                low, high = sorted([sheet.x(start), sheet.x(start + value)])
                top, bottom = sorted([sheet.y(at - half), sheet.y(at + half)])
            else:
                low, high = sheet.x(at - half), sheet.x(at + half)
                top, bottom = sorted([sheet.y(start), sheet.y(start + value)])
            found += f"M{short(low)} {short(top)}H{short(high)}V{short(bottom)}H{short(low)}z"
        kind = None if self.colour else f"bar {self.kind}"
        return element("path", d=found, class_=kind, fill=self.colour) if found else ""


@dataclass(frozen=True)
class Rule:
    """A line across the whole panel at a value."""

    at: float
    upright: bool = False
    kind: str = "rule"

    def draw(self, sheet: Sheet) -> str:
        if self.upright:
            x = sheet.x(self.at)
            return element("line", x1=x, x2=x, y1=sheet.top, y2=sheet.bottom, class_=self.kind)
        y = sheet.y(self.at)
        return element("line", x1=sheet.left, x2=sheet.right, y1=y, y2=y, class_=self.kind)


@dataclass(frozen=True)
class Spans:
    """A thick line along the foot of a panel, or up its side: where most people are."""

    low: float
    high: float
    upright: bool = False

    def draw(self, sheet: Sheet) -> str:
        if self.upright:
            x = sheet.left
            low, high = sheet.y(self.low), sheet.y(self.high)
            return element("line", x1=x, x2=x, y1=low, y2=high, class_="spans")
        y = sheet.bottom
        low, high = sheet.x(self.low), sheet.x(self.high)
        return element("line", x1=low, x2=high, y1=y, y2=y, class_="spans")


@dataclass(frozen=True)
class Note:
    """Words beside a point."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    rise: float = 4.0  # pixels below the point
    right: float = 6.0
    kind: str = "note"

    def draw(self, sheet: Sheet) -> str:
        x = sheet.x(self.x) + self.right
        return words(self.text, x, sheet.y(self.y) + self.rise, self.kind, text_anchor=self.anchor)


def _runs(*columns: Values) -> Iterator[list[tuple[float, ...]]]:
    """Points one after the other, in pieces without gaps."""
    piece: list[tuple[float, ...]] = []
    for point in zip(*columns, strict=True):
        if all(math.isfinite(value) for value in point):
            piece.append(tuple(float(value) for value in point))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _path(sheet: Sheet, points: Sequence[tuple[float, ...]]) -> str:
    places = [f"{short(sheet.x(x))} {short(sheet.inside(sheet.y(y)))}" for x, y in points]
    return "M" + "L".join(places)
