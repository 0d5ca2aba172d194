"""Logs of any size in pieces of a fixed number of rows, counted from the beginning of each file.

Where a piece ends depends on the number of the row and on nothing else. Where a writer ends a row
group, and Arrow a block of CSV, can depend on how long the cells are, which is private; so it must
not show in how records are grouped. It also makes sums the same to the last bit, whatever the
format, whoever reads which part of a file, and in which order.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import Any

from tacit.arrow import csv, damage, has_arrow, pa, parquet
from tacit.errors import InputError
from tacit.logs.columns import LogColumns
from tacit.logs.plain_csv import TextPiece, opened, rows_in, text_pieces
from tacit.logs.small_tables import format_of, unreadable

Batches = Iterator[Any]  # of pyarrow's RecordBatch
Piece = Any  # pyarrow's Table, or where it is not installed a TextPiece
BLOCK = 2**22  # bytes of CSV that are parsed at a time, and the longest row
BUFFER = 2**20  # bytes of a Parquet column that are read at a time
SHARE = 16  # pieces that are one reader's at most
LARGE = 2**26  # bytes of an Arrow batch that is better not copied


def pieces(path: str, columns: LogColumns, start: int, stop: int) -> Iterator[Piece]:
    """Rows `start` to `stop`, where `start` begins a piece, for `LogColumns.cells`."""
    left = stop - start
    with readable(path):
        for piece in _pieces(path, columns, start, stop):
            left -= piece.num_rows
            yield piece
            if not left:
                return
    raise InputError(f"{path} ends {left} rows too early: it changed while it was read.")


def count_rows(path: str, columns: LogColumns) -> int:
    """How many rows there are, by the file's metadata, or by reading it once if it is CSV.

    Checks the columns, too.
    """
    with readable(path):
        kind = format_of(path)
        if kind == "parquet":
            with parquet.ParquetFile(path) as file:
                columns.check(path, file.schema_arrow)
                return int(file.metadata.num_rows)
        if kind == "ipc":
            _, file = _open_ipc(path, columns, columns.in_file[:1])
            return sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
        if not has_arrow():
            _check_plain(path, columns)
            return rows_in(path)
        return sum(batch.num_rows for batch in _csv(path, columns, 0))


def starts(path: str, columns: LogColumns, rows: int) -> list[int]:
    """Rows at which one of several readers may begin.

    These are where row groups begin, moved on to the next piece, and often enough in between that
    nobody has too much to do. CSV has to be read from the beginning.
    """
    kind = format_of(path)
    piece = columns.piece
    begins = [0]
    if kind != "csv":
        begins = list(range(0, rows, SHARE * piece))
    if kind == "parquet":
        with readable(path), parquet.ParquetFile(path) as file:
            begins += [-(-begin // piece) * piece for begin, _ in _groups(file)]
    return sorted({begin for begin in begins if begin < rows} | {0})


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Turns what a damaged file raises into one sentence that quotes no cell."""
    try:
        yield
    except InputError:
        raise
    except damage() as error:
        raise unreadable(path, error) from None


def _pieces(path: str, columns: LogColumns, start: int, stop: int) -> Iterator[Piece]:
    """The rows to `stop`, and no others."""
    kind = format_of(path)
    if kind == "csv" and not has_arrow():
        _check_plain(path, columns)
        yield from _plain(path, columns, start, stop)
        return
    left = stop - start
    for table in _exactly(_OPEN[kind](path, columns, start), columns.piece):
        yield columns.table(table.slice(0, left))
        left -= table.num_rows
        if left <= 0:
            return


def _check_plain(path: str, columns: LogColumns) -> None:
    with opened(path) as (names, _):
        columns.check_names(path, names, named=False)


def _plain(path: str, columns: LogColumns, start: int, stop: int) -> Iterator[TextPiece]:
    left = stop - start
    for piece in text_pieces(path, columns.in_file, start, columns.piece):
        if piece.num_rows > left:
            cut = {name: list(islice(cells, left)) for name, cells in piece.columns.items()}
            piece = TextPiece(cut, left)
        yield piece
        left -= piece.num_rows
        if not left:
            return


def _exactly(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows in pieces of exactly `rows`; the last may be shorter."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows)
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count:
        yield pa.Table.from_batches(waiting)


def _after(batches: Batches, skip: int) -> Batches:
    """What comes after the first `skip` rows."""
    for batch in batches:
        if skip < batch.num_rows:
            yield batch.slice(skip) if skip else batch
        skip = max(0, skip - batch.num_rows)


def _groups(file: parquet.ParquetFile) -> list[tuple[int, int]]:
    """First and last row of each row group."""
    ends = [0]
    for i in range(file.metadata.num_row_groups):
        ends.append(ends[-1] + file.metadata.row_group(i).num_rows)
    return list(pairwise(ends))


def _parquet(path: str, columns: LogColumns, start: int) -> Batches:
    with parquet.ParquetFile(
        path, pre_buffer=False, buffer_size=BUFFER, page_checksum_verification=True
    ) as file:
        columns.check(path, file.schema_arrow)
        groups = _groups(file)
        wanted = [i for i, (_, end) in enumerate(groups) if end > start]
        if not wanted:
            return
        read = file.iter_batches(
            columns.piece, row_groups=wanted, columns=columns.in_file, use_threads=False
        )
        yield from _after(read, start - groups[wanted[0]][0])


def _ipc(path: str, columns: LogColumns, start: int) -> Batches:
    memory, file = _open_ipc(path, columns, columns.in_file)
    for batch in _after((file.get_batch(i) for i in range(file.num_record_batches)), start):
        for at in range(0, batch.num_rows, columns.piece):
            yield batch.slice(at, columns.piece)
            if hasattr(memory, "madvise"):
                # A batch may be larger than memory: what was read may go.
                memory.madvise(mmap.MADV_DONTNEED)


def _open_ipc(
    path: str, columns: LogColumns, names: Sequence[str]
) -> tuple[mmap.mmap, pa.RecordBatchFileReader]:
    """The mapped file and its reader, of these columns alone if its batches are small.

    Arrow copies the chosen columns batch by batch. Without a choice a batch costs no memory.
    """
    with open(path, "rb") as handle:
        memory = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    source = pa.BufferReader(pa.py_buffer(memory))
    file = pa.ipc.open_file(source)
    columns.check(path, file.schema)
    if len(memory) > LARGE * file.num_record_batches:
        return memory, file
    chosen = sorted(file.schema.get_field_index(name) for name in names)
    return memory, pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=chosen))


def _csv(path: str, columns: LogColumns, start: int) -> Batches:
    """Cells are read as bytes: guessing types would raise, and quote, at the first cell that does
    not fit."""
    options = {
        "read_options": csv.ReadOptions(block_size=BLOCK, use_threads=False),
        "parse_options": csv.ParseOptions(newlines_in_values=True),
    }
    with csv.open_csv(path, **options) as file:
        columns.check_names(path, file.schema.names, named=False)
    as_bytes = csv.ConvertOptions(
        include_columns=columns.in_file,
        column_types={name: pa.binary() for name in columns.in_file},
        strings_can_be_null=True,
    )
    with csv.open_csv(path, **options, convert_options=as_bytes) as file:
        yield from _after(file, start)


_OPEN: dict[str, Callable[[str, LogColumns, int], Batches]] = {
    "parquet": _parquet,
    "ipc": _ipc,
    "csv": _csv,
}
