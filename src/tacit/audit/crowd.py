"""A crowd of plain records, one of which is odd: what `reading.py` adds and asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.odd_cells import (
    CELLS,
    FLAT,
    OF_CELLS,
    OF_ROWS,
    ROWS,
    VECTORS,
    Cells,
    Row,
    Table,
    flat_list,
    list_of_lists,
)
from tacit.design import Design
from tacit.domains import Domain

OF_A_USER = 5  # records of the one user
THE_ONE = "the one"  # whose records are odd
COLUMNS = ("rewards", "users")  # arguments that are one column, not a table


@dataclass(frozen=True)
class Oddity:
    """What is odd: which argument, in which kind of table, which cell (or `Row`), in which column,
    of which records."""

    place: str
    table: Table
    odd: Any
    column: int
    records: tuple[int, ...]

    def __str__(self) -> str:
        """Its type and place. Never the cell itself, which may raise when it is shown."""
        kind = type(self.odd.value if isinstance(self.odd, Row) else self.odd).__name__
        return f"{kind} in {self.place}, {self.table.__name__}"

    def put_into(self, rows: list[Cells]) -> list[Any]:
        """The rows with the odd ones among them."""
        changed: list[Any] = [list(row) for row in rows]
        for at in self.records:
            if isinstance(self.odd, Row):
                changed[at] = self.odd
            else:
                changed[at][self.column] = self.odd
        return changed


class Crowd:
    """Plain records of a study, in the units of its problem. All have the best reward, so their sum
    is long."""

    def __init__(self, design: Design, size: int) -> None:
        problem = design.problem
        rng = np.random.default_rng(0)
        self.size = size + 1  # one of them will be odd
        self.user = design.unit == "user"
        self.names: dict[str, Sequence[str]] = {
            "actions": problem.actions.names,
            "contexts": problem.contexts.names,
            "rewards": ("reward",),
            "users": ("user",),
        }
        ids = [[f"user {i}"] for i in range(self.size)]
        for at in self.ones(0):
            ids[at] = [THE_ONE]
        self.cells: dict[str, list[Cells]] = {
            "actions": _plain_rows(problem.actions, self.size, rng),
            "contexts": _plain_rows(problem.contexts, self.size, rng),
            "rewards": [[problem.reward_range[1]] for _ in range(self.size)],
            "users": ids,
        }

    @property
    def ids(self) -> tuple[str, ...]:
        """The place of user ids, where they matter."""
        return ("users",) if self.user else ()

    def ones(self, turn: int) -> tuple[int, ...]:
        """Which records are odd: in turn the first, the last and one in the middle, or all those of
        one user."""
        last = self.size - 1
        if self.user:
            return tuple(sorted({i * last // (OF_A_USER - 1) for i in range(OF_A_USER)}))
        return ((0, last, self.size // 2)[turn % 3],)

    def arguments(self, oddity: Oddity | None = None) -> dict[str, Any]:
        """What `add` or `ask_many` is called with: lists of plain records, but for the one argument
        that is odd."""
        made = {}
        for place, rows in self.cells.items():
            if oddity is not None and oddity.place == place:
                made[place] = oddity.table(self.names[place], oddity.put_into(rows))
            else:
                usual = flat_list if place in COLUMNS else list_of_lists
                made[place] = usual(self.names[place], rows)
        if not self.user:
            made["users"] = None
        return made

    def can_hold(self, oddity: Oddity) -> bool:
        """Whether such a table can be made at all: some containers refuse some cells, before
        anything of ours sees them."""
        try:
            self.arguments(oddity)
        except Exception:
            return False
        return True

    def oddities(self, *places: str) -> Iterator[Oddity]:
        """Every odd cell and every odd row in every kind of table; for whom and in which column
        changes in turn."""
        kinds = ((place, table, odd) for place in places for table, odd in self._tables(place))
        for turn, (place, table, odd) in enumerate(kinds):
            yield Oddity(place, table, odd, turn % len(self.names[place]), self.ones(turn))

    def _tables(self, place: str) -> Iterator[tuple[Table, Any]]:
        """Every kind of table that this argument can be, with everything odd that it can hold."""
        if place in COLUMNS:
            tables = VECTORS
        elif len(self.names[place]) == 1:
            tables = (*OF_ROWS, *OF_CELLS, *FLAT)
        else:
            tables = (*OF_ROWS, *OF_CELLS)
        for table in tables:
            for odd in CELLS:
                yield table, odd
            if table in OF_ROWS:
                for odd in ROWS:
                    yield table, Row(odd)


def _plain_rows(domain: Domain, n: int, rng: np.random.Generator) -> list[Cells]:
    columns = domain.decode(domain.sample_points(n, rng))
    cells = [columns[name].tolist() for name in domain.names]
    return [list(row) for row in zip(*cells, strict=True)]
