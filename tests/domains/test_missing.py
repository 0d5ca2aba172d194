"""Missing contexts that are filled, as declared: cell by cell, and never in an action."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from helpers import BUDGET, build_design
from laws import DomainLaws
from laws.domains import encoded
from tacit import Box, Categories, InputError, Mixed, Problem, Range
from tacit._typing import Floats
from tacit.contexts import simulate_marginals
from tacit.contexts.cells import Cells
from tacit.domains import REGISTRY, Domain, record_points
from tacit.logs import read_problem
from tacit.spec import dump, load

pytestmark = pytest.mark.usefixtures("coarse_fits")

NAN = math.nan
GENES = ["G/G", "A/G"]
FILLED = Mixed.of(
    age=Range(18, 95, missing=50),
    weight=Range(40, 140, missing="indicator"),
    height=(140, 200),
    gene=Categories(GENES, missing="unknown"),
)


class TestFilled(DomainLaws):
    @pytest.fixture(
        params=[
            Box.of(age=Range(18, 95, missing=50)),
            Box.of(age=Range(18, 95, missing="indicator")),
            Box.of(height=(140, 200), weight=Range(40, 140, missing="indicator")),
            Categories(GENES, missing="unknown"),
            Categories(["low", "high"], ordered=True, missing="low"),
            FILLED,
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def test_a_row_with_a_gap_is_nan_and_stays_nan(self, domain: Domain, members: Floats) -> None:
        """Not here: a gap is filled, except in the one column that has no fill."""
        known = {name: column[:1] for name, column in domain.decode(members).items()}
        for name in domain.names:
            points = domain.encode(known | {name: np.array([None], dtype=object)})
            assert np.isfinite(points).all() == (name != "height")

    def test_candidates_are_always_the_same_and_all_differ(self, domain: Domain) -> None:
        """Those in which everything is known do; what is missing is the same in several."""
        candidates = domain.candidate_points(1024)
        assert np.array_equal(candidates, domain.candidate_points(1024))
        known = [i for i, name in enumerate(domain.coordinates) if name in domain.coordinates[:i]]
        whole = candidates[(candidates[:, known] == 0).all(axis=1)]
        assert len(np.unique(whole.round(12), axis=0)) == len(whole)

    def test_decoding_what_was_encoded_gives_it_back(self, domain: Domain, members: Floats) -> None:
        columns = domain.decode(members)
        again = domain.decode(domain.encode(columns))
        for name, column in columns.items():
            np.testing.assert_array_equal(pd.isna(again[name]), pd.isna(column))
        assert np.allclose(domain.encode(again), members, rtol=0, atol=1e-9)

    def test_projecting_a_sample_changes_nothing(self, domain: Domain) -> None:
        rows = domain.sample(100, np.random.default_rng(3))
        again = domain.project(rows)
        assert again.shape == rows.shape
        assert np.array_equal(pd.isna(again), pd.isna(rows))

    def test_spec_describes_the_same_domain(self, domain: Domain, members: Floats) -> None:
        twin = load(json.loads(json.dumps(dump(domain))), REGISTRY, "domain")
        assert dump(twin) == dump(domain)
        assert (twin.names, twin.coordinates, twin.fills) == (
            domain.names,
            domain.coordinates,
            True,
        )
        gap = dict.fromkeys(domain.names, np.array([None], dtype=object))
        np.testing.assert_array_equal(twin.encode(gap), domain.encode(gap))
        assert np.array_equal(twin.sample_points(500, np.random.default_rng(0)), members)


def test_each_way_to_fill_a_gap() -> None:
    row = {"age": 34, "weight": 90, "height": 170, "gene": "G/G"}
    full = [16 / 77, 0.5, 0.5, 0.0, 0.0]
    assert encoded(FILLED, [row])[0] == pytest.approx(full)
    assert FILLED.coordinates == ("age", "weight", "height", "weight", "gene")
    for gap in (None, NAN, "no number", [3]):
        assert encoded(FILLED, [row | {"age": gap}])[0] == pytest.approx([32 / 77, *full[1:]])
        marked = encoded(FILLED, [row | {"weight": gap}])[0]
        assert marked == pytest.approx([full[0], 0.5, 0.5, 1.0, 0.0])
        assert np.isnan(encoded(FILLED, [row | {"height": gap}])).any()
        # A label that nobody declared is one that nobody knows.
        assert encoded(FILLED, [row | {"gene": gap}])[0] == pytest.approx([*full[:4], 1.0])


def test_the_label_of_missing_values_is_a_level_or_a_further_one() -> None:
    further = Categories(GENES, missing="unknown")
    assert further.labels == (*GENES, "unknown")
    assert further.levels == tuple(GENES)
    assert further.project([None, "A/A", "A/G"]).tolist() == ["unknown", "unknown", "A/G"]
    assert further.project(["unknown"]).tolist() == ["unknown"]
    one_of_them = Categories([0, 1], missing="1")
    assert one_of_them.labels == (0, 1)
    assert one_of_them.project([None, 7, 0]).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Box.of(a=Range(0, 1, missing=2)), "'a' must be a number from 0.0 to 1.0, 'ind"),
        (lambda: Box.of(a=Range(0, 1, missing=NAN)), "'a' must be a number from 0.0 to 1.0"),
        (lambda: Box.of(a=Range(0, 1, missing="mean")), "'indicator' or 'drop', got 'mean'"),
        (lambda: Box.of(a=Range(0, 1, missing=cast(Any, None))), "or 'drop', got None"),
        (lambda: Box.of(a=Range(1, 0)), "'a' must be finite and increasing"),
        (lambda: Box.of(a=Range(NAN, 1)), "'a' must be finite and increasing"),
        (lambda: Box([0], [1], missing=[0.5, 0.5]), "one entry for each of 1 coordinate"),
        (lambda: Box([0], [1], missing="drop"), "must be a list with one entry per coordinate"),
        (lambda: Categories(GENES, missing=NAN), "must not be None or NaN"),
        (lambda: Categories(GENES, missing=["A/A"]), "missing must be one label, got list"),
        (
            lambda: Categories(GENES, ordered=True, missing="unknown"),
            "'unknown', has no place in the order of the levels: name one of them",
        ),
        (
            lambda: Problem(Box.of(dose=Range(0, 1, missing=0.5)), Box.of(age=(0, 1))),
            "actions must not fill missing values",
        ),
        (
            lambda: Problem(Categories(GENES, missing="G/G"), Box.of(age=(0, 1))),
            "actions must not fill missing values",
        ),
    ],
)
def test_a_wrong_fill_is_refused_in_one_sentence(make: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


# -- a fill is one cell's -------------------------------------------------------------------------

numbers = st.one_of(st.none(), st.floats(), st.text(max_size=2), st.integers(-200, 200))
rows = st.fixed_dictionaries(
    {
        "age": numbers,
        "weight": numbers,
        "height": numbers,
        "gene": st.one_of(st.none(), st.sampled_from([*GENES, "A/A", 3])),
    }
)
complete = st.fixed_dictionaries(
    {
        "age": st.floats(18, 95),
        "weight": st.floats(40, 140),
        "height": st.floats(140, 200),
        "gene": st.sampled_from(GENES),
    }
)
PLAIN = Mixed.of(age=(18, 95), weight=(40, 140), height=(140, 200), gene=GENES)


@settings(max_examples=50)
@given(complete)
def test_a_fill_changes_no_complete_record(row: dict[str, Any]) -> None:
    filled = FILLED.decode(encoded(FILLED, [row]))
    plain = PLAIN.decode(encoded(PLAIN, [row]))
    assert {name: column.tolist() for name, column in filled.items()} == {
        name: column.tolist() for name, column in plain.items()
    }
    only_numbers = Box.of(age=Range(18, 95, missing=50), height=Range(140, 200, missing=150))
    assert np.array_equal(
        encoded(only_numbers, [row]), encoded(Box.of(age=(18, 95), height=(140, 200)), [row])
    )


@settings(max_examples=50)
@given(st.lists(rows, min_size=1, max_size=5))
def test_a_table_with_gaps_is_read_row_by_row(table: list[dict[str, Any]]) -> None:
    columns = {name: [row[name] for row in table] for name in FILLED.names}
    objects = pd.DataFrame(columns, dtype=object)
    alone = np.vstack([record_points(FILLED, [row], "contexts") for row in table])
    for data in (table, columns, objects):
        np.testing.assert_array_equal(record_points(FILLED, data, "contexts"), alone)
    again = record_points(FILLED, [*table, dict.fromkeys(FILLED.names)], "contexts")
    np.testing.assert_array_equal(again[:-1], alone)


# -- problems, files, statistics ------------------------------------------------------------------

TOML = """
[actions]
type = "box"
low = [0]
high = [100]
names = ["dose"]

