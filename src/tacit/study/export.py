"""Rounds of a study as a file, for their owner."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tacit.arrow import pa
from tacit.arrow import parquet as pq
from tacit.errors import InputError
from tacit.problem import Problem
from tacit.study.epoch_store import EpochRow, joint_points, rewards_of


def write_rounds(
    path: str | Path, problem: Problem, epochs: Sequence[EpochRow], pages: Iterable[Any]
) -> Path:
    """A Parquet file that only its owner can read: contexts and actions in the user's units,
    rewards, propensities, and the epoch in which each round counts.

    On continuous actions a decision is a single action, which has no density: its propensity is
    infinite, and only rounds that explored say anything to `tacit fit --propensity`.
    """
    _require_arrow()
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists already: choose another file.")
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written ({error.strerror}): choose another file."
        ) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write(file, (pa.table(_columns(problem, epochs, rows)) for rows in pages))
    except BaseException:
        target.unlink(missing_ok=True)  # half a file would be in the way of the next attempt
        raise
    return target


def _require_arrow() -> None:
    """Says what is missing before a file is made."""
    _ = pa.table


def _write(file: BinaryIO, tables: Iterable[pa.Table]) -> None:
    writer = None
    for table in tables:
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _columns(problem: Problem, epochs: Sequence[EpochRow], rows: Any) -> dict[str, Any]:
    points = joint_points(rows)
    at = problem.actions.dimension
    found: dict[str, Any] = {}
    for domain, part in ((problem.contexts, points[:, at:]), (problem.actions, points[:, :at])):
        known = np.where(np.isfinite(part), part, 0.5)
        missing = [bool(np.isnan(row).any()) for row in part]
        for name, column in domain.decode(known).items():
            plain = _plain(list(column))
            values = [None if gone else value for gone, value in zip(missing, plain, strict=True)]
            # The type comes from the domain: a page on which all values are missing has it, too.
            found[name] = pa.array(values, pa.array(plain).type)
    low, high = problem.reward_range
    rewards = (low + high) / 2 + rewards_of(rows) * (high - low) / 2
    found["reward"] = pa.array(rewards, from_pandas=True)
    propensity = [
        row.propensity if row.density or not problem.actions.continuous else np.inf for row in rows
    ]
    found["propensity"] = pa.array(propensity, pa.float64())
    found["mode"] = pa.array([row.mode for row in rows])
    found["epoch"] = pa.array([_epoch_of(row.number, epochs) for row in rows], pa.int64())
    if any(row.user is not None for row in rows):
        found["user"] = pa.array([row.user for row in rows])
    return found


def _plain(values: list[Any]) -> list[Any]:
    """Of Python's own types."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _epoch_of(number: int, epochs: Sequence[EpochRow]) -> int:
    return next(epoch.number for epoch in epochs if number <= epoch.end)
