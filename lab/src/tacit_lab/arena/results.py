"""Rows on disk. A journal takes each row as it comes; two Parquet tables are made of it, results
and failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tacit.errors import InputError
from tacit_lab.arena.job import Job, Row
from tacit_lab.json_lines import append_line, read_lines

JOB = [
    ("learner", pa.string()),
    ("environment", pa.string()),
    ("rounds", pa.int64()),
    ("epsilon", pa.float64()),
    ("delta", pa.float64()),
    ("seed", pa.int64()),
]
RESULTS = pa.schema(
    [
        *JOB,
        ("error_rate", pa.float64()),
        ("cumulative_reward", pa.float64()),
        ("seconds", pa.float64()),
        ("peak_memory", pa.float64()),
        ("cumulative_regret", pa.float64()),
        ("uniform_error", pa.float64()),
        ("menu_error", pa.float64()),
        ("scale", pa.float64()),
        ("actions", pa.int64()),
        ("contexts", pa.int64()),
        ("version", pa.string()),
    ]
)
FAILURES = pa.schema(
    [*JOB, ("failure", pa.string()), ("trace", pa.string()), ("version", pa.string())]
)
JOURNAL = "journal.jsonl"
TABLE = "results.parquet"
FAILED = "failures.parquet"


class Journal:
    """A folder of results. What was appended is safe when the call returns; a row that was cut off
    is done again. A folder that has a table and no journal, a copy of a stored study for example,
    goes on from the table."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / JOURNAL
        table = folder / TABLE
        if table.is_file() and not self.path.exists():
            stored = pyarrow.parquet.read_table(table).to_pylist()
            half = self.path.with_suffix(".part")
            half.write_text("".join(json.dumps(row) + "\n" for row in stored))
            half.replace(self.path)

    def append(self, row: Row) -> None:
        append_line(self.path, row)

    def rows(self) -> list[Row]:
        """The last word on each job."""
        return list({Job.of(row): row for row in read_lines(self.path)}.values())

    def done(self) -> set[Job]:
        """Jobs that need not be run again. Failures are tried again."""
        return {Job.of(row) for row in self.rows() if "failure" not in row}

    def compact(self) -> None:
        """Writes both tables."""
        rows = sorted(self.rows(), key=lambda row: tuple(Job.of(row).__dict__.values()))
        write_table([row for row in rows if "failure" not in row], self.folder / TABLE, RESULTS)
        write_table([row for row in rows if "failure" in row], self.folder / FAILED, FAILURES)


def write_table(rows: Sequence[Row], path: Path, schema: pa.Schema) -> None:
    """All of it or nothing: a reader never sees half a table."""
    half = path.with_suffix(".part")
    table = pa.Table.from_pylist(list(rows), schema=schema)
    pyarrow.parquet.write_table(table, half, compression="zstd")
    half.replace(path)


def read_results(path: Path) -> tuple[list[Row], list[Row]]:
    """Results and failures of a folder, or of one table of results."""
    table = path / TABLE if path.is_dir() else path
    if not table.is_file():
        raise InputError(f"{table} is not there: make it with tacit arena --config FILE --out DIR.")
    rows = pyarrow.parquet.read_table(table).to_pylist()
    if not rows:
        raise InputError(f"{table} has no rows: run tacit arena first.")
    failed = table.with_name(FAILED)
    if not failed.is_file():
        return rows, []
    return rows, pyarrow.parquet.read_table(failed).to_pylist()
