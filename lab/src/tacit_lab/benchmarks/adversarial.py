"""Records made to break things: does one of them ever move the private sum by more than its bound,
raise, or warn?

records    odd values of every kind, in containers of every kind, beside plain ones, through
           `Statistic.add`. The integers of every record are watched, and in every crowd one record
           is replaced by another odd one.
strangers  the same with kernels and domains of somebody's own that look at all they are given: they
           standardise their batch, rank it, and raise or return nonsense for some records.
ids        users whose records come under several spellings of one id, with unit="user".

All comparisons are made in exact integers: a record has norm at most `bound`; replacing it changes
its own integers and nobody else's, so the sum moves by at most `sensitivity`; a user moves the sum
by no more, however the id is written. Every error and every warning counts as a broken promise.

    python -m tacit_lab.benchmarks.adversarial [--records 1000000] [--strangers 50000]
                                               [--ids 10000] [--crowds 1000]

Strangers are shown one record at a time, which is slow, so they get a share of the records only. At
full size the command takes some minutes on one core. It fails (exit code 1) if anything was broken.
"""

from __future__ import annotations

import json
import math
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tacit import Design, Problem, Statistic
from tacit._typing import Rng
from tacit.core.sums import PrivateSum
from tacit_lab.benchmarks.odd_problems import (
    CROWD,
    REWARD,
    STRANGERS,
    build,
    odd,
    plain,
    problem,
    tables,
)
from tacit_lab.benchmarks.odd_values import (
    CELLS,
    CONTAINERS,
    LISTS_OF_ROWS,
    NUMBERS,
    ROWS,
    objects,
)

# What the tests of reading use of this command and of the two modules it is made of.
__all__ = [
    "CELLS",
    "CONTAINERS",
    "LISTS_OF_ROWS",
    "NUMBERS",
    "ROWS",
    "STRANGERS",
    "build",
    "norm2",
    "objects",
    "odd",
    "plain",
    "problem",
    "tables",
    "total",
    "watching",
]


# -- what is seen ---------------------------------------------------------------------------------


class Watch:
    """The integers of every record that enters a sum, in the order of arrival."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """All of them so far, a row each; the next ones are counted anew."""
        units = np.concatenate(self.seen)
        self.seen.clear()
        return units


@contextmanager
def watching() -> Iterator[Watch]:
    """Every sum shows the integers that enter it, until the end of the block."""
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
    """The squared norm in Python's integers, which do not overflow."""
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


@dataclass(frozen=True)
class Added:
    """The sum of some records, and how many errors and warnings there were on the way."""

    value: list[int]
    errors: int
    warnings: int


def added(design: Design, *arguments: Any, **options: Any) -> Added:
    statistic = design.statistic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            statistic.add(*arguments, **options)
        except Exception:
            return Added([0] * design.encoding.size, 1, len(caught))
    return Added(total(statistic), 0, len(caught))


def compared(result: Result, design: Design, records: int, one: Added, other: Added) -> Result:
    """The result so far, and what the sums of two neighbours say: `records` were attacked in them,
    of which one (or all of one user's) was replaced."""
    sensitivity = design.encoding.sensitivity
    moved = norm2(np.array(other.value, dtype=object) - np.array(one.value, dtype=object))
    return replace(
        result,
        records=result.records + records,
        replaced=result.replaced + 1,
        furthest=max(result.furthest, math.sqrt(moved) / sensitivity),
        too_far=result.too_far + (moved > sensitivity**2),
        errors=result.errors + one.errors + other.errors,
        warnings=result.warnings + one.warnings + other.warnings,
    )


def crowd(design: Design, watch: Watch, rng: Rng, turn: int, result: Result) -> Result:
    """A crowd with some odd records in it, and the same with one of them replaced by another."""
    name = list(CONTAINERS)[turn % len(CONTAINERS)]
    size = design.horizon
    people = [odd(rng, record) if rng.random() < 0.6 else record for record in plain(rng, size)]
    at = int(rng.integers(size))
    neighbours = [*people[:at], odd(rng, plain(rng, 1)[0]), *people[at + 1 :]]
    before = tables(design.problem, people, name, turn)
    after = tables(design.problem, neighbours, name, turn)
    if name in LISTS_OF_ROWS and turn % 2:  # the one who is replaced comes as no row at all
        actions, contexts, rewards = after
        after = actions, _with_row(contexts, at, ROWS[rng.integers(len(ROWS))]), rewards
    sums = []
    units = []
    for side in (before, after):
        sums.append(added(design, *side))
        if watch.seen:
            units.append(watch.take())
        else:
            units.append(np.zeros((size, design.encoding.size), dtype=np.int64))
    others_moved = not np.array_equal(
        np.delete(units[0], at, axis=0), np.delete(units[1], at, axis=0)
    )
    too_long = sum(_too_long(rows, design.encoding.bound) for rows in units)
    return replace(
        compared(result, design, size, *sums),
        too_long=result.too_long + too_long,
        others_moved=result.others_moved + others_moved,
    )


def _with_row(rows: Any, at: int, row: Any) -> Any:
    """The same container of rows, with another one at this place."""
    changed = list(rows)
    changed[at] = row
    if isinstance(rows, np.ndarray):
        return objects(changed)
    return type(rows)(changed)


def _too_long(rows: np.ndarray, bound: int) -> int:
    """How many rows have a norm over the bound: float64 finds who may, Python's integers decide."""
    near = rows[np.linalg.norm(rows.astype(np.float64), axis=1) > 0.99 * bound]
    return sum(norm2(row) > bound**2 for row in near)


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
        invisible = [f"{name}\u200b", f"\ufeff{name}", f"Zo\u200dé-{number}"]
        # full-width digits
        wide = "".join(chr(ord(c) + 0xFEE0) if "0" <= c <= "9" else c for c in name)
        return [*forms, name.encode(), *invisible, wide, f"\t{name}\n"]
    if number % 2:
        return [1, True, "1", 1.0, b"1", np.bool_(True), "1.0", "+1", "01", "1e0"]
    return [0, False, "0", "-0", 0.0, -0.0, b"0", np.bool_(False), "0.0", "-0.0"]


def person(design: Design, ids: list[Any], watch: Watch, rng: Rng, result: Result) -> Result:
    """All records of one person under all spellings, amid others: the same with opposite rewards
    moves the sum."""
    others = plain(rng, 10)
    own = plain(rng, 1)[0]
    users = objects([*(f"somebody else {i}" for i in range(len(others))), *ids])
    sums = []
    for reward in (0.0, 1.0):
        records = [*others, *[own | {REWARD: reward}] * len(ids)]
        columns = tables(design.problem, records, "dict of lists")
        sums.append(added(design, *columns, users=users))
    watch.seen.clear()
    return compared(result, design, len(ids), *sums)


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


def table(results: list[Result]) -> Table:
    """One line per attack; the headings are the fields of a result."""
    shown = Table(box=box.SIMPLE)
    for field in fields(Result):
        left = field.name == "what"
        heading = "" if left else field.name.replace("_", " ")
        shown.add_column(heading, justify="left" if left else "right")
    for result in results:
        cells = asdict(result) | {"furthest": f"{result.furthest:.4f}"}
        shown.add_row(*map(str, cells.values()))
    return shown


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
    all_hold = all(result.holds for result in results)
    if as_json:
        print(json.dumps([asdict(result) | {"holds": result.holds} for result in results]))
    else:
        console.print(table(results))
        console.print("Nothing gave way." if all_hold else "[red]A promise was broken.[/red]")
    raise typer.Exit(0 if all_hold else 1)


app = typer.Typer(add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
