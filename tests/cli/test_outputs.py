"""Nothing is spent unless its result can be written; a new budget is announced, and no second one
is opened by mistake."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import tacit
from helpers import BUDGET, PROBLEM, create_study, records, small_design, small_problem, sqlite
from log_data import log_table
from tacit import InputError, Ledger, Policy, StateError
from tacit.cli import app
from tacit.design.weights import choose_max_weight

pytestmark = pytest.mark.usefixtures("coarse_fits")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    pq.write_table(log_table(300), tmp_path / "log.parquet")
    pq.write_table(log_table(300, seed=1), tmp_path / "more.parquet")
    return tmp_path


def typed(*arguments: object) -> Result:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if done.exception is not None:
        raise done.exception
    return done


def fit(study: Path, *options: object, data: object = None) -> Result:
    data = study / "log.parquet" if data is None else data
    return typed("fit", study / "problem.toml", data, "--rank", 6, "--passes", 1, *options)


def beside(study: Path) -> str:
    return f"sqlite:///{study / 'log.parquet.ledger.db'}"


def simulated(folder: Path) -> Path:
    statistic = small_design(rank=4, public_points=100).statistic().add(*records(10))
    return statistic.simulate_release(np.random.default_rng(0)).save(folder)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# -- where to write -------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(study: Path) -> None:
    (study / "file").write_text("mine")
    (study / "thesis").mkdir()
    (study / "thesis" / "chapter.txt").write_text("mine")
    (study / "thesis" / "policy.npz").write_text("mine")
    simulated(study / "other")
    before = content(study / "other")
    refused: list[tuple[object, str]] = [
        (study / "file", "is a file"),
        (study / "file" / "below", "is a file"),
        (study / "thesis", "holds files that are no policy"),
        (study / "other", "holds another policy"),
        ("/proc/policy", "cannot be written"),
    ]
    for out, says in refused:
        with pytest.raises(InputError, match=says):
            fit(study, "--out", out)
        if "another" not in says:
            with pytest.raises(InputError, match=says):
                fit(study, "--out", out, "--overwrite")
    assert not (study / "log.parquet.ledger.db").exists()  # not even a ledger was made
    assert content(study / "other") == before
    assert sorted(os.listdir(study / "thesis")) == ["chapter.txt", "policy.npz"]
    fit(study, "--out", study / "other", "--overwrite")
    assert Policy.load(study / "other").private
    assert len(Ledger.open(beside(study)).charges()) == 1


def test_the_same_fit_goes_into_the_same_folder_and_another_one_does_not(study: Path) -> None:
    out = study / "policy"
    fit(study, "--out", out)
    first = content(out)
    (out / "report.html").write_text("mine")
    fit(study, "--out", out)  # the released policy, written again
    assert content(out) == first | {"report.html": b"mine"}
    Ledger.create(sqlite(study, "other.db"), BUDGET)
    elsewhere = ("--ledger", sqlite(study, "other.db"))
    with pytest.raises(InputError, match="holds another policy"):
        fit(study, "--out", out, *elsewhere)
    assert Ledger.open(sqlite(study, "other.db")).spent == 0
    assert content(out) == first | {"report.html": b"mine"}
    fit(study, "--out", out, *elsewhere, "--overwrite")
    assert content(out)["policy.npz"] != first["policy.npz"]
    assert (out / "report.html").read_text() == "mine"


def test_a_released_policy_that_could_not_be_written_is_had_again_for_nothing(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tacit.policy.folders._put", full)
        with pytest.raises(StateError, match=r"the policy was released, but .*No space") as caught:
            fit(study, "--out", study / "policy")
    assert "run the same command with another --out" in str(caught.value)
    assert not (study / "policy").exists()
    fit(study, "--out", study / "again")
    assert len(Ledger.open(beside(study)).charges()) == 1


def test_a_study_is_not_released_into_a_folder_of_something_else(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    create_study(
        url, small_problem(), horizon=20, budget=BUDGET, rank=4, public_points=100, rng=0
    ).ask({"age": 61, "weight": 74})
    simulated(tmp_path / "other")
    with pytest.raises(InputError, match="holds another policy"):
        typed("study", "release", url, "--out", tmp_path / "other")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        typed("study", "release", url, "--out", tmp_path / "file", "--overwrite")
    state = tacit.Study.open(url).state
    assert (state.closed, state.spent) == (False, 0)
    typed("study", "release", url, "--out", tmp_path / "other", "--overwrite")
    typed("study", "release", url, "--out", tmp_path / "other")
    assert Policy.load(tmp_path / "other").private


# -- which budget ---------------------------------------------------------------------------------


def test_a_new_ledger_is_announced_and_an_old_one_is_not(study: Path) -> None:
    first = fit(study, "--out", study / "a", "--json")
    url = f"sqlite:///{(study / 'log.parquet.ledger.db').resolve()}"
    assert f"A new budget was opened at {url}: epsilon=1, delta=1e-06" in first.stderr
    told = json.loads(first.stdout)
    assert (told["ledger"], told["new_ledger"]) == (url, True)
    second = fit(study, "--out", study / "b", "--json")
    assert "new budget" not in second.stderr
    assert json.loads(second.stdout)["new_ledger"] is False
    shown = fit(study, "--out", study / "c")
    assert "Budget kept in" in shown.stderr


def test_files_with_a_ledger_beside_them_get_no_second_one_by_mistake(study: Path) -> None:
    url = sqlite(study, "second.db")
    fit(study, "--out", study / "a")
    for data in ("log.parquet", "*.parquet"):
        with pytest.raises(InputError, match=r"has a ledger beside it already.*--new-ledger"):
            fit(study, "--out", study / "b", "--ledger", url, data=study / data)
    link = study / "link.parquet"
    link.symlink_to(study / "log.parquet")
    with pytest.raises(InputError, match="has a ledger beside it already"):
        fit(study, "--out", study / "b", "--ledger", url, data=link)
    assert not (study / "second.db").exists()
    told = fit(study, "--out", study / "b", "--ledger", url, "--new-ledger")
    assert "A new budget was opened" in told.stderr
    fit(study, "--out", study / "c", "--ledger", url)  # it is there now
    fit(study, "--out", study / "d", "--ledger", beside(study))


def test_a_file_beside_that_holds_no_ledger_is_none(study: Path) -> None:
    (study / "log.parquet.ledger.db").touch()
    fit(study, "--out", study / "a", "--ledger", sqlite(study, "own.db"))
    assert Ledger.open(sqlite(study, "own.db")).spent > 0


# -- decisions ------------------------------------------------------------------------------------


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    simulated(tmp_path / "policy")
    (tmp_path / "visitors.csv").write_text("age,weight\n30,60\n,60\n900,none\n")
    (tmp_path / "good.csv").write_text("age,weight\n30,60\n")
    return tmp_path


def test_rows_that_could_not_be_read_are_marked_and_counted(decided: Path) -> None:
    done = typed("decide", decided / "policy", decided / "visitors.csv")
    header, *rows = done.stdout.splitlines()
    assert header == '"age","weight","dose","expected_reward","std","unread"'
    assert [row.split(",", 5)[-1] for row in rows] == ['""', '"age"', '"age, weight"']
    says = "2 of 3 rows have values that could not be read, in age, weight"
    assert says in done.stderr
    told = json.loads(
        typed("decide", decided / "policy", decided / "visitors.csv", "--json").stdout
    )
    assert told["rows_with_unread_values"] == 2
    assert [row["unread"] for row in told["decisions"]] == ["", "age", "age, weight"]


def test_without_such_rows_there_is_no_such_column(decided: Path) -> None:
    done = typed("decide", decided / "policy", decided / "good.csv", "--strict")
    assert done.stdout.splitlines()[0] == '"age","weight","dose","expected_reward","std"'
    assert "could not be read" not in done.stderr
    told = json.loads(typed("decide", decided / "policy", decided / "good.csv", "--json").stdout)
    assert told["rows_with_unread_values"] == 0


def test_strict_refuses_them_and_writes_nothing(decided: Path) -> None:
    out = decided / "out.csv"
    with pytest.raises(InputError, match="'age' in row 2 of contexts cannot be read, got None"):
        typed("decide", decided / "policy", decided / "visitors.csv", "--strict", "--out", out)
    assert not out.exists()


def test_a_file_that_cannot_be_written_is_refused_first(decided: Path) -> None:
    visitors = decided / "visitors.csv"
    refused: list[tuple[Path, str]] = [
        (decided / "policy", "should end in one of"),
        (decided / "folder.csv", "is a folder"),
        (visitors, "is what is read"),
        (visitors / "below.csv", "is a file"),
    ]
    (decided / "folder.csv").mkdir()
    for out, says in refused:
        with pytest.raises(InputError, match=says):
            typed("decide", decided / "policy", visitors, "--out", out)
    assert visitors.read_text().startswith("age,weight\n30,60")
    with pytest.raises(InputError, match="is a folder"):
        typed("report", decided / "policy", "--out", decided / "folder.csv")
    typed("decide", decided / "policy", visitors, "--out", decided / "new" / "out.csv")
    typed("decide", decided / "policy", visitors, "--out", decided / "new" / "out.csv")


def test_a_report_states_no_gain_that_the_verdict_contradicts(decided: Path) -> None:
    about = decided / "policy" / "policy.json"
    told = json.loads(about.read_text())
    told["facts"]["play_check"] = {"contradicted": True}
    about.write_text(json.dumps(told))
    done = typed("report", decided / "policy", "--out", decided / "report.html")
    assert "PLAY CONTRADICTED" in done.stderr
    assert "are not stated: it would rest on a play that" in done.stdout
    for statement in ("Expected gain", "95 %", "Matters most"):
        assert statement not in done.stdout


def test_a_plan_for_a_log_with_propensities_weighs_them_as_a_fit_does(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asked(Exception):
        pass

    def plan(problem: tacit.Problem, *, horizon: int, budget: tacit.Budget, **given: Any) -> None:
        weight = choose_max_weight(problem, horizon, budget, tacit.DesignOptions())
        raise Asked(given["options"].max_weight == weight)

    monkeypatch.setattr("tacit.planning.plan", plan)
    for law, says in (('law = "uniform"', "False"), ('propensity = "p"', "True")):
        (study / "problem.toml").write_text(PROBLEM.replace('law = "uniform"', law))
        with pytest.raises(Asked, match=says):
            typed("plan", study / "problem.toml", "--rounds", 2000)
