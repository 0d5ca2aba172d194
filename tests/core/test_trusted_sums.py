"""The way in: what one record, or one user, can add to the sum, and that no record changes what
another one adds.

Deterministic. Every test here is the guard of mutants in `test_mutants.py`.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest

import tacit
from helpers import BUDGET, build_design, records, small_design, small_problem, sqlite
from log_data import COLUMNS, collected, log_table, sum_of, total, work_on
from tacit import Ledger, StateError, kernels
from tacit._typing import Floats
from tacit.contexts import PublicSample, release_marginals
from tacit.core import Encoding, PrivateSum, private_sum
from tacit.core.release import RELATIONS
from tacit.design import Design, DesignOptions
from tacit.design.choices import choose_layout, with_pairs
from tacit.design.features import shrinkage
from tacit.design.layout import Layout
from tacit.logs import pieces
from tacit.numerics.engine import NUMPY
from tacit.residual import Residual
from tacit.residual.target import Response
from tacit.statistic import propensity_weights

DESIGN = small_design()
SECRET = 31337.4242


def norms2(integers: Any) -> list[int]:
    """Squared norms in Python's integers."""
    return [sum(int(v) ** 2 for v in row) for row in integers]


def sum_after(total: PrivateSum) -> list[int]:
    return [int(v) for v in total._value()]


# -- one record, one user -------------------------------------------------------------------------


