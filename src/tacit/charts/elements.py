"""Elements of SVG as text. Everything that comes from outside is escaped here."""

from __future__ import annotations

from html import escape
from typing import Any


def element(name: str, inside: str = "", **attributes: Any) -> str:
    """One element. Attributes that are None are left out; `class_` is the class."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_said(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{inside}</{name}>" if inside else f"<{name}{said}/>"


def words(text: str, x: float, y: float, kind: str, **attributes: Any) -> str:
    """Some text at a place."""
    return element("text", escape(text), x=x, y=y, class_=kind, **attributes)


def short(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def _said(value: Any) -> str:
    return short(value) if isinstance(value, float) else escape(str(value))
