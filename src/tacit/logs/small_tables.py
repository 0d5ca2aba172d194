"""Small tables, read and written whole: public samples, visitors, decisions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw

from tacit.arrow import csv, damage, feather, has_arrow, pa, parquet
from tacit.errors import InputError
from tacit.logs.plain_csv import read_csv, write_csv

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


def read_table(path: str | Path) -> Any:
    """A whole small table: Arrow's, or where pyarrow is not installed a dict of texts."""
    if not Path(path).is_file():
        raise InputError(f"there is no data file {path}.")
    try:
        table = _read(path)
    except InputError:
        raise
    except damage() as error:
        raise unreadable(path, error) from None
    if not len(next(iter(columns_of(table).values()), ())):
        raise InputError(f"{path} has no rows.")
    return table


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a small table, in their order."""
    if isinstance(table, Mapping):
        return dict(table)
    frame = nw.from_native(table, eager_only=True)
    return {name: frame[name].to_native() for name in frame.columns}


def write_table(table: Any, path: str | Path) -> None:
    """A table, or a dict of columns, as a file of the kind that its name promises."""
    path = Path(path)
    kind = format_of(path)
    columns = columns_of(table)
    if kind == "csv" and not has_arrow():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            write_csv(columns, file)
        return
    table = pa.table(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "csv":
        csv.write_csv(table, path)
    else:
        feather.write_feather(table, path)


def _read(path: str | Path) -> Any:
    kind = format_of(path)
    if kind == "parquet":
        with parquet.ParquetFile(path) as file:
            return file.read()
    if kind == "ipc":
        return feather.read_table(path)
    return csv.read_csv(path) if has_arrow() else read_csv(path)
