"""One odd record beside a crowd of plain ones: does it change how the others are read?

The bound of one record's integers is worth nothing if that record changes the integers of others: a
table that is read as text, or as nothing, because of one cell; a column that is scaled by its
largest value; a batch that is refused. So the whole path is run on a crowd with a plain record and
on the same crowd with an odd one in its place, in every kind of table, and the two sums are
compared in exact integers. With `unit="user"` all records of one user are odd at once.

An error or a warning that depends on a record is seen by everybody, and nothing was added: it
counts as the way from the sum of the crowd to the empty sum, and is red however long that is. So is
a public number of records that depends on a cell.
"""

from __future__ import annotations

import datetime
import decimal
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from tacit.audit.contribution import Vector, verdict
from tacit.audit.findings import Clock, Finding
from tacit.audit.made_up import temporary_study
from tacit.design import Design
from tacit.domains import Domain
from tacit.errors import StateError
from tacit.progress import Progress, silent
from tacit.statistic import Statistic
from tacit.study import Study

Add = Callable[..., Any]  # called like Statistic.add
Ask = Callable[..., Any]  # called like Study.ask_many
Cells = list[Any]

CROWD = 200  # plain records beside the odd one
ASKED = 48  # of a crowd that is asked: each is a row of a database
OF_A_USER = 5  # records of the one user
THE_ONE = "the one"  # whose records are odd
COLUMNS = ("rewards", "users")  # arguments that are one column, not a table


class Rude:
    """A cell that raises whatever is done with it."""

    def _no(self, *_: object) -> Any:
        raise RuntimeError("no")

    __float__ = __int__ = __index__ = __complex__ = __bool__ = _no
    __len__ = __iter__ = __getitem__ = __hash__ = __eq__ = _no
    __str__ = __repr__ = __format__ = _no


