"""docs/study.md and the page of its long tables, from a table of results and a table of attacks.

Sentences are chosen by what the tables say; every number comes from them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit_lab.arena.study import beside, findings, outcomes, questions, ranked, setting
from tacit_lab.arena.study.content import Study

Section = Callable[[Study], list[str]]
PAGE: tuple[Section, ...] = (
    setting.head,
    outcomes.first,
    ranked.best,
    ranked.private,
    questions.cost,
    questions.data,
    questions.breaks,
    ranked.regret,
    setting.measured,
)
TABLES: tuple[Section, ...] = (
    setting.tables_head,
    setting.setting,
    findings.by_rounds,
    findings.by_epsilon,
    findings.by_dimension,
    findings.generators,
    findings.learning,
    beside.real,
    beside.published,
    findings.costs,
    outcomes.did_not_work,
)


def write_study(study: Study, path: Path) -> list[Path]:
    """Writes the page, the page of tables beside it, and the figures below it."""
    from tacit_lab.arena.figures import draw_all

    path.parent.mkdir(parents=True, exist_ok=True)
    tables = path.with_name(study.tables)
    path.write_text(make_page(study), encoding="utf-8")
    tables.write_text(make_tables(study), encoding="utf-8")
    return [path, tables, *draw_all(study.selection, path.parent / study.images)]


def make_page(study: Study) -> str:
    """The page to read."""
    return _joined(study, PAGE)


def make_tables(study: Study) -> str:
    """The page to look things up in."""
    return _joined(study, TABLES)


def _joined(study: Study, sections: tuple[Section, ...]) -> str:
    lines = [line for section in sections for line in section(study)]
    return "\n".join(lines).rstrip() + "\n"


__all__ = ["Study", "make_page", "make_tables", "write_study"]
