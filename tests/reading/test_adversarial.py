"""Records made to break things: no bound gives way, nothing is raised, said or logged because of a
private value."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from helpers import (
    BUDGET,
    SMALL,
    build_design,
    create_study,
    records,
    silence,
    small_design,
    sqlite,
    user_study,
)
from tacit import Ledger, Statistic, Study, TacitError
from tacit.core.sums import PrivateSum
from tacit.problem import Problem

pytestmark = pytest.mark.usefixtures("coarse_fits")

RECORDS = 100_000
PIECE = 2500
DESIGN = small_design(horizon=2 * RECORDS, rank=8)
NAMES = ["dose", "age", "weight", "reward"]


class Rude:
    """A cell that raises whatever is done with it."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    __str__ = __repr__ = __hash__ = __eq__ = __float__  # type: ignore[assignment]


CELLS: list[Any] = [
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    1e308,
    -1e308,
    1.7976931348623157e308,
    5e-324,
    -5e-324,
    2.2e-308,
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
    10**400,
    -(10**400),
    True,
    False,
    None,
    pd.NA,
    pd.NaT,
    "",
    " ",
    "0.25",
    "60",
    "text",
    "nan",
    "inf",
    "1e999",
    "0x10",
    "\ud800",
    "a\x00b",
    "٣",
    b"0.25",
    b"\xff",
    1 + 2j,
    0j,
    np.complex64(1j),
    np.complex128(1e308j),
    np.float16(6e4),
    np.float16("nan"),
    np.float32(3e38),
    np.float32(1e-45),
    np.longdouble("1e4000"),
    np.longdouble("-1e-4000"),
    np.longdouble(60),
    np.int8(-128),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.str_("60"),
    np.bytes_(b"60"),
    np.datetime64("NaT", "ns"),
    np.datetime64("2024-01-01"),
    np.timedelta64(3, "D"),
    np.array(60.0),
    np.array(1j),
    np.array(None, dtype=object),
    Decimal("0.25"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    date(2024, 1, 1),
    {},
    object(),
    Rude(),
    int,
    Ellipsis,
    math.sin,
]


# -- tables of every kind -------------------------------------------------------------------------

Table = tuple[Any, Any, Any]  # actions, contexts, rewards


def cells(rng: np.random.Generator, n: int) -> np.ndarray:
    """Any cell anywhere; most records have one or two odd ones, so that the rest still counts."""
    table = np.empty((n, 4), dtype=object)
    table[:] = np.column_stack(
        [rng.uniform(0, 100, n), rng.uniform(18, 95, n), rng.uniform(40, 140, n), rng.random(n)]
    )
    for i, j in zip(*np.nonzero(rng.random((n, 4)) < 0.4), strict=True):
        table[i, j] = CELLS[rng.integers(len(CELLS))]
    return table


def split(table: Any) -> Table:
    return table[:, :1], table[:, 1:3], table[:, 3]


def bits(dtype: Any) -> Callable[[np.random.Generator, int], Table]:
    """Every bit pattern is equally likely: signalling NaNs, denormals, numbers of any size."""

    def make(rng: np.random.Generator, n: int) -> Table:
        return split(
            np.frombuffer(rng.bytes(4 * n * np.dtype(dtype).itemsize), dtype=dtype).reshape(n, 4)
        )

    return make


def untyped(table: np.ndarray) -> np.ndarray:
    """Text, bytes and times as an array of objects: by their own types they are refused, whatever
    they hold (tests/domains/test_types.py)."""
    return table.astype(object) if table.dtype.kind in "USMm" else table


def cast(dtype: Any) -> Callable[[np.random.Generator, int], Table]:
    def make(rng: np.random.Generator, n: int) -> Table:
        values = rng.choice([0.0, 1.0, 0.3, 60.0, -7.0, 100.0], size=(n, 4))
        return split(untyped(values.astype(dtype)))

    return make


def masked(dtype: Any) -> Callable[[np.random.Generator, int], Table]:
    def make(rng: np.random.Generator, n: int) -> Table:
        table = untyped(rng.choice([0.0, 1.0, 60.0, -9e3], size=(n, 4)).astype(dtype))
        return split(np.ma.array(table, mask=rng.random((n, 4)) < 0.3))

    return make


def longdoubles(rng: np.random.Generator, n: int) -> Table:
    return split(rng.normal(size=(n, 4)).astype(np.longdouble) ** 3 * np.longdouble("1e2000"))


def frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(cells(rng, n), columns=NAMES)


def rows_of_dicts(rng: np.random.Generator, n: int) -> Table:
    table = cells(rng, n)
    dicts = [dict(zip(NAMES, row, strict=True)) for row in table]
    return dicts, dicts, list(table[:, 3])


def columns(rng: np.random.Generator, n: int) -> Table:
    table = dict(zip(NAMES, cells(rng, n).T, strict=True))
    return table, table, table["reward"]


def pandas_objects(rng: np.random.Generator, n: int) -> Table:
    table = frame(rng, n)
    return table, table, table["reward"]


def pandas_nullable(rng: np.random.Generator, n: int) -> Table:
    table = pd.DataFrame(np.rint(rng.uniform(-5, 100, size=(n, 4))), columns=NAMES)
    table = table.mask(rng.random((n, 4)) < 0.2)
    table = table.astype(
        {"dose": "Int64", "age": "Float64", "weight": "float32", "reward": "Float64"}
    )
    return table, table, table["reward"]


def with_gaps(rng: np.random.Generator, n: int) -> dict[str, list[Any]]:
    wild = [None, math.nan, math.inf, -1e308, 5e-324, 60.0, 0.5]
    return {name: [wild[i] for i in rng.integers(len(wild), size=n)] for name in NAMES}


def polars(rng: np.random.Generator, n: int) -> Table:
    table = pl.DataFrame(with_gaps(rng, n), schema=dict.fromkeys(NAMES, pl.Float64))
    return table, table.with_columns(pl.col("weight").cast(pl.Float32)), table["reward"]


def arrow(rng: np.random.Generator, n: int) -> Table:
    table = pa.table(with_gaps(rng, n))
    return table, table, table["reward"]


KINDS: dict[str, Callable[[np.random.Generator, int], Table]] = {
    "objects": lambda rng, n: split(cells(rng, n)),
    "lists": lambda rng, n: tuple(part.tolist() for part in split(cells(rng, n))),
    "dicts": rows_of_dicts,
    "columns": columns,
    "pandas": pandas_objects,
    "nullable": pandas_nullable,
    "polars": polars,
    "arrow": arrow,
    "longdoubles": longdoubles,
    **{
        f"bits of {dtype}": bits(dtype)
        for dtype in ("f8", "f4", "f2", "i8", "u8", "i4", "u1", ">f8", "c16")
    },
    **{f"masked {dtype}": masked(dtype) for dtype in ("f8", "f2", "i8", "U8", "O")},
    **{f"cast to {dtype}": cast(dtype) for dtype in ("?", "U8", "S8", "c8", "M8[s]", "m8[s]")},
}


def piece(table: Any, at: slice) -> Any:
    if isinstance(table, dict):
        return {name: column[at] for name, column in table.items()}
    if isinstance(table, pa.Table | pa.ChunkedArray):
        return table.slice(at.start, at.stop - at.start)
    return table[at]


def blocks() -> Iterator[tuple[str, Table]]:
    """All of the 10^5 records."""
    rng = np.random.default_rng(0)
    names = list(KINDS)
    for i in range(RECORDS // PIECE):
        yield names[i % len(names)], KINDS[names[i % len(names)]](rng, PIECE)


# -- what is seen ---------------------------------------------------------------------------------


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The integers of every record that enters a sum, in the order of arrival."""
    seen: list[np.ndarray] = []
    collect = PrivateSum._collect

    def witnessed(self: PrivateSum, integers: Any, users: Any) -> None:
        seen.append(np.array(integers))
        collect(self, integers, users)

    monkeypatch.setattr(PrivateSum, "_collect", witnessed)
    return seen


def total(statistic: Statistic) -> list[int]:
    return [int(value) for value in statistic._sum._value()]


def largest_norm2(units: np.ndarray) -> int:
    """In Python's integers, record by record."""
    exact = units.astype(object)
    return int((exact * exact).sum(axis=1).max())


# -- ten to the five records ----------------------------------------------------------------------


def test_no_record_of_a_hundred_thousand_breaks_the_bound_or_the_silence(
    encoded: list[np.ndarray], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    statistic = DESIGN.statistic()
    counted = 0
    for name, table in blocks():
        with silence():
            statistic.add(*table)
        counted += PIECE
        assert repr(statistic) == f"Statistic(<private>, records={counted}, rank=8)", name
    units = np.concatenate(encoded)
    assert len(units) == statistic.records == RECORDS
    assert largest_norm2(units) <= DESIGN.encoding.bound**2
    assert total(statistic) == [int(value) for value in units.astype(object).sum(axis=0)]
    assert np.count_nonzero(units.any(axis=1)) > RECORDS / 5  # they were not all thrown away
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_is_the_same_as_its_records_one_by_one(
    name: str, encoded: list[np.ndarray]
) -> None:
    n = 40
    table = KINDS[name](np.random.default_rng(1), n)
    with silence():
        whole = DESIGN.statistic().add(*table)
        together = np.concatenate(encoded)
        encoded.clear()
        one_by_one = DESIGN.statistic()
        for i in range(n):
            one_by_one.add(*(piece(part, slice(i, i + 1)) for part in table))
    assert np.array_equal(np.concatenate(encoded), together)
    assert total(one_by_one) == total(whole)


def test_no_cell_changes_what_other_records_add(encoded: list[np.ndarray]) -> None:
    """Replacing one record's context and reward moves one row of integers, by at most the
    sensitivity."""
    table = np.array(np.column_stack(records(40)), dtype=object)
    DESIGN.statistic().add(*split(table))
    before = encoded.pop()
    for at, cell in enumerate(CELLS):
        neighbour = table.copy()
        at %= len(table)
        neighbour[at, 1 + at % 3] = cell
        with silence():
            for form in (split(neighbour), tuple(part.tolist() for part in split(neighbour))):
                DESIGN.statistic().add(*form)
                after = encoded.pop()
                moved = [int(a) - int(b) for a, b in zip(after[at], before[at], strict=True)]
                assert sum(step * step for step in moved) <= DESIGN.encoding.sensitivity**2
                after[at] = before[at]
                assert np.array_equal(after, before)


def test_the_test_would_see_a_record_that_breaks_the_bound(
    encoded: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: integers that are rounded and not shrunk."""
    monkeypatch.setattr(tacit.core.Encoding, "shrink", lambda _, units, small: units)
    DESIGN.statistic().add(*KINDS["objects"](np.random.default_rng(0), 3000))
    assert largest_norm2(np.concatenate(encoded)) > DESIGN.encoding.bound**2


@pytest.mark.parametrize(
    "cell", [np.ma.masked, np.ma.array(60.0, mask=True)], ids=["masked", "masked array"]
)
def test_a_masked_cell_counts_and_is_not_mentioned(cell: Any) -> None:
    with silence():
        statistic = (
            DESIGN.statistic()
            .add([[50.0]], [[cell, 70.0]], [0.5])
            .add([[50.0]], [[60.0, 70.0]], [cell])
        )
    assert statistic.records == 2
    assert not any(total(statistic))


# -- through a study ------------------------------------------------------------------------------


def make_study(path: Path, unit: str = "record", **changes: Any) -> Study:
    return create_study(
        sqlite(path), DESIGN.problem, horizon=1000, budget=BUDGET, unit=unit, **SMALL | changes
    )


def test_a_study_of_odd_contexts_and_rewards_is_like_any_other(
    tmp_path: Path,
    encoded: list[np.ndarray],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    rng = np.random.default_rng(0)
    table = cells(rng, 300)
    contexts = [dict(zip(NAMES[1:3], row, strict=True)) for row in table[:, 1:3]]
    shown = []
    for name in ("odd", "plain"):
        (tmp_path / name).mkdir()
        study = make_study(tmp_path / name)
        with silence():
            if name == "odd":
                asked = [study.ask(context) for context in contexts[:40]] + study.ask_many(
                    contexts[40:]
                )
                study.tell_many([decision.id for decision in asked[:200]], table[:200, 3])
                for decision, reward in zip(asked[200:], table[200:, 3], strict=True):
                    study.tell(decision.id, reward)
            else:
                asked = study.ask_many(np.tile([60.0, 70.0], (300, 1)))
                study.tell_many([decision.id for decision in asked], [0.5] * 300)
            policy = study.release()
        charge = study.ledger.charges()[0]
        shown.append(
            (
                repr(study),
                repr(study.ledger),
                repr(policy),
                policy.guarantee,
                charge.parameters,
                charge.cost,
            )
        )
    assert shown[0] == shown[1]
    assert sum(len(units) for units in encoded) == 1200  # in two passes, of different layouts
    assert all(largest_norm2(units) <= DESIGN.encoding.bound**2 for units in encoded)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize("reward", [[0.5], [], (0.1, 0.2), np.array([0.5]), [[1.0]]], ids=repr)
def test_a_reward_that_is_a_list_counts_as_none(tmp_path: Path, reward: Any) -> None:
    study = make_study(tmp_path)
    first, second = study.ask_many([[60, 70], [60, 70]])
    with silence():
        study.tell(first.id, reward)
        study.tell_many([second.id], [reward])
    assert not any(total(study._statistic(2, lambda *_: None)))


# -- a secret -------------------------------------------------------------------------------------

SECRET = 31337.4242
# How it may be printed: as it is, in unit coordinates, and as a scaled reward.
TELLTALE = ("31337.4", "31,337", "0.31337", "0.37325")


def secret_problem() -> Problem:
    return Problem(
        actions=tacit.Box([0.0], [1.0], names=["dose"]),
        contexts=tacit.Box([0.0, 0.0], [1e5, 1e5], names=["age", "weight"]),
        reward_range=(0.0, 1e5),
    )


def assert_silent_about_the_secret(text: str) -> None:
    assert [sign for sign in TELLTALE if sign in text] == []


def told(call: Callable[[], Any]) -> str:
    """The whole traceback, with the errors behind the error, of a call that must fail."""
    try:
        call()
    except TacitError as error:
        return "".join(traceback.format_exception(error)) + repr(error)
    raise AssertionError("expected an error")


@pytest.mark.parametrize("unit", ["record", "user"])
def test_no_error_of_a_statistic_mentions_a_private_value(unit: str) -> None:
    design = build_design(secret_problem(), horizon=3, budget=BUDGET, unit=unit, **SMALL)
    one = [[0.5]]
    here = [[SECRET, SECRET]]
    s = SECRET
    doubled = pd.DataFrame([[s, s, s]], columns=["age", "age", "weight"])
    wrong: list[tuple[Any, ...]] = [
        (one, here, [s, s], [s]),
        (one, np.array([[s]]), [s], [s]),
        (one, [[s, s], [s]], [s], [s]),
        (one, {"age": [s]}, [s], [s]),
        (one, {"age": [s, s], "weight": [s]}, [s], [s]),
        (one, {"age": s}, [s], [s]),
        (one, str(s), [s], [s]),
        (one, s, [s], [s]),
        (one, {s}, [s], [s]),
        (one, doubled, [s], [s]),
        (one, pd.DataFrame({"age": [s]}), [s], [s]),
        (one, pl.DataFrame({"age": [s]}), [s], [s]),
        (one, np.full((1, 2, 2), s), [s], [s]),
        (one, here, {"reward": s}, [s]),
        (one, here, np.array([[s, s]]), [s]),
        (one, here, [[s], s], [s]),
        (one * 2, here * 2, str(s), [s]),
        (one * 4, here * 4, [s] * 4, [s] * 4),
    ]
    if unit == "user":
        wrong += [(one, here, [s], [s, s]), (one, here, [s], {s}), (one, here, [s], None)]
    for actions, contexts, rewards, users in wrong:
        statistic = design.statistic()
        whose = users if unit == "user" else None
        add = partial(statistic.add, actions, contexts, rewards, users=whose)
        assert_silent_about_the_secret(told(add))
        assert statistic.records == 0


def test_nothing_that_is_shown_mentions_a_private_value(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    # Every statement, as somebody may want to see.
    logging.getLogger("sqlalchemy.engine").setLevel(logging.INFO)
    try:
        study = user_study(sqlite(tmp_path), secret_problem(), horizon=3)
        here = {"age": SECRET, "weight": SECRET}
        decision = study.ask(here, user=SECRET)
        study.tell(decision.id, SECRET)
        errors = [
            told(lambda: study.ask(here)),
            told(lambda: study.ask({"age": SECRET}, user=SECRET)),
            told(lambda: study.ask_many([here, here], users=[SECRET])),
            told(lambda: study.ask_many([here] * 3, users=[SECRET] * 3)),
            told(lambda: study.tell(decision.id, SECRET)),
            told(lambda: study.tell("nobody", SECRET)),
            told(lambda: study.tell_many([decision.id], [SECRET, SECRET])),
            told(lambda: study.release_decision(here, epsilon=-1.0)),
            told(lambda: study.release_decision([here, here], epsilon=0.1)),
        ]
        study.release_decision(here, epsilon=0.01, request="a visitor")
        errors.append(
            told(
                lambda: study.release_decision(
                    {"age": 1, "weight": 1}, epsilon=0.01, request="a visitor"
                )
            )
        )
        errors.append(told(lambda: study.release(BUDGET)))  # the decision took a part of the budget
        objects = [
            study,
            study._store,
            study.design,
            study.ledger,
            decision,
            study._statistic(1, lambda *_: None),
        ]
        shown = [f"{each!r} {each}" for each in (*objects, *study.ledger.charges())]
    finally:
        logging.getLogger("sqlalchemy.engine").setLevel(logging.NOTSET)
    assert "UPDATE tacit_rounds" in caplog.text  # it was listened to
    assert_silent_about_the_secret("\n".join([*errors, *shown, caplog.text, *capfd.readouterr()]))


def test_the_test_would_see_the_secret() -> None:
    for form in (
        SECRET,
        SECRET / 1e5,
        np.float64(SECRET),
        [SECRET],
        f"{SECRET:,.4f}",
        (SECRET - 5e4) / 5e4,
    ):
        with pytest.raises(AssertionError):
            assert_silent_about_the_secret(repr(form))


def test_a_failed_release_says_what_is_missing_and_no_more(tmp_path: Path) -> None:
    design = small_design(horizon=10, rank=8)
    statistic = design.statistic().add([[50.0]], [[SECRET, SECRET]], [SECRET])
    ledger = Ledger.create(sqlite(tmp_path), tacit.Budget(epsilon=0.1, delta=1e-6))
    text = told(lambda: statistic.release(ledger=ledger))
    assert "does not cover this" in text
    assert_silent_about_the_secret(text)
