"""Records made to break things: does one of them ever move the private sum by more than its bound,
raise, or warn?

records    odd values of every kind, in containers of every kind, beside plain ones, through `Statistic.add`. The
           integers of every record are watched, and in every crowd one record is replaced by another odd one.
strangers  the same with kernels and domains of somebody's own that look at all they are given: they standardise their
           batch, rank it, and raise or return nonsense for some records.
ids        users whose records come under several spellings of one id, with unit="user".

All comparisons are made in exact integers: a record has norm at most `bound`; replacing it changes
its own integers and nobody else's, so the sum moves by at most `sensitivity`; a user moves the sum
by no more, however the id is written. Every error and every warning counts as a broken promise.

    python -m tacit_lab.benchmarks.adversarial [--records 1000000] [--strangers 50000] [--ids 10000] [--crowds 1000]

Strangers are shown one record at a time, which is slow, so they get a share of the records only. At
full size the command takes some minutes on one core. It fails (exit code 1) if anything was broken.
"""

from __future__ import annotations

import json
import math
import unicodedata
import warnings
from collections import UserDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tacit
from tacit import (
    Box,
    Budget,
    Categories,
    Design,
    DesignOptions,
    Matern,
    Mixed,
    Problem,
    Statistic,
)
from tacit._typing import Floats
from tacit.core.sums import PrivateSum
from tacit.kernels import Kernel
from tacit.tables import Columns

BUDGET = Budget(epsilon=1.0, delta=1e-6)
CROWD = 1000
REWARD = "reward"
Record = dict[str, Any]


# -- values that nobody expects -------------------------------------------------------------------


class Rude:
    """Raises whatever is done with it."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    __str__ = __repr__ = __hash__ = __eq__ = __len__ = __iter__ = __bool__ = __float__  # type: ignore[assignment]


class Faceless:
    """Does not even say what it is."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("no")

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")


class Loud:
    """A number that warns."""

    def __float__(self) -> float:
        warnings.warn("somebody is here", UserWarning, stacklevel=2)
        return 0.5

    def __str__(self) -> str:
        warnings.warn("somebody is here", DeprecationWarning, stacklevel=2)
        return "a"


class Shut(UserDict[str, Any]):
    """A mapping that holds everything and gives nothing."""

    def get(self, key: Any, default: Any = None) -> Any:
        raise RuntimeError("no")

    __getitem__ = __len__ = __iter__ = keys = get  # type: ignore[assignment]


class Long(list[Any]):
    """A list that has another length each time."""

    def __len__(self) -> int:
        raise RuntimeError("no")


