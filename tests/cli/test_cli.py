"""The command line, as it is typed: real files, real exit codes, one sentence per error."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers import BUDGET, PROBLEM, SMALL, build_design, records, small_design
from tacit import Budget, Ledger, __version__
from tacit.cli import main

pytestmark = pytest.mark.usefixtures("coarse_fits")


def tacit_process(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which takes more than a second to start."""
    command = [sys.executable, "-c", "from tacit.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def tacit(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command in this process, by the same `main`."""
    typed = ["tacit", *map(str, arguments)]
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    err = io.StringIO()
    with (
        mock.patch.object(sys, "argv", typed),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as exited,
    ):
        main()
    out.seek(0)
    code_found = int(exited.value.code or 0)
    done = subprocess.CompletedProcess(typed, code_found, out.read(), err.getvalue())
    assert done.returncode == code, done.stderr
    return done


def answer(*arguments: object) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(tacit(*arguments, "--json").stdout)
    return result


@pytest.fixture
def study(tmp_path: Path) -> Path:
    doses, contexts, rewards = records(2000)
    table = pa.table(
        {"dose": doses[:, 0], "age": contexts[:, 0], "weight": contexts[:, 1], "reward": rewards}
    )
    pq.write_table(table, tmp_path / "log.parquet")
    pa.csv.write_csv(table, tmp_path / "log.csv")
    (tmp_path / "problem.toml").write_text(PROBLEM)
    (tmp_path / "visitors.csv").write_text("age,weight,name\n30,60,ann\n90,120,bob\n")
    return tmp_path


def test_fit_then_decide(study: Path) -> None:
    fit = ("fit", study / "problem.toml", study / "log.parquet", "--out", study / "policy")
    fitted = json.loads(tacit_process(*fit, "--rank", 8, "--json").stdout)
    assert fitted["rows"] == 2000
    assert fitted["private"] is True
    assert fitted["epsilon"] == pytest.approx(1.0, abs=1e-5)
    decided = answer("decide", study / "policy", study / "visitors.csv")
    assert [set(row) for row in decided["decisions"]] == [{"dose", "expected_reward", "std"}] * 2
    shown = tacit("decide", study / "policy", study / "visitors.csv").stdout
    assert shown.splitlines()[0] == '"age","weight","name","dose","expected_reward","std"'
    tacit("decide", study / "policy", study / "visitors.csv", "--out", study / "decided.parquet")
    assert pq.read_table(study / "decided.parquet")["dose"].to_pylist() == [
        row["dose"] for row in decided["decisions"]
    ]


def test_expected_rewards_are_shown_within_their_range(study: Path) -> None:
    """A Gaussian posterior knows no bounds."""
    released = (
        small_design().statistic().add(*records(200)).simulate_release(np.random.default_rng(0))
    )
    sky = 1e6 * np.abs(released.posterior.weights)
    replace(released, posterior=replace(released.posterior, weights=sky)).save(study / "policy")
    decided = answer("decide", study / "policy", study / "visitors.csv")
    assert [row["expected_reward"] for row in decided["decisions"]] == [1.0, 1.0]


def test_advantages_are_shown_beside_expected_rewards_where_they_were_learned(study: Path) -> None:
    problem = replace(small_design().problem, advantage=True)
    design = build_design(problem, horizon=2000, budget=BUDGET, **SMALL)
    policy = design.statistic().add(*records(2000)).simulate_release(np.random.default_rng(0))
    policy.save(study / "policy")
    decided = answer("decide", study / "policy", study / "visitors.csv")["decisions"]
    visitors = {"age": [30, 90], "weight": [60, 120]}
    doses = {"dose": [row["dose"] for row in decided]}
    low, high = policy.problem.reward_range
    assert [row["expected_reward"] for row in decided] == pytest.approx(
        np.clip(policy.mean(doses, visitors), low, high)
    )
    assert [row["advantage"] for row in decided] == pytest.approx(policy.advantage(doses, visitors))
    assert [row["advantage_std"] for row in decided] == pytest.approx(
        policy.advantage_std(doses, visitors)
    )
    assert all(row["advantage"] < row["expected_reward"] for row in decided)


def test_fitting_again_returns_the_same_policy_and_another_fit_is_refused(study: Path) -> None:
    fit = ("fit", study / "problem.toml", study / "log.parquet", "--rank", 8)
    answer(*fit, "--out", study / "a")
    answer(*fit, "--out", study / "b")
    with np.load(study / "a" / "policy.npz") as a, np.load(study / "b" / "policy.npz") as b:
        assert np.array_equal(a["weights"], b["weights"])
    refused = tacit(*fit, "--out", study / "c", "--epsilon", 0.5, code=2)
    assert "spent epsilon=1 at delta=1e-06" in refused.stderr
    assert not (study / "c").exists()
    ledger = answer("ledger", "show", f"sqlite:///{study}/log.parquet.ledger.db")
    assert len(ledger["charges"]) == 2  # two passes
    assert 0 <= ledger["remaining"] < 1e-11
    assert ledger["spent_epsilon"] == pytest.approx(1.0, abs=1e-5)
    assert ledger["neighbours"] == {"record": "replace one round's context and reward"}
    assert "epsilon=1" in tacit("ledger", "show", f"sqlite:///{study}/log.parquet.ledger.db").stdout


def test_a_restored_ledger_is_noticed_by_the_policies_that_it_forgot(study: Path) -> None:
    url = f"sqlite:///{study}/ledger.db"
    Ledger.create(url, Budget(epsilon=1.0, delta=1e-6))
    with (
        closing(sqlite3.connect(study / "ledger.db")) as live,
        closing(sqlite3.connect(study / "backup.db")) as backup,
    ):
        live.backup(backup)
    fit = (
        "fit",
        study / "problem.toml",
        study / "log.parquet",
        "--rank",
        8,
        "--ledger",
        url,
        "--epsilon",
        0.3,
    )
    answer(*fit, "--out", study / "policy")
    assert answer("ledger", "check", url, study / "policy")["ok"]
    lost = tacit("ledger", "check", f"sqlite:///{study}/backup.db", study / "policy", code=2)
    assert "is not in this ledger" in lost.stderr


def test_csv_and_parquet_are_the_same_data(study: Path) -> None:
    """In one pass: a second one depends on what was released."""
    options = ("--rank", 8, "--passes", 1)
    parquet = answer(
        "fit", study / "problem.toml", study / "log.parquet", "--out", study / "a", *options
    )
    csv = answer("fit", study / "problem.toml", study / "log.csv", "--out", study / "b", *options)
    assert parquet["clip"] == csv["clip"]
    assert parquet["rows"] == csv["rows"]


def test_a_user_column_protects_whole_users(study: Path) -> None:
    table = pq.read_table(study / "log.parquet")
    users = pa.array([f"patient-{i % 400}" for i in range(table.num_rows)])
    pq.write_table(table.append_column("patient", users), study / "log.parquet")
    fitted = answer(
        "fit",
        study / "problem.toml",
        study / "log.parquet",
        "--out",
        study / "p",
        "--rank",
        8,
        "--user",
        "patient",
    )
    assert fitted["unit"] == "user"
    assert json.loads((study / "p" / "policy.json").read_text())["guarantee"]["unit"] == "user"


def test_odd_cells_in_the_data_are_no_error_and_are_never_quoted(study: Path) -> None:
    lines = (study / "log.csv").read_text().splitlines()
    lines[5] = "secret-dose,secret-age,,"
    lines[9] = "1e999,nan,-inf,7"
    (study / "log.csv").write_text("\n".join(lines) + "\n")
    done = tacit(
        "fit", study / "problem.toml", study / "log.csv", "--out", study / "p", "--rank", 8
    )
    assert "secret" not in done.stdout + done.stderr


def test_a_damaged_row_is_reported_without_its_content(study: Path) -> None:
    lines = (study / "log.csv").read_text().splitlines()
    lines[5] = "secret,secret"
    (study / "log.csv").write_text("\n".join(lines) + "\n")
    done = tacit(
        "fit", study / "problem.toml", study / "log.csv", "--out", study / "p", "--rank", 8, code=2
    )
    assert "secret" not in done.stdout + done.stderr
    assert "log.csv" in done.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("edit", "arguments", "says"),
    [
        (
            ("range = [0.0, 1.0]", "range = [1.0, 0.0]"),
            [],
            "reward_range must be finite and increasing",
        ),
        (("epsilon = 1.0", "epsilon = 0.0"), [], "epsilon must be a positive"),
        (("delta = 1e-6", "delta = 1.0"), [], "delta must be in"),
        (("horizon = 2000", "horizon = 0"), [], "horizon must be"),
        (('names = ["age", "weight"]', 'names = ["age", "height"]'), [], "no column 'height'"),
        (('type = "matern"', 'type = "mattern"'), [], "unknown kernel type 'mattern'"),
        (("lengthscale = 0.5", "lenghtscale = 0.5"), [], "no field 'lenghtscale'"),
        (("[budget]", "[bugdet]"), [], "unknown entry 'bugdet'"),
        (("horizon = 2000", "horizon = "), [], "cannot be read as TOML"),
        (("", ""), ["--epsilon", "-1"], "epsilon must be a positive"),
    ],
)
def test_every_wrong_problem_gets_one_sentence_and_exit_code_2(
    study: Path, edit: tuple[str, str], arguments: list[str], says: str
) -> None:
    (study / "problem.toml").write_text(PROBLEM.replace(*edit))
    done = tacit(
        "fit",
        study / "problem.toml",
        study / "log.parquet",
        "--out",
        study / "p",
        *arguments,
        code=2,
    )
    assert says in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "nowhere.toml", "x.parquet", "--out", "p"], "no problem file"),
        (["decide", "nowhere", "x.csv"], "holds no policy"),
        (["ledger", "show", "nonsense"], "expected a database URL"),
        (["ledger", "show", "sqlite:///nowhere.db"], "there is no file"),
        (
            ["ledger", "show", "postgresql+psycopg://nobody@127.0.0.1:1/none"],
            "the database does not answer",
        ),
    ],
)
def test_missing_files_get_one_sentence_and_exit_code_2(arguments: list[str], says: str) -> None:
    assert says in " ".join(tacit(*arguments, code=2).stderr.split())


