"""Figures: panels side by side and below each other, with what their colours mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.charts.elements import element, words
from tacit.charts.marks import Mark, Sheet
from tacit.charts.scales import Scale
from tacit.charts.tiles import Colours, colour_bar

LETTER = 7.0  # pixels of an ordinary letter
TICK_ROOM = 55.0  # pixels that a named value takes across,
LINE = 17.0  # and the height of a line of words
BAR_ROOM = 74.0
EDGE = 4.0  # pixels from the end of a side
RIGHT_ROOM = 10.0  # and beyond it
LABELS = 24  # that stand beside a panel of any height
LABEL_ROOM = 14.0  # pixels of one of them, where there are more


@dataclass(frozen=True)
class Panel:
    """One pair of axes with what is drawn on them."""

    across: Scale
    up: Scale
    marks: Sequence[Mark]
    title: str = ""
    colours: Colours | None = None  # of a map, to be explained beside it
    meaning: str = ""  # of these colours

    def draw(self, left: float, top: float, width: float, height: float, names: bool) -> str:
        """In a box of pixels; `names` says whether its left side is named."""
        upper = top + (LINE + 5 if self.title else 6)
        if self.colours is not None:
            upper = max(upper, top + LINE + 8)
        inner = left + (self.margin if names else 10.0)
        right = left + width - (BAR_ROOM if self.colours is not None else RIGHT_ROOM)
        below = LINE * (1 + bool(self.across.title)) if not self.across.bare else LINE
        slanted = self._slanted(right - inner)
        lower = top + height - (max(below, self._slant_room + LINE) if slanted else below) - 2
        sheet = Sheet(inner, upper, right - inner, lower - upper, self.across, self.up)
        parts = [self._grid(sheet, names, slanted)]
        parts += [mark.draw(sheet) for mark in self.marks]
        if self.title:
            parts.append(words(self.title, inner, top + 12, "title"))
        if self.across.title:
            middle = (inner + right) / 2
            parts.append(
                words(self.across.title, middle, top + height - 3, "axis", text_anchor="middle")
            )
        if names and self.up.title:
            parts.append(self._upright(self.up.title, left + 11, (upper + lower) / 2))
        if self.colours is not None:
            bar = (right + 16, upper, lower - upper)
            parts.append(colour_bar(self.colours, *bar, self.meaning))
        return "".join(parts)

    @property
    def margin(self) -> float:
        """Pixels that the names of the left side take."""
        named = self.up.ticks(len(self.up.labels) or 6)
        longest = max((len(self.up.cut(text)) for _, text in named), default=0)
        return 12.0 + LETTER * longest + (LINE if self.up.title else 0.0)

    @property
    def _slant_room(self) -> float:
        named = self.across.ticks(LABELS)
        longest = max((len(self.across.cut(text)) for _, text in named), default=0)
        return 8.0 + 0.62 * LETTER * longest

    def _slanted(self, width: float) -> bool:
        """Whether labels need more room than there is side by side."""
        labels = self.across.labels
        room = width / max(1, len(labels))
        return any(LETTER * len(self.across.cut(label)) > room - 4 for label in labels)

    def _grid(self, sheet: Sheet, names: bool, slanted: bool) -> str:
        found = ""
        most = LABELS if self.across.labels else max(2, int(sheet.width / TICK_ROOM))
        for at, text in self.across.ticks(most):
            x = sheet.x(at)
            if not self.across.labels:
                found += element("line", x1=x, x2=x, y1=sheet.top, y2=sheet.bottom, class_="grid")
            found += self._below(self.across.cut(text), x, sheet, slanted)
        most = max(2, int(sheet.height / 32))
        if self.up.labels:
            most = max(LABELS, int(sheet.height / LABEL_ROOM))
        for at, text in self.up.ticks(most):
            y = sheet.y(at)
            if not self.up.labels:
                found += element("line", x1=sheet.left, x2=sheet.right, y1=y, y2=y, class_="grid")
            if names:
                found += words(self.up.cut(text), sheet.left - 6, y + 4, "tick", text_anchor="end")
        return found

    @staticmethod
    def _below(text: str, x: float, sheet: Sheet, slanted: bool) -> str:
        bottom = sheet.bottom
        if not slanted:
            # At the ends of a side names stay within it, so that those of two panels do not meet.
            if x > sheet.right - EDGE:
                return words(text, x + EDGE, bottom + 15, "tick", text_anchor="end")
            if x + LETTER * len(text) / 2 > sheet.right + RIGHT_ROOM:
                end = sheet.right + RIGHT_ROOM
                return words(text, end, bottom + 15, "tick", text_anchor="end")
            return words(text, x, bottom + 15, "tick", text_anchor="middle")
        turn = f"rotate(-38 {x:.1f} {bottom + 12:.1f})"
        return words(text, x, bottom + 12, "tick", text_anchor="end", transform=turn)

    @staticmethod
    def _upright(text: str, x: float, y: float) -> str:
        turn = f"rotate(-90 {x:.1f} {y:.1f})"
        return words(text, x, y, "axis", text_anchor="middle", transform=turn)


@dataclass(frozen=True)
class Key:
    """What a mark means: a class of colour, or a colour, and words."""

    text: str
    kind: str = ""
    colour: str | None = None


@dataclass(frozen=True)
class Figure:
    """Panels in rows of `wide`, all of the same size. `alt` is the text for those who cannot see
    it."""

    panels: Sequence[Panel]
    alt: str
    width: float = 520.0
    height: float = 220.0  # of one row of panels
    wide: int = 1
    keys: Sequence[Key] = ()
    shared: bool = False  # whether the left side is named for the first panel of a row only

    def svg(self) -> str:
        """The figure, to stand inside a page: it scales, and its colours are the page's."""
        rows = -(-len(self.panels) // self.wide)
        legend, legend_height = self._legend(rows * self.height + 4)
        total = rows * self.height + legend_height
        margin = max(panel.margin for panel in self.panels) - 10.0 if self.shared else 0.0
        each = (self.width - margin) / self.wide
        drawn = []
        for i, panel in enumerate(self.panels):
            column = i % self.wide
            first = column == 0 or not self.shared
            left = column * each + (margin if self.shared and column else 0.0)
            own = each + (margin if self.shared and first else 0.0)
            drawn.append(
                panel.draw(left, (i // self.wide) * self.height, own, self.height - 6, first)
            )
        return element(
            "svg",
            "".join(drawn) + legend,
            viewBox=f"0 0 {self.width:g} {total:g}",
            role="img",
            aria_label=self.alt,
            class_="chart",
        )

    def _legend(self, top: float) -> tuple[str, float]:
        """What the colours mean, below the panels, and how high that is."""
        if not self.keys:
            return "", 0.0
        found = ""
        x, y = 8.0, top + 10
        for key in self.keys:
            room = 30.0 + LETTER * len(key.text)
            if x > 8.0 and x + room > self.width:
                x, y = 8.0, y + LINE
            kind = f"bar {key.kind}" if key.colour is None else None
            fill = key.colour
            found += element("rect", x=x, y=y - 8, width=12, height=8, class_=kind, fill=fill)
            found += words(key.text, x + 17, y, "tick")
            x += room
        return found, y - top + 10
