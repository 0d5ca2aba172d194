"""Records with propensities: what one of them adds, how large its weight may be, how it is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, PROBLEM, SMALL, build_design, records, silence, small_problem, sqlite
from tacit import (
    Box,
    Categories,
    DesignOptions,
    InputError,
    Ledger,
    Mixed,
    Policy,
    Problem,
    RunOptions,
)
from tacit.cli import app
from tacit.contexts import PublicSample
from tacit.decoder.parts import ReleaseParts
from tacit.design.weights import MAX_WEIGHTS, choose_max_weight
from tacit.logs import LogColumns, read_problem
from tacit.play import EpsilonGreedy, Fixed
from tacit.statistic import propensity_weights
from witness import GAUSSIAN, always, watched

pytestmark = pytest.mark.usefixtures("coarse_fits")

ROWS = 60
DESIGN = build_design(
    small_problem(), horizon=300, budget=BUDGET, max_weight=5.0, passes=2, **SMALL
)
UNIFORM = small_problem().actions.uniform_density  # 0.01
NUMBERS = st.floats(width=64)
CELLS = st.one_of(NUMBERS, st.none(), st.text(max_size=3), st.booleans(), st.integers())
ARMS = Categories(["A", "B", "C"], "arm")


def total(**given: Any) -> list[int]:
    """The sum of small records with these propensities."""
    p = given["propensity"]
    doses, contexts, rewards = records(len(p))
    statistic = DESIGN.statistic().add(doses, contexts, rewards, propensity=p)
    return [int(value) for value in statistic._sum._value()]


# -- the weight of a record -----------------------------------------------------------------------


@given(NUMBERS, st.sampled_from(MAX_WEIGHTS), st.sampled_from([ARMS, small_problem().actions]))
def test_a_weight_is_a_share_of_the_largest_or_nothing(
    p: float, most: float, actions: tacit.domains.Domain
) -> None:
    with np.errstate(all="ignore"):
        weight = float(propensity_weights(np.array([p]), actions, most)[0])
    good = 0 < p < math.inf and (actions.continuous or p <= 1)
    assert math.isnan(weight) != good
    if good:
        assert 0 <= weight <= 1
        assert weight == min(actions.uniform_density / p, most) / most


def test_an_action_that_is_as_likely_as_in_uniform_play_has_weight_one() -> None:
    mixed = Mixed([ARMS, Box.of(dose=(0, 50))])
    for actions, p in ((ARMS, 1 / 3), (small_problem().actions, 0.01), (mixed, 1 / 150)):
        weights = propensity_weights(np.array([p, 10 * p, p / 2, p / 100]), actions, 4.0)
        likely = 10 * p <= 1 or actions.continuous
        assert 4 * weights[[0, 2, 3]] == pytest.approx([1.0, 2.0, 4.0])
        assert 4 * weights[1] == (
            pytest.approx(0.1) if likely else pytest.approx(math.nan, nan_ok=True)
        )


@pytest.fixture(scope="module")
def others() -> Any:
    """The sum of all but one of six records."""
    doses, contexts, rewards = (column[[0, 1, 2, 4, 5]] for column in records(6))
    statistic = DESIGN.statistic().add(doses, contexts, rewards, propensity=[UNIFORM] * 5)
    return statistic._sum._value()


@settings(max_examples=25, deadline=None)
@given(cell=CELLS)
def test_any_cell_is_a_propensity_that_raises_nothing_and_moves_its_own_record_alone(
    cell: Any, others: Any
) -> None:
    doses, contexts, rewards = (column[[3]] for column in records(6))
    with silence():
        together = np.array(total(propensity=[UNIFORM] * 3 + [cell] + [UNIFORM] * 2))
        own = DESIGN.statistic().add(doses, contexts, rewards, propensity=[cell])
    assert np.array_equal(together, others + own._sum._value())


@pytest.mark.parametrize(
    "cell", [0, -0.0, -1.0, None, "often", "", math.nan, math.inf, -math.inf, [1, 1], b"\xff"]
)
def test_a_bad_propensity_adds_nothing(cell: Any) -> None:
    doses, contexts, rewards = records(1)
    with silence():
        statistic = DESIGN.statistic().add(doses, contexts, rewards, propensity=[cell])
    assert statistic.records == 1
    assert not statistic._sum._value().any()


def test_a_probability_above_one_adds_nothing_where_actions_are_finite() -> None:
    problem = Problem(ARMS, Box.of(c=(0, 1)))
    design = build_design(problem, horizon=10, budget=BUDGET, max_weight=5.0, **SMALL)
    sums = []
    for p in (1.0, 1.0 + 1e-9, 2):
        statistic = design.statistic().add(["A"], [[0.5]], [1.0], propensity=[p])
        sums.append(statistic._sum._value().any())
    assert sums == [True, False, False]


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(random: Any) -> None:
    order = list(range(ROWS))
    random.shuffle(order)
    doses, contexts, rewards = records(ROWS)
    p = np.geomspace(1e-4, 1.0, ROWS)
    mixed = DESIGN.statistic()
    mixed.add(doses[order], contexts[order], rewards[order], propensity=p[order])
    assert [int(value) for value in mixed._sum._value()] == total(propensity=p)


def test_one_record_by_itself_and_every_container_are_read_alike() -> None:
    doses, contexts, rewards = records(ROWS)
    p = np.geomspace(1e-4, 1.0, ROWS)
    expected = total(propensity=p)
    for same in (list(p), pd.Series(p), pa.array(p), [str(value) for value in p]):
        assert total(propensity=same) == expected
    one = DESIGN.statistic()
    for i in range(ROWS):
        one.add(
            {"dose": doses[i, 0]},
            dict(zip(("age", "weight"), contexts[i], strict=True)),
            rewards[i],
            propensity=p[i],
        )
    assert [int(value) for value in one._sum._value()] == expected


def test_weights_and_designs_belong_together() -> None:
    data = records(ROWS)
    plain = build_design(small_problem(), horizon=300, budget=BUDGET, **SMALL)
    with pytest.raises(InputError, match="takes records with propensities"):
        DESIGN.statistic().add(*data)
    with pytest.raises(InputError, match="leave the propensity out"):
        plain.statistic().add(*data, propensity=np.full(ROWS, UNIFORM))
    with pytest.raises(InputError, match="propensity must have one entry per row"):
        DESIGN.statistic().add(*data, propensity=np.full(ROWS - 1, UNIFORM))
    with pytest.raises(InputError, match="takes records with propensities"):
        DESIGN.statistic().add_points(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(InputError, match="a Study plays uniformly"):
        tacit.Study.create(
            "sqlite://",
            small_problem(),
            horizon=10,
            budget=BUDGET,
            options=DesignOptions(max_weight=2.0),
        )


def test_what_is_read_from_a_release_is_that_of_uniform_play() -> None:
    """Twice as many records of weight one half tell the same, apart from noise."""
    rng = np.random.default_rng(0)
    points = small_problem().public_points(300, rng)
    y = np.sin(5 * points[:, 0])
    parts = []
    for most in (2.0, 4.0):
        design = replace(DESIGN, max_weight=most)
        statistic = design.statistic()
        statistic.add_points(points, y, weights=np.full(300, 1.0 / most))
        policy = statistic.simulate_release(np.random.default_rng(1))
        assert policy.facts["play"] == f"propensities, weights up to {most:g}"
        parts.append(ReleaseParts.of(policy.releases[-1]))
    noise = parts[1].influence_noise
    assert noise == pytest.approx(2 * parts[0].influence_noise)
    assert np.abs(parts[0].sums.influences - parts[1].sums.influences).max() < 12 * noise


def test_the_largest_weight_is_chosen_without_data_and_grows_with_the_rounds() -> None:
    problem = Problem(ARMS, Box.of(c=(0, 1)))
    few, many = (
        choose_max_weight(problem, rounds, BUDGET, DesignOptions()) for rounds in (300, 100_000)
    )
    assert MAX_WEIGHTS[0] <= few < many <= MAX_WEIGHTS[-1]
    assert choose_max_weight(problem, 300, BUDGET, DesignOptions(max_weight=7.5)) == 7.5


# -- tacit.fit ------------------------------------------------------------------------------------

OPTIONS = DesignOptions(rank=8, tau=10.0, public_points=500)


def log(rows: int = 300) -> dict[str, Any]:
    doses, contexts, rewards = records(rows)
    return {
        "dose": doses[:, 0],
        "age": contexts[:, 0],
        "weight": contexts[:, 1],
        "reward": rewards,
        "p": np.where(doses[:, 0] < 50, 0.018, 0.002),
        "q": np.full(rows, 0.01),
        "who": [f"person {i % 40}" for i in range(rows)],
    }


def fit(data: Any, ledger: Any, **given: Any) -> Policy:
    chosen: dict[str, Any] = {"budget": BUDGET, "options": OPTIONS} | given
    return tacit.fit(small_problem(), data, ledger=ledger, **chosen)


@pytest.mark.parametrize("given", [{}, {"user": "who", "passes": 1}])
def test_a_table_and_files_give_the_same_sums_in_every_pass(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    pq.write_table(pa.table(log()), tmp_path / "log.parquet", row_group_size=100)
    sums = []
    for name, data in (("a.db", log()), ("b.db", tmp_path / "log.parquet")):
        with watched(GAUSSIAN, answer=always(3)) as draws:
            policy = fit(data, sqlite(tmp_path, name), propensity="p", **given)
        sums.append([draw.argument for draw in draws])
        most = policy.releases[-1].design.max_weight
        assert most in MAX_WEIGHTS
        assert policy.facts["play"] == f"propensity column p, weights up to {most:g}"
    assert sums[0] == sums[1]
    assert len(sums[0]) == given.get("passes", 2)


def test_another_play_of_the_same_data_is_another_request(tmp_path: Path) -> None:
    seeded = replace(OPTIONS, seed=1)
    Ledger.create(sqlite(tmp_path), tacit.Budget(rho=20 * BUDGET.gaussian))
    statements: list[dict[str, Any]] = [
        {"play": "uniform"},
        {"play": Fixed([50.0])},
        {"play": EpsilonGreedy(Fixed([50.0]), 0.2)},
        {"play": lambda contexts, rng: contexts["age"]},
        {"propensity": "p"},
    ]
    for statement in [*statements, *statements[-2:]]:  # the same is the same request
        fit(log(), sqlite(tmp_path), passes=1, options=seeded, **statement)
    # Without a seed another column is another request, too.
    fit(log(), sqlite(tmp_path), passes=1, propensity="q")
    assert len(Ledger.open(sqlite(tmp_path)).charges()) == len(statements) + 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "must be said: pass play="),
        ({"play": "uniform", "propensity": "p"}, "two ways to say"),
        ({"propensity": "nowhere"}, "no column 'nowhere'"),
        ({"propensity": "dose"}, "the column of propensities, 'dose', is also"),
        ({"propensity": "reward"}, "the column of propensities, 'reward', is also"),
        ({"propensity": np.zeros(3)}, "name of a column, got ndarray"),
        ({"propensity": "p", "options": DesignOptions(max_weight=1)}, "must be above 1"),
        ({"play": "uniform", "options": DesignOptions(max_weight=2)}, "max_weight is for logs"),
    ],
)
def test_what_is_not_said_or_said_twice_is_refused_before_anything_is_spent(
    tmp_path: Path, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        fit(log(), sqlite(tmp_path), **given)
    assert not (tmp_path / "study.db").exists()


def test_a_checkpoint_of_another_play_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table(log()), tmp_path / "log.parquet")
    kept = tmp_path / "fit.partial"

    def stop(what: str, done: int, total: int) -> None:
        if what == "pass 2":
            raise SystemExit(9)

    def run(**given: Any) -> Policy:
        options = RunOptions(checkpoint=kept, progress=given.pop("progress", lambda *_: None))
        return fit(tmp_path / "log.parquet", sqlite(tmp_path), run=options, **given)

    law = EpsilonGreedy(lambda contexts, rng: contexts["age"], 0.2)
    with pytest.raises(SystemExit):
        run(play=law, progress=stop)
    for other, says in (
        ({"play": "uniform"}, "another problem"),
        ({"propensity": "p"}, "another problem"),
    ):
        with pytest.raises(InputError, match=says):
            run(**other)
    policy = run(play=law)
    assert policy.facts["play"] == "epsilon-greedy (0.2) around a function"
    assert policy.facts["passes"] == 2


def test_the_actions_of_the_log_are_no_public_sample(tmp_path: Path) -> None:
    data = log()
    with pytest.raises(InputError, match="the data itself"):
        fit(data, sqlite(tmp_path), play=PublicSample({"dose": data["dose"]}))


# -- files and the command line -------------------------------------------------------------------

BARE = PROBLEM.replace('\n[play]\nlaw = "uniform"\n', "")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    pq.write_table(pa.table(log()), tmp_path / "log.parquet")
    (tmp_path / "problem.toml").write_text(BARE)
    return tmp_path


def command(study: Path, *options: str) -> Any:
    words = ["fit", study / "problem.toml", study / "log.parquet", "--out", study / "policy"]
    return CliRunner().invoke(app, [*map(str, words), "--rank", "12", *options])


def test_a_fit_that_does_not_say_how_it_was_played_is_refused(study: Path) -> None:
    done = command(study)
    assert isinstance(done.exception, InputError) or done.exit_code
    told = str(done.exception) + done.output
    assert "--play uniform" in told
    assert "--propensity COLUMN" in told
    assert "[play]" in told
    assert sorted(path.name for path in study.iterdir()) == ["log.parquet", "problem.toml"]


@pytest.mark.parametrize(
    ("table", "options", "play"),
    [
        ('law = "uniform"', ["--play", "uniform"], "uniform"),
        ("", ["--propensity", "p"], "propensity column p, weights up to"),
        ("action = {dose = 40}\nepsilon = 0.5", [], "epsilon-greedy (0.5) around always the same"),
    ],
)
def test_play_is_said_by_an_option_or_in_the_file(
    study: Path, table: str, options: list[str], play: str
) -> None:
    if table:
        (study / "problem.toml").write_text(f"{BARE}\n[play]\n{table}\n")
    done = command(study, *options, "--json", "--passes", "1")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["play"].startswith(play)
    assert Policy.load(study / "policy").facts["play"].startswith(play)


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        ('law = "uniform"', ["--propensity", "p"], "say different things"),
        ('propensity = "q"', ["--propensity", "p"], "say different things"),
        ("action = {dose = 40}", ["--play", "uniform"], "say different things"),
        ('law = "uniform"', ["--play", "greedy"], "--play takes uniform, got 'greedy'"),
        ("", ["--play", "uniform", "--propensity", "p"], "say different things"),
        ('law = "greedy"', [], "takes \"uniform\", got 'greedy'"),
        ("propensity = 3", [], "the name of a column, got 3"),
        ("epsilon = 0.1", [], "exactly one of"),
        ('law = "uniform"\npropensity = "p"', [], "exactly one of law"),
        ('law = "uniform"\nepsilon = 0.1', [], "not with law"),
        ("rule = 1", [], "takes one of law"),
        ("action = {dose = 40}\nepsilon = 2", [], "epsilon of play must be from 0 to 1"),
        ("action = {pill = 40}", [], "the fixed action"),
        ("probabilities = {A = 1.0}", [], "finite actions"),
        ('policy = "nowhere"', [], "holds no policy"),
    ],
)
def test_a_play_that_makes_no_sense_is_refused(
    study: Path, table: str, options: list[str], says: str
) -> None:
    if table:
        (study / "problem.toml").write_text(f"{BARE}\n[play]\n{table}\n")
    done = command(study, *options)
    assert done.exit_code
    assert says in str(done.exception) + done.output
    assert not (study / "log.parquet.ledger.db").exists()


def test_what_was_said_is_shown(study: Path) -> None:
    done = command(study, "--play", "uniform", "--passes", "1")
    assert "Play: uniform" in done.stdout.splitlines()


def test_a_policy_in_a_folder_is_a_law_of_play(study: Path) -> None:
    policy = fit(log(), sqlite(study, "first.db"), play="uniform", passes=1)
    policy.save(study / "earlier")
    (study / "problem.toml").write_text(f'{BARE}\n[play]\npolicy = "earlier"\nepsilon = 0.2\n')
    stated = read_problem(study / "problem.toml")
    assert stated.play == "problem"
    assert stated.problem.private
    assert stated.problem.law is not None
    assert stated.problem.law.description == "epsilon-greedy (0.2) around a policy"
    contexts = stated.problem.draw_contexts(400, np.random.default_rng(0))
    actions = stated.problem.draw_actions(contexts, np.random.default_rng(0))
    followed = np.isclose(actions, policy.decide_points(contexts)).mean()
    assert 0.7 < followed < 0.9  # five standard deviations
    simulated = replace(policy, guarantee=replace(policy.guarantee, private=False))
    simulated.save(study / "earlier")
    assert not read_problem(study / "problem.toml").problem.private


def test_probabilities_may_stand_in_a_file(tmp_path: Path) -> None:
    text = """
actions = { type = "categories", name = "arm", levels = ["A", "B", "C"] }
contexts = { type = "box", low = [0], high = [1], names = ["c"] }
play = { probabilities = { A = 0.8, B = 0.1, C = 0.1 } }
"""
    (tmp_path / "problem.toml").write_text(text)
    problem = read_problem(tmp_path / "problem.toml").problem
    arms = problem.public_points(2000, np.random.default_rng(0))[:, 0]
    assert np.mean(arms == 0.0) == pytest.approx(0.8, abs=5 * 0.009)


def test_the_column_travels_with_the_others() -> None:
    columns = LogColumns.of(("dose", "age"), "reward", "who", {"p": "prob"}, "p")
    assert columns.in_file == ["dose", "age", "reward", "who", "prob"]
    with pytest.raises(InputError, match="column of propensities"):
        LogColumns.of(("dose", "age"), "reward", "who", {}, "who")
