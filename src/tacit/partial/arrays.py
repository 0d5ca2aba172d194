"""A private sum as plain arrays and back. PRIVATE: for files and machines inside the trust boundary."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Cohort
from tacit.core.cohorts import joined
from tacit.core.sums import UserSum
from tacit.core.users import user_key
from tacit.design import Design
from tacit.statistic import Statistic

Arrays = dict[str, NDArray[Any]]


def dump(statistic: Statistic) -> Arrays:
    """The sum as integers; with `unit="user"` also every user's id and row."""
    total = statistic._sum
    total._require_own()
    arrays: Arrays = {"records": np.array(total.records), "total": total._total}
    if total.cohort is not None:
        arrays |= {"cohort": packed(asdict(total.cohort)), "spans": np.array(total._spans, dtype=np.int64)}
    if isinstance(total, UserSum):
        arrays |= {"users": packed(list(total._index)), "rows": total._rows[: len(total._index)]}
    return arrays


def load(design: Design, arrays: Arrays, device: str | None = None) -> Statistic:
    """The inverse of `dump`. What no records of this design can have summed to is a ValueError."""
    cohort = Cohort(**unpacked(arrays["cohort"])) if "cohort" in arrays else None
    statistic = design.statistic(device, cohort)
    total, records = statistic._sum, int(arrays["records"])
    _require(arrays["total"], (design.encoding.rank,), records, design)
    total._total = np.array(arrays["total"])
    if isinstance(total, UserSum):
        users, rows = unpacked(arrays["users"]), arrays["rows"]
        _require(rows, (len(users), design.encoding.rank), records, design)
        _require_together(rows, records, design)
        # Names that an earlier version kept apart may be one user's by now: then their rows are added up.
        places = total._places([user_key(user) for user in users])
        np.add.at(total._rows, places, rows)
    total._records = records
    if cohort is not None:
        total._spans = joined([], [(int(start), int(stop)) for start, stop in arrays["spans"]])
        for span in total._spans:
            cohort.require(span)
    return statistic


def drain(statistic: Statistic) -> Statistic:
    """What a statistic holds, as one of its own; it is empty afterwards, and whatever it prepared stays prepared."""
    taken = statistic.design.statistic(cohort=statistic._sum.cohort)
    taken._sum, statistic._sum = statistic._sum, taken._sum
    return taken


def packed(value: Any) -> NDArray[np.uint8]:
    """Plain data as JSON in bytes: any text survives, and nothing in it can be executed."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpacked(array: NDArray[Any]) -> Any:
    return json.loads(array.tobytes())


def _require(array: NDArray[Any], shape: tuple[int, ...], records: int, design: Design) -> None:
    """Each of `records` records moves each entry by at most the bound."""
    most = records * design.encoding.bound
    fits = array.dtype == np.int64 and array.shape == shape and 0 <= records <= design.horizon
    if not fits or (array.size and not -most <= int(array.min()) <= int(array.max()) <= most):
        raise ValueError("not a sum of this design")


def _require_together(rows: NDArray[Any], records: int, design: Design) -> None:
    """The same of all rows together, up to rounding: so they can be added up in any way without an overflow."""
    together = np.abs(rows).sum(axis=0, dtype=np.float64)
    if float(together.max(initial=0.0)) > 1.001 * records * design.encoding.bound:
        raise ValueError("not a sum of this design")
