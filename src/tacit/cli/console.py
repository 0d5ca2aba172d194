"""How commands speak: results to standard output, progress and errors to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from tacit.progress import Progress, silent

out = Console()
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines, and nothing else.")]


def emit(result: dict[str, Any]) -> None:
    """A result for machines."""
    typer.echo(json.dumps(result, indent=2))


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A result for people."""
    shown = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        shown.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Bars on standard error, one per kind of work; nothing at all when quiet."""
    if quiet:
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=err, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show