def nasty_rows(size: int) -> Floats:
    """Rows inside the ball, on its surface, far outside, and rows that hold no number."""
    rng = np.random.default_rng(size)
    directions = rng.normal(size=(200, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = np.concatenate(
        [np.linspace(0.0, 1.0, 50), 1 + np.geomspace(1e-16, 1e-3, 50), np.geomspace(1, 1e300, 100)]
    )
    odd = np.zeros((6, size))
    odd[:, 0] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324]
    odd[2:4, -1] = np.nan
    return np.vstack([directions * sizes[:, None], np.ones((1, size)), -np.ones((1, size)), odd])


def test_no_record_leaves_the_ball() -> None:
    for size, bits in ((1, 24), (3, 24), (50, 24), (7, 4), (200, 12)):
        encoding = Encoding(size=size, horizon=1000, bits=bits)
        rows = nasty_rows(size)
        with np.errstate(all="ignore"):
            integers = encoding.encode(rows)
        assert max(norms2(integers)) <= encoding.bound**2, "a record is longer than the bound"
        assert not integers[~np.isfinite(rows).all(axis=1)].any(), (
            "a record that holds no number adds something"
        )


def test_integers_from_anywhere_are_shrunk_into_the_ball() -> None:
    """As for a user with many records: entries of any size, rounded towards zero, never past it."""
    for size in (1, 2, 5, 40):
        encoding = Encoding(size=size, horizon=1000)
        rng = np.random.default_rng(size)
        near = rng.integers(-encoding.bound, encoding.bound, size=(300, size), endpoint=True)
        far = rng.integers(-(2**40), 2**40, size=(100, size))
        edge = np.full((2, size), 2**62)
        edge[1] = -(2**63)
        integers = np.vstack([near, far, edge])
        shrunk = encoding.shrink(integers)
        assert max(norms2(shrunk)) <= encoding.bound**2, "a shrunk row is longer than the bound"
        assert (np.abs(shrunk[:-1]) <= np.abs(integers[:-1])).all()


def test_the_sensitivity_is_the_distance_of_opposite_records() -> None:
    encoding = Encoding(size=3, horizon=1000)
    here, there = encoding.encode(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    assert encoding.sensitivity**2 >= norms2([here - there])[0], (
        "replacing a record moves the sum farther"
    )


def test_all_records_of_a_user_together_stay_in_the_ball() -> None:
    """However many there are, however the id is written, in whatever sums they were collected."""
    encoding = Encoding(size=3, horizon=1000)
    row = np.array([[1.0, 0.0, 0.0]])
    ids = [7, "7", 7.0, " 7 ", np.int64(7), np.float64(7.0)]
    one = private_sum(encoding, "user")
    for user in ids:
        one.add(np.repeat(row, 5, axis=0), 5, [user] * 5)
    other = private_sum(encoding, "user")
    other.add(np.repeat(row, 4, axis=0), 4, ids[:4])
    one.merge(other)
    nameless = private_sum(encoding, "user")
    nameless.add(np.repeat(row, 4, axis=0), 4, [None, "", float("nan"), None])
    for found in (one, nameless):
        assert norms2([found._value()])[0] <= encoding.bound**2, (
            "one user moves the sum by more than the bound"
        )


def test_a_sum_that_was_merged_is_spent() -> None:
    encoding = Encoding(size=2, horizon=1000)
    for unit in ("record", "user"):
        parts = [private_sum(encoding, unit) for _ in range(2)]
        for part in parts:
            part.add(np.array([[0.5, 0.5]]), 1, ["somebody"])
        into, other = parts
        into.merge(other)
        before = sum_after(into)
        with pytest.raises(StateError):
            into.merge(other)
        with pytest.raises(StateError):
            other._value()
        with pytest.raises(tacit.InputError):
            into.merge(into)
        assert sum_after(into) == before
        assert into.records == 2


def test_no_more_records_than_the_horizon_fit_into_a_sum() -> None:
    """Beyond it the sum could overflow."""
    whole = private_sum(Encoding(size=1, horizon=5), "record")
    whole.add(np.ones((4, 1)), 4)
    with pytest.raises(StateError):
        whole.add(np.ones((2, 1)), 2)
    assert whole.records == 4
    assert sum_after(whole) == [4 * whole.encoding.bound]


def test_a_sum_does_not_show_itself() -> None:
    statistic = DESIGN.statistic().add(*records(50))
    values = [str(abs(v)) for v in total(statistic) if abs(v) > 10**5]
    for private in (statistic, statistic._sum):
        shown = f"{private} {private!r} {[private]}"
        assert not any(value in shown for value in values), "a text shows the private sum"
        with pytest.raises(StateError):
            pickle.dumps(private)
        with pytest.raises(StateError):
            copy.deepcopy(private)


# -- what reaches the core ------------------------------------------------------------------------


@contextmanager
def rows_that_enter() -> Iterator[list[Floats]]:
    """What is handed to the core from here on, before anything is clipped there."""
    entered: list[Floats] = []
    add = PrivateSum.add

    def noted(self: PrivateSum, rows: Any, *arguments: Any, **named: Any) -> None:
        entered.append(np.array(rows))
        add(self, rows, *arguments, **named)

    with mock.patch.object(PrivateSum, "add", noted):
        yield entered


def longest2(rows: Any) -> float:
    return float(np.max(np.sum(np.asarray(rows) ** 2, axis=1)))


def problems() -> list[tacit.Problem]:
    """With and without a generator, with advantages, with labels beside numbers in actions and in
    contexts."""
    plain = small_problem()
    mixed = tacit.Mixed([plain.contexts, tacit.Categories(["a", "b", "c"], name="kind")])
    both = tacit.Mixed([plain.actions, tacit.Categories(["x", "y"], name="arm")])
    sample = PublicSample({"age": [30.0, 60.0], "weight": [60.0, 80.0]})
    return [
        plain,
        replace(plain, generator=sample),
        replace(plain, advantage=True),
        replace(plain, actions=both),
        replace(plain, contexts=mixed),
    ]


def layouts(problem: tacit.Problem, landmarks: Floats) -> list[Layout]:
    """Of first, of last and of plain passes, with several shares for the counts of contexts, and
    with pairs of their columns."""
    found = []
    for share in (None, 0.0, 0.05, 0.5, 0.89):
        for plain, last in ((False, True), (False, False), (True, True)):
            options = DesignOptions(context_share=share, plain=plain)
            layout = choose_layout(problem, landmarks, BUDGET, options, last=last)
            found.append(layout)
            if layout.cells is not None and layout.cells.columns > 1:
                laws = [np.full(part.size, 1.0 / part.size) for part in layout.cells.parts]
                found.append(with_pairs(layout, laws, 100_000, BUDGET))
    return found


def long_influences(rng: np.random.Generator) -> Floats:
    """Influences of every size; the last one is clipped by every clip that is tried."""
    q = rng.normal(size=(64, 6)) * np.geomspace(1e-3, 1e3, 64)[:, None]
    q[-1] *= 100.0 / np.linalg.norm(q[-1])
    return q


def test_the_shares_of_a_row_add_up_to_one() -> None:
    """For every layout, at the records that write most. The core would shrink more, and all records
    with it."""
    rng = np.random.default_rng(0)
    q = long_influences(rng)
    for problem in problems():
        points = problem.public_points(64, rng)
        found = layouts(problem, points[:6])
        assert {layout.histogram_share > 0 for layout in found} == {True, False}
        assert {layout.play is None for layout in found} == {True, False}
        if problem.contexts.dimension > 1:
            assert {layout.pairs is None for layout in found} == {True, False}
        for layout in found:
            for clip in (0.01, 1.0):
                for y in (-1.0, 1.0):
                    shrink = shrinkage(q, clip) / clip
                    ones = np.ones(64)
                    rows = layout.rows(q, shrink, y * ones, points, ones, ones)
                    assert rows.shape == (64, layout.size)
                    assert longest2(rows) <= 1 + 1e-9, "the blocks of a row add up to more than 1"
                    assert longest2(rows) >= 1 - 1e-9, "a part of the budget is never used"


def test_no_reward_residual_or_weight_makes_a_row_longer() -> None:
    """Between the nodes of the histogram, with residuals beside rewards, and with weights of a log
    in [0, 1]. A weight of 0 leaves the counts of contexts alone."""
    rng = np.random.default_rng(1)
    q = long_influences(rng)
    shrink = shrinkage(q, 1.0)
    for problem in problems():
        points = problem.public_points(64, rng)
        for layout in layouts(problem, points[:6]):
            for weight in (0.0, 0.3, 1.0):
                w = np.full(64, weight)
                for residuals in (np.linspace(-1.0, 1.0, 64), rng.choice([-1.0, 1.0], 64)):
                    for rewards in (None, -residuals, np.ones(64)):
                        rows = layout.rows(q, shrink, residuals, points, np.ones(64), w, rewards)
                        told = layout.context_share + layout.pair_share  # whatever it weighs
                        most = weight**2 + (1 - weight**2) * told
                        assert longest2(rows) <= most + 1e-9, (
                            "the blocks of a row add up to more than 1"
                        )
            unknown = layout.rows(q, shrink, np.zeros(64), points, np.zeros(64), np.ones(64))
            assert not unknown.any(), "a record that is not known adds something"


def test_what_records_write_fits_into_the_ball_before_the_core_looks() -> None:
    """For whole designs, for a second pass whose residuals are far outside of their clip too, and
    for records of every weight."""
    rng = np.random.default_rng(0)
    for problem in problems():
        design = small_two_passes(problem)
        points = np.vstack([problem.public_points(200, rng), design.features.U])
        second = replace(design, residual=residual_of(design, residual_clip=0.05))
        ones = np.ones(len(points))
        for either in (design, second):
            for y in (-1.0, -0.3, 1.0):
                for weights in (None, rng.random(len(points))):
                    rows = either.rows(points, y * ones, ones, weights)
                    assert longest2(rows) <= 1 + 1e-9, "a record writes more than its share"


def test_a_weighted_record_writes_no_more_than_one_of_weight_one() -> None:
    """Whatever its propensity is, and whatever weights somebody else computed."""
    problem = small_problem()
    design = replace(small_two_passes(problem), max_weight=3.0)
    doses, contexts, rewards = records(64)
    p = np.geomspace(1e-300, 1e300, 64)
    weights = propensity_weights(p, problem.actions, 3.0)
    assert np.all((weights >= 0.0) & (weights <= 1.0)), "a weight is not cut"
    points = problem.public_points(64, np.random.default_rng(0))
    with rows_that_enter() as entered:
        design.statistic().add(doses, contexts, 0.0 * rewards, propensity=p)
        design.statistic().add_points(points, np.ones(64), weights=np.linspace(-9.0, 9.0, 64))
    assert longest2(np.vstack(entered)) <= 1 + 1e-9, "a record writes more than its share"


def small_two_passes(problem: tacit.Problem) -> Design:
    return build_design(
        problem, horizon=300, budget=BUDGET, rng=0, passes=2, rank=8, tau=10.0, public_points=500
    )


def residual_of(design: Design, residual_clip: float) -> Residual:
    """What records add after a first pass that learned something."""
    weights = np.random.default_rng(1).normal(size=design.rank)
    response = Response.straight(np.array([-1.0, 1.0]), np.array([0.9, 0.8]), np.array([0.0, 0.1]))
    return Residual(weights, 0.2, residual_clip, response)


def test_the_marginals_of_a_table_fit_into_the_ball_before_the_core_looks(tmp_path: Path) -> None:
    domain = problems()[-1].contexts
    table = domain.decode(domain.sample_points(60, np.random.default_rng(0)))
    for pairs in (True, False):
        ledger = Ledger.create(sqlite(tmp_path, f"marginals-{pairs}.db"), BUDGET)
        with rows_that_enter() as entered:
            release_marginals(table, domain, budget=BUDGET, ledger=ledger, pairs=pairs)
        assert longest2(np.vstack(entered)) <= 1 + 1e-9, "a context writes more than its share"


def test_marginals_promise_records_and_nothing_about_users(tmp_path: Path) -> None:
    """Rows of one user are not bounded together, so nothing may be promised about a user."""
    domain = small_problem().contexts
    table = domain.sample(60, np.random.default_rng(0))
    ledger = Ledger.create(sqlite(tmp_path, "unit.db"), BUDGET)
    learned = release_marginals(table, domain, budget=BUDGET, ledger=ledger)
    assert learned.guarantee.unit == "record"
    assert learned.guarantee.relation == RELATIONS["record"]
    assert ledger.charges()[0].parameters["unit"] == "record"


# -- records do not see each other ----------------------------------------------------------------


def test_every_block_of_records_has_the_same_height() -> None:
    """Whatever the number of records: the shape of a product decides how entries are rounded."""
    heights: list[int] = []
    make = Design.writer

    def writer(self: Design, engine: Any) -> Any:
        rows = make(self, engine)

        def noted(points: Any, y: Any, known: Any, weights: Any) -> Any:
            heights.append(points.shape[0])
            return rows(points, y, known, weights)

        return noted

    with mock.patch.object(Design, "writer", writer):
        for count in (1, NUMPY.rows - 1, NUMPY.rows, NUMPY.rows + 1, 700):
            DESIGN.statistic().add(*records(count))
    assert len(heights) == 7
    assert set(heights) == {NUMPY.rows}, "a block was not padded"


class Watching:
    """A kernel of somebody's own that looks at all the rows that it is given, and is narrower where
    they differ."""

    def __call__(self, A: Any, B: Any) -> Any:
        distance2 = np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=2)
        return np.exp(-distance2 * (1.0 + np.sum(A.var(axis=0))))

    def diag(self, A: Any) -> Any:
        return np.ones(len(A))


def test_the_sum_is_the_sum_of_its_records_alone() -> None:
    """In integers, for kernels of ours and for one that would look at its batch if it could."""
    plain = small_problem()
    linear = kernels.Linear() * kernels.RBF(0.4) + kernels.RationalQuadratic(0.5)
    choices = [
        plain,
        replace(plain, advantage=True),
        replace(plain, kernel=linear),
        replace(plain, kernel=Watching()),
    ]
    doses, contexts, rewards = records(12)
    for problem in choices:
        design = small_two_passes(problem)
        together = design.statistic().add(doses, contexts, rewards)
        alone = np.zeros(design.encoding.size, dtype=np.int64)
        for i in range(len(doses)):
            mine = slice(i, i + 1)
            alone += (
                design.statistic().add(doses[mine], contexts[mine], rewards[mine])._sum._value()
            )
        assert total(together) == alone.tolist(), "what a record adds depends on its company"


def test_every_row_of_a_kernel_is_about_its_own_point() -> None:
    """To the last bit: other rows of the batch may be anything."""
    rng = np.random.default_rng(0)
    matern = kernels.Matern(2.5, 0.3)
    ours: list[kernels.Kernel] = [
        kernels.Matern(0.5, 0.3),
        kernels.Matern(1.5, (0.3, 0.2, 0.9)),
        matern,
        kernels.RBF(0.4),
        kernels.RationalQuadratic(0.4),
        kernels.Linear(),
        kernels.Categorical(0.3),
        kernels.Product((matern, kernels.Linear())),
        kernels.Sum((matern, kernels.Linear())),
        kernels.On(matern, (0, 2)),
        kernels.Joint(matern),
        kernels.Separable(matern, kernels.RBF(0.2), 1),
        kernels.Centred(matern, rng.random((16, 3))),
        kernels.Pooled(matern, levels=(0, 0, 0)),
    ]
    landmarks = rng.random((10, 3))
    batch = rng.random((64, 3))
    for kernel in ours:
        expected = kernel(batch, landmarks)
        for others in (np.zeros((64, 3)), np.ones((64, 3)), rng.random((64, 3))):
            crowd = others.copy()
            crowd[:5] = batch[:5]
            found = kernel(crowd, landmarks)
            assert np.array_equal(found[:5], expected[:5]), (
                "a row of a kernel depends on another row"
            )


def test_every_row_of_a_domain_is_about_its_own_record() -> None:
    rng = np.random.default_rng(0)
    domains: list[tacit.domains.Domain] = [
        tacit.Box([0.0, -5.0, 10.0], [1.0, 5.0, 20.0]),
        tacit.Ball([0.0, 0.0, 0.0], 2.0),
        tacit.Simplex(3),
    ]
    batch = rng.normal(size=(40, 3))
    for domain in domains:
        expected = domain.project(batch)
        for far in (-1e6, 0.3, 1e6):
            crowd = batch + far
            crowd[:5] = batch[:5]
            assert np.array_equal(domain.project(crowd)[:5], expected[:5]), (
                "a record is read in the light of others"
            )


def test_threads_share_the_blocks_and_count_each_once() -> None:
    design = small_design(horizon=50_000)
    data = records(12 * NUMPY.rows + 5)
    found = {}
    for cores in (1, 3):
        with mock.patch("tacit.numerics.engine.cores", lambda cores=cores: cores):
            statistic = design.statistic().add(*data)
        found[cores] = (statistic.records, total(statistic))
    assert found[1][0] == len(data[0])
    assert found[3] == found[1], "a block of records counts twice, or not at all"


# -- logs -----------------------------------------------------------------------------------------


def test_cells_of_a_csv_file_are_read_as_they_are_written(tmp_path: Path) -> None:
    """One odd cell changes neither the type of its column nor any other cell."""
    lines = [f"{i},0{i},{i}.50,{i % 2}" for i in range(1, 40)]
    odd = [*lines[:20], "x,y,31/12/1999,true", *lines[21:]]
    tables = []
    for name, rows in (("plain", lines), ("odd", odd)):
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["dose,age,weight,reward", *rows]) + "\n")
        (table,) = pieces(str(path), COLUMNS, 0, len(rows))
        tables.append(table)
    assert tables[0].schema == tables[1].schema, "a cell decides the type of its column"
    for column in ("dose", "age", "weight", "reward"):
        plain, other = (table[column].to_pylist() for table in tables)
        assert [cell for i, cell in enumerate(plain) if i != 20] == [
            cell for i, cell in enumerate(other) if i != 20
        ]
    assert tables[0]["age"].to_pylist()[0] == "01", "a cell is not what is written"


def test_every_row_of_a_log_counts_once(tmp_path: Path) -> None:
    """Read in pieces of 64 rows, and whoever offers rows again is refused."""
    table = log_table(300)
    path = tmp_path / "log.parquet"
    pq.write_table(table, path, row_group_size=100)
    with mock.patch("tacit.logs.columns.MOST_ROWS", 64):
        work = work_on([path])
        assert collected(work) == sum_of(table), "a row of the log counts twice, or not at all"
        spans = list(work_on([path]).todo())
        with pytest.raises(StateError):
            work.take(spans[0], work.design.statistic())


def test_an_error_about_shapes_shows_no_value() -> None:
    doses, contexts, rewards = records(4)
    contexts[1, 1] = SECRET
    rewards[2] = SECRET
    wrong: list[Any] = [
        (doses[:3], contexts, rewards),
        (doses, contexts, rewards[:3]),
        (doses, contexts[:, 1:], rewards),
        (doses, contexts, np.column_stack([rewards, rewards])),
    ]
    for arguments in wrong:
        with pytest.raises(tacit.InputError) as caught:
            DESIGN.statistic().add(*arguments)
        assert str(SECRET) not in str(caught.value), "an error quotes a record"
