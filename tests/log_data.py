"""Logs on disk, in every format, and the sums that are collected from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

import tacit
from helpers import records, small_design
from tacit.logs import LogColumns, LogFile, Work, collect_here
from tacit.progress import silent

NAMES = ("dose", "age", "weight")
COLUMNS = LogColumns.of(NAMES, "reward", None, {})
DESIGN = small_design(horizon=20_000)


def log_table(rows: int, seed: int = 0) -> pa.Table:
    doses, contexts, rewards = records(rows, seed)
    return pa.table(
        {"dose": doses[:, 0], "age": contexts[:, 0], "weight": contexts[:, 1], "reward": rewards}
    )


def one_batch(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "groups-of-100.parquet": lambda table, path: pq.write_table(table, path, row_group_size=100),
    "groups-of-1700.parquet": lambda table, path: pq.write_table(table, path, row_group_size=1700),
    "one-group.pq": lambda table, path: pq.write_table(table, path, compression="zstd"),
    "rows.csv": lambda table, path: pa.csv.write_csv(table, path),
    "packed.feather": lambda table, path: pa.feather.write_feather(
        table, path, compression="lz4", chunksize=700
    ),
    "plain.feather": lambda table, path: pa.feather.write_feather(
        table, path, compression="uncompressed"
    ),
    "one-batch.arrow": one_batch,
}


def work_on(
    paths: Sequence[Path],
    design: tacit.Design = DESIGN,
    columns: LogColumns = COLUMNS,
    request: str = "fit",
) -> Work:
    return Work(design, [LogFile.at(path, columns) for path in paths], columns, request)


def collected(work: Work, stop_after: int | None = None) -> list[int]:
    """The sum of the work's files, or of what was counted before it was stopped."""
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == stop_after:
            raise KeyboardInterrupt

    collect_here(work, tick, silent)
    return total(work.statistic)


def total(statistic: tacit.Statistic) -> list[int]:
    return [int(value) for value in statistic._sum._value()]


def sum_of(table: pa.Table, design: tacit.Design = DESIGN) -> list[int]:
    """What the files should give, from memory and in one go."""
    return total(design.statistic().add(table, table, table["reward"]))


def touch(path: Path, seconds: int = 5) -> None:
    """As if somebody had written to it."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + seconds * 10**9))


def damage(path: Path, at: float = 0.5) -> None:
    """A few bytes in the middle are not what they were; the length and the end are."""
    content = bytearray(path.read_bytes())
    begin = int(len(content) * at)
    content[begin : begin + 64] = b"\xa5" * 64
    path.write_bytes(content)


Options = dict[str, Any]
