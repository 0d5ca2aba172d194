"""Reading: what a record adds is a function of its own cells and of public values, whoever wrote
the code for it.

Odd records of every kind stand in containers of every kind beside 1 000 plain ones, and the
integers of all of them are watched. `python -m tacit_lab.benchmarks.adversarial` does the same for
a million records.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, build_design, create_study, silence, sqlite
from tacit import Design, InputError, Problem, Statistic, Study
from tacit._typing import Floats
from tacit.contexts.marginals import _Counts
from tacit.domains import kind_of_column, record_points
from tacit.domains import sees_batches as domain_sees_batches
from tacit.kernels import (
    Centred,
    Custom,
    Joint,
    Kernel,
    On,
    Pooled,
    Separable,
    Sum,
    one_by_one,
    sees_batches,
)
from tacit.quiet import quiet
from tacit.tables import Columns, _is_table, is_column, labels, records, vector
from tacit_lab.benchmarks import adversarial as nasty

N = 1000
PEOPLE = nasty.plain(np.random.default_rng(0), N)
ANOTHER = nasty.plain(np.random.default_rng(1), 1)[0]
DESIGNS: dict[str, Design] = {name: nasty.build(nasty.problem(name)) for name in ("one", "several")}
FIELDS = {
    "one": ["dose", "age", "reward"],
    "several": ["dose", "route", "age", "weight", "copies", "reward"],
}
NONE = len(nasty.NUMBERS) - 1  # the place of None among the cells, and so among the rows
many = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def integers(design: Design, *tables: Any) -> np.ndarray:
    """What each record adds, in silence."""
    with nasty.watching() as watch, silence():
        statistic = design.statistic().add(*tables)
    units: np.ndarray = watch.take()
    assert [int(v) for v in units.astype(object).sum(axis=0)] == nasty.total(statistic)
    return units


def plain_tables(
    columns: str, name: str, kind: int = 0, people: list[Any] = PEOPLE
) -> tuple[Any, Any, Any]:
    tables: tuple[Any, Any, Any] = nasty.tables(DESIGNS[columns].problem, people, name, kind)
    return tables


BASE = {
    columns: integers(DESIGNS[columns], *plain_tables(columns, "list of dicts"))
    for columns in DESIGNS
}


def assert_nobody_else_moved(
    design: Design, before: np.ndarray, after: np.ndarray, at: int
) -> None:
    """In exact integers: the sum moves by what this record's own integers move, and that by no more
    than is allowed."""
    assert np.array_equal(np.delete(before, at, axis=0), np.delete(after, at, axis=0))
    own = after[at].astype(object) - before[at].astype(object)
    assert [*own] == [*(after.astype(object).sum(axis=0) - before.astype(object).sum(axis=0))]
    assert nasty.norm2(own) <= design.encoding.sensitivity**2
    assert nasty.norm2(after[at]) <= design.encoding.bound**2


# -- any cell, any row, any container -------------------------------------------------------------


@pytest.mark.parametrize("columns", DESIGNS)
@pytest.mark.parametrize("name", nasty.CONTAINERS)
def test_plain_records_add_the_same_in_every_container(columns: str, name: str) -> None:
    assert np.array_equal(integers(DESIGNS[columns], *plain_tables(columns, name)), BASE[columns])
    assert np.count_nonzero(BASE[columns].any(axis=1)) == N  # they do add something


@many
@given(
    columns=st.sampled_from(list(DESIGNS)),
    name=st.sampled_from(list(nasty.CONTAINERS)),
    kind=st.integers(0, 4),
    cell=st.integers(0, len(nasty.CELLS) - 1),
    field=st.integers(0, 5),
    at=st.integers(0, N - 1),
)
def test_a_cell_of_any_kind_moves_its_own_record_alone(
    columns: str, name: str, kind: int, cell: int, field: int, at: int
) -> None:
    design = DESIGNS[columns]
    record = PEOPLE[at] | {FIELDS[columns][field % len(FIELDS[columns])]: nasty.CELLS[cell]}
    tables = plain_tables(columns, name, kind, [*PEOPLE[:at], record, *PEOPLE[at + 1 :]])
    assert_nobody_else_moved(design, BASE[columns], integers(design, *tables), at)


def test_every_cell_is_tried_in_every_container() -> None:
    """Not left to chance: all of them at once, each in a record of its own, and everybody else as
    before."""
    odd = {7 * i: PEOPLE[7 * i] | {"age": cell} for i, cell in enumerate(nasty.CELLS)}
    people = [odd.get(i, record) for i, record in enumerate(PEOPLE)]
    others = np.delete(np.arange(N), list(odd))
    for columns in DESIGNS:
        for name in nasty.CONTAINERS:
            units = integers(DESIGNS[columns], *plain_tables(columns, name, people=people))
            assert np.array_equal(units[others], BASE[columns][others]), name


@many
@given(
    columns=st.sampled_from(list(DESIGNS)),
    name=st.sampled_from(list(nasty.LISTS_OF_ROWS)),
    row=st.integers(0, len(nasty.ROWS) - 1),
    side=st.integers(0, 1),
    at=st.integers(0, N - 1),
)
@example(columns="one", name="list of dicts", row=NONE, side=1, at=0)
@example(columns="several", name="list of dicts", row=NONE, side=1, at=0)
def test_a_row_of_any_kind_moves_its_own_record_alone(
    columns: str, name: str, row: int, side: int, at: int
) -> None:
    """One None among dicts used to make everybody's context NaN: 130 times the sensitivity at 1 000
    records."""
    tables = list(plain_tables(columns, name))
    rows = list(tables[side])
    rows[at] = nasty.ROWS[row]
    tables[side] = (
        nasty.objects(rows) if isinstance(tables[side], np.ndarray) else type(tables[side])(rows)
    )
    assert_nobody_else_moved(
        DESIGNS[columns], BASE[columns], integers(DESIGNS[columns], *tables), at
    )


def test_the_test_would_see_a_list_that_is_read_all_or_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mutant is the old rule: by name if every row is a mapping, else each row is one cell."""
    sound = tacit.tables._from_list

    def old(data: Any, names: Any, what: str, single: bool) -> Any:
        by_name = all(isinstance(row, dict) for row in data)
        return sound(data if by_name else [[row] * len(names) for row in data], names, what, single)

    monkeypatch.setattr("tacit.tables._from_list", old)
    actions, contexts, rewards = plain_tables("one", "list of dicts")
    units = integers(DESIGNS["one"], actions, [None, *contexts[1:]], rewards)
    assert (
        nasty.norm2(units.sum(axis=0) - BASE["one"].sum(axis=0))
        > (10 * DESIGNS["one"].encoding.sensitivity) ** 2
    )
    with pytest.raises(AssertionError):
        assert_nobody_else_moved(DESIGNS["one"], BASE["one"], units, 0)