class RudeRow(dict[str, Any]):
    """A row that has no cell, though it says that it has."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    get = __getitem__  # type: ignore[assignment]
    pop = __getitem__  # type: ignore[assignment]


CELLS: tuple[Any, ...] = (
    None,
    math.nan,
    math.inf,
    -1e308,
    5e-324,
    10**400,
    -(10**5000),
    2**64,
    True,
    "",
    "text",
    "nan",
    "1e999",
    "\ud800",
    b"\xff",
    b"7",
    1 + 2j,
    complex("nan"),
    np.complex64(1j),
    np.longdouble("1e4000"),
    np.datetime64("NaT"),
    np.float16("inf"),
    np.str_("7"),
    np.ma.masked,
    np.array(1j),
    np.array([1.0, 2.0]),
    decimal.Decimal("sNaN"),
    datetime.date(2024, 1, 1),
    [],
    [1.0],
    [1.0, 2.0],
    (),
    (3,),
    {},
    {"age": 1},
    set(),
    frozenset({1}),
    range(3),
    object(),
    int,
    Rude(),
)
ROWS: tuple[Any, ...] = (
    None,
    math.nan,
    7,
    7.5,
    True,
    "text",
    b"bytes",
    1 + 2j,
    np.float64(3.0),
    np.array([1.0] * 9),
    np.ma.masked,
    [],
    [1.0],
    [1.0] * 9,
    (),
    ("a", "b"),
    {},
    {"wrong": 1.0},
    {"age": 1.0},
    {7: 1.0},
    {"age": [1.0, 2.0]},
    set(),
    {1.0},
    [[1.0]],
    [None],
    object(),
    RudeRow(age=1.0),
    Rude(),
)


@dataclass(frozen=True)
class Row:
    """Stands for a whole row of a table, where the table is a list of rows."""

    value: Any


# -- tables ---------------------------------------------------------------------------------------


def list_of_dicts(names: Sequence[str], rows: Cells) -> Any:
    return [
        row.value if isinstance(row, Row) else dict(zip(names, row, strict=True)) for row in rows
    ]


def list_of_lists(names: Sequence[str], rows: Cells) -> Any:
    return [row.value if isinstance(row, Row) else list(row) for row in rows]


def tuple_of_tuples(names: Sequence[str], rows: Cells) -> Any:
    return tuple(row.value if isinstance(row, Row) else tuple(row) for row in rows)


def dict_of_lists(names: Sequence[str], rows: Cells) -> Any:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def dict_of_arrays(names: Sequence[str], rows: Cells) -> Any:
    return {name: _objects([row[i] for row in rows]) for i, name in enumerate(names)}


def array_of_objects(names: Sequence[str], rows: Cells) -> Any:
    table = np.empty((len(rows), len(names)), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            table[i, j] = cell
    return table


def pandas_frame(names: Sequence[str], rows: Cells) -> Any:
    import pandas as pd

    return pd.DataFrame(dict_of_lists(names, rows))


def flat_list(names: Sequence[str], rows: Cells) -> Any:
    return [row.value if isinstance(row, Row) else row[0] for row in rows]


def flat_array(names: Sequence[str], rows: Cells) -> Any:
    return _objects(flat_list(names, rows))


def pandas_series(names: Sequence[str], rows: Cells) -> Any:
    import pandas as pd

    return pd.Series(flat_list(names, rows))


Table = Callable[[Sequence[str], Cells], Any]
PANDAS = find_spec("pandas") is not None
OF_ROWS: tuple[Table, ...] = (
    list_of_dicts,
    list_of_lists,
    tuple_of_tuples,
)  # a whole row can be odd
OF_CELLS: tuple[Table, ...] = (
    dict_of_lists,
    dict_of_arrays,
    array_of_objects,
    *((pandas_frame,) if PANDAS else ()),
)
FLAT: tuple[Table, ...] = (flat_list, flat_array)  # tables of one column need no rows
VECTORS: tuple[Table, ...] = (*FLAT, *((pandas_series,) if PANDAS else ()))


def _objects(cells: Cells) -> Any:
    """A flat array of whatever the cells are."""
    column = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        column[i] = cell
    return column


# -- crowds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oddity:
    """What is odd: which argument, in which kind of table, which cell (or `Row`), in which column,
    of which records."""

    place: str
    table: Table
    odd: Any
    column: int
    records: tuple[int, ...]

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
        if self.user:
            return tuple(sorted({i * (self.size - 1) // (OF_A_USER - 1) for i in range(OF_A_USER)}))
        return ((0, self.size - 1, self.size // 2)[turn % 3],)

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

    def oddities(self, *places: str) -> Iterator[Oddity]:
        """Every odd cell and every odd row in every kind of table; for whom and in which column
        changes in turn."""
        kinds = ((place, table, odd) for place in places for table, odd in self._tables(place))
        for turn, (place, table, odd) in enumerate(kinds):
            yield Oddity(place, table, odd, turn % len(self.names[place]), self.ones(turn))

    def _tables(self, place: str) -> Iterator[tuple[Table, Any]]:
        flat = FLAT if len(self.names[place]) == 1 else ()
        for table in VECTORS if place in COLUMNS else (*OF_ROWS, *OF_CELLS, *flat):
            for odd in CELLS:
                yield table, odd
            for odd in ROWS if table in OF_ROWS else ():
                yield table, Row(odd)


def _plain_rows(domain: Domain, n: int, rng: np.random.Generator) -> list[Cells]:
    columns = domain.decode(domain.sample_points(n, rng))
    return [
        list(row) for row in zip(*[columns[name].tolist() for name in domain.names], strict=True)
    ]


# -- attacks --------------------------------------------------------------------------------------


class Tally:
    """The squared ways that sums moved, and how many oddities were noticed by an error, a warning
    or a count."""

    def __init__(self) -> None:
        self.moves: list[tuple[int, int]] = []
        self.noticed = 0
        self._longest = 0.0
        self._worst = "none moved it"

    def compare(self, sensitivity: int, plain: Vector, odd: Vector | None, oddity: Oddity) -> None:
        """`odd` is None where the oddity was noticed: then nothing was added."""
        self.noticed += odd is None
        move2 = sum((x - y) ** 2 for x, y in zip(plain, odd or [0] * len(plain), strict=True))
        self.moves.append((move2, sensitivity))
        ratio = math.sqrt(move2) / sensitivity
        if ratio > self._longest:
            self._longest = ratio
            kind = type(oddity.odd.value if isinstance(oddity.odd, Row) else oddity.odd).__name__
            self._worst = f"{kind} in {oddity.place}, {oddity.table.__name__}: {ratio:.2f} times the sensitivity"

    def finding(
        self,
        name: str,
        epsilon_if_moved: Callable[[float], float],
        delta: float,
        clock: Clock,
        size: int,
    ) -> Finding:
        about = f"among {size} plain records; {self.noticed} raised, warned or were not counted; worst: {self._worst}"
        found = verdict(name, self.moves, epsilon_if_moved, delta, clock, about, len(self.moves))
        return replace(found, ok=found.ok and not self.noticed)


def attack_crowd(
    name: str = "odd record in a crowd",
    *,
    designs: Sequence[Design],
    epsilon_if_moved: Callable[[float], float],
    every: int = 1,
    delta: float = 0.0,
    size: int = CROWD,
    add: Add = Statistic.add,
    progress: Progress = silent,
) -> Finding:
    """Claim: the sensitivity. Found: how far an odd record moved the sum of a crowd, by the way of
    `Statistic.add`.

    `every` takes one oddity of so many.
    """
    clock = Clock()
    tally = Tally()
    for i, design in enumerate(designs):
        crowd = Crowd(design, size)
        plain = _sum_of(design, crowd.arguments(), crowd.size, add)
        if plain is None:
            raise StateError(
                "a crowd of plain records was not read: an audit cannot say what an odd one "
                "changes."
            )
        for oddity in islice(
            crowd.oddities("actions", "contexts", "rewards", *crowd.ids), i % every, None, every
        ):
            try:
                arguments = crowd.arguments(oddity)
            except (
                Exception
            ):  # the container itself refuses such a cell, before anything of ours sees it
                continue
            found = _sum_of(design, arguments, crowd.size, add)
            tally.compare(design.encoding.sensitivity, plain, found, oddity)
        progress(name, i + 1, len(designs))
    return tally.finding(name, epsilon_if_moved, delta, clock, size)


def _sum_of(design: Design, arguments: dict[str, Any], records: int, add: Add) -> Vector | None:
    """The sum in integers; None if anything was raised, said, or not counted."""
    statistic = design.statistic()
    if not _silently(lambda: add(statistic, **arguments)) or statistic.records != records:
        return None
    return [int(value) for value in statistic._sum._value()]


def _silently(call: Callable[[], Any]) -> bool:
    """Whether a call neither raised nor warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except Exception:
            return False
    return True


