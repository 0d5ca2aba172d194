"""Which rows are counted, and their sums. Every row counts once in each pass, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacit.core import Part
from tacit.core.cohorts import joined
from tacit.design import Design
from tacit.errors import InputError, TacitError
from tacit.logs.columns import LogColumns
from tacit.logs.log_files import LogFile
from tacit.logs.reading import starts
from tacit.logs.saving import Partial
from tacit.statistic import Statistic

Rows = tuple[int, int]  # from the first to before the last


@dataclass(frozen=True)
class Span:
    """Some rows of one file, which has so many rows of the log `before` it."""

    file: LogFile
    start: int
    stop: int
    before: int = 0


class Work:
    """One pass over the files: one sum for those that are done and one for each that is under way.

    Files are kept apart until they are done, so that one that turns out to be damaged counts with
    none of its rows.
    """

    def __init__(
        self, design: Design, files: Sequence[LogFile], columns: LogColumns, request: str
    ) -> None:
        self.design = design
        self.columns = columns
        self.request = request
        self.files = {file.path: file for file in files}
        self.statistic = design.statistic(cohort=design.cohort)
        self.parts: dict[str, Statistic] = {}
        self._counted: dict[str, list[Rows]] = {}
        # Which rows are of a part is seen when they are read.
        if self.rows > design.horizon and Part.of(design.cohort) is None:
            raise InputError(
                f"the files have {self.rows} rows, more than the {design.horizon} that were "
                "planned for."
            )

    @property
    def stage(self) -> str:
        """Which pass it is, for people."""
        if not self.design.previous and not self.design.passes_left:
            return "reading rounds"
        return f"pass {len(self.design.previous) + 1}"

    def require_unchanged(self) -> None:
        """Fails if a file changed since its rows were counted."""
        for file in self.files.values():
            file.require_unchanged()

    @property
    def rows(self) -> int:
        """All that there are to count."""
        return sum(file.rows for file in self.files.values())

    @property
    def counted(self) -> int:
        return sum(stop - start for spans in self._counted.values() for start, stop in spans)

    def todo(self, split: bool = False) -> Iterator[Span]:
        """What is not counted yet, file by file; `split` into what several readers can share."""
        before = 0
        for file in self.files.values():
            cuts = []
            if split:
                cuts = starts(file.path, self.columns, file.rows)
            counted = [row for span in self._counted.get(file.path, []) for row in span]
            ends = [0, *counted, file.rows]
            for start, stop in zip(ends[::2], ends[1::2], strict=True):
                inside = [start, *(cut for cut in cuts if start < cut < stop), stop]
                yield from (Span(file, a, b, before) for a, b in pairwise(inside) if a < b)
            before += file.rows

    def take(self, span: Span, statistic: Statistic) -> None:
        """Counts the sum of these rows, once.

        A file that is complete, and still the same, is merged with the others.
        """
        path = span.file.path
        counted = joined(self._counted.get(path, []), [(span.start, span.stop)])
        empty = self.design.statistic(cohort=self.design.cohort)
        self.parts.setdefault(path, empty).merge(statistic)
        self._counted[path] = counted
        if counted == [(0, span.file.rows)]:
            span.file.require_unchanged()
            self.statistic.merge(self.parts[path])
            del self.parts[path]

    @contextmanager
    def whole(self, file: LogFile) -> Iterator[None]:
        """A file that cannot be read to its end counts with none of its rows.

        One that was read to its end is merged already, and has no part any more: it stays counted,
        whatever fails then. Otherwise its rows would be read again, and count twice.
        """
        try:
            yield
        except TacitError:
            if self.parts.pop(file.path, None) is not None:
                self._counted.pop(file.path, None)
            raise

    # -- to go on later ---------------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """What has to be kept besides the sums. All of it is public."""
        files = [file.to_json() for file in self.files.values()]
        return {"files": files, "counted": self._counted, "request": self.request}

    def resume(self, saved: Partial) -> None:
        """Takes up saved sums. What is counted must be there, unchanged; other files may come, go
        or be repaired.

        A later pass has the files of the first one and no others: all of them were counted in it.
        """
        then = {path: LogFile(path, *rest) for path, *rest in saved.about["files"]}
        if self.design.previous:
            for path in then | self.files:
                if self.files.get(path) != then.get(path):
                    raise InputError(
                        f"{path} is not what it was in pass 1: name the same files, or delete the "
                        "checkpoint and start again."
                    )
        if Part.of(self.design.cohort) is not None:
            numbered = [(file.path, file.rows) for file in self.files.values()]
            if numbered != [(file.path, file.rows) for file in then.values()]:
                raise InputError(
                    "people are held out by the numbers of their rows: name the same files in the "
                    "same order, or delete the checkpoint and start again."
                )
        for path in saved.about["counted"]:
            if self.files.get(path) != then[path]:
                raise InputError(
                    f"{path} is counted in the checkpoint, and has changed or is not named any "
                    "more: name the same files, or delete the checkpoint and start again."
                )
        self.statistic = saved.statistic
        self.parts = dict(saved.parts)
        self._counted = {
            path: [(a, b) for a, b in spans] for path, spans in saved.about["counted"].items()
        }
