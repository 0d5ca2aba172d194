"""Which columns are worth asking: what leaving one out would change, forecast before any data."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, build_design
from tacit import Budget, DesignOptions, InputError
from tacit._typing import Floats
from tacit.cli import app
from tacit.passes import release_passes, simulate_with
from tacit.planning import ColumnWorth, Plan, plan
from tacit.planning.leaving_out import reduced_problems
from tacit.problem import Problem

ACTIONS = tacit.Box.of(x=(0, 1))
SITES = [f"site {i}" for i in range(20)]
LABELS = Problem(ACTIONS, tacit.Mixed.of(site=SITES, smoker=[0, 1]), reward_range=(-1.0, 1.0))
NUMBERS = Problem(ACTIONS, tacit.Box.of(age=(0, 1), weight=(0, 1)), reward_range=(-1.0, 1.0))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 40)
    monkeypatch.setattr("tacit.planning.columns.FUNCTIONS", 256)
    for module in ("simulation", "columns"):
        monkeypatch.setattr(f"tacit.planning.{module}.POINTS", 1024)


def planned(problem: Problem, rounds: int = 3000, **given: Any) -> Plan:
    options = DesignOptions(rank=40)
    return plan(problem, horizon=rounds, options=options, budget=BUDGET, passes=1, **given)


def test_many_labels_cost_more_than_a_yes_or_no() -> None:
    """By three standard errors; they have to be likelier to matter, too."""
    site, smoker = planned(LABELS, 1000).columns()
    assert (site.column, site.kind) == ("site", "20 labels")
    assert (smoker.column, smoker.kind) == ("smoker", "yes or no")
    assert site.cost - smoker.cost > 3 * np.hypot(site.cost_error, smoker.cost_error)
    assert site.break_even > smoker.break_even


def test_columns_of_the_same_kind_are_worth_the_same() -> None:
    age, weight = planned(NUMBERS).columns()
    assert abs(age.gain - weight.gain) < 3 * np.hypot(age.gain_error, weight.gain_error)
    assert abs(age.cost - weight.cost) < 3 * np.hypot(age.cost_error, weight.cost_error)
    assert age.gain > 5 * age.gain_error


def test_more_rounds_gain_more_and_cost_less() -> None:
    few, many = (planned(PAIR, rounds).columns()[0] for rounds in (300, 30_000))
    assert many.gain > few.gain + 3 * np.hypot(few.gain_error, many.gain_error)
    assert many.break_even < few.break_even


# Two labels that each explain nearly half of the reward; it has no lengthscales to be found.
PAIR = Problem(
    ACTIONS,
    tacit.Mixed.of(smoker=[0, 1], male=[0, 1]),
    tacit.Separable(
        tacit.Matern(2.5, 0.3), tacit.Pooled(tacit.Categorical(0.0), weights=(0.1, 0.9, 0.0))
    ),
    reward_range=(-1.0, 1.0),
)
STUDIES = 24


def value_lost(problem: Problem, columns: list[int], points: Floats, functions: Floats) -> Floats:
    """By studies that are played for real, and see these columns of the points."""
    rounds = 3000
    rng = np.random.default_rng(1)
    design = build_design(problem, horizon=rounds, budget=BUDGET, rng=0, passes=1, rank=40)
    found = []
    for f in functions.T:
        at = rng.integers(len(points), size=rounds)
        y = np.clip(f[at] + 0.3 * rng.normal(size=rounds), -1, 1)

        def collect(design: tacit.Design, at: Any = at, y: Floats = y) -> tacit.Statistic:
            statistic = design.statistic()
            statistic.add_points(points[at][:, columns], y)
            return statistic

        policy = release_passes(design, collect, simulate_with(rng))
        chosen = np.rint(40 * policy.decide_points(points[:4, columns[1:]])[:, 0]).astype(int)
        table = f.reshape(41, 4)
        found.append((table.max(axis=0) - table[chosen, np.arange(4)]).mean())
    return np.array(found)


def test_leaving_a_column_out_costs_what_was_forecast() -> None:
    """Studies with and without a column, of the same functions: the mean difference agrees within
    two standard errors, and no difference at all would not."""
    male = planned(PAIR).columns()[1]
    labels = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    points = np.column_stack([np.repeat(np.linspace(0, 1, 41), 4), np.tile(labels, (41, 1))])
    K = PAIR.k(points, points) + 1e-9 * np.eye(len(points))
    draws = np.random.default_rng(0).normal(size=(len(points), STUDIES))
    functions = 0.3 * np.linalg.cholesky(K) @ draws
    [_, without_male] = reduced_problems(PAIR)
    asked = value_lost(PAIR, [0, 1, 2], points, functions)
    left_out = value_lost(without_male.problem, [0, 1], points, functions)
    difference = left_out - asked
    error = float(np.hypot(difference.std(ddof=1) / np.sqrt(STUDIES), male.gain_error))
    assert abs(difference.mean() - male.gain) < 2 * error
    assert 2 * error < male.gain


def test_both_studies_share_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference is known better than it would be with noise of their own."""
    from tacit.planning import columns

    before = planned(NUMBERS).columns()[0]
    seeds = iter(range(100))
    together = columns.Learning

    def apart(basis: Any, functions: Any, priors: Any, signal: float, seed: int) -> Any:
        return together(basis, functions, priors, signal, next(seeds))

    monkeypatch.setattr(columns, "Learning", apart)
    after = planned(NUMBERS).columns()[0]
    assert before.cost_error < 0.8 * after.cost_error


