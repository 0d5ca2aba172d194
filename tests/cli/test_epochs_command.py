"""`tacit study` in epochs, as it is typed: created, played, advanced, extended and exported."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from helpers import BUDGET, PROBLEM, SMALL, build_design, create_study, small_problem, sqlite
from tacit import Box, Categories, Policy, Study
from tacit.cli import app
from tacit.cli.epoch_options import read_baseline, read_epochs, read_wait
from tacit.errors import InputError, StateError, TacitError

pytestmark = pytest.mark.usefixtures("coarse_fits")

QUICK = {"rank": 8, "tau": 10.0, "public_points": 500, "rng": 0}
TYPED = ("--epochs", "20,20", "--rank", 8, "--explore", 0.2)
SHARES = ("--exploit", 0.1, "--control", 0.1, "--baseline", "dose=30")
ARMS = PROBLEM.replace(
    """type = "box"
low = [0.0]
high = [100.0]
names = ["dose"]""",
    """type = "categories"
levels = ["A", "B", "C"]
name = "arm\"""",
)


def invoked(*arguments: object) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def typed(*arguments: object) -> str:
    code, output = invoked("study", *arguments)
    assert code == 0, output
    return " ".join(output.replace("│", " ").split())


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["study", *map(str, arguments), "--json"])
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(autouse=True)
def _thompson_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """After few rounds a study would explore once more: these tests are about what it goes on to
    play."""
    monkeypatch.setattr("tacit.epochs.spread.UNKNOWN", 10.0)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


def played(url: str, rounds: int, seed: int = 0) -> None:
    """Asks and tells; the right dose falls with age."""
    study = Study.open(url)
    rng = np.random.default_rng(seed)
    contexts = study.problem.contexts.sample(rounds, rng)
    decisions = study.ask_many(contexts)
    right = 90 - contexts[:, 0] / 2
    rewards = []
    for decision, best in zip(decisions, right, strict=True):
        given = decision.action
        off = abs(given["dose"] - best) / 50 if "dose" in given else given["arm"] != "B"
        rewards.append(1 - min(1, off))
    study.tell_many(decisions, rewards)


def test_a_study_in_epochs_is_created_advanced_and_extended(tmp_path: Path, problem: Path) -> None:
    url = sqlite(tmp_path)
    folder = tmp_path / "policy"
    made = answer("create", url, problem, *TYPED, *SHARES)
    assert (made["epoch"], made["sizes"], made["horizon"]) == (1, [20, 20], 40)
    assert made["play"] == {"explore": 0.9, "learn": 0.0, "exploit": 0.0, "control": 0.1}
    assert made["baseline"] == "dose=30"
    missing = answer("advance", url, "--out", folder, code=3)
    assert missing["missing"] == "epoch 1: 0 of 20 rounds were asked"
    assert not folder.exists()
    played(url, 20)
    first = answer("advance", url, "--out", folder)
    assert (first["released"]["number"], first["opened"]["number"]) == (1, 2)
    assert first["epsilon"] == pytest.approx(1.0, abs=1e-5)
    assert "each person counts in one epoch" in first["relation"]
    assert first["opened"]["play"] == "explore 20%, learn 60%, exploit 10%, control 10%"
    before = Policy.load(folder).receipt
    played(url, 12)
    assert "12 of 20 rounds were asked" in answer("advance", url, code=3)["missing"]
    text = typed("advance", url, "--early", "--out", folder)
    assert "Epoch 2 was released (12 rounds)" in text
    assert "This was the last epoch: go on with tacit study extend" in text
    assert Policy.load(folder).receipt != before
    ended = answer("advance", url, "--out", tmp_path / "again", code=3)
    assert ended["finished"] is True
    assert Policy.load(tmp_path / "again").receipt == Policy.load(folder).receipt
    more = answer("extend", url, "--rounds", 30, "--epochs", "10,20")
    assert (more["epoch"], more["epochs"], more["horizon"]) == (3, 4, 62)
    ledger = " ".join(invoked("ledger", "show", url)[1].split())
    assert "context, action and reward; each person counts in one epoch" in ledger
    told = answer("history", url)["epochs"]
    assert [epoch["stage"] for epoch in told] == ["released", "released", "open"]