# -- columns that a library promotes for one cell -------------------------------------------------


def inferred(make: Callable[[list[Any]], Any]) -> Callable[[dict[str, list[Any]]], Any]:
    return lambda columns: {name: make(cells) for name, cells in columns.items()}


PROMOTIONS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": pa.table,
    "numpy": inferred(np.array),
    "dict of pandas": inferred(pd.Series),
}
PROMOTED: list[Any] = [
    None,
    np.nan,
    np.inf,
    0.5,
    1 + 2j,
    60 + 0j,
    "text",
    "60",
    b"60",
    True,
    2**63,
    -1,
    10**400,
    pd.NA,
]


def possible(name: str, cells: list[Any]) -> bool:
    try:
        PROMOTIONS[name]({"a": cells})
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "place", "field"),
    [
        (name, place, field)
        for name in PROMOTIONS
        for place, cell in enumerate(PROMOTED)
        for field in ("age", "copies", "route", "reward")
        if possible(name, [PEOPLE[0][field], cell])
    ],
)
def test_a_column_that_is_promoted_for_one_cell_says_the_same_of_all_others(
    name: str, place: int, field: str
) -> None:
    """Integers to floats, to complex numbers, to objects, and labels to text: others keep their
    value. Numbers that became text are refused by their type, which is public."""
    design = DESIGNS["several"]
    few = 100
    people = [*PEOPLE[:7], PEOPLE[7] | {field: PROMOTED[place]}, *PEOPLE[8:few]]
    table = PROMOTIONS[name]({field: [r[field] for r in people] for field in FIELDS["several"]})
    if field in ("age", "reward") and kind_of_column(table[field]) in ("text", "bytes"):
        with pytest.raises(InputError, match=rf"column '{field}' of .* holds (text|bytes), where"):
            design.statistic().add(table, table, table["reward"])
        return
    assert_nobody_else_moved(
        design, BASE["several"][:few], integers(design, table, table, table["reward"]), 7
    )