def test_help_teaches_and_version_tells() -> None:
    shown = tacit_process("--help").stdout
    assert "private" in shown
    for command in ("demo", "fit", "decide", "ledger", "version"):
        assert command in shown
    assert answer("version")["opendp"] >= "0.16"
    assert tacit("--version").stdout == f"tacit {__version__}\n"


def test_a_broken_command_of_somebody_else_is_named_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tacit.commands]\noops = broken_module:oops\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    done = tacit_process("version", "--json")
    assert "the command oops of another distribution cannot be loaded" in done.stderr
    assert "tacit" in json.loads(done.stdout)


def test_report_writes_one_page_about_a_policy(tmp_path: Path) -> None:
    study = tmp_path
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", BUDGET)
    small_design(horizon=2000, rank=12).statistic().add(*records(2000)).release(ledger=ledger).save(
        study / "policy"
    )
    found = answer("report", study / "policy", "--out", study / "deep" / "report.html")
    assert found["private"] is True
    assert found["records"] == 2000
    assert [context["name"] for context in found["contexts"]] == ["age", "weight"]
    assert found["gain_over_random_play"]["mean"] > 0
    page = (study / "deep" / "report.html").read_text(encoding="utf-8")
    assert "Which dose for which age and weight?" in page
    assert "NOT PRIVATE" not in page
    about = study / "policy" / "policy.json"
    about.write_text(about.read_text().replace('"private": true', '"private": false'))
    shown = tacit("report", study / "policy", "--out", study / "report.html")
    assert "Matters most: age" in shown.stdout
    assert "NOT private" in shown.stderr
    assert "NOT PRIVATE" in (study / "report.html").read_text(encoding="utf-8")
    assert "holds no policy" in tacit("report", study, "--out", study / "none.html", code=2).stderr
    assert not (study / "none.html").exists()


def test_no_rounds_are_not_taken_for_those_of_the_file(study: Path) -> None:
    refused = tacit("plan", study / "problem.toml", "--rounds", 0, code=2)
    assert "horizon must be a whole number of rounds of at least 1, got 0" in refused.stderr