NUMBERS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    5e-324,
    -0.0,
    0.0,
    0.5,
    1.0,
    60.0,
    -60.0,
    1e16,
    2**53 + 1,
    2**63,
    -(2**63),
    True,
    False,
    None,
]
TEXTS: list[Any] = [
    "",
    " ",
    "0.25",
    "60",
    "text",
    "nan",
    "inf",
    "1e999",
    "0x10",
    "a\x00b",
    "٣",
    "a",
    "True",
    "1_0",
    "0" * 999,
]
CELLS: list[Any] = [
    *NUMBERS,
    *TEXTS,
    "\ud800",
    10**400,
    -(10**400),
    pd.NA,
    pd.NaT,
    b"0.25",
    b"\xff",
    bytearray(b"1"),
    1 + 2j,
    0j,
    60 + 0j,
    complex(math.nan, 0),
    np.complex64(1j),
    np.complex128(1e308),
    np.float16(6e4),
    np.float32(3e38),
    np.longdouble("1e4000"),
    np.int8(-128),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.str_("60"),
    np.bytes_(b"60"),
    np.datetime64("NaT"),
    np.datetime64("2024-01-01", "ns"),
    np.timedelta64(3, "D"),
    np.ma.masked,
    np.ma.array(60.0, mask=True),
    np.array(60.0),
    np.array(1j),
    np.array(None, dtype=object),
    Decimal("0.25"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    Fraction(1, 3),
    Fraction(10**400, 3),
    date(2024, 1, 1),
    datetime(1, 1, 1),
    timedelta(days=1),
    [],
    [0.5],
    [[0.5]],
    [1.0, 2.0],
    (),
    (0.5,),
    (1.0, 2.0, 3.0),
    set(),
    {0.5},
    frozenset({1}),
    {},
    {"a": 1},
    {"": 0.5},
    range(1),
    range(3),
    np.array([0.5]),
    np.array([1.0, 2.0]),
    np.ones((2, 2)),
    np.empty(0),
    pd.Series([1.0]),
    pd.DataFrame({"a": [1.0]}),
    pl.Series([1.0]),
    pa.array([1.0]),
    pa.scalar(1.0),
    slice(1),
    object(),
    Rude(),
    Faceless(),
    Loud(),
    Shut(),
    Long([1.0]),
    int,
    Ellipsis,
    NotImplemented,
    math.sin,
    iter([]),
    memoryview(b"1"),
]
ROWS: list[Any] = [
    *CELLS,
    {"wrong": 1.0},
    {"dose": 1.0},
    {"age": 1.0},
    {"age": [1.0, 2.0], "dose": {}},
    {1: 2, None: 3},
    [None],
    [1.0] * 7,
    (math.nan,) * 5,
    [[1.0, 2.0]],
    [{}, {}],
    np.arange(6),
    np.array([None, "x"]),
    defaultdict(list),
    np.array([(1.0, 2)], dtype=[("age", float), ("dose", int)])[0],
]


# -- containers of every kind ---------------------------------------------------------------------

Cells = Sequence[Sequence[Any]]  # one row of cells per record
Container = Callable[[Cells, Sequence[str]], Any]


def objects(cells: Sequence[Any]) -> np.ndarray:
    return np.fromiter(cells, dtype=object, count=len(cells))


def _grid(rows: Cells, names: Sequence[str]) -> np.ndarray:
    return np.column_stack([objects([row[j] for row in rows]) for j in range(len(names))])


def _columns(rows: Cells, names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


def _dicts(rows: Cells, names: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def _structured(rows: Cells, names: Sequence[str]) -> np.ndarray:
    table = np.empty(len(rows), dtype=[(name, object) for name in names])
    for name, column in _columns(rows, names).items():
        table[name] = objects(column)
    return table


def _frame(rows: Cells, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: pd.Series(objects(cells), dtype=object)
            for name, cells in _columns(rows, names).items()
        }
    )


def _polars(rows: Cells, names: Sequence[str]) -> pl.DataFrame:
    columns = _columns(rows, names).items()
    return pl.DataFrame({name: pl.Series(name, cells, dtype=pl.Object) for name, cells in columns})


LISTS_OF_ROWS: dict[str, Container] = {  # which can hold a row of any kind
    "list of dicts": _dicts,
    "tuple of dicts": lambda rows, names: tuple(_dicts(rows, names)),
    "array of dicts": lambda rows, names: objects(_dicts(rows, names)),
    "list of lists": lambda rows, names: [list(row) for row in rows],
    "list of tuples": lambda rows, names: [tuple(row) for row in rows],
    "list of arrays": lambda rows, names: [objects(row) for row in rows],
}
CONTAINERS: dict[str, Container] = LISTS_OF_ROWS | {  # which can hold a cell of any kind
    "dict of lists": _columns,
    "dict of tuples": lambda rows, names: {
        name: tuple(cells) for name, cells in _columns(rows, names).items()
    },
    "dict of arrays": lambda rows, names: {
        name: objects(cells) for name, cells in _columns(rows, names).items()
    },
    "dict of pandas": lambda rows, names: dict(_frame(rows, names).items()),
    "objects": _grid,
    "masked objects": lambda rows, names: np.ma.array(_grid(rows, names), mask=False),
    "structured": _structured,
    "pandas": _frame,
    "polars": _polars,
}


def column(kind: int, cells: Sequence[Any]) -> Any:
    """One column of any cells, in one of five kinds."""
    array = objects(cells)
    return [
        list(cells),
        tuple(cells),
        array,
        np.ma.array(array, mask=False),
        pd.Series(array, dtype=object),
    ][kind % 5]


# -- problems -------------------------------------------------------------------------------------


def problem(columns: str = "several", kernel: Any = None, stranger: bool = False) -> Problem:
    """With one column on each side, or several; with domains of ours, or a stranger's."""
    dose = Box([0.0], [100.0], ["dose"])
    age = Box([18.0], [95.0], ["age"])
    k = kernel if kernel is not None else Matern(2.5, 0.5)
    if columns == "one":
        return Problem(dose, Nosy([18.0], [95.0], ["age"]) if stranger else age, k)
    weight = Nosy([40.0], [140.0], ["weight"]) if stranger else Box([40.0], [140.0], ["weight"])
    contexts = Mixed([age, weight, Categories([0, 1, 2], "copies")])
    return Problem(Mixed([dose, Categories(["a", "b"], "route")]), contexts, k)


def build(of: Problem, horizon: int = CROWD, unit: str = "record") -> Design:
    return Design.build(
        of,
        horizon=horizon,
        budget=BUDGET,
        rng=0,
        unit=unit,
        passes=1,
        options=DesignOptions(rank=8, tau=10.0, public_points=1000),
    )


def plain(rng: np.random.Generator, n: int) -> list[Record]:
    """Records that nobody would wonder at."""
    drawn = np.column_stack(
        [rng.uniform(0, 100, n), rng.uniform(18, 95, n), rng.uniform(40, 140, n), rng.random(n)]
    )
    return [
        {
            "dose": row[0],
            "route": "ab"[i % 2],
            "age": row[1],
            "weight": row[2],
            "copies": i % 3,
            REWARD: row[3],
        }
        for i, row in enumerate(drawn.tolist())
    ]


def odd(rng: np.random.Generator, record: Record) -> Record:
    """The same with one to three of its values replaced by any others."""
    names = rng.permutation(list(record))[: rng.integers(1, 4)]
    return record | {str(name): CELLS[rng.integers(len(CELLS))] for name in names}


def tables(
    of: Problem, records: Sequence[Record], name: str, kind: int = 0
) -> tuple[Any, Any, Any]:
    """Actions, contexts and rewards of these records, in containers of this name and kind."""
    make = CONTAINERS[name]
    sides = [
        make([[r[n] for n in side.names] for r in records], side.names)
        for side in (of.actions, of.contexts)
    ]
    return sides[0], sides[1], column(kind, [record[REWARD] for record in records])


class Nosy(Box):
    """A stranger's domain that looks at all the records it is given."""

    def encode(self, columns: Columns) -> Floats:
        values = np.column_stack([np.array(columns[name], dtype=np.float64) for name in self.names])
        spread = np.nanstd(values, axis=0) + 1.0
        return np.asarray(
            0.5 + np.tanh((values - np.nanmean(values, axis=0)) / spread - values / 1e3) / 2.0
        )


class Standardising(Matern):
    """A stranger's subclass of one of ours: in units of the batch's own range."""

    def __call__(self, A: Any, B: Any) -> Any:
        return super().__call__(A / (1.0 + 3.0 * np.ptp(A, axis=0)), B)


class Ranking(Kernel):
    """Raises for some records, returns nonsense for others, and otherwise looks at the ranks of its
    batch."""

    whole = True

    def __call__(self, A: Any, B: Any) -> Any:
        if A.shape[0] == 1 and A[0, -1] > 0.95:
            raise ValueError(f"what a strange record: {A}")
        if A.shape[0] == 1 and A[0, -1] < 0.05:
            return "nonsense"
        rank = np.argsort(np.argsort(A[:, -1])) / max(1, A.shape[0] - 1)
        distance = np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=2)
        return np.exp(-2.0 * distance) * (1.0 - 0.5 * rank[:, None])


STRANGERS: dict[str, Problem] = {
    "a subclass of Matern that standardises its batch": problem("one", Standardising(2.5, 0.5)),
    "the same inside a sum": problem("one", Standardising(1.5, 0.5) + tacit.RBF(0.5)),
    "a kernel that ranks its batch and raises": problem("one", Ranking()),
    "a domain that looks at its batch": problem("one", stranger=True),
    "the same beside domains of ours": problem("several", stranger=True),
}


# -- what is seen ---------------------------------------------------------------------------------


class Watch:
    """The integers of every record that enters a sum, in the order of arrival."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        units = np.concatenate(self.seen)
        self.seen.clear()
        return units


@contextmanager
def watching() -> Iterator[Watch]:
    watch = Watch()
    collect = PrivateSum._collect

    def witnessed(self: PrivateSum, integers: Any, users: Any) -> None:
        watch.seen.append(np.array(integers))
        collect(self, integers, users)

    PrivateSum._collect = witnessed  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        PrivateSum._collect = collect  # type: ignore[method-assign]


def norm2(integers: Any) -> int:
    """In Python's integers."""
    return sum(int(value) ** 2 for value in np.asarray(integers).reshape(-1))


def total(statistic: Statistic) -> list[int]:
    return [int(value) for value in statistic._sum._value()]


@dataclass(frozen=True)
class Result:
    """What was seen. The counts from `too_long` on must be zero."""

    what: str
    records: int = 0
    replaced: int = 0
    furthest: float = 0.0  # how far one record or user moved the sum, in units of the sensitivity
    too_long: int = 0  # records over the bound
    others_moved: int = 0  # neighbours that changed somebody else's integers
    too_far: int = 0  # neighbours that moved the sum by more than the sensitivity
    errors: int = 0
    warnings: int = 0

    @property
    def holds(self) -> bool:
        return not (
            self.too_long or self.others_moved or self.too_far or self.errors or self.warnings
        )


def added(design: Design, *arguments: Any, **options: Any) -> tuple[list[int], int, int]:
    """The sum of these records, how many errors there were, and how many warnings."""
    statistic = design.statistic()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            statistic.add(*arguments, **options)
        except Exception:
            return [0] * design.encoding.size, 1, len(heard)
    return total(statistic), 0, len(heard)


def crowd(
    design: Design, watch: Watch, rng: np.random.Generator, turn: int, result: Result
) -> Result:
    """A crowd with some odd records in it, and the same with one of them replaced by another."""
    name = list(CONTAINERS)[turn % len(CONTAINERS)]
    size = design.horizon
    people = [odd(rng, record) if rng.random() < 0.6 else record for record in plain(rng, size)]
    at = int(rng.integers(size))
    neighbours = [*people[:at], odd(rng, plain(rng, 1)[0]), *people[at + 1 :]]
    sides = [tables(design.problem, records, name, turn) for records in (people, neighbours)]
    if name in LISTS_OF_ROWS and turn % 2:  # the one who is replaced comes as no row at all
        actions, contexts, rewards = sides[1]
        rows = list(contexts)
        rows[at] = ROWS[rng.integers(len(ROWS))]
        sides[1] = (
            actions,
            objects(rows) if isinstance(contexts, np.ndarray) else type(contexts)(rows),
            rewards,
        )
    sums = []
    units = []
    errors = 0
    heard = 0
    for side in sides:
        value, failed, warned = added(design, *side)
        sums.append(value)
        units.append(
            watch.take() if watch.seen else np.zeros((size, design.encoding.size), dtype=np.int64)
        )
        errors += failed
        heard += warned
    bound = design.encoding.bound
    sensitivity = design.encoding.sensitivity
    # float64 finds who may be over; Python's integers decide.
    near = [
        row
        for rows in units
        for row in rows[np.linalg.norm(rows.astype(np.float64), axis=1) > 0.99 * bound]
    ]
    others = np.delete(units[0], at, axis=0), np.delete(units[1], at, axis=0)
    moved = norm2(np.subtract(np.array(sums[1], dtype=object), np.array(sums[0], dtype=object)))
    return replace(
        result,
        records=result.records + size,
        replaced=result.replaced + 1,
        furthest=max(result.furthest, math.sqrt(moved) / sensitivity),
        too_long=result.too_long + sum(norm2(row) > bound**2 for row in near),
        others_moved=result.others_moved + (not np.array_equal(*others)),
        too_far=result.too_far + (moved > sensitivity**2),
        errors=result.errors + errors,
        warnings=result.warnings + heard,
    )


# -- ids ------------------------------------------------------------------------------------------


def spellings(number: int) -> list[Any]:
    """Ways to write one id, by turns a number, a name with an accent, and one or zero."""
    if number % 3 == 0:
        n = number + 2
        texts = [str(n), f" {n} ", f"{n}.0", f"+{n}", str(n).encode()]
        return [*texts, n, float(n), np.int64(n), np.float32(n), Decimal(n)]
    if number % 3 == 1:
        name = f"Zoé-{number}"
        forms = [unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC", "NFKD")]
        wide = "".join(chr(ord(c) + 0xFEE0) if "0" <= c <= "9" else c for c in name)
        return [
            *forms,
            name.encode(),
            f"{name}\u200b",
            f"\ufeff{name}",
            f"Zo\u200dé-{number}",
            wide,
            f"\t{name}\n",
        ]
    if number % 2:
        return [1, True, "1", 1.0, b"1", np.bool_(True), "1.0", "+1", "01", "1e0"]
    return [0, False, "0", "-0", 0.0, -0.0, b"0", np.bool_(False), "0.0", "-0.0"]


def person(
    design: Design, ids: list[Any], watch: Watch, rng: np.random.Generator, result: Result
) -> Result:
    """All records of one person under all spellings, amid others: the same with opposite rewards
    moves the sum."""
    others = plain(rng, 10)
    records = [*others, *plain(rng, 1) * len(ids)]
    users = objects([*(f"somebody else {i}" for i in range(len(others))), *ids])
    sums = []
    errors = 0
    heard = 0
    for reward in (0.0, 1.0):
        told = [*others, *(record | {REWARD: reward} for record in records[len(others) :])]
        value, failed, warned = added(
            design, *tables(design.problem, told, "dict of lists"), users=users
        )
        sums.append(value)
        errors += failed
        heard += warned
    watch.seen.clear()
    moved = norm2(np.subtract(np.array(sums[1], dtype=object), np.array(sums[0], dtype=object)))
    return replace(
        result,
        records=result.records + len(ids),
        replaced=result.replaced + 1,
        furthest=max(result.furthest, math.sqrt(moved) / design.encoding.sensitivity),
        too_far=result.too_far + (moved > design.encoding.sensitivity**2),
        errors=result.errors + errors,
        warnings=result.warnings + heard,
    )


# -- the command ----------------------------------------------------------------------------------

Follow = Callable[[Any, str], Any]


def run(
    records: int,
    strangers: int,
    ids: int,
    seed: int,
    crowds: int = CROWD,
    follow: Follow = lambda turns, what: turns,
) -> list[Result]:
    rng = np.random.default_rng(seed)
    results = []

    def attack(of: Problem, result: Result, share: int) -> None:
        design = build(of, horizon=crowds)
        for turn in follow(range(-(-share // crowds)), result.what):
            result = crowd(design, watch, rng, turn, result)
        results.append(result)

    with watching() as watch:
        for columns in ("one", "several"):
            attack(problem(columns), Result(f"records, {columns} column(s) a side"), records // 2)
        for name, of in STRANGERS.items():
            attack(of, Result(f"strangers: {name}"), strangers // len(STRANGERS))
        design = build(problem("one"), unit="user")
        result = Result("ids")
        for turn in follow(range(-(-ids // len(spellings(0)))), result.what):
            result = person(design, spellings(turn), watch, rng, result)
        results.append(result)
    return [result for result in results if result.records]


def main(
    records: int = typer.Option(
        1_000_000, min=0, help="Odd records through kernels and domains of ours."
    ),
    strangers: int = typer.Option(
        50_000, min=0, help="Odd records through a stranger's kernels and domains."
    ),
    ids: int = typer.Option(10_000, min=0, help="Spellings of user ids, ten to a person."),
    crowds: int = typer.Option(
        CROWD, min=2, help="Records that are added together, one of which is replaced."
    ),
    seed: int = typer.Option(0, help="Of the records: the same seed makes the same ones."),
    as_json: bool = typer.Option(
        False, "--json", help="Print the counts as JSON and nothing else."
    ),
) -> None:
    """Throws odd records, strangers' code and spellings of ids at the private sum, and counts what
    gave way.

    Columns of the table: how far one record (or user) moved the sum at most, in units of the
    sensitivity, which must not pass 1; records over the bound; replaced records that changed
    somebody else's integers; sums that moved by more than the sensitivity; errors; warnings. All
    but the first must be 0, or the command fails.
    """
    console = Console(stderr=as_json)
    console.width = max(console.width, 130)

    def follow(turns: Any, what: str) -> Any:
        return turns if as_json else track(turns, what, console=console)

    results = run(records, strangers, ids, seed, crowds, follow)
    if as_json:
        print(json.dumps([asdict(result) | {"holds": result.holds} for result in results]))
    else:
        shown = Table(box=box.SIMPLE)
        headings = (
            "records",
            "replaced",
            "furthest",
            "too long",
            "others moved",
            "too far",
            "errors",
            "warnings",
        )
        for heading in ("", *headings):
            shown.add_column(heading, justify="left" if not heading else "right")
        for r in results:
            counts = (r.too_long, r.others_moved, r.too_far, r.errors, r.warnings)
            shown.add_row(
                r.what, str(r.records), str(r.replaced), f"{r.furthest:.4f}", *map(str, counts)
            )
        console.print(shown)
        console.print(
            "Nothing gave way."
            if all(r.holds for r in results)
            else "[red]A promise was broken.[/red]"
        )
    raise typer.Exit(0 if all(result.holds for result in results) else 1)


app = typer.Typer(add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