@pytest.mark.parametrize(
    "numeric",
    [float, int, "float32", "Int64", "Float64", "int64[pyarrow]", "double[pyarrow]", bool],
)
@pytest.mark.parametrize("gap", [False, True])
def test_a_gap_in_a_typed_column_is_one_record_s(numeric: Any, gap: bool) -> None:
    series = pd.Series([i % 2 for i in range(N)]).astype(numeric)
    if gap and numeric not in (int, bool):
        series[7] = None
    contexts = dict(plain_tables("several", "dict of lists")[1]) | {"copies": series}
    expected = integers(
        DESIGNS["several"], PEOPLE, [r | {"copies": i % 2} for i, r in enumerate(PEOPLE)], [1.0] * N
    )
    found = integers(DESIGNS["several"], PEOPLE, contexts, [1.0] * N)
    assert_nobody_else_moved(DESIGNS["several"], expected, found, 7)


BROKEN_COLUMNS: dict[str, Callable[[], Any]] = {
    "text that is no UTF-8": lambda: pa.Array.from_buffers(
        pa.string(),
        3,
        [None, pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"1\xff3")],
    ),
    "a time that Python cannot hold": lambda: pa.array([1, 2**62, 3], pa.timestamp("s")),
    "a time of nanoseconds": lambda: pa.array([1, 1_000_000_001, 3], pa.timestamp("ns")),
    "a duration that Python cannot hold": lambda: pa.array([1, 2**62, 3], pa.duration("s")),
}


@pytest.mark.parametrize("name", BROKEN_COLUMNS)
@pytest.mark.parametrize("frame", [False, True], ids=["column", "table"])
def test_a_column_that_fails_for_one_cell_is_read_cell_by_cell(name: str, frame: bool) -> None:
    column = BROKEN_COLUMNS[name]()
    data = pa.table({"a": column}) if frame else {"a": column}
    with silence():
        cells = records(data, ["a"], "the table").columns["a"].tolist()
        alone = [
            records({"a": column[i : i + 1]}, ["a"], "the table").columns["a"][0] for i in range(3)
        ]
        assert len(vector(column, 3, "rewards")) == len(labels(column, 3, "users")) == 3
    assert cells == alone
    assert cells[0] is not None
    assert cells[2] is not None


# -- one record -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(len(nasty.CELLS)))
def test_one_record_may_hold_anything(place: int) -> None:
    design = DESIGNS["several"]
    cell = nasty.CELLS[place]
    with silence():
        statistic = design.statistic()
        statistic.add(
            {"dose": cell, "route": "a"}, {"age": cell, "weight": cell, "copies": cell}, 0.5
        )
        statistic.add([cell, "a"], [60.0, cell, 1], 0.5)
        if not (is_column(cell) or _is_table(cell)):  # as a reward it would be a column
            statistic.add([50.0, "a"], [60.0, 70.0, 1], cell)
    assert statistic.records >= 2


def test_one_record_is_the_same_in_a_list_and_alone() -> None:
    design = DESIGNS["several"]
    in_a_list = nasty.total(design.statistic().add([[50.0, "a"]], [[60.0, 70.0, 1]], [0.5]))
    assert any(in_a_list)
    for actions, contexts in (
        ([50.0, "a"], [60.0, 70.0, 1]),
        ((50.0, "a"), nasty.objects([60.0, 70.0, 1])),
        ({"dose": 50.0, "route": "a"}, {"age": 60.0, "weight": [70.0], "copies": np.array([1])}),
        (
            {"dose": pd.Series([50.0]), "route": ["a"]},
            pd.DataFrame({"age": [60.0], "weight": [70.0], "copies": [1]}),
        ),
        ([[50.0, "a"]], [{"age": 60.0, "weight": 70.0, "copies": 1}]),
    ):
        assert nasty.total(design.statistic().add(actions, contexts, 0.5)) == in_a_list


