"""Small tables, read and written whole: public samples, visitors, decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from tacit.errors import InputError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
}


def format_of(path: str | Path) -> str:
    """The format that a file's name promises."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"{path} should end in one of {', '.join(FORMATS)}, so that its format is known."
        )
    return FORMATS[suffix]


def unreadable(path: str | Path, error: Exception) -> InputError:
    """The kind of an error only: Arrow quotes the offending cells; we do not."""
    kind = type(error).__name__
    return InputError(
        f"{path} cannot be read ({kind}): it is damaged, cut off, or not what its name says."
    )


def read_table(path: str | Path) -> pa.Table:
    """A whole small table."""
    if not Path(path).is_file():
        raise InputError(f"there is no data file {path}.")
    try:
        table = _READ[format_of(path)](path)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    if not table.num_rows:
        raise InputError(f"{path} has no rows.")
    return table


def write_table(table: pa.Table, path: str | Path) -> None:
    path = Path(path)
    kind = format_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    else:
        pa.feather.write_feather(table, path)


def _read_parquet(path: str | Path) -> pa.Table:
    with pa.parquet.ParquetFile(path) as file:
        return file.read()


_READ: dict[str, Callable[[str | Path], pa.Table]] = {
    "parquet": _read_parquet,
    "csv": pa.csv.read_csv,
    "ipc": pa.feather.read_table,
}
