"""Whether a policy is worth using: visitors, what is gained, and a verdict that is seldom wrong."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, PROBLEM, build_design, records, small_problem, sqlite, user_design
from tacit import Policy, Problem
from tacit._typing import Floats
from tacit.cli import app
from tacit.domains import Box, Categories
from tacit.kernels import Joint, Matern
from tacit.policy.health import Estimate

pytestmark = pytest.mark.usefixtures("coarse_fits")

N = 2000
GOOD = ("ok", "same for all")


def released(problem: Problem, points: Floats, y: Floats, seed: int = 0, **given: Any) -> Policy:
    common: dict[str, Any] = {"rank": 30, "tau": 10.0, "public_points": 2000, "rng": 0}
    common |= {"horizon": len(y), "budget": BUDGET}
    design = build_design(problem, **common | given)
    statistic = design.statistic()
    statistic.add_points(points, y)
    return statistic.simulate_release(np.random.default_rng(seed))


@pytest.fixture(scope="module")
def young() -> Policy:
    """Most people are young, and the right dose falls with age."""
    rng = np.random.default_rng(0)
    points = rng.random((N, 3))
    points[:, 1] = rng.beta(0.6, 1.2, N)
    y = 1.0 - 2.0 * np.abs(points[:, 0] - (1.0 - points[:, 1]))
    return released(small_problem(), points, y, budget=tacit.Budget(epsilon=4.0, delta=1e-6))


def nothing(seed: int) -> tuple[Floats, Floats]:
    """Rewards that depend on who comes, and not on what is done."""
    rng = np.random.default_rng(seed)
    points = rng.random((N, 3))
    y = 0.7 * np.sin(6.0 * points[:, 1]) + 0.1 * rng.normal(size=N)
    return points, np.clip(y, -1.0, 1.0)


# -- visitors -------------------------------------------------------------------------------------


def test_visitors_are_like_the_people_who_came(young: Policy) -> None:
    assert young.visitors is not None
    assert young.visitors.shape == (1024, 2)
    age, weight = young.visitors.mean(axis=0)
    assert age == pytest.approx(0.333, abs=0.03)
    assert weight == pytest.approx(0.5, abs=0.03)
    some, _ = young.visitors[:64].mean(axis=0)
    assert some == pytest.approx(0.333, abs=0.06)
    again = Policy.from_release(young.releases[-1])
    assert again.visitors is not None
    assert np.array_equal(again.visitors, young.visitors)


def test_visitors_and_what_was_usable_survive_saving(young: Policy, tmp_path: Path) -> None:
    loaded = Policy.load(young.save(tmp_path))
    assert loaded.visitors is not None
    assert loaded.visitors.tolist() == np.asarray(young.visitors).tolist()
    assert loaded.health() == young.health()
    nobody = replace(young, visitors=None).save(tmp_path)
    assert Policy.load(nobody).visitors is None


def test_a_generator_alone_says_who_comes_and_without_anything_nobody_knows() -> None:
    def old(n: int, rng: np.random.Generator) -> Floats:
        return np.column_stack([rng.uniform(80, 95, n), rng.uniform(40, 140, n)])

    points, y = nothing(0)
    plain = released(small_problem(), points, y, plain=True)
    assert plain.visitors is None
    assert plain.health().usable_share is None
    known = released(replace(small_problem(), generator=old), points, y, plain=True)
    assert known.visitors is not None
    assert known.visitors[:, 0].min() > 0.8


def test_the_share_of_usable_records_is_what_was_usable() -> None:
    points, y = nothing(1)
    whole = released(small_problem(), points, y).health().usable_share
    y[: N // 4] = np.nan
    points[N // 4 : N // 2, 2] = np.nan
    half = released(small_problem(), points, y).health().usable_share
    assert whole is not None
    assert half is not None
    assert abs(whole.mean - 1.0) < 4 * whole.std < 0.3
    assert abs(half.mean - 0.5) < 4 * half.std


def test_of_users_nobody_knows_how_many_records_were_usable() -> None:
    doses, contexts, rewards = records(500)
    statistic = (
        user_design(500).statistic().add(doses, contexts, rewards, users=np.arange(500) // 9)
    )
    policy = statistic.simulate_release(np.random.default_rng(0))
    assert "usable" not in policy.facts
    assert policy.health().usable_share is None


# -- the verdict ----------------------------------------------------------------------------------


def test_a_policy_that_learned_is_ok(young: Policy) -> None:
    health = young.health()
    assert (health.verdict, health.good, health.banner) == ("ok", True, "")
    assert health.actions_matter
    assert health.contexts_matter
    assert health.gain_over_random.mean == pytest.approx(
        health.gain_over_fixed.mean + health.fixed_over_random.mean
    )
    assert json.loads(json.dumps(health.to_json()))["gain_over_fixed"]["std"] > 0
    assert young.health() is health


def test_one_dose_for_all_is_called_so_and_is_no_fault() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((N, 3))
    health = released(small_problem(), points, 1.0 - 2.0 * np.abs(points[:, 0] - 0.6)).health()
    assert (health.verdict, health.good) == ("same for all", True)
    assert not health.contexts_matter


def test_where_no_action_matters_nothing_was_learned() -> None:
    """Five policies, each of which has a chance of 1 in 1000 to be called learned."""
    found = [released(small_problem(), *nothing(seed), seed=seed).health() for seed in range(5)]
    assert {health.verdict for health in found} == {"nothing learned"}
    # What they expect to gain is above zero all the same: that alone does not do.
    assert all(health.gain_over_random.mean > health.gain_over_random.std for health in found)
    p = [health.p_no_effect for health in found]
    assert np.mean(p) > 0.2


def test_labels_and_kernels_that_are_no_product_are_judged_too() -> None:
    rng = np.random.default_rng(4)
    labels = Problem(Categories(["a", "b", "c"], "x"), Box([0.0], [1.0], ["c"]), Matern(2.5, 0.5))
    for problem in (labels, Problem(Box([0.0], [1.0]), Box([0.0], [1.0]), Joint(Matern(2.5, 0.5)))):
        points = problem.public_points(N, rng)
        at = problem.actions.dimension
        right = 2.0 * np.abs(points[:, 0] - points[:, at])
        assert released(problem, points, 1.0 - right).health().verdict in GOOD
        chance = rng.choice([-1.0, 1.0], N)
        assert released(problem, points, chance).health().verdict == "nothing learned"


def test_the_worst_is_said_first(young: Policy) -> None:
    health = young.health()
    nothing_learned = replace(health, p_no_effect=0.5)
    contradicted = replace(nothing_learned, play_contradicted=True)
    unusable = replace(contradicted, usable_share=Estimate(0.1, 0.05))
    assert nothing_learned.verdict == "nothing learned"
    assert contradicted.verdict == "play contradicted"
    assert unusable.verdict == "no usable records"
    for each in (nothing_learned, contradicted, unusable):
        assert not each.good
        assert each.banner == f"{each.verdict.upper()}: {each.sentence}"
    assert "about 10 % of the records" in unusable.sentence
    # Half of them, up to noise, is not clearly too few.
    assert replace(health, usable_share=Estimate(0.45, 0.03)).verdict == "ok"


def test_how_actions_were_played_is_taken_from_the_facts(young: Policy) -> None:
    assert (young.health().play, young.health().play_contradicted) == ("uniform", False)
    silent = {name: young.facts[name] for name in young.facts if not name.startswith("play")}
    health = replace(young, facts=silent).health()
    assert (health.play, health.play_contradicted) == (None, None)
    for contradicted in (False, True):
        facts = young.facts | {"play": "uniform", "play_check": {"contradicted": contradicted}}
        health = replace(young, facts=facts).health()
        assert (health.play, health.play_contradicted) == ("uniform", contradicted)


def test_the_best_action_for_all_is_that_of_a_loop(young: Policy) -> None:
    C = np.random.default_rng(6).random((20, 2))
    for policy in (young, replace(young, problem=replace(young.problem, kernel=Joint(Matern())))):
        fixed = policy.decide_alike_points(C)
        assert fixed.shape == (1, 1)

        def value(x: Floats, policy: Policy = policy) -> float:
            return float(policy.posterior.mean(np.hstack([np.tile(x, (20, 1)), C])).mean())

        assert value(fixed) >= max(value(x) for x in np.linspace(0, 1, 101)[:, None]) - 1e-6


# -- said first, and once -------------------------------------------------------------------------


def heard(policy: Policy, times: int) -> list[str]:
    """The warnings of so many decisions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            policy.decide({"age": 50.0, "weight": 70.0})
    assert all(warning.category is tacit.PolicyWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_decision_warns_once_of_a_policy_that_learned_nothing(young: Policy) -> None:
    policy = released(small_problem(), *nothing(0))
    copy = pickle.loads(pickle.dumps(replace(policy, releases=())))
    assert [message.split(":")[0] for message in heard(policy, 3)] == ["NOTHING LEARNED"]
    assert heard(policy.sample(np.random.default_rng(0)), 1) == []  # it was said
    assert len(heard(copy, 2)) == 1
    asked = replace(policy)
    asked.health()
    assert heard(asked, 1) == []
    assert heard(young, 1) == []


def log(rewards: Floats) -> dict[str, Any]:
    doses, contexts, _ = records(len(rewards))
    return {"dose": doses[:, 0], "age": contexts[:, 0], "weight": contexts[:, 1], "reward": rewards}


def first_lines(policy: Path, folder: Path) -> list[str]:
    """What is said first: by two commands, on the page, and in Python."""
    (folder / "visitors.csv").write_text("age,weight\n30,60\n")
    page = folder / "report.html"
    said = []
    for arguments in (
        ["report", policy, "--out", page],
        ["decide", policy, folder / "visitors.csv"],
    ):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0
        said.append(done.output.splitlines()[0])
    text = page.read_text(encoding="utf-8")
    body = text[text.index("<main>") : text.index("<h1>")]
    assert body.splitlines()[1].startswith('<div class="alarm" role="alert"><strong>')
    said.append(body.split("<strong>")[1].split("</strong>")[0])
    said.append(Policy.load(policy).health().verdict.upper())
    return [line.split(":")[0] for line in said]


def test_a_log_that_cannot_be_read_ends_with_that_in_the_first_line(tmp_path: Path) -> None:
    table = pd.DataFrame(log(records(N)[2]))
    table["weight"] = pd.Series(["sixty kilos"] * N, dtype=object)
    options = tacit.DesignOptions(rank=20, public_points=2000)
    with pytest.warns(tacit.PolicyWarning, match="^NO USABLE RECORDS: Only about [0-9]+ % of"):
        policy = tacit.fit(
            small_problem(),
            table,
            play="uniform",
            budget=BUDGET,
            ledger=sqlite(tmp_path),
            passes=1,
            options=options,
        )
    assert heard(policy, 1) == []  # once is enough
    policy.save(tmp_path / "policy")
    assert first_lines(tmp_path / "policy", tmp_path) == ["NO USABLE RECORDS"] * 4


def test_a_log_in_which_nothing_matters_ends_with_that_in_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    rewards = np.random.default_rng(7).choice([0.0, 1.0], N)
    pq.write_table(pa.table(log(rewards)), tmp_path / "log.parquet")
    arguments = ["fit", "problem.toml", "log.parquet", "--out", "policy"]
    paths = [arguments[0], *(str(tmp_path / name) for name in arguments[1:3]), "--out"]
    done = CliRunner().invoke(app, [*paths, str(tmp_path / "policy"), "--rank", "20"])
    assert done.exit_code == 0
    assert done.output.strip().startswith("NOTHING LEARNED: No action is better")
    assert first_lines(tmp_path / "policy", tmp_path) == ["NOTHING LEARNED"] * 4


def test_a_log_of_other_play_than_stated_ends_with_that_in_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    rng = np.random.default_rng(8)
    table = log(records(N)[2])
    table["dose"] = np.where(rng.random(N) < 0.9, rng.uniform(20, 30, N), table["dose"])
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    arguments = ["fit", str(tmp_path / "problem.toml"), str(tmp_path / "log.parquet")]
    arguments += ["--out", str(tmp_path / "policy"), "--rank", "20", "--epsilon", "8"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert done.output.strip().startswith("PLAY CONTRADICTED: The actions in the log were not")
    assert first_lines(tmp_path / "policy", tmp_path) == ["PLAY CONTRADICTED"] * 4
