"""The report: one page about one policy that stands alone, for people who were not there."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from tacit._version import __version__
from tacit.policy import Policy
from tacit.report import answer, guarantee, provenance, sections, sentences
from tacit.report.findings import Findings

# In the margin of every printed sheet, so that no part of the page travels without it.
EVERY_SHEET = (
    '@page { @top-right { content: "NOT PRIVATE: A SIMULATION WITH A SEED"; color: #b3261e;\n'
    "  font: 700 9pt sans-serif; letter-spacing: .06em; } }"
)


def write_report(policy: Policy, path: str | Path, baseline: Any = None) -> Path:
    """One HTML file with everything in it: no script, no font and no image from anywhere else."""
    return write_findings(Findings.of(policy, baseline), path)


def write_findings(found: Findings, path: str | Path) -> Path:
    """The same, for what was found out about a policy already."""
    page = render(found)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def fill(package: str, texts: dict[str, str]) -> str:
    """The `page.html` of a package of ours with these texts; all pages share the head and the
    style."""
    style = _read("tacit.report", "style.css") + "\n" + _read("tacit.charts", "charts.css")
    head = Template(_read("tacit.report", "head.html")).substitute(texts, style=style)
    return Template(_read(package, "page.html")).substitute(texts, head=head) + "\n"


def _read(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8").rstrip()


def render(found: Findings) -> str:
    """The page as text: the same for the same released numbers."""
    policy = found.policy
    title = f"Tacit policy report: {sentences.headline(found)}"
    texts = {
        "title": title if policy.private else f"NOT PRIVATE: {title}",
        "watermark": "" if policy.private else EVERY_SHEET,
        "verdict": sentences.verdict(found),
        "answer": answer.block(policy),
        "headline": sentences.headline(found),
        "lead": sentences.lead(found),
        "banner": guarantee.banner(policy),
        "tiles": "\n".join(guarantee.tiles(policy)),
        "short": "\n".join(f"<li>{sentence}</li>" for sentence in sentences.in_short(found)),
        "promise": _table(guarantee.rows(policy)),
        "facts": _table(provenance.facts(policy)),
        "problem": provenance.problem_text(policy),
        "meaning": "\n".join(f"<p>{paragraph}</p>" for paragraph in guarantee.meaning(policy)),
        "version": escape(__version__),
    }
    page = fill("tacit.report", _drawn(found) | texts)
    return page.replace(" %", "\N{NO-BREAK SPACE}%")


def _drawn(found: Findings) -> dict[str, str]:
    return {
        "decides": sections.decides(found),
        "expects": sections.expects(found),
        "sure": sections.sure(found),
        "matters": sections.matters(found),
    }


def _table(rows: list[tuple[str, str, str]]) -> str:
    return "\n".join(_row(*row) for row in rows)


def _row(name: str, value: str, says: str) -> str:
    if value:
        return f"<tr><th>{name}</th><td>{value}</td><td>{says}</td></tr>"
    return f'<tr><th>{name}</th><td colspan="2">{says}</td></tr>'
