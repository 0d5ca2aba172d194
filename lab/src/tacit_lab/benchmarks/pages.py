"""Tables in pages, written by the commands that measured them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def put_table(page: Path, mark: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Puts a table between `<!-- mark -->` and the next `<!-- end -->` of a page."""
    lines = [_line(header), "|" + "---|" * len(header), *map(_line, rows)]
    before, _, rest = page.read_text().partition(f"<!-- {mark} -->")
    _, _, after = rest.partition("<!-- end -->")
    page.write_text(f"{before}<!-- {mark} -->\n" + "\n".join(lines) + f"\n<!-- end -->{after}")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
