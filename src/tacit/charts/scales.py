"""Scales: where a value stands along the side of a panel, and the round values that are named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.charts.formatting import number

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TINY = 1e-300  # what has no logarithm stands far below
LABEL_LETTERS = 16  # of a label beside a panel


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high`, or labels at 0, 1, 2, and so on. `down` puts the first one at
    the top of the side."""

    low: float
    high: float
    title: str = ""
    labels: tuple[str, ...] = ()
    down: bool = False
    bare: bool = False  # without ticks
    whole: bool = False  # with ticks at whole numbers only
    log: bool = False  # equal ratios are equally far apart; all values are above 0
    letters: int = LABEL_LETTERS  # of a label, which is cut beyond

    @classmethod
    def of_labels(cls, labels: Sequence[str], title: str = "", down: bool = False) -> Scale:
        """Labels side by side."""
        return cls(-0.5, len(labels) - 0.5, title, tuple(labels), down)

    @classmethod
    def around(
        cls, values: Sequence[float], title: str = "", zero: bool = False, pad: float = 0.05
    ) -> Scale:
        """All of these values, with some room; from zero on, if that is asked for."""
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low = min(*known, 0.0) if zero else min(known)
        high = max(*known, 0.0) if zero else max(known)
        room = pad * (high - low) or 0.5 * max(abs(low), 1e-3)
        return cls(low if zero and low == 0.0 else low - room, high + room, title)

    @property
    def span(self) -> float:
        return self.high - self.low

    def share(self, value: float) -> float:
        """Where a value stands between the ends: 0 to 1."""
        if self.log:
            return math.log(max(value, TINY) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / self.span

    def cut(self, label: str) -> str:
        """A label, cut where it is too long."""
        return label if len(label) <= self.letters else label[: self.letters - 1] + "…"

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Places with names, at most about so many."""
        if self.bare:
            return []
        if self.labels:
            step = -(-len(self.labels) // max(1, most))
            return [(float(i), self.labels[i]) for i in range(0, len(self.labels), step)]
        if self.log:
            return [(at, f"{at:,.10g}") for at in round_powers(self, most)]
        found = round_values(self, most)
        if self.whole:
            found = [at for at in found if at == round(at)]
        return [(at, number(at, max(self.span, 1e-3))) for at in found]


def round_values(scale: Scale, most: int) -> list[float]:
    """Round values within a scale."""
    rough = scale.span / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in STEPS if power * each >= rough * (1 - 1e-9))
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def round_powers(scale: Scale, most: int) -> list[float]:
    """Powers of ten within a logarithmic scale, with 3 or 2 and 5 between them where there is
    room."""
    first = math.floor(math.log10(scale.low))
    last = math.ceil(math.log10(scale.high))
    found: list[float] = []
    for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        powers = [digit * 10.0**i for i in range(first, last + 1) for digit in digits]
        found = [at for at in powers if scale.low * (1 - 1e-9) <= at <= scale.high * (1 + 1e-9)]
        if len(found) <= most:
            break
    if len(found) < 2:  # less than a decade, in an unlucky place
        return round_values(scale, most)
    return found[:: -(-len(found) // max(1, most))]