def test_show_and_history_are_for_people_too(tmp_path: Path, problem: Path) -> None:
    url = sqlite(tmp_path)
    typed("create", url, problem, *TYPED, *SHARES, "--wait", "7d")
    played(url, 25)
    shown = typed("show", url)
    assert "rounds of this epoch 20 of 20 asked" in shown
    assert "rounds of the study 25 of 40 asked" in shown
    assert "advance waits: rewards are waited for, 7 days more" in shown
    assert "control plays dose=30" in shown
    assert "spent, per person nothing" in shown
    assert "one round; each person counts in one epoch" in shown
    assert "rewards are waited for, 7 days more" in answer("advance", url, code=3)["missing"]
    told = typed("history", url)
    assert "waiting" in told
    assert "drift" not in told


def test_show_does_not_change_with_the_rewards(tmp_path: Path) -> None:
    shown = set()
    for name, rewards in (("none", []), ("odd", [float("nan")] * 3), ("all", [0.1, 0.2, 0.3])):
        url = sqlite(tmp_path, f"{name}.db")
        study = create_study(
            url,
            small_problem(),
            horizon=40,
            budget=BUDGET,
            epochs=[20, 20],
            wait=timedelta(days=7),
            **QUICK,
        )
        decisions = study.ask_many([[61.0, 74.0]] * 22)
        study.tell_many(decisions[: len(rewards)], rewards)
        shown.add((typed("show", url), typed("show", url, "--json"), typed("history", url)))
    assert len(shown) == 1


def test_release_and_advance_name_each_other(tmp_path: Path, problem: Path) -> None:
    going = sqlite(tmp_path, "going.db")
    once = sqlite(tmp_path, "once.db")
    typed("create", going, problem, *TYPED)
    typed("create", once, problem, "--rounds", 40, "--rank", 8)
    with pytest.raises(StateError, match=f"tacit study advance {going} --out FOLDER"):
        invoked("study", "release", going, "--out", tmp_path / "policy")
    for command in (["advance"], ["history"], ["extend", "--rounds", 20], ["export", "--out", "x"]):
        with pytest.raises(StateError, match="tacit study release"):
            invoked("study", command[0], once, *command[1:])


def test_a_folder_with_another_policy_is_refused_before_anything_is_spent(
    tmp_path: Path, problem: Path
) -> None:
    folder = tmp_path / "policy"
    for name in ("first.db", "second.db"):
        typed("create", sqlite(tmp_path, name), problem, *TYPED)
        played(sqlite(tmp_path, name), 20)
    typed("advance", sqlite(tmp_path, "first.db"), "--out", folder)
    with pytest.raises(InputError, match="another policy"):
        invoked("study", "advance", sqlite(tmp_path, "second.db"), "--out", folder)
    assert answer("show", sqlite(tmp_path, "second.db"))["spent"] == 0.0


# -- export ----------------------------------------------------------------------------------------


def exported(folder: Path, problem: Path, rounds: int) -> Path:
    """A study of two epochs, of which all rounds were released and exported."""
    url = sqlite(folder)
    half = rounds // 2
    typed("create", url, problem, "--epochs", f"{half},{half}", "--rank", 8, "--explore", 0.3)
    for seed in (0, 1):
        played(url, half, seed)
        typed("advance", url)
    file = folder / "rounds.parquet"
    code, told = invoked("study", "export", url, "--out", file)
    assert code == 0
    assert "This file is PRIVATE: raw records without noise" in " ".join(told.split())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="exists already"):
        invoked("study", "export", url, "--out", file)
    with pytest.raises(InputError, match="cannot be written"):
        invoked("study", "export", url, "--out", folder / "nowhere" / "rounds.parquet")
    return file


def fitted(folder: Path, problem: Path, file: Path) -> Policy:
    to = folder / "fitted"
    options = ("--propensity", "propensity", "--rank", 8, "--epsilon", 50, "--horizon", 400)
    code, told = invoked("fit", problem, file, "--out", to, *options)
    assert code == 0, told
    return Policy.load(to)


