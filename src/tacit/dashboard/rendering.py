"""Pages from templates. Everything is escaped but charts, which escape themselves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from tacit._version import __version__

if TYPE_CHECKING:
    from tacit.dashboard.pages import Ask


@dataclass(frozen=True)
class Shown:
    """A template with what it shows. `wait` is after how many seconds to look again."""

    template: str
    view: dict[str, Any]
    title: str
    status: int = 200
    wait: float | None = None
    cookies: dict[str, str] = field(default_factory=dict)


def page_response(ask: Ask, shown: Shown) -> HTMLResponse:
    """The page of a template."""
    study = ask.request.path_params.get("study")
    known = study is not None and ask.visitor.may(study, "read")
    text = (
        templates()
        .get_template(shown.template)
        .render(
            shown.view,
            root=ask.root,
            here=ask.request.url.path.removeprefix(ask.root),
            visitor=ask.visitor,
            csrf=ask.visitor.csrf,
            title=shown.title,
            study_name=study if known else None,
            spends=known and ask.dashboard.service.studies[str(study)].counts,
            wait=shown.wait,
            grows=ask.dashboard.options.folder is not None,
            version=__version__,
            style=f"{ask.root}/static/style.css?v={static('style.css')[1]}",
            script=f"{ask.root}/static/script.js?v={static('script.js')[1]}",
        )
    )
    return HTMLResponse(text, status_code=shown.status)


@cache
def templates() -> Environment:
    made = Environment(
        loader=PackageLoader("tacit.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"when": when, "day": day, "drawn": Markup, "count": count}
    made.filters |= {"figures": figures, "signed": signed}
    return made


def warm() -> None:
    """Reads all templates, so that the first page need not wait for that."""
    made = templates()
    for name in made.list_templates():
        made.get_template(name)


@cache
def static(name: str) -> tuple[bytes, str]:
    """A file that all pages share, and a digest of it."""
    content = (files("tacit.dashboard") / "static" / name).read_bytes()
    if name == "style.css":
        content += (files("tacit.charts") / "charts.css").read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:12]


def when(seconds: float | None) -> str:
    """A moment: 17 Nov 2026, 13:40 UTC."""
    if seconds is None:
        return "not yet"
    return datetime.fromtimestamp(seconds, UTC).strftime("%-d %b %Y, %H:%M UTC")


def day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%-d %b %Y")


def figures(value: float, digits: int = 3) -> str:
    """A number with so many figures, never as a power of ten: 66,700."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.{digits}g}"


def signed(value: float, digits: int = 3) -> str:
    """The same with its sign: +802."""
    return ("+" if value >= 0 else "") + figures(value, digits)


def count(number: int) -> str:
    """1 500 000 as 1,500,000."""
    return f"{number:,}"