[contexts]
type = "mixed"

[[contexts.parts]]
type = "box"
low = [18, 40, 140]
high = [95, 140, 200]
names = ["age", "weight", "height"]
missing = [50, "indicator", "drop"]

[[contexts.parts]]
type = "categories"
levels = ["G/G", "A/G"]
name = "gene"
missing = "unknown"
"""


def test_a_problem_file_declares_fills(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(TOML)
    problem = read_problem(tmp_path / "problem.toml").problem
    assert problem.spec() == Problem(Box.of(dose=(0, 100)), FILLED).spec()
    assert Problem.from_spec(problem.spec()).spec() == problem.spec()
    assert problem.spec()["contexts"]["parts"] == tomllib.loads(TOML)["contexts"]["parts"]


def test_a_table_declares_fills() -> None:
    dtypes = {"dose": float, "age": float, "weight": float, "height": float, "gene": str}
    problem = Problem.from_table(
        dtypes,
        action="dose",
        ranges={
            "dose": (0, 100),
            "age": Range(18, 95, missing=50),
            "weight": Range(40, 140, missing="indicator"),
            "height": (140, 200),
        },
        levels={"gene": Categories(GENES, missing="unknown")},
    )
    assert dump(problem.contexts) == dump(FILLED)


def test_a_record_with_a_gap_counts_for_what_it_says() -> None:
    """A missing weight is learned of as such, and a missing action still adds nothing."""
    contexts = Box.of(weight=Range(0, 1, missing="indicator"))
    problem = Problem(Box.of(dose=(0, 1)), contexts)
    rng = np.random.default_rng(0)
    n = 3000
    weight = np.where(rng.random(n) < 0.3, NAN, rng.random(n))
    dose = rng.random(n)
    log = {"dose": dose, "weight": weight}
    rewards = 1 - np.abs(dose - np.where(np.isnan(weight), 0.9, 0.2))
    design = build_design(
        problem, horizon=n, budget=tacit.Budget(4.0, 1e-6), rank=30, public_points=4000, rng=0
    )
    assert np.isin(design.features.U[:, 2], [0.0, 1.0]).all()
    policy = design.statistic().add(log, log, rewards).simulate_release(rng)
    doses = policy.decide({"weight": [None, 0.3, 0.8]})["dose"]
    assert doses[0] > 0.7
    assert max(doses[1:]) < 0.4
    nobody = design.statistic().add({"dose": [NAN]}, {"weight": [NAN]}, [1.0])
    assert not any(nobody._sum._value())
    somebody = design.statistic().add({"dose": [0.5]}, {"weight": [NAN]}, [1.0])
    assert any(somebody._sum._value())


def test_gaps_are_learned_as_part_of_who_comes() -> None:
    domain = Box.of(weight=Range(0, 1, missing="indicator"))
    assert [column.size for column in Cells(domain).parts] == [13]
    weight = [None if i % 2 else 0.9 for i in range(4000)]
    law = simulate_marginals(
        {"weight": weight}, domain, budget=BUDGET, rng=np.random.default_rng(0)
    )
    drawn = law.sample(2000, np.random.default_rng(1))["weight"]
    assert np.mean(np.isnan(drawn)) == pytest.approx(0.5, abs=0.1)
    # Those that are known are as in the table: none of them are where missing ones are kept.
    known = drawn[~np.isnan(drawn)]
    assert np.mean(known > 10 / 12) > 0.9
    assert np.mean(np.abs(known - 0.5) < 0.1) < 0.05


def test_visitors_are_missing_as_often_as_the_people_of_the_log() -> None:
    """And what is known of the others is as in the log: missing numbers used to be counted as
    numbers in the middle, where nobody of these is."""
    contexts = Mixed.of(
        height=(0, 1), weight=Range(0, 1, missing="indicator"), age=Range(0, 1, missing="indicator")
    )
    rng = np.random.default_rng(0)
    n = 5000
    log = {
        "dose": rng.random(n),
        "height": rng.random(n),
        "weight": np.where(rng.random(n) < 0.6, NAN, 0.9 + 0.1 * rng.random(n)),
        "age": np.where(rng.random(n) < 0.2, NAN, rng.random(n)),
    }
    design = build_design(
        Problem(Box.of(dose=(0, 1)), contexts),
        horizon=n,
        budget=tacit.Budget(4.0, 1e-6),
        rank=20,
        public_points=3000,
        rng=0,
    )
    policy = design.statistic().add(log, log, log["dose"]).simulate_release(rng)
    assert policy.visitors is not None
    points = policy.visitors
    visitors = contexts.decode(points)
    missing = {name: np.isnan(column) for name, column in visitors.items()}
    assert np.mean(missing["weight"]) == pytest.approx(0.6, abs=0.05)
    assert np.mean(missing["age"]) == pytest.approx(0.2, abs=0.05)
    assert not missing["height"].any()
    known = visitors["weight"][~missing["weight"]]
    assert np.mean(known > 10 / 12) > 0.85
    assert np.mean(np.abs(known - 0.5) < 0.1) < 0.05
    # Unit coordinates are those of members of the domain.
    assert np.array_equal(contexts.project_points(points), points)


def test_whether_a_number_is_missing_may_depend_on_another_column() -> None:
    domain = Mixed.of(weight=Range(0, 1, missing="indicator"), kind=["ill", "well"])
    rng = np.random.default_rng(0)
    ill = rng.random(6000) < 0.5
    weight = np.where(ill & (rng.random(6000) < 0.8), NAN, rng.random(6000))
    table = {"weight": weight, "kind": np.where(ill, "ill", "well")}
    law = simulate_marginals(table, domain, budget=tacit.Budget(4.0, 1e-6), rng=rng)
    drawn = law.sample(4000, np.random.default_rng(1))
    missing = np.isnan(drawn["weight"])
    kinds = np.asarray(drawn["kind"])
    assert np.mean(missing[kinds == "ill"]) == pytest.approx(0.8, abs=0.1)
    assert np.mean(missing[kinds == "well"]) < 0.1


def test_a_record_counts_once_in_each_column_whether_it_is_missing_or_not() -> None:
    cells = Cells(FILLED)
    assert [column.size for column in cells.parts] == [12, 13, 12, 3]
    points = FILLED.sample_points(500, np.random.default_rng(0))
    marks = cells.onehot(points)
    assert (marks.sum(axis=1) == cells.columns).all()
    assert np.linalg.norm(marks, axis=1) == pytest.approx(np.sqrt(cells.columns))
    weight = marks[:, 12:25]
    assert np.array_equal(weight[:, -1] == 1.0, points[:, 3] == 1.0)
    assert weight[:, -1].any()