@pytest.mark.parametrize(
    "contexts",
    [[[60, 70, 1]] * 2, [[60, 70, 1]] * 3, {"age": [1], "weight": [1]}, np.ones(4), None],
)
def test_what_is_not_one_record_is_refused_where_one_is_expected(contexts: Any) -> None:
    with pytest.raises(InputError):
        DESIGNS["several"].statistic().add([50.0, "a"], contexts, 0.5)


def test_a_list_of_rows_in_a_table_is_never_one_record() -> None:
    """[61, 74] with two columns is two rows that are no rows; a table of numbers is told apart by
    its dtype."""
    assert np.isnan(vector(records([61, 74], ["a", "b"], "x").columns["a"], 2, "x")).all()
    assert records(np.array([61, 74]), ["a", "b"], "x").rows == 1
    assert records(np.array([61, 74], dtype=object), ["a", "b"], "x").rows == 2


# -- studies and marginals ------------------------------------------------------------------------


def stored(study: Study) -> Floats:
    """The contexts of all rounds, in unit coordinates."""
    at = study.problem.actions.dimension
    return np.concatenate([points[:, at:] for points, _, _ in study._store.rounds(study.asked)])


@pytest.mark.parametrize("name", ["list of dicts", "list of lists", "dict of lists", "pandas"])
def test_rounds_of_others_are_stored_bit_for_bit_the_same(tmp_path: Path, name: str) -> None:
    small: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000, "rng": 0}
    of = DESIGNS["several"].problem
    study = create_study(sqlite(tmp_path), of, horizon=40 * N, budget=BUDGET, **small)
    n = 100
    rng = np.random.default_rng(0)
    asked = PEOPLE[:n]
    with silence():
        study.ask_many(nasty.tables(of, asked, name)[1])
        before = stored(study)
        assert np.isfinite(before).all()
        for turn in range(8):
            at = int(rng.integers(n))
            table = nasty.tables(
                of, [*asked[:at], nasty.odd(rng, asked[at]), *asked[at + 1 :]], name
            )[1]
            if name in nasty.LISTS_OF_ROWS and turn % 2:
                table[at] = nasty.ROWS[rng.integers(len(nasty.ROWS))]
            study.ask_many(table)
            after = stored(study)[-n:]
            assert np.delete(after, at, axis=0).tobytes() == np.delete(before, at, axis=0).tobytes()


def test_one_context_of_any_kind_is_one_round(tmp_path: Path) -> None:
    small: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000, "rng": 0}
    study = create_study(
        sqlite(tmp_path), DESIGNS["several"].problem, horizon=1000, budget=BUDGET, **small
    )
    with silence():
        for cell in nasty.CELLS[::9]:
            study.ask({"age": cell, "weight": 70.0, "copies": 1})
            study.ask([cell, 70.0, 1])
        assert study.asked == 2 * len(nasty.CELLS[::9])
        with pytest.raises(InputError, match="ask takes one context, got 3"):
            study.ask([[60, 70, 1]] * 3)


@settings(max_examples=25)
@given(
    name=st.sampled_from(list(nasty.CONTAINERS)),
    cell=st.integers(0, len(nasty.ROWS) - 1),
    field=st.sampled_from(["age", "weight", "copies"]),
    at=st.integers(0, N - 1),
)
def test_marginals_count_others_the_same(name: str, cell: int, field: str, at: int) -> None:
    of = DESIGNS["several"].problem
    counts = _Counts(DESIGNS["several"].problem.contexts, pairs=True)
    people = [*PEOPLE[:at], PEOPLE[at] | {field: nasty.ROWS[cell]}, *PEOPLE[at + 1 :]]
    table = nasty.tables(of, people, name)[1]
    if name == "list of dicts" and at % 2:
        table[at] = nasty.ROWS[cell]
    with nasty.watching() as watch, silence():
        counts.collect(nasty.tables(of, PEOPLE, name)[1])
        before = watch.take()
        total = counts.collect(table)
        after = watch.take()
    assert np.array_equal(np.delete(before, at, axis=0), np.delete(after, at, axis=0))
    assert nasty.norm2(after[at]) <= total.encoding.bound**2


