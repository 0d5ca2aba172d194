"""`tacit evaluate`, and `tacit fit --against`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from evaluated import learned, rounds
from helpers import PROBLEM
from tacit import InputError, StateError
from tacit.cli import app
from tacit.evaluation import Evaluation

pytestmark = pytest.mark.usefixtures("coarse_fits")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    pq.write_table(pa.table(rounds(900)), tmp_path / "log.parquet")
    learned().save(tmp_path / "policy")
    return tmp_path


def typed(*arguments: object) -> Any:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if done.exception is not None:
        raise done.exception
    return done


def test_a_policy_is_evaluated_against_others(folder: Path) -> None:
    command = ("evaluate", folder / "policy", folder / "log.parquet", "--against", "dose=30")
    options = (
        "--against",
        folder / "policy",
        "--play",
        "uniform",
        "--epsilon",
        1,
        "--other-people",
    )
    done = typed(*command, *options, "--by", "age:50", "--out", folder / "found.json", "--json")
    told = json.loads(done.stdout)
    assert told["against"] == "dose=30"
    assert set(told["values"]) == {"policy", "dose=30", str(folder / "policy")}
    assert told["facts"]["people"].startswith("other people")
    assert list(told["subgroups"]) == ["below 50", "50 and above"]
    assert Evaluation.load(folder / "found.json").against == "dose=30"
    again = typed(*command, *options, "--by", "age:50", "--attach")
    assert "Measured off policy" in again.stdout
    report = typed("report", folder / "policy", "--out", folder / "report.html", "--json")
    assert json.loads(report.stdout)["evaluation"]["against"] == "dose=30"
    page = (folder / "report.html").read_text()
    assert page.index("Measured off policy") < page.index("<h1>")


def test_a_report_without_one_says_only_expected_first(folder: Path) -> None:
    typed("report", folder / "policy", "--out", folder / "report.html")
    page = (folder / "report.html").read_text()
    assert page.index("ONLY EXPECTED") < page.index("<h1>")


def test_unknown_people_are_warned_of(folder: Path) -> None:
    done = typed(
        "evaluate",
        folder / "policy",
        folder / "log.parquet",
        "--against",
        "dose=30",
        "--play",
        "uniform",
        "--epsilon",
        1,
        "--json",
    )
    (warned,) = json.loads(done.stdout)["warnings"]
    assert "cannot be known" in warned


def test_wrong_options_spend_nothing(folder: Path) -> None:
    command = ("evaluate", folder / "policy", folder / "log.parquet", "--play", "uniform")
    for options in (("--against", "price=30"), ("--against", "dose=30", "--by", "age:x")):
        with pytest.raises(InputError):
            typed(*command, *options, "--epsilon", 1)
    assert not (folder / "log.parquet.ledger.db").exists()


def test_a_fit_with_a_wrong_baseline_spends_nothing(folder: Path) -> None:
    command = ("fit", folder / "problem.toml", folder / "log.parquet", "--out", folder / "new")
    with pytest.raises(InputError, match="NAME=VALUE"):
        typed(*command, "--rank", 8, "--hold-out", 0.3, "--against", "price=30")
    assert not (folder / "log.parquet.ledger.db").exists()


def test_fit_evaluates_on_those_held_out(folder: Path) -> None:
    done = typed(
        "fit",
        folder / "problem.toml",
        folder / "log.parquet",
        "--out",
        folder / "new",
        "--rank",
        8,
        "--hold-out",
        0.3,
        "--against",
        "dose=30",
        "--json",
    )
    told = json.loads(done.stdout)["evaluation"]
    assert told["facts"]["people"] == "people held out from learning"
    assert told["facts"]["records"] + json.loads(done.stdout)["learned"] == 900
    with pytest.raises(InputError, match="--hold-out"):
        typed(
            "fit",
            folder / "problem.toml",
            folder / "log.parquet",
            "--out",
            folder / "x",
            "--against",
            "dose=30",
        )


def test_people_who_were_learned_from_are_refused(folder: Path) -> None:
    typed(
        "fit",
        folder / "problem.toml",
        folder / "log.parquet",
        "--out",
        folder / "new",
        "--rank",
        8,
        "--passes",
        1,
    )
    with pytest.raises(StateError, match="learned from the people"):
        typed(
            "evaluate",
            folder / "new",
            folder / "log.parquet",
            "--against",
            "dose=30",
            "--play",
            "uniform",
        )
