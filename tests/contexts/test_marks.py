"""What is not private stays marked, whatever way it takes into a policy; and public tables are not
the data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from helpers import BUDGET, build_design, create_study, records, small_problem, sqlite
from helpers import PROBLEM as PROBLEM_FILE
from log_data import log_table
from tacit import (
    Box,
    Budget,
    Categories,
    Design,
    InputError,
    Ledger,
    Matern,
    Mixed,
    Policy,
    Problem,
    Study,
    refine,
)
from tacit._typing import Rng
from tacit.cli import app
from tacit.contexts import (
    LearnedContexts,
    PublicSample,
    is_private,
    release_marginals,
    simulate_marginals,
)
from tacit.contexts.marks import MOST_STEPS
from tacit.logs import load_design, save_partial
from tacit.logs.worker import counter_for, shipped
from tacit.report.findings import Findings

pytestmark = pytest.mark.usefixtures("coarse_fits")

SMALL: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000}
PROBLEM = small_problem()
CAME = {"age": records(200)[1][:, 0], "weight": records(200)[1][:, 1]}
SIMULATED = simulate_marginals(CAME, PROBLEM.contexts, budget=BUDGET, rng=np.random.default_rng(0))
PLAYED = simulate_marginals(
    {"dose": records(200)[0][:, 0]}, PROBLEM.actions, budget=BUDGET, rng=np.random.default_rng(0)
)


@pytest.fixture(scope="module")
def charged(tmp_path_factory: pytest.TempPathFactory) -> LearnedContexts:
    ledger = Ledger.create(sqlite(tmp_path_factory.mktemp("charged")), BUDGET)
    return release_marginals(CAME, PROBLEM.contexts, budget=BUDGET, ledger=ledger)


def built(problem: Problem, **options: Any) -> Design:
    return build_design(problem, horizon=500, budget=BUDGET, rng=0, **SMALL | options)


def released(design: Design, folder: Path, name: str = "ledger.db") -> Policy:
    """A real release, charged, with noise from OpenDP."""
    ledger = Ledger.create(sqlite(folder, name), Budget(rho=10.0))
    return design.statistic().add(*records(300)).release(ledger=ledger)


class Wrapped:
    """A generator of somebody's own, made from another one."""

    def __init__(self, law: Any) -> None:
        self.parts = {"inner": [law]}

    def sample(self, n: int, rng: Rng) -> Any:
        return self.parts["inner"][0].sample(n, rng)


def through(law: Any, n: int, rng: Rng) -> Any:
    return law.sample(n, rng)


def with_default(n: int, rng: Rng, law: Any = SIMULATED) -> Any:
    return law.sample(n, rng)


def by_global_name(n: int, rng: Rng) -> Any:
    return next(law.sample(n, rng) for law in [SIMULATED])


def nested(law: Any) -> Any:
    def outer(n: int, rng: Rng) -> Any:
        def inner() -> Any:
            return law.sample(n, rng)

        return inner()

    return outer


# How a law gets into a problem. Each is one function of the law.
WAYS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda law: law,
    "its method": lambda law: law.sample,
    "a partial of a function": lambda law: partial(through, law),
    "a function that remembers it": lambda law: lambda n, rng: law.sample(n, rng),
    "a function inside a function": nested,
    "an object that holds it": Wrapped,
    "a method of such an object": lambda law: Wrapped(law).sample,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_simulated_generator_marks_the_policy_whatever_way_it_comes_in(
    way: str, charged: LearnedContexts, tmp_path: Path
) -> None:
    marked = built(replace(PROBLEM, generator=WAYS[way](SIMULATED)))
    assert not marked.private
    assert not released(marked, tmp_path).private
    assert built(replace(PROBLEM, generator=WAYS[way](charged))).private


@pytest.mark.parametrize("law", [with_default, by_global_name])
def test_a_function_that_names_a_simulated_generator_is_marked(law: Any) -> None:
    assert not built(replace(PROBLEM, generator=law)).private


def test_simulated_play_and_a_kernel_made_of_a_simulation_mark_the_design(tmp_path: Path) -> None:
    assert not released(built(replace(PROBLEM, play=PLAYED)), tmp_path).private
    first = built(PROBLEM).statistic().add(*records(300)).simulate_release(np.random.default_rng(0))

    def kernel(A: Any, B: Any) -> Any:
        return Matern(2.5, 0.5 * first.posterior.scale**0.0)(A, B)

    assert not built(replace(PROBLEM, kernel=kernel)).private
    assert not is_private(first)
    assert not is_private(partial(first.decide))