def test_discrete_rounds_that_were_exported_can_be_fitted(tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(ARMS.replace('[play]\nlaw = "uniform"\n', ""))
    file = exported(tmp_path, problem, 400)
    rounds = pq.read_table(file).to_pydict()
    assert len(rounds["propensity"]) == 400
    assert all(0.3 / 3 <= p <= 1.0 for p in rounds["propensity"])
    policy = fitted(tmp_path, problem, file)
    assert set(policy.decide({"age": [20, 50, 90], "weight": [60, 80, 120]})["arm"]) == {"B"}


def test_of_continuous_rounds_that_were_exported_those_that_explored_are_fitted(
    tmp_path: Path,
) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM.replace('[play]\nlaw = "uniform"\n', ""))
    file = exported(tmp_path, problem, 400)
    rounds = pq.read_table(file).to_pydict()
    explored = np.array([mode == "explore" for mode in rounds["mode"]])
    assert np.isfinite(rounds["propensity"]).tolist() == explored.tolist()
    assert 200 < explored.sum() < 400
    policy = fitted(tmp_path, problem, file)
    assert 0 <= policy.decide({"age": 61, "weight": 74})["dose"] <= 100
    rewards = np.array(rounds["reward"])
    assert _sum(rounds, rewards) == _sum(rounds, np.where(explored, rewards, 0.0))
    assert _sum(rounds, rewards) != _sum(rounds, np.where(explored, 0.0, rewards))


def _sum(rounds: dict[str, list[Any]], rewards: Any) -> list[int]:
    """What exported rounds add up to with these rewards, before any noise."""
    design = build_design(small_problem(), horizon=400, budget=BUDGET, max_weight=5.0, **SMALL)
    doses = np.array(rounds["dose"])[:, None]
    contexts = np.column_stack([rounds["age"], rounds["weight"]])
    statistic = design.statistic().add(
        doses, contexts, rewards, propensity=np.array(rounds["propensity"])
    )
    return [int(value) for value in statistic._sum._value()]


def test_a_page_without_a_single_context_has_the_types_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.study.epoch_store.PAGE", 10)
    study = create_study(
        sqlite(tmp_path), small_problem(), horizon=40, budget=BUDGET, epochs=[20, 20], **QUICK
    )
    study.ask_many([[None, None]] * 10 + [[61.0, 74.0]] * 10)
    study.advance()
    typed("export", sqlite(tmp_path), "--out", tmp_path / "rounds.parquet")
    found = pq.read_table(tmp_path / "rounds.parquet")
    assert found.schema.field("age").type == pa.float64()
    assert found["age"].null_count == 10


# -- what is typed ---------------------------------------------------------------------------------


def test_options_are_read() -> None:
    assert read_epochs("4") == 4
    assert read_epochs("1500, 3000,19500") == [1500, 3000, 19500]
    assert read_wait("7d") == timedelta(days=7)
    assert read_wait("1.5h") == timedelta(minutes=90)
    assert read_wait("30m") == timedelta(minutes=30)
    assert read_wait("0") == timedelta(0)
    assert read_baseline([], Box.of(dose=(0, 100))) is None
    assert read_baseline(["dose=30"], Box.of(dose=(0, 100))) == {"dose": 30.0}
    assert read_baseline(["arm=B"], Categories(["A", "B"], "arm")) == {"arm": "B"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epochs", "many"], "--epochs takes a number of epochs"),
        (["--epochs", "20,20", "--rounds", "50"], "the epochs have 40 rounds together"),
        (["--epochs", "2", "--wait", "soon"], "as in 7d, 12h or 30m"),
        (["--epochs", "2", "--baseline", "30"], "one NAME=VALUE for each of dose"),
        (["--epochs", "2", "--baseline", "pill=30"], "one NAME=VALUE for each of dose"),
        (["--epochs", "2", "--baseline", "dose=300"], "must be one of the actions"),
        (["--epochs", "2", "--baseline", "dose=much"], "must be one of the actions"),
        (["--epochs", "2", "--control", "0.1"], "a control share plays a baseline"),
        (["--epochs", "2", "--explore", "1.1"], "explore must be a share"),
        (["--wait", "7d"], "of studies in epochs"),
    ],
)
def test_errors_are_one_sentence(
    tmp_path: Path, problem: Path, options: list[str], sentence: str
) -> None:
    with pytest.raises(TacitError, match=sentence) as caught:
        invoked("study", "create", sqlite(tmp_path), problem, *options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["advance", "history", "extend", "export"])
def test_help_teaches_by_example(command: str) -> None:
    assert f"tacit study {command} sqlite:///study.db" in typed(command, "--help")


def test_help_says_what_is_spent_and_what_is_private() -> None:
    assert "SPEND the budget" in typed("advance", "--help")
    assert "exits with code 3" in typed("advance", "--help")
    assert "PRIVATE: raw records" in typed("export", "--help")
