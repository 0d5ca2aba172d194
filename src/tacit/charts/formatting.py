"""Numbers, names and lists as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

LONGEST = 28  # characters of a name or label


def clean(label: Any) -> str:
    """A name or label on one line, with nothing that cannot be printed, not too long."""
    printable = "".join(c if c.isprintable() else " " for c in str(label))
    text = " ".join(printable.split())
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…"


def number(value: float, span: float, trim: bool = True) -> str:
    """A number with as many digits as tell apart a hundredth of `span`; `trim` leaves out zeros at
    the end."""
    if not (math.isfinite(value) and 1e-4 < span < 1e9 and abs(value) < 1e3 * span):
        return f"{value:.4g}".replace("-", "−")
    digits = max(0, 2 - math.floor(math.log10(span)))
    text = f"{value:,.{digits}f}"
    if digits and trim:
        text = text.rstrip("0").rstrip(".")
    rounds_to_zero = not text.strip("-0.")
    if rounds_to_zero:
        return text.lstrip("-")
    return text.replace("-", "−")


def listed(names: Iterable[str]) -> str:
    """a, b and c"""
    *most, last = names
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def percent(share: float) -> str:
    """A share as a whole percentage that says 0 or 100 only where it is exactly that."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "more than 99 %"
    if rounded == 0 and share > 0:
        return "less than 1 %"
    return f"{rounded} %"
