"""Words and tables of Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tacit_lab.arena.statistics import Interval

NUMBER = re.compile(r"$|[+-]?\d[^a-z]*$")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of numbers stand to the right."""
    marks = [
        "---:" if all(NUMBER.match(row[i]) for row in rows) else "---" for i in range(len(columns))
    ]
    return ["", *(f"| {' | '.join(row)} |" for row in (columns, marks, *rows)), ""]


def plus_minus(value: Interval, form: str = ".3f") -> str:
    """A mean and half its interval; a single seed has none."""
    return f"{value.mean:{form}}" + (
        "" if math.isnan(value.margin) else f" ± {value.margin:{form}}"
    )


def signed(value: Interval, form: str = "+.3f") -> str:
    if math.isnan(value.margin):
        return f"{value.mean:{form}}"
    return f"{value.mean:{form}} [{value.low:{form}}, {value.high:{form}}]"


def listed(words: Sequence[str]) -> str:
    """a, b and c"""
    words = list(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def level(epsilon: float) -> str:
    return f"{epsilon:g}" if math.isfinite(epsilon) else "none"