def test_marginals_count_in_blocks_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of another shape may round all rows differently: shapes must not follow the number
    of rows."""
    shapes = set()
    counts = _Counts(DESIGNS["several"].problem.contexts, pairs=True)
    rows = counts._rows

    def watched(points: Floats) -> Floats:
        shapes.add(points.shape)
        return rows(points)

    monkeypatch.setattr(counts, "_rows", watched)
    counts.collect([PEOPLE[0]])
    counts.collect(PEOPLE)
    assert len(shapes) == 1


# -- strangers' kernels and domains ---------------------------------------------------------------


def moved(design: Design, among: int = 200, at: int = 7) -> tuple[float, bool]:
    """How far one record moves the sum, in units of the sensitivity, and whether others stay as
    they are."""
    # All alike, so that one who differs changes every deviation from the mean.
    people = [PEOPLE[0] | {"reward": 1.0}] * among
    odd = [*people[:at], ANOTHER | {"age": 1e12, "weight": 1e12}, *people[at + 1 :]]
    of = design.problem
    before, after = (
        integers(design, *nasty.tables(of, table, "dict of lists")) for table in (people, odd)
    )
    steps = after.astype(object).sum(axis=0) - before.astype(object).sum(axis=0)
    alike = np.array_equal(np.delete(before, at, axis=0), np.delete(after, at, axis=0))
    return nasty.norm2(steps) ** 0.5 / design.encoding.sensitivity, alike


@pytest.mark.parametrize("name", nasty.STRANGERS)
def test_a_stranger_sees_one_record_at_a_time(name: str) -> None:
    distance, alike = moved(nasty.build(nasty.STRANGERS[name]))
    assert distance <= 1.0
    assert alike


@pytest.mark.parametrize("name", [name for name in nasty.STRANGERS if "raises" not in name])
def test_a_stranger_who_sees_the_batch_would_break_the_bound(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: everybody is trusted with the batch."""
    monkeypatch.setattr("tacit.design.design.sees_batches", lambda kernel: True)
    monkeypatch.setattr("tacit.domains.records.sees_batches", lambda domain: True)
    distance, alike = moved(nasty.build(nasty.STRANGERS[name]), among=N)
    assert not alike
    assert distance > 1.0


OWN: list[Kernel] = [
    tacit.Matern(2.5, 0.3),
    tacit.RBF([0.3, 0.4]),
    tacit.kernels.RationalQuadratic(0.3, 2),
    tacit.kernels.Linear(2),
    tacit.kernels.Categorical(0.5),
]


class Another(tacit.RBF):
    """Does nothing else, which nobody can know."""


def _subclassed(thing: Any) -> Any:
    """The same of a subclass that adds nothing."""
    kind = type(thing)
    twin: Any = object.__new__(type("Sub", (kind,), {}))
    twin.__dict__.update(thing.__dict__)
    return twin


@pytest.mark.parametrize("own", OWN, ids=repr)
def test_only_what_is_exactly_ours_sees_batches(own: Kernel) -> None:
    stranger = Another(0.3)
    compositions: list[Callable[[Kernel], Kernel]] = [
        lambda k: k,
        lambda k: own * k,
        lambda k: Sum((k, own), (1, 2)),
        lambda k: On(k, (0, 1)),
        Joint,
        lambda k: Separable(own, k, 1),
        lambda k: Separable(k, own, 1),
        lambda k: Centred(k, np.zeros((2, 2))),
        lambda k: Pooled(k, levels=(0, 0)),
        lambda k: Joint(On(Sum((own, own * k)), (0, 1))),
    ]
    for compose in compositions:
        assert sees_batches(compose(own))
        assert not sees_batches(compose(stranger))
        assert not sees_batches(compose(Custom(np.dot)))
        assert not sees_batches(_subclassed(compose(own)))


