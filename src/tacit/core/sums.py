"""The private sum: the only place where private data is kept. It hides itself in `repr` and cannot
be pickled. See sums.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from tacit.core.cohorts import Cohort, Span, joined, whole_number
from tacit.core.contribution import Array, Encoding
from tacit.core.parts import Part
from tacit.core.users import user_key
from tacit.errors import InputError, StateError

Integers = NDArray[np.int64]


class PrivateSum:
    """An int64 sum of bounded contributions, one per record. Adding and merging commute exactly.

    The number of records is public (neighbours differ in a record's values, not in its presence);
    everything else leaves only through `tacit.core.release` and `tacit.core.selection`.

    A sum of a `cohort` takes records of that cohort only, each once, by their numbers. Where the
    cohort is a part of a log (see parts.md), it is shown all rows and takes those of its part.
    """

    unit = "record"

    def __init__(self, encoding: Encoding, cohort: Cohort | None = None) -> None:
        self.encoding = encoding
        self.cohort = cohort
        self._part = Part.of(cohort)
        if self._part is not None and self._part.unit != self.unit:
            raise InputError(
                f"cohort {self._part.cohort.name!r} is a part of {self._part.unit}s, and this sum "
                f"is of {self.unit}s: split and protect the same."
            )
        self._spans: list[Span] = []
        self._records = 0
        self._merged = False
        self._total: Integers = np.zeros(encoding.size, dtype=np.int64)

    @property
    def records(self) -> int:
        return self._records

    def add(
        self,
        rows: Array,
        records: int,
        users: Sequence[Any] | None = None,
        first: int | None = None,
    ) -> None:
        """Adds a block of floating-point rows, of which the first `records` count and the rest are
        padding.

        In a cohort `first` is the number of the first record. Of the rows of a log those that are
        not of the sum's part are dropped: they may hold anything.
        """
        if not 0 <= records <= rows.shape[0]:
            raise InputError(
                f"of {rows.shape[0]} rows 0 to {rows.shape[0]} can count, got {records}."
            )
        spans = self.reserve(records, first)
        encode = _encoder(self.encoding, getattr(rows, "is_cuda", False))
        integers = encode(rows)[:records, :]
        if self._part is not None and records:
            row = whole_number(first, "first") - self._part.cohort.first
            mine = self._part.mask(row, records, users)
            records = int(mine.sum())
            self._require_room(records)
            integers, users = _chosen(integers, users, mine)
        self._collect(integers, users)
        self._records += records
        self._spans = spans

    def reserve(self, records: int, first: int | None = None) -> list[Span]:
        """Fails, before anything is changed, if so many more records may not be added.

        Returns the numbers of all records that will then be in the sum.
        """
        self._require_room(0 if self._part else records)  # how many are of the part is seen later
        if self.cohort is None or not records:
            return self._spans
        if first is None:
            raise InputError(f"records of cohort {self.cohort.name!r} have numbers: pass first=...")
        start = whole_number(first, "first")
        span = (start, start + records)
        self.cohort.require(span)
        return joined(self._spans, [span])

    def merge(self, other: PrivateSum) -> None:
        """Adds another sum's records to this one, exactly. The other sum cannot be used any more:
        counting its records twice would break the bound."""
        if type(other) is not type(self) or other.encoding != self.encoding:
            raise InputError(
                "only sums of one encoding and one privacy unit merge: make both from one design."
            )
        if other.cohort != self.cohort:
            raise InputError("only sums of one cohort merge: a record belongs to one cohort.")
        if other is self:
            raise InputError(
                "a sum cannot be merged with itself: that would count every record twice."
            )
        self._require_room(other._records)
        other._require_own()
        spans = joined(self._spans, other._spans)
        self._absorb(other)
        self._records += other._records
        self._spans = spans
        other._merged = True

    def members(self) -> list[str]:
        """The users whose records are in the sum; none where records have no users."""
        return []

    def _require_room(self, records: int) -> None:
        self._require_own()
        if self._records + records > self.encoding.horizon:
            raise StateError(
                f"the horizon is {self.encoding.horizon} rounds and {self._records} are in: "
                f"{records} more do not fit; build a design with a larger horizon."
            )

    def _require_own(self) -> None:
        if self._merged:
            raise StateError(
                "this sum was merged into another and is spent: its records count there, once."
            )

    def _collect(self, integers: Array, users: Sequence[Any] | None) -> None:
        self._total += _to_numpy(array_namespace(integers).sum(integers, axis=0))

    def _absorb(self, other: Any) -> None:
        self._total += other._total

    def _value(self) -> Integers:
        """The sum itself. PRIVATE: for the mechanisms of this package."""
        self._require_own()
        return self._total

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(<private>, records={self._records}, size={self.encoding.size})"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise StateError(
            "a private sum is not pickled in the clear: merge it in this process, or release it."
        )


class UserSum(PrivateSum):
    """A sum with one contribution per *user*: all of a user's records together are shrunk to the
    bound.

    Holds one row of integers per user until it is released. Records without a user id count as
    those of one user.
    """

    unit = "user"

    def __init__(self, encoding: Encoding, cohort: Cohort | None = None) -> None:
        super().__init__(encoding, cohort)
        self._index: dict[str, int] = {}
        self._rows: Integers = np.zeros((0, encoding.size), dtype=np.int64)

    def members(self) -> list[str]:
        return list(self._index)

    def _collect(self, integers: Array, users: Sequence[Any] | None) -> None:
        if users is None or len(users) != integers.shape[0]:
            raise InputError(
                f"unit='user' needs one user id per record, {integers.shape[0]}: pass users=..."
            )
        places = self._places([user_key(user) for user in users])
        np.add.at(self._rows, places, _to_numpy(integers))

    def _absorb(self, other: Any) -> None:
        places = self._places(list(other._index))
        np.add.at(self._rows, places, other._rows[: len(places)])

    def _places(self, keys: list[str]) -> list[int]:
        """The row of each user, with new rows for those who are new."""
        places = [self._index.setdefault(key, len(self._index)) for key in keys]
        if len(self._index) > len(self._rows):
            # Doubled, so that users who come one by one cost a constant number of copies each.
            height = max(len(self._index), 2 * len(self._rows))
            grown = np.zeros((height, self.encoding.size), dtype=np.int64)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        return places

    def _value(self) -> Integers:
        self._require_own()
        return self.encoding.shrink(self._rows).sum(0)


UNITS_OF_PRIVACY: dict[str, type[PrivateSum]] = {cls.unit: cls for cls in (PrivateSum, UserSum)}


def private_sum(encoding: Encoding, unit: str, cohort: Cohort | None = None) -> PrivateSum:
    """An empty sum for records, or for users."""
    if unit not in UNITS_OF_PRIVACY:
        raise InputError(f"unit must be one of {', '.join(UNITS_OF_PRIVACY)}, got {unit!r}.")
    return UNITS_OF_PRIVACY[unit](encoding, cohort)


@lru_cache(maxsize=16)
def _encoder(encoding: Encoding, cuda: bool) -> Callable[[Array], Array]:
    """`Encoding.encode`, compiled on a GPU: the same arithmetic in fewer passes over memory."""
    if not cuda:
        return encoding.encode
    import torch

    return torch.compile(encoding.encode, dynamic=False)


def _chosen(
    integers: Array, users: Sequence[Any] | None, mine: NDArray[np.bool_]
) -> tuple[Array, Sequence[Any] | None]:
    """These records, and their users if they have any."""
    xp = array_namespace(integers)
    chosen = integers[xp.asarray(mine, device=device(integers))]
    if users is not None:
        users = [user for user, is_mine in zip(users, mine, strict=True) if is_mine]
    return chosen, users


def _to_numpy(array: Array) -> Integers:
    if hasattr(array, "cpu"):  # PyTorch, perhaps on a GPU
        array = array.cpu()
    return np.asarray(array, dtype=np.int64)
