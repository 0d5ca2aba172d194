"""docs/study.md from a results table. Sentences are chosen by what the table says; every number
comes from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.study import beside, findings, outcomes, setting

Section = Callable[[Selection, Sequence[Row]], list[str]]
SECTIONS: tuple[Section, ...] = (
    outcomes.first,
    setting.setting,
    findings.ranked,
    findings.by_rounds,
    findings.by_epsilon,
    findings.by_dimension,
    findings.costs,
    findings.generators,
    findings.learning,
    beside.real,
    beside.published,
    outcomes.did_not_work,
)


def write_study(rows: Sequence[Row], failures: Sequence[Row], path: Path, source: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_study(rows, failures, source.as_posix()), encoding="utf-8")


def make_study(rows: Sequence[Row], failures: Sequence[Row], source: str) -> str:
    selection = Selection(rows)
    lines = setting.head(selection, failures, source)
    for section in SECTIONS:
        lines += section(selection, failures)
    return "\n".join(lines).rstrip() + "\n"
