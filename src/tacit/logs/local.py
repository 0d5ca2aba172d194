"""Collecting in this process, one piece after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tacit.logs.columns import LogColumns
from tacit.logs.counting import Span, Work
from tacit.logs.dumping import drain
from tacit.logs.reading import pieces
from tacit.numerics.engine import Engine
from tacit.progress import Progress
from tacit.statistic import Statistic


def collect_here(
    work: Work, tick: Callable[[], None], show: Progress, *, device: str | Engine | None = None
) -> None:
    """Counts what is not counted yet. `tick` is called when the sums and the notes agree."""
    counter = work.design.statistic(device, work.design.cohort)
    show(work.stage, work.counted, work.rows)
    for span in work.todo():
        with work.whole(span.file):
            for piece, statistic in count(counter, work.columns, span):
                work.take(piece, statistic)
                show(work.stage, work.counted, work.rows)
                tick()


def count(counter: Statistic, columns: LogColumns, span: Span) -> Iterator[tuple[Span, Statistic]]:
    """The rows of a span, piece by piece, each with its sum."""
    drain(counter)
    cohort = counter.design.cohort
    start = span.start
    for piece in pieces(span.file.path, columns, span.start, span.stop):
        table = columns.cells(piece)
        users = None if columns.user is None else table[columns.user]
        propensity = None if columns.propensity is None else table[columns.propensity]
        rewards = table[columns.reward]
        first = None if cohort is None else cohort.first + span.before + start
        counter.add(table, table, rewards, propensity=propensity, users=users, first=first)
        yield replace(span, start=start, stop=start + piece.num_rows), drain(counter)
        start += piece.num_rows