def test_only_domains_that_are_exactly_ours_see_batches() -> None:
    ours = [
        tacit.Box([0], [1]),
        tacit.Ball([0.0]),
        tacit.Simplex(2),
        tacit.Categories([1, 2]),
        tacit.Catalogue([[1.0]]),
    ]
    for domain in ours:
        assert domain_sees_batches(domain)
        assert domain_sees_batches(tacit.Mixed([domain]))
        assert not domain_sees_batches(_subclassed(domain))
        assert not domain_sees_batches(
            tacit.Mixed([_subclassed(domain), tacit.Box([0], [1], ["other"])])
        )
    assert not domain_sees_batches(_subclassed(tacit.Mixed(ours[:1])))


def test_parameters_of_our_kernels_are_plain_floats() -> None:
    """A number of one's own could do anything when it is multiplied with a batch."""

    class Mine(float):
        pass

    made = (
        tacit.kernels.Linear(Mine(1)).bias,
        tacit.kernels.Categorical(Mine(0.5)).similarity,
        tacit.kernels.RationalQuadratic(Mine(0.5), Mine(1)).alpha,
        tacit.kernels.RationalQuadratic(Mine(0.5)).lengthscale,
        tacit.Matern(Mine(2.5), [Mine(0.5)]).smoothness,
        tacit.Matern(Mine(2.5), [Mine(0.5)]).lengthscale[0],  # type: ignore[index]
        Sum((tacit.RBF(), tacit.RBF()), (Mine(1), Mine(2))).weights[0],  # type: ignore[index]
    )
    assert {type(value) for value in made} == {float}


def test_a_stranger_s_kernel_gets_copies_and_its_failures_are_nobody_else_s() -> None:
    points = np.random.default_rng(0).random((20, 2))
    U = np.random.default_rng(1).random((4, 2))
    seen = []

    def spiteful(A: Any, B: Any) -> Any:
        seen.append((A.shape, A.base is None or A.base.shape[0] == 1))
        value = np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2))
        A[:] = 0.0
        B[:] = 0.0
        at = len(seen) % 5
        if at == 1:
            raise ValueError
        return [value, None, value[:, :2], value[0], "x"][at]

    class Spiteful(Kernel):
        def __call__(self, A: Any, B: Any) -> Any:
            return spiteful(A, B)

    kept = points.copy(), U.copy()
    with quiet():
        rows = np.asarray(one_by_one(Spiteful(), points, U))
    assert np.array_equal(points, kept[0])
    assert np.array_equal(U, kept[1])
    assert set(seen) == {((1, 2), True)}
    right = np.arange(1, 21) % 5 == 0
    assert np.isnan(rows[~right]).all()
    assert np.array_equal(
        rows[right], np.exp(-np.sum((points[:, None] - U[None]) ** 2, axis=2))[right]
    )


class Columns1(tacit.Box):
    """Notes what it is shown."""

    seen: list[Any] = []  # noqa: RUF012

    def encode(self, columns: Columns) -> Floats:
        self.seen.append(
            {name: (column.dtype, column.tolist()) for name, column in columns.items()}
        )
        return super().encode(columns)


@pytest.mark.parametrize("beside", [2, 2.5, None, "text", True, 1 + 2j])
def test_a_stranger_s_domain_cannot_tell_what_stands_in_other_rows(beside: Any) -> None:
    """Not even by the dtype of the column, which a single cell decides."""
    domain = Columns1([0], [9], ["a"])
    for data in (
        {"a": [1, beside]},
        {"a": pd.Series([1, beside])},
        [{"a": 1}, {"a": beside}],
        pd.DataFrame({"a": [1, beside]}),
    ):
        Columns1.seen.clear()
        record_points(domain, data, "contexts")
        assert Columns1.seen[0] == {"a": (np.dtype(float), [1.0])}
        assert len(Columns1.seen) == 2