def attack_asking(
    name: str = "odd context in a crowd",
    *,
    designs: Sequence[Design],
    epsilon_if_moved: Callable[[float], float],
    every: int = 1,
    delta: float = 0.0,
    size: int = ASKED,
    ask: Ask = Study.ask_many,
    progress: Progress = silent,
) -> Finding:
    """The same for `Study.ask_many`: contexts as a temporary study has written them down, summed as
    a release would.

    Actions are drawn afresh for every question, so the sums are made with actions and rewards that
    are always the same.
    """
    clock = Clock()
    tally = Tally()
    for i, design in enumerate(designs):
        crowd = Crowd(design, size)
        oddities = list(islice(crowd.oddities("contexts", *crowd.ids), i % every, None, every))
        with temporary_study(design, (len(oddities) + 1) * crowd.size) as bandit:
            asked = [_asked(bandit, crowd, oddity, ask) for oddity in (None, *oddities)]
            plain, *odd = _stored_sums(bandit, design, asked, crowd.size)
        if plain is None:
            raise StateError(
                "a crowd of plain contexts was not read: an audit cannot say what an odd one "
                "changes."
            )
        for oddity, found in zip(oddities, odd, strict=True):
            tally.compare(design.encoding.sensitivity, plain, found, oddity)
        progress(name, i + 1, len(designs))
    return tally.finding(name, epsilon_if_moved, delta, clock, size)


def _asked(bandit: Study, crowd: Crowd, oddity: Oddity | None, ask: Ask) -> tuple[int, bool]:
    """How many rounds were written down for a crowd, and whether all was quiet and everybody was
    answered."""
    before = bandit.asked
    try:
        arguments = crowd.arguments(oddity)
    except (
        Exception
    ):  # the container refuses such a cell, and nothing of ours would see it: ask the plain crowd
        arguments = crowd.arguments()
    decisions: list[Any] = []
    quiet = _silently(
        lambda: decisions.extend(ask(bandit, arguments["contexts"], users=arguments["users"]))
    )
    written = bandit.asked - before
    return written, quiet and written == len(decisions) == crowd.size


def _stored_sums(
    bandit: Study, design: Design, asked: list[tuple[int, bool]], size: int
) -> list[Vector | None]:
    """The sum of every crowd as it is stored; None where an oddity was noticed."""
    stored = list(bandit._store.rounds(bandit.asked))
    points = np.vstack([page[0] for page in stored])
    users = [user for page in stored for user in page[2]]
    at = design.problem.actions.dimension
    played = design.problem.actions.sample_points(size, np.random.default_rng(0))
    sums: list[Vector | None] = []
    start = 0
    for written, right in asked:
        mine = slice(start, start + written)
        start += written
        if not right:
            sums.append(None)
            continue
        statistic = design.statistic()
        statistic.add_points(np.hstack([played, points[mine, at:]]), np.ones(size), users[mine])
        sums.append([int(value) for value in statistic._sum._value()])
    return sums
