"""Findings of attacks as a small table beside the results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tacit_lab.arena.attack.attack import Attack
from tacit_lab.arena.results import write_table

TABLE = "attacks.parquet"
SCHEMA = pa.schema(
    [
        ("learner", pa.string()),
        ("epsilon", pa.float64()),
        ("delta", pa.float64()),
        ("lower_bound", pa.float64()),
        ("refuted", pa.bool_()),
        ("measure", pa.string()),
        ("neighbours", pa.string()),
        ("rounds", pa.int64()),
        ("studies", pa.int64()),
    ]
)


def write_attack(found: Attack, path: Path) -> None:
    """Adds a finding to a table, in place of an earlier one on the same learner."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = read_table(path) | {found.learner: found}
    write_table([asdict(kept[name]) for name in sorted(kept)], path, SCHEMA)


def read_attacks(results: Path) -> dict[str, Attack]:
    """By learner: the table in a folder of results, or beside a table of results. None were made
    where there is none."""
    return read_table((results if results.is_dir() else results.parent) / TABLE)


def read_table(path: Path) -> dict[str, Attack]:
    if not path.is_file():
        return {}
    rows = pyarrow.parquet.read_table(path).to_pylist()
    return {row["learner"]: Attack(**row) for row in rows}
