"""What the pages are made of: one table of results, its failures, and the attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tacit_lab.arena.attack.attack import Attack
from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import Selection


@dataclass(frozen=True, eq=False)
class Study:
    """`source` is the folder that a reader would type; `tables` the name of the page with the long
    tables, beside the one to read."""

    rows: Sequence[Row]
    failures: Sequence[Row] = ()
    attacks: Mapping[str, Attack] = field(default_factory=dict)
    source: str = "."
    tables: str = "study-tables.md"
    images: str = "images/arena"

    @cached_property
    def selection(self) -> Selection:
        return Selection(self.rows)
