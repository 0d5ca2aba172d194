"""Log files: which they are, how many rows they have, and whether they are still the same."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.arrow import pa, parquet
from tacit.domains.schema import UNKNOWN, kinds_of
from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.logs.reading import count_rows, readable
from tacit.logs.small_tables import format_of


@dataclass(frozen=True)
class LogFile:
    """One file of rounds. All of this is public: names, sizes, times and numbers of rows."""

    path: str
    size: int
    modified: int
    rows: int

    @classmethod
    def at(cls, path: Path, columns: LogColumns, known: Sequence[LogFile] = ()) -> LogFile:
        """Counts the rows, unless the file is one of `known` and has not changed since.

        A symbolic link stands for the file that it leads to: by whatever name, it is the same log.
        """
        path = path.resolve()
        size, modified = _state(path)
        for file in known:
            if (file.path, file.size, file.modified) == (str(path), size, modified):
                return file
        return cls(str(path), size, modified, count_rows(str(path), columns))

    @property
    def unchanged(self) -> bool:
        try:
            return _state(Path(self.path)) == (self.size, self.modified)
        except OSError:
            return False

    def require_unchanged(self) -> None:
        if not self.unchanged:
            raise InputError(
                f"{self.path} changed while it was read: run again when nobody writes to it any "
                "more."
            )

    def to_json(self) -> list[Any]:
        return [self.path, self.size, self.modified, self.rows]


def find_logs(patterns: Sequence[str]) -> list[Path]:
    """The files that paths and patterns such as 'logs/*.parquet' name, each once."""
    found: dict[tuple[int, int], Path] = {}
    for path in [path for pattern in patterns for path in _matches(pattern)]:
        format_of(path)
        stat = path.stat()
        if (stat.st_dev, stat.st_ino) in found:
            raise InputError(f"{path} is named twice: its rounds would count twice.")
        found[stat.st_dev, stat.st_ino] = path
    return list(found.values())


def kinds_in(path: str | Path, columns: LogColumns) -> dict[str, str]:
    """The kinds of values of the columns by the file's schema, under the problem's own names. The
    cells of a CSV may be anything. Checks the columns, too."""
    path = str(path)
    with readable(path):
        if format_of(path) == "csv":
            return dict.fromkeys(columns.called, UNKNOWN)
        schema = _schema(path)
        columns.check(path, schema)
    kinds = kinds_of(schema)
    return {name: kinds[column] for name, column in columns.called.items()}


def _schema(path: str) -> pa.Schema:
    if format_of(path) == "parquet":
        return parquet.read_schema(path)
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).schema


def _matches(pattern: str) -> list[Path]:
    if Path(pattern).is_dir():
        raise InputError(
            f"{pattern} is a folder: name the files in it, for example "
            f"'{pattern.rstrip('/')}/*.parquet'."
        )
    if Path(pattern).is_file():
        return [Path(pattern)]
    files = [
        Path(name) for name in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(name)
    ]
    if not files:
        raise InputError(f"there is no data file {pattern}.")
    return files


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