def test_what_carries_no_mark_is_private(charged: LearnedContexts, tmp_path: Path) -> None:
    def uniform(n: int, rng: Rng) -> Any:
        return PROBLEM.contexts.sample(n, rng)

    laws = (None, charged, uniform, PublicSample(CAME))
    assert all(built(replace(PROBLEM, generator=law)).private for law in laws)
    assert released(built(replace(PROBLEM, generator=charged)), tmp_path).private
    chain: Any = SIMULATED.guarantee
    for _ in range(MOST_STEPS):
        chain = [chain]
    assert is_private(chain)  # too far away: the search ends


def test_the_mark_is_in_all_that_a_policy_shows(tmp_path: Path) -> None:
    policy = released(built(replace(PROBLEM, generator=SIMULATED)), tmp_path)
    folder = policy.save(tmp_path / "policy")
    about = json.loads((folder / "policy.json").read_text())
    assert (about["private"], about["guarantee"]["private"]) == (False, False)
    assert str(policy.guarantee).startswith("NOT PRIVATE")
    assert "private=False" in repr(policy)
    loaded = Policy.load(folder)
    assert not loaded.private
    assert not loaded.sample(np.random.default_rng(0)).private
    assert not Findings.of(loaded).policy.private
    (tmp_path / "visitors.csv").write_text("age,weight\n30,60\n")
    told = CliRunner().invoke(app, ["decide", str(folder), str(tmp_path / "visitors.csv")])
    assert "NOT private" in told.stderr


# -- kept and restored ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law", [{"generator": SIMULATED}, {"play": PLAYED}], ids=["generator", "play"]
)
def test_a_restored_design_is_still_marked(law: dict[str, Any], tmp_path: Path) -> None:
    """Laws are not kept in files; their mark is. A play has to be stated again."""
    design = built(replace(PROBLEM, **law))
    stated = replace(PROBLEM, play=law.get("play"))
    restored = Design.restore(stated, json.loads(json.dumps(design.facts())), design.arrays())
    again = Design.restore(stated, restored.facts(), restored.arrays())
    save_partial(design.statistic(), tmp_path / "partial", {})
    from_file = load_design(stated, tmp_path / "partial")
    on_worker = counter_for(shipped(design), None).design
    assert not any(kept.private for kept in (design, restored, again, from_file, on_worker))
    assert not released(from_file, tmp_path).private


def test_what_a_design_keeps_of_a_simulated_generator_marks_a_new_one() -> None:
    design = built(replace(PROBLEM, generator=SIMULATED))
    kept = Design.restore(PROBLEM, design.facts(), design.arrays()).problem
    assert kept.generator is not None
    assert not built(kept).private
    unmarked = built(replace(PROBLEM, generator=PublicSample(CAME)))
    assert built(Design.restore(PROBLEM, unmarked.facts(), unmarked.arrays()).problem).private


def test_a_design_without_its_mark_is_not_restored() -> None:
    design = built(PROBLEM)
    facts = {name: value for name, value in design.facts().items() if name != "private"}
    with pytest.raises(KeyError, match="private"):
        Design.restore(PROBLEM, facts, design.arrays())


@pytest.mark.parametrize("passes", [1, 2])
def test_a_study_with_a_simulated_generator_is_marked_also_when_opened_again(
    passes: int, tmp_path: Path
) -> None:
    problem = replace(PROBLEM, generator=SIMULATED)
    study = create_study(
        sqlite(tmp_path),
        problem,
        horizon=50,
        budget=BUDGET,
        passes=passes,
        seed=0,
        **SMALL,
    )
    asked = study.ask_many([[61, 74]] * 20)
    study.tell_many([decision.id for decision in asked], [0.5] * 20)
    assert not Study.open(sqlite(tmp_path)).design.private
    assert not study.release().private
    assert not Study.open(sqlite(tmp_path)).release().private


# -- two passes ------------------------------------------------------------------------------------


def test_a_second_pass_inherits_the_mark_of_the_first(tmp_path: Path) -> None:
    first = built(replace(PROBLEM, generator=SIMULATED), passes=2)
    second = refine(released(first, tmp_path, "first.db"))
    assert not released(second, tmp_path, "second.db").private
    unmarked = built(PROBLEM, passes=2)
    private = released(unmarked, tmp_path, "unmarked.db")
    assert released(refine(private), tmp_path, "again.db").private


def test_a_second_pass_after_a_simulated_policy_is_marked(tmp_path: Path) -> None:
    first = built(PROBLEM, passes=2)
    simulated = first.statistic().add(*records(300)).simulate_release(np.random.default_rng(0))
    second = refine(simulated)
    restored = Design.restore(PROBLEM, json.loads(json.dumps(second.facts())), second.arrays())
    assert not second.private
    assert not restored.private
    assert not released(second, tmp_path, "second.db").private
    assert not released(restored, tmp_path, "restored.db").private


