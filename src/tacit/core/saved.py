"""A private sum as plain arrays and back. PRIVATE: for files and machines inside the trust
boundary. See saved.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.cohorts import Cohort, Span, joined
from tacit.core.contribution import Encoding
from tacit.core.parts import Part
from tacit.core.sums import Integers, PrivateSum, UserSum, private_sum
from tacit.core.users import user_key
from tacit.errors import TacitError

Arrays = dict[str, NDArray[Any]]
MARGIN = 1.001  # for sums of absolute values that are checked in floating point


def dump_sum(total: PrivateSum) -> Arrays:
    """The sum as integers; of users also every id and row, of a cohort also the numbers of the
    records that are in."""
    total._require_own()
    arrays: Arrays = {"records": np.array(total.records), "total": total._total}
    if total.cohort is not None:
        arrays["cohort"] = packed(asdict(total.cohort))
        arrays["spans"] = np.array(total._spans, dtype=np.int64).reshape(-1, 2)
    if isinstance(total, UserSum):
        users = total.members()
        arrays["users"] = packed(users)
        arrays["rows"] = total._rows[: len(users)]
    return arrays


def load_sum(encoding: Encoding, unit: str, arrays: Arrays) -> PrivateSum:
    """The inverse of `dump_sum`. What no records of this encoding can have summed to is a
    ValueError."""
    try:
        records = int(arrays["records"])
        cohort = Cohort(**unpacked(arrays["cohort"])) if "cohort" in arrays else None
        total = private_sum(encoding, unit, cohort)
        total._records = records
        total._total = _checked(arrays["total"], (encoding.size,), records, encoding)
        if cohort is not None:
            total._spans = _checked_spans(arrays["spans"], records, cohort)
        if isinstance(total, UserSum):
            _restore_users(total, arrays, records)
    except (KeyError, TypeError, TacitError) as error:
        raise ValueError("not a sum of this encoding") from error
    return total


def _restore_users(total: UserSum, arrays: Arrays, records: int) -> None:
    users = unpacked(arrays["users"])
    rows = _checked(arrays["rows"], (len(users), total.encoding.size), records, total.encoding)
    # All rows together are no longer than `records` contributions, so that sums of some of them do
    # not overflow.
    together = np.abs(rows).sum(axis=0, dtype=np.float64)
    if float(together.max(initial=0.0)) > MARGIN * records * total.encoding.bound:
        raise ValueError("not a sum of this encoding")
    # Names that an earlier version kept apart may be one user now: then their rows are added up.
    places = total._places([user_key(user) for user in users])
    part = Part.of(total.cohort)
    if part is not None and not all(map(part.has_user, total.members())):
        raise ValueError("not a sum of this part")
    np.add.at(total._rows, places, rows)


def _checked(
    array: NDArray[Any], shape: tuple[int, ...], records: int, encoding: Encoding
) -> Integers:
    """A copy of the array, if so many records can have added up to its entries."""
    if array.dtype != np.int64 or array.shape != shape or not 0 <= records <= encoding.horizon:
        raise ValueError("not a sum of this encoding")
    most = records * encoding.bound
    if array.size and not -most <= int(array.min()) <= int(array.max()) <= most:
        raise ValueError("not a sum of this encoding")
    return np.array(array)


def _checked_spans(array: NDArray[Any], records: int, cohort: Cohort) -> list[Span]:
    """The numbers of so many records of this cohort, each once; anything else is refused. A part
    has some of the numbers that it was shown."""
    spans = joined([], [(int(start), int(stop)) for start, stop in array])
    for span in spans:
        cohort.require(span)
    shown = sum(stop - start for start, stop in spans)
    if records > shown or (records < shown and Part.of(cohort) is None):
        raise ValueError("not a sum of this cohort")
    return spans


def packed(value: Any) -> NDArray[np.uint8]:
    """Plain data as JSON in bytes: any text survives, and nothing in it can be executed."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpacked(array: NDArray[Any]) -> Any:
    """The inverse of `packed`."""
    return json.loads(array.tobytes())
