"""The private sum: the only place where private data is kept, and it does not show itself."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.core.contribution import Array, Encoding
from tacit.errors import InputError, StateError


class PrivateSum:
    """An int64 sum of bounded contributions. Adding and merging commute exactly.

    The number of records is public (neighbours differ in a record's values, not in its presence);
    everything else leaves only through `tacit.core.release`.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._total: NDArray[np.int64] = np.zeros(encoding.rank, dtype=np.int64)
        self._records = 0

    @property
    def records(self) -> int:
        return self._records

    def add(self, rows: Array, records: int | None = None) -> None:
        """Adds a block of floating-point rows, of which the first `records` count (the rest are padding)."""
        n, rank = rows.shape
        if rank != self.encoding.rank:
            raise InputError(f"rows must have {self.encoding.rank} columns, got {rank}: use this design's features.")
        count = n if records is None else records
        self.reserve(count)
        units = self.encoding.encode(rows[:count])
        total = units.sum(0)
        self._total += np.asarray(total.cpu() if hasattr(total, "cpu") else total, dtype=np.int64)
        self._records += count

    def reserve(self, records: int) -> None:
        """Fails, before anything is touched, if so many more records would pass the horizon."""
        if self._records + records > self.encoding.horizon:
            raise StateError(
                f"the horizon is {self.encoding.horizon} rounds and {self._records} are in: "
                f"{records} more do not fit; build a design with a larger horizon."
            )

    def merge(self, other: PrivateSum) -> None:
        if other.encoding != self.encoding:
            raise InputError(f"only sums of one encoding merge: {self.encoding} is not {other.encoding}.")
        if other is self:
            raise InputError("a sum cannot be merged with itself: that would count every record twice.")
        self.reserve(other._records)
        self._total += other._total
        self._records += other._records

    def __repr__(self) -> str:
        return f"PrivateSum(<private>, records={self._records}, rank={self.encoding.rank})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError("a private sum is not pickled in the clear: merge it in this process, or release it.")