@pytest.mark.parametrize("budget", [Budget(rho=0.01), Budget(epsilon=2.0, delta=1e-6), None])
def test_facts_name_the_budget_that_both_passes_spend(
    budget: Budget | None, tmp_path: Path
) -> None:
    first = built(PROBLEM, passes=2)
    second = refine(released(first, tmp_path, "first.db"), budget=budget)
    policy = released(second, tmp_path, "second.db")
    named = Budget(**policy.facts["budget"])
    assert named.zcdp == pytest.approx(policy.guarantee.rho, rel=1e-9)
    assert (named == BUDGET) == (budget is None)


# -- a public sample that is the data -------------------------------------------------------------


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: column[i] for name, column in table.items()} for i in range(len(table["age"]))]


PLACES = Mixed([Box([18], [95], names=["age"]), Categories(["north", "south"], "place")])
MIXED = replace(PROBLEM, contexts=PLACES)
PEOPLE: dict[str, Any] = {
    "age": [float(20 + i % 60) for i in range(200)],
    "place": ["north" if i % 3 else "south" for i in range(200)],
}
ARRAY = np.column_stack([CAME["age"], CAME["weight"]])
PANDAS = pd.DataFrame(PEOPLE)
POLARS = pl.DataFrame(PEOPLE)
ARROW = pa.table(PEOPLE)
CODED = pa.table({"place": ARROW["place"].dictionary_encode()})
AGE_ONLY = replace(PROBLEM, contexts=Box([18], [95], names=["age"]))
PLACE_ONLY = replace(PROBLEM, contexts=Categories(["north", "south"], "place"))
ROWS = rows_of(PEOPLE)
AGES = np.array(PEOPLE["age"])
# (problem, public sample, records)
SAME: dict[str, tuple[Problem, Any, Any]] = {
    "one array": (PROBLEM, ARRAY, ARRAY),
    "some rows of an array": (PROBLEM, ARRAY[50:60], ARRAY),
    "a dict of columns of it": (PROBLEM, {"age": ARRAY[:, 0], "weight": ARRAY[:, 1]}, ARRAY),
    "one column of it": (PROBLEM, {"age": ARRAY[:, 0], "weight": np.full(200, 70.0)}, ARRAY),
    "every other row": (PROBLEM, ARRAY[::2], ARRAY[::3]),
    "one dict": (MIXED, PEOPLE, PEOPLE),
    "another dict of the same columns": (MIXED, dict(PEOPLE), PEOPLE),
    "one list of rows": (MIXED, ROWS, ROWS),
    "some of the rows": (MIXED, ROWS[:20], ROWS),
    "one list of lists": (PROBLEM, (nested_rows := ARRAY.tolist())[3:9], nested_rows),
    "pandas": (MIXED, PANDAS, PANDAS),
    "some rows of a pandas table": (MIXED, PANDAS.iloc[:20], PANDAS),
    "numbers of pandas": (AGE_ONLY, PANDAS.iloc[:20], PANDAS),
    "a copy on write": (MIXED, PANDAS.copy(deep=False), PANDAS),
    "text of pandas": (PLACE_ONLY, PANDAS.iloc[:20], PANDAS),
    "objects of pandas": (PLACE_ONLY, (objects := PANDAS.astype(object)).iloc[:20], objects),
    "categories of pandas": (
        PLACE_ONLY,
        (labels := PANDAS.astype({"place": "category"})).iloc[:20],
        labels,
    ),
    "nullable numbers of pandas": (
        AGE_ONLY,
        (gaps := PANDAS.astype({"age": "Float64"})).iloc[:20],
        gaps,
    ),
    "polars": (MIXED, POLARS, POLARS),
    "the head of a polars table": (MIXED, POLARS.head(20), POLARS),
    "text of polars": (PLACE_ONLY, POLARS.head(20), POLARS.clone()),
    "arrow": (MIXED, ARROW, ARROW),
    "a slice of an arrow table": (MIXED, ARROW.slice(20, 20), ARROW),
    "text of arrow": (PLACE_ONLY, ARROW.slice(150), ARROW),
    "a dictionary of arrow": (PLACE_ONLY, CODED.slice(9), CODED),
    "numpy and arrow": (AGE_ONLY, pa.table({"age": AGES}), {"age": AGES}),
    "numbers of polars and arrow": (MIXED, POLARS.to_arrow(), POLARS),
}
APART: dict[str, tuple[Problem, Any, Any]] = {
    "a copy": (PROBLEM, ARRAY.copy(), ARRAY),
    "other rows of one array": (PROBLEM, ARRAY[:50], ARRAY[50:]),
    "odd and even rows": (PROBLEM, ARRAY[::2], ARRAY[1::2]),
    "other lists of the same cells": (
        MIXED,
        {name: list(column) for name, column in PEOPLE.items()},
        PEOPLE,
    ),
    "other rows of one list": (MIXED, ROWS[:20], ROWS[20:]),
    "equal rows": (MIXED, [dict(row) for row in ROWS], ROWS),
    "other rows of pandas": (MIXED, PANDAS.iloc[:20], PANDAS.iloc[20:]),
    "other rows of polars": (MIXED, POLARS[:20], POLARS[20:]),
    "other rows of arrow": (MIXED, ARROW.slice(0, 20), ARROW.slice(20)),
    "a deep copy": (AGE_ONLY, PANDAS.copy(), PANDAS),
}


