"""Words and tables of Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tacit_lab.arena.statistics import Interval
from tacit_lab.arena.study.content import Study

# nothing, or a number with its sign and interval: no letters
NUMBER = re.compile(r"$|[+-]?\d[^a-z]*$")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of numbers stand to the right."""
    marks = []
    for i in range(len(columns)):
        numeric = all(NUMBER.match(row[i]) for row in rows)
        marks.append("---:" if numeric else "---")
    return ["", *(f"| {' | '.join(row)} |" for row in (columns, marks, *rows)), ""]


def signed(value: Interval, form: str = "+.3f") -> str:
    """A mean and its interval; a single seed has none."""
    if value.ends is None:
        return f"{value.mean:{form}}"
    return f"{value.mean:{form}} [{value.low:{form}}, {value.high:{form}}]"


def listed(words: Sequence[str]) -> str:
    """a, b and c"""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def count(number: int, word: str) -> str:
    plural = "" if number == 1 else "s"
    return f"{number:,} {word}{plural}"


def level(epsilon: float) -> str:
    return f"{epsilon:g}" if math.isfinite(epsilon) else "none"


def figure(study: Study, name: str, words: str) -> list[str]:
    """A figure that `figures.draw_all` has drawn."""
    return [f"![{words}]({study.images}/{name}.svg)", ""]