@pytest.mark.parametrize(
    "returned", [None, "x", np.zeros((2, 1)), np.zeros(1), [[None]], ValueError("a secret")]
)
def test_a_record_for_which_a_stranger_s_domain_fails_is_missing(returned: Any) -> None:
    class Failing(tacit.Box):
        def encode(self, columns: Columns) -> Floats:
            if columns["a"][0] != 3:
                return super().encode(columns)
            if isinstance(returned, Exception):
                raise returned
            return returned

    points = record_points(Failing([0], [9], ["a"]), {"a": [0, 3, 9]}, "contexts")
    assert points[[0, 2]].tolist() == [[0.0], [1.0]]
    assert np.isnan(points[1]).all()


# -- warnings -------------------------------------------------------------------------------------


def edgy(A: Any, B: Any) -> Any:
    """Divides by zero, and says so, where the context is at the edge."""
    if A.shape[0] == 1 and A[0, 1] == 0.0:
        warnings.warn("somebody is at the edge", UserWarning, stacklevel=2)
    return np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2)) * np.tanh(
        1.0 + A[:, 1:] * (1.0 / A[:, 1:]) * 0.0 + 1.0
    )


def at_the_edge() -> tuple[Design, tuple[Any, Any, Any]]:
    of = Problem(tacit.Box([0.0], [1.0], ["dose"]), tacit.Box([0.0], [1.0], ["age"]), Custom(edgy))
    inside = np.random.default_rng(0).uniform(0.1, 0.9, (500, 2))
    with quiet():
        design = build_design(
            of,
            horizon=5000,
            budget=BUDGET,
            rng=0,
            rank=4,
            tau=10.0,
            landmarks=inside[:4],
            public_points=inside,
        )
    n = 4096
    contexts = np.full(n, 0.5)
    contexts[3000] = 0.0
    return design, ({"dose": np.full(n, 0.5)}, {"age": contexts}, np.ones(n))


def test_an_edge_record_prints_no_warning_not_even_in_threads() -> None:
    design, tables = at_the_edge()
    with silence():
        statistic = design.statistic().add(*tables)
    assert statistic.records == 4096


def test_the_test_would_hear_a_warning_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: silence is kept by nobody."""
    design, tables = at_the_edge()
    for name in ("add", "add_points"):
        monkeypatch.setattr(Statistic, name, getattr(Statistic, name).__wrapped__)
    monkeypatch.setattr("tacit.statistic.quiet", lambda: lambda function: function)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        design.statistic().add(*tables)
    kinds = {warning.category for warning in heard}
    assert {RuntimeWarning, UserWarning} <= kinds


def test_silence_ends_with_the_last_who_wanted_it() -> None:
    before = list(warnings.filters)
    first = quiet()
    second = quiet()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert warnings.filters[0][0] == "ignore"
    second.__exit__(None, None, None)
    assert list(warnings.filters) == before


# -- the command ----------------------------------------------------------------------------------


def test_no_adversarial_record_breaks_a_bound_or_the_silence() -> None:
    """A short run of `python -m tacit_lab.benchmarks.adversarial`."""
    results = nasty.run(records=9000, strangers=1500, ids=0, seed=0, crowds=300)
    assert [result for result in results if not result.holds] == []
    assert sum(result.records for result in results) == 10_500
    assert max(result.furthest for result in results) > 0.1  # somebody did move something


def test_the_command_fails_if_a_stranger_sees_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--json", "--records", "0", "--strangers", "1500", "--ids", "0", "--crowds", "300"]
    monkeypatch.setattr("tacit.domains.records.sees_batches", lambda domain: True)
    failed = CliRunner().invoke(nasty.app, options)
    assert failed.exit_code == 1
    broken = [result["what"] for result in json.loads(failed.stdout) if not result["holds"]]
    assert broken == [f"strangers: {name}" for name in nasty.STRANGERS if "domain" in name]


def test_no_spelling_of_an_id_makes_one_user_two() -> None:
    (result,) = nasty.run(records=0, strangers=0, ids=300, seed=0)
    assert result.holds