def test_the_same_question_has_the_same_answer_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    made = planned(NUMBERS, progress=lambda *what: told.append(what))
    first = made.columns()
    assert told[-2:] == [("leaving out columns", 1, 2), ("leaving out columns", 2, 2)]
    made.at(500, BUDGET)
    assert made.columns() == first


def test_what_cannot_be_answered_is_said_plainly() -> None:
    alike = Problem(ACTIONS, tacit.Categories(["everybody"]))
    with pytest.raises(InputError, match="there is no context column to leave out"):
        planned(alike).columns()
    pure = plan(NUMBERS, horizon=100, budget=Budget(1.0), options=DesignOptions(rank=20))
    with pytest.raises(InputError, match="not for single decisions"):
        pure.columns()
    joint = replace(NUMBERS, kernel=tacit.kernels.Joint(tacit.Matern(2.5, 0.5)))
    with pytest.raises(InputError, match="cannot be left out of a Joint kernel"):
        planned(joint).columns()


def test_the_only_column_can_be_left_out() -> None:
    """Then everybody is treated alike."""
    [age] = planned(Problem(ACTIONS, tacit.Box.of(age=(0, 1)))).columns()
    assert age.gain > 5 * age.gain_error


def names_and_dimensions(problem: Problem) -> list[tuple[str, tuple[str, ...], int]]:
    return [
        (each.column, tuple(each.problem.contexts.names), each.problem.dimension)
        for each in reduced_problems(problem)
    ]


def test_every_kind_of_column_can_be_left_out() -> None:
    contexts = tacit.Mixed.of(
        age=tacit.Range(0, 1, missing="indicator"),
        weight=(0, 1),
        gene=["a", "b", "c"],
        pain=tacit.Categories(["none", "mild", "severe"], ordered=True),
        one=["always"],
        place=tacit.Ball([0.0, 0.0], 1.0, ["north", "east"]),
    )
    problem = Problem(ACTIONS, contexts)
    rest = ("gene", "pain", "one")
    assert names_and_dimensions(problem) == [
        ("age", ("weight", *rest, "north", "east"), 7),
        ("weight", ("age", *rest, "north", "east"), 8),
        ("gene", ("age", "weight", "pain", "one", "north", "east"), 8),
        ("pain", ("age", "weight", "gene", "one", "north", "east"), 8),
        ("north, east", ("age", "weight", *rest), 7),
    ]
    points = problem.public_points(50, np.random.default_rng(0))
    for each in reduced_problems(problem):
        projected = each.project(points)
        assert projected.shape == (50, each.problem.dimension)
        assert each.problem.contexts.project_points(projected[:, 1:]) == pytest.approx(
            projected[:, 1:]
        )


