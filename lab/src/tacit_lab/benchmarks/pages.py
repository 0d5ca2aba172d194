"""Tables, printed or put into pages by the commands that measured them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table


def put_table(page: Path, mark: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Puts a table between `<!-- mark -->` and the next `<!-- end -->` of a page."""
    lines = [_line(header), "|" + "---|" * len(header), *map(_line, rows)]
    before, _, rest = page.read_text().partition(f"<!-- {mark} -->")
    _, _, after = rest.partition("<!-- end -->")
    page.write_text(f"{before}<!-- {mark} -->\n" + "\n".join(lines) + f"\n<!-- end -->{after}")


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> None:
    """On the terminal: the first column stands to the left, all others to the right."""
    table = Table(title=title)
    for i, heading in enumerate(header):
        table.add_column(heading, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=width).print(table)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
