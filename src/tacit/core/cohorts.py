"""Cohorts: groups of people, each with a budget of its own. See cohorts.md.

A study numbers its records 0, 1, 2, ... as they come, before anything is known of them. A cohort is
a range of these numbers. Ranges do not overlap, so a record belongs to one cohort, and what is
released about one cohort says nothing about the people of another: each may spend the whole budget.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from tacit.errors import InputError, StateError

Span = tuple[int, int]  # start and stop: the numbers from start to before stop
LARGEST = 2**62  # of the numbers of records: databases keep them in 64 bits


@dataclass(frozen=True)
class Cohort:
    """The records from number `first` to before number `last`, under a name.

    >>> spring = tacit.Cohort("spring", 0, 1000)  # the first thousand records
    >>> spring.overlaps(tacit.Cohort("summer", 1000, 3000))
    False
    """

    name: str
    first: int
    last: int

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise InputError(
                f"a cohort needs a name, got {self.name!r}: write Cohort('epoch 1', 0, 1500)."
            )
        # Python's own integers: a database would keep NumPy's as bytes.
        for name in ("first", "last"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if not 0 <= self.first < self.last <= LARGEST:
            raise InputError(
                f"a cohort holds the records from `first` to before `last`, got {self.first} and "
                f"{self.last}: write Cohort('epoch 1', 0, 1500)."
            )

    def overlaps(self, other: Cohort) -> bool:
        return self.first < other.last and other.first < self.last

    def require(self, span: Span) -> None:
        """Fails if not all of these records belong to the cohort."""
        start, stop = span
        if not self.first <= start <= stop <= self.last:
            raise InputError(
                f"records {start} to {stop} are not all of cohort {self.name!r}, which holds "
                f"{self.first} to {self.last}: add each record to its own cohort."
            )


def whole_number(value: Any, name: str) -> int:
    """A record's number as one of Python's integers; anything else is an error."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(
            f"`{name}` is the number of a record and must be a whole number, got {value!r}: pass "
            "an int, such as 1500."
        ) from None


def joined(spans: list[Span], more: list[Span]) -> list[Span]:
    """Both lists of spans as one, adjacent spans joined. A number that is in both would count
    twice: that is an error."""
    together: list[Span] = []
    for start, stop in sorted([*spans, *more]):
        if together and start < together[-1][1]:
            raise StateError(
                f"records {start} to {min(stop, together[-1][1])} are counted already."
            )
        if together and start == together[-1][1]:
            start = together.pop()[0]
        together.append((start, stop))
    return together
