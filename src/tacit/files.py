"""Problem files (TOML) and tables on disk (Parquet, CSV)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet

from tacit.contexts import PublicSample
from tacit.core import Budget
from tacit.errors import InputError
from tacit.problem import Problem

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "ipc", ".feather": "ipc"}
KNOWN = {"horizon", "user", "actions", "contexts", "kernel", "reward", "budget", "generator"}


@dataclass(frozen=True)
class ProblemFile:
    """A problem and what a fit needs besides: the reward's column, a horizon and a budget, if the file says so."""

    problem: Problem
    reward: str
    user: str | None
    horizon: int | None
    budget: Budget | None
    text: str


def read_problem(path: str | Path) -> ProblemFile:
    """Reads a problem from TOML:

    horizon = 5000                      # optional: the number of rows otherwise

    [actions]
    type = "box"
    low = [0.0]
    high = [100.0]
    names = ["dose"]

    [contexts]
    type = "box"
    low = [18, 40]
    high = [95, 140]
    names = ["age", "weight"]

    [kernel]
    type = "matern"
    smoothness = 2.5
    lengthscale = 0.3

    [reward]
    range = [0.0, 1.0]
    column = "reward"

    [budget]
    epsilon = 1.0
    delta = 1e-6

    [generator]                         # optional: a table of contexts that is already public
    sample = "census.parquet"
    """
    path = Path(path)
    try:
        text = path.read_text()
        spec = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"there is no problem file {path}: see examples/dosing.toml for one.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} cannot be read as TOML: {error}.") from None
    if unknown := sorted(set(spec) - KNOWN):
        raise InputError(f"{path} has an unknown entry {unknown[0]!r}: it takes {', '.join(sorted(KNOWN))}.")
    generator = None
    if "generator" in spec:
        generator = PublicSample(read_table(path.parent / spec["generator"].get("sample", "")))
    horizon = spec.get("horizon")
    if horizon is not None and (not isinstance(horizon, int) or horizon < 1):
        raise InputError(f"horizon must be a whole number of at least 1, got {horizon!r} in {path}.")
    return ProblemFile(
        problem=Problem.from_spec(spec, generator=generator),
        reward=str(spec.get("reward", {}).get("column", "reward")),
        user=None if "user" not in spec else str(spec["user"]),
        horizon=horizon,
        budget=_budget(spec["budget"]) if "budget" in spec else None,
        text=text,
    )


def _budget(spec: Any) -> Budget:
    if not isinstance(spec, dict) or not set(spec) <= {"epsilon", "delta", "rho"}:
        raise InputError(f"[budget] takes epsilon and delta, or rho, got {spec!r}.")
    return Budget(**spec)


def open_dataset(paths: Sequence[str | Path], columns: Sequence[str]) -> ds.Dataset:
    """One or more files of one format as a dataset that has `columns`."""
    files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise InputError(f"there is no data file {path}.")
    kinds = {_format(path) for path in files}
    if len(kinds) != 1:
        raise InputError(f"data files must be of one format, got {', '.join(sorted(kinds))}.")
    try:
        dataset = ds.dataset([str(path) for path in files], format=_reader(kinds.pop(), columns))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{files[0]} cannot be read ({type(error).__name__}): is it what its name says?") from None
    if missing := [name for name in columns if name not in dataset.schema.names]:
        have = ", ".join(dataset.schema.names)
        raise InputError(f"the data has no column {missing[0]!r}: it needs {', '.join(columns)} and has {have}.")
    return dataset


def _reader(kind: str, columns: Sequence[str]) -> Any:
    """CSV cells are read as text: guessing types would raise, and quote, at the first cell that does not fit."""
    if kind != "csv" or not columns:
        return kind
    as_text = pa.csv.ConvertOptions(column_types={name: pa.string() for name in columns}, strings_can_be_null=True)
    return ds.CsvFileFormat(convert_options=as_text)


def batches(dataset: ds.Dataset, columns: Sequence[str], rows: int = 65_536) -> Iterator[pa.Table]:
    """The dataset in pieces of exactly `rows` rows (the last may be shorter), never all of it at once.

    Where Arrow cuts a CSV file depends on how long its cells are, which is private: hence the exact pieces.
    """
    waiting: list[pa.RecordBatch] = []
    count = 0
    try:
        for batch in dataset.to_batches(columns=list(columns), batch_size=rows):
            waiting, count = [*waiting, batch], count + batch.num_rows
            while count >= rows:
                table = pa.Table.from_batches(waiting)
                yield table.slice(0, rows)
                waiting, count = table.slice(rows).to_batches(), count - rows
    except pa.ArrowException as error:
        # Arrow quotes the offending row; we do not.
        kind = type(error).__name__
        raise InputError(f"the data cannot be read to its end ({kind}): one of {dataset.files} is damaged.") from None
    if count:
        yield pa.Table.from_batches(waiting)


def read_table(path: str | Path) -> pa.Table:
    """A whole small table."""
    table = open_dataset([path], []).to_table()
    if not table.num_rows:
        raise InputError(f"{path} has no rows.")
    return table


def write_table(table: pa.Table, path: str | Path) -> None:
    path = Path(path)
    kind = _format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    else:
        pa.feather.write_feather(table, path)


def _format(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path} should end in one of {', '.join(FORMATS)}, so that its format is known.")
    return FORMATS[path.suffix.lower()]
