"""`tacit study validate` and `tacit plan --detect`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import PROBLEM, sqlite
from tacit import Budget, Study
from tacit.cli import app
from tacit.errors import InputError
from tacit.planning import ValidationPlan

pytestmark = pytest.mark.usefixtures("coarse_fits")


def invoked(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.replace("│", " ").split())


def answer(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


def play(url: str, rounds: int, seed: int) -> None:
    study = Study.open(url)
    contexts = study.problem.contexts.sample(rounds, np.random.default_rng(seed))
    decisions = study.ask_many(contexts)
    study.tell_many(decisions, [1.0 - decision.action["dose"] / 100 for decision in decisions])


def test_a_study_is_validated_from_the_command_line(tmp_path: Path, problem: Path) -> None:
    url = sqlite(tmp_path)
    invoked("study", "create", url, problem, "--epochs", "20,20", "--rank", 8)
    typed = ("study", "validate", url, "--rounds", 40, "--baseline", "dose=30", "--split", 0.6)
    assert answer(*typed)["validation_epoch"] == 2
    assert "Epoch 2 compares the policy with the baseline: 40 rounds" in invoked(*typed)
    play(url, 20, seed=0)
    assert answer("study", "advance", url)["opened"]["kind"] == "validation"
    shown = invoked("study", "show", url)
    assert "epoch 2 of 3 (validation)" in shown
    assert "exploit 60%, control 40%" in shown
    assert "dose=30" in shown
    play(url, 40, seed=1)
    found = answer("study", "advance", url)["released"]
    assert found["gain"]["low"] < found["gain"]["value"] < found["gain"]["high"]
    assert "the policy of epoch 1 earns" in found["answer"]
    table = invoked("study", "history", url)
    assert "Measured, with 95 % intervals" in table
    assert "Epoch 2: the policy of epoch 1 earns" in table
    epochs = answer("study", "history", url)["epochs"]
    assert [epoch["kind"] for epoch in epochs] == ["learning", "validation", "learning"]
    assert epochs[1]["gain"] == found["gain"]
    assert answer("study", "show", url)["measured"] == found["answer"]


def test_a_baseline_that_is_no_action_is_refused(tmp_path: Path, problem: Path) -> None:
    url = sqlite(tmp_path)
    invoked("study", "create", url, problem, "--epochs", "20,20", "--rank", 8)
    with pytest.raises(InputError, match="--baseline must be one of the actions"):
        invoked("study", "validate", url, "--baseline", "dose=300")
    with pytest.raises(InputError, match="compares the policy with a baseline"):
        invoked("study", "validate", url)


def test_a_plan_says_how_many_rounds_detect_a_gain(problem: Path) -> None:
    typed = ("plan", problem, "--epsilon", 1, "--detect", 0.05, "--reward-std", 0.2)
    found = answer(*typed, "--rounds", 1000, "--power", 0.9)
    plan = ValidationPlan(Budget(1.0, 1e-6), (0.0, 1.0), 0.2)
    assert found["rounds_to_detect"] == plan.rounds_for(0.05, 0.9)
    assert found["power_of_rounds"] == plan.power(1000, 0.05)
    said = invoked(*typed, "--reward-mean", 0.5)
    assert "detects a gain of 0.05 with a probability of 80%" in said
    assert "the most that there can be" in invoked("plan", problem, "--epsilon", 1, "--detect", 0.1)
    with pytest.raises(InputError, match="must be positive"):
        invoked("plan", problem, "--epsilon", 1, "--detect", -1)