MATERN = tacit.Matern(2.5, 0.4)
GENE = tacit.Categorical(0.2)


@pytest.mark.parametrize(
    "contexts",
    [
        tacit.Matern(2.5, [0.2, 0.4, 0.6]),
        tacit.kernels.Linear(),
        MATERN.on("age", "weight") * GENE.on("gene"),
        MATERN.on("age") + MATERN.on("weight") + GENE.on("gene"),
        tacit.Pooled(MATERN.on("age", "weight") * GENE.on("gene"), weights=(0.2, 0.5, 0.3)),
    ],
)
def test_kernels_without_a_column_are_kernels_of_the_others(contexts: Any) -> None:
    domain = tacit.Mixed.of(age=(0, 1), weight=(0, 1), gene=["a", "b", "c"])
    problem = Problem(ACTIONS, domain, tacit.Separable(MATERN, contexts))
    points = problem.public_points(30, np.random.default_rng(0))
    for each in reduced_problems(problem):
        P = each.project(points)
        K = each.problem.k(P, P)
        np.testing.assert_allclose(each.kernel(problem.k)(P, P), K)
        assert np.linalg.eigvalsh(K).min() > -1e-9
    if isinstance(contexts, tacit.Matern):
        [_, _, no_gene] = reduced_problems(problem)
        assert no_gene.problem.kernel.contexts.lengthscale == (0.2, 0.4)  # type: ignore[union-attr]


def test_a_generator_and_advantages_stay_when_a_column_goes() -> None:
    skewed = replace(NUMBERS, generator=lambda n, rng: rng.random((n, 2)) ** 2, advantage=True)
    [_, no_weight] = reduced_problems(skewed)
    assert no_weight.problem.advantage
    drawn = no_weight.problem.draw_contexts(4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 1)
    assert drawn.mean() == pytest.approx(1 / 3, abs=0.03)
    assert all(np.isfinite(worth.gain) for worth in planned(skewed).columns())


def test_break_even_is_where_gain_and_cost_are_equal() -> None:
    worth = ColumnWorth("age", "number", 0.03, 0.001, 0.01, 0.001)
    p = worth.break_even
    assert p * worth.gain == pytest.approx((1 - p) * worth.cost)
    assert worth.verdict == "if likelier than 25 %"
    assert replace(worth, cost=-0.01).break_even == 0.0
    assert replace(worth, cost=-0.01).verdict.startswith("yes")
    assert replace(worth, gain=-0.01).break_even == 1.0
    assert replace(worth, gain=-0.01).verdict.startswith("no:")
    assert replace(worth, gain=0.0, cost=0.0).verdict.startswith("as you like")


PROBLEM_FILE = """
horizon = 500

[actions]
type = "box"
low = [0.0]
high = [1.0]
names = ["x"]

[contexts]
type = "box"
low = [0.0, 0.0]
high = [1.0, 1.0]
names = ["age", "weight"]

[budget]
epsilon = 1.0
delta = 1e-6
"""


def test_the_command_prints_a_table_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM_FILE)
    command = sys.modules["tacit.cli.plan"]  # the name in the package is the function
    monkeypatch.setattr(command, "_what_if", lambda *given: None)  # quick
    options = ["plan", str(path), "--rank", "30", "--columns"]
    shown = CliRunner().invoke(app, options)
    assert shown.exit_code == 0, shown.output
    assert "Which columns are worth asking?" in shown.stdout
    answer = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert [worth["column"] for worth in answer["columns"]] == ["age", "weight"]
    keys = {"kind", "gain", "gain_error", "cost", "cost_error", "break_even", "verdict"}
    assert keys <= set(answer["columns"][0])
    assert "columns" not in json.loads(
        CliRunner().invoke(app, ["plan", str(path), "--rank", "30", "--json"]).stdout
    )