def added(problem: Problem, sample: Any, table: Any) -> bool:
    """Whether all rows of the table are in."""
    rows = len(problem.contexts.read(table).columns[problem.contexts.names[0]])
    statistic = built(replace(problem, generator=PublicSample(sample))).statistic()
    statistic.add(np.full((rows, 1), 50.0), table, np.full(rows, 0.5))
    return statistic.records == rows


@pytest.mark.parametrize("case", SAME)
def test_a_public_sample_that_is_the_data_is_refused(case: str) -> None:
    with pytest.raises(InputError, match="the public sample is the data itself"):
        added(*SAME[case])


@pytest.mark.parametrize("case", APART)
def test_a_public_sample_of_other_memory_is_taken(case: str) -> None:
    assert added(*APART[case])


def test_the_refusal_does_not_depend_on_values() -> None:
    """By where cells are: other values in the same places are refused, and equal ones elsewhere are
    not."""
    problem = replace(PROBLEM, generator=PublicSample(ARRAY))
    for value in (np.nan, 0.0, 50.0):
        shared = ARRAY.view()
        moved = ARRAY.copy()
        ARRAY[:] = value
        with pytest.raises(InputError, match="data itself"):
            problem.require_apart(shared)
        problem.require_apart(ARRAY.copy())
        ARRAY[:] = moved


def test_a_study_refuses_its_own_sample_before_anything_is_written(tmp_path: Path) -> None:
    problem = replace(PROBLEM, generator=PublicSample(ARRAY[:20]))
    study = create_study(
        sqlite(tmp_path),
        problem,
        horizon=500,
        budget=BUDGET,
        seed=0,
        **SMALL,
    )
    with pytest.raises(InputError, match="data itself"):
        study.ask_many(ARRAY)
    with pytest.raises(InputError, match="data itself"):
        study.ask(ARRAY[3])
    assert study.asked == 0
    study.ask_many(ARRAY[20:])


def test_logged_actions_are_not_a_law_of_play() -> None:
    doses, contexts, rewards = records(100)
    statistic = built(replace(PROBLEM, play=PublicSample(doses))).statistic()
    with pytest.raises(InputError, match="data itself"):
        statistic.add(doses, contexts, rewards)
    assert statistic.records == 0


def linked(path: Path, kind: str) -> Path:
    """The same file by another name."""
    other = path.with_name(f"{kind}-{path.name}")
    if kind == "symbolic":
        other.symlink_to(path)
    elif kind == "hard":
        other.hardlink_to(path)
    else:
        return path
    return other


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard"])
def test_tacit_fit_refuses_a_sample_that_is_a_data_file(kind: str, tmp_path: Path) -> None:
    pq.write_table(log_table(300), tmp_path / "log.parquet")
    pq.write_table(log_table(300, seed=1), tmp_path / "more.parquet")
    sample = linked(tmp_path / "more.parquet", kind).name
    (tmp_path / "problem.toml").write_text(PROBLEM_FILE + f'\n[generator]\nsample = "{sample}"\n')
    files = [tmp_path / "problem.toml", tmp_path / "log.parquet", tmp_path / "more.parquet"]
    url = f"sqlite:///{tmp_path}/ledger.db"
    command = [
        "fit",
        *map(str, files),
        "--out",
        str(tmp_path / "policy"),
        "--rank",
        "8",
        "--ledger",
        url,
    ]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, InputError)
    assert "both the data and the public sample" in str(refused.exception)
    assert not (tmp_path / "ledger.db").exists()
    shutil.copy(tmp_path / "more.parquet", tmp_path / "census.parquet")
    (tmp_path / "problem.toml").write_text(
        PROBLEM_FILE + '\n[generator]\nsample = "census.parquet"\n'
    )
    assert CliRunner().invoke(app, [*command, "--passes", "1"]).exit_code == 0
