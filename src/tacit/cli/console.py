"""How commands speak: results to standard output, progress and errors to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.table import Column, Table
from rich.text import Text

from tacit.progress import Progress, silent

if TYPE_CHECKING:
    from tacit.policy import Policy

out = Console()
err = Console(stderr=True)

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object for machines, and nothing else.")
]


def emit(result: dict[str, Any]) -> None:
    """A result for machines."""
    typer.echo(json.dumps(result, indent=2))


def say_health(policy: Policy) -> None:
    """The verdict on a policy that is not worth using, before anything else; nothing otherwise."""
    banner = policy.health().banner
    if banner:
        err.print(banner, style="bold red", markup=False, highlight=False, soft_wrap=True)


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A result for people."""
    shown = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        shown.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


class _Rate(ProgressColumn):
    """How many of `what` are done in a second; nothing for small jobs."""

    def __init__(self, what: str) -> None:
        super().__init__(Column(no_wrap=True))
        self._what = what

    def render(self, task: Task) -> Text:
        large = task.speed is not None and (task.total or 0) >= 1000
        return Text(f"{task.speed:,.0f} {self._what}/s" if large else "")


@contextmanager
def progress(quiet: bool, rate: str = "") -> Iterator[Progress]:
    """Bars on standard error, one per kind of work; nothing at all when quiet. `rate` names what is
    counted per second."""
    if quiet:
        yield silent
        return
    speed = _Rate(rate) if rate else TimeElapsedColumn()
    bar = BarColumn(None if rate else 40)  # one that takes what is left of the line
    columns = (
        TextColumn("{task.description}"),
        bar,
        MofNCompleteColumn(),
        speed,
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=err, transient=True, expand=bool(rate)) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total, completed=done)
            bars.update(tasks[what], completed=done, total=total)

        yield show
