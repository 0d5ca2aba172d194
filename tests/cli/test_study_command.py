"""`tacit study`, as it is typed: created, shown and released, one sentence per error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, PROBLEM, create_study, small_problem, sqlite
from tacit import Policy, Study
from tacit.cli import app
from tacit.errors import InputError, TacitError

pytestmark = pytest.mark.usefixtures("coarse_fits")

HERE = {"age": 61, "weight": 74}


def typed(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["study", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.output


def answer(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(typed(*arguments, "--json"))
    return found


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return path


def test_a_study_is_created_played_shown_and_released(tmp_path: Path, problem: Path) -> None:
    url = sqlite(tmp_path)
    made = answer("create", url, problem, "--rounds", 40, "--epsilon", 2, "--rank", 8)
    assert (made["horizon"], made["asked"], made["unit"], made["rank"]) == (40, 0, "record", 8)
    assert made["budget"] == "epsilon=2, delta=1e-06"
    study = Study.open(url)
    study.tell(study.ask(HERE), 0.5)
    assert answer("show", url)["asked"] == 1
    released = answer("release", url, "--out", tmp_path / "policy")
    assert released["rounds"] == 1
    assert released["private"] is True
    assert released["epsilon"] == pytest.approx(2.0, abs=1e-5)
    assert 0 <= Policy.load(tmp_path / "policy").decide(HERE)["dose"] <= 100
    shown = answer("show", url)
    assert (shown["closed"], shown["released"]) == (True, True)
    spent = shown["spent"]
    typed("release", url, "--out", tmp_path / "again")
    files = [(tmp_path / name / "policy.npz").read_bytes() for name in ("policy", "again")]
    assert files[0] == files[1]
    assert answer("show", url)["spent"] == spent


def test_a_release_of_fewer_passes_than_planned_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = sqlite(tmp_path)
    study = create_study(url, small_problem(), horizon=40, budget=BUDGET, rank=8, rng=0)
    ended = replace(study.state, closed=True, released=True, passes=1, planned_passes=2)
    monkeypatch.setattr(Study, "state", ended)
    told = " ".join(typed("show", url).replace("│", " ").split())
    assert "in 1 pass of 2 that were planned: nothing was left for more" in told


def test_a_release_spends_what_is_left_or_what_is_typed_and_says_so(
    tmp_path: Path, problem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 40)  # quick
    made = ("--rounds", 40, "--rank", 8)
    rest = sqlite(tmp_path, "rest.db")
    typed("create", rest, problem, *made)
    study = Study.open(rest)
    study.tell(study.ask(HERE), 0.5)
    study.release_decision(HERE, epsilon=0.2)
    assert "forecast" not in answer("show", rest)
    assert answer("show", rest, "--plan")["forecast"]["rounds"] == 1
    assert "should lose" in typed("show", rest, "--plan")
    text = typed("release", rest, "--out", tmp_path / "policy")
    assert "The release spent epsilon=0.88" in text
    assert "the study spent epsilon=1 at delta=1e-06 (rho=0.02436), left nothing" in text
    part = sqlite(tmp_path, "part.db")
    typed("create", part, problem, *made)
    study = Study.open(part)
    study.tell(study.ask(HERE), 0.5)
    told = answer("release", part, "--out", tmp_path / "part", "--epsilon", 0.5)
    assert told["release_budget"] == "epsilon=0.5, delta=1e-06"
    assert told["epsilon"] == pytest.approx(0.5, abs=1e-5)
    with pytest.raises(InputError, match="--delta goes with --epsilon"):
        typed("release", part, "--out", tmp_path / "part", "--delta", 1e-6)


def test_a_problem_file_says_what_is_not_typed(tmp_path: Path, problem: Path) -> None:
    problem.write_text('user = "patient"\n' + PROBLEM)
    made = answer("create", sqlite(tmp_path), problem, "--rank", 8, "--passes", 1)
    assert (made["horizon"], made["unit"], made["passes"]) == (2000, "user", 1)
    assert made["budget"] == "epsilon=1, delta=1e-06"
    shown = typed("show", sqlite(tmp_path))
    assert "one user, with all of their rounds" in shown
    assert "in 1 pass " in shown


def test_show_does_not_change_with_the_rewards(tmp_path: Path) -> None:
    shown = set()
    for name, rewards in (("none", []), ("odd", [float("nan")] * 3), ("all", [0.1, 0.2, 0.3])):
        url = sqlite(tmp_path, f"{name}.db")
        small = {"rank": 8, "tau": 10.0, "public_points": 500, "rng": 0}
        study = create_study(url, small_problem(), horizon=50, budget=BUDGET, **small)
        decisions = study.ask_many([[61.0, 74.0]] * 3)
        study.tell_many(decisions[: len(rewards)], rewards)
        shown.add((typed("show", url), typed("show", url, "--json")))
    assert len(shown) == 1


def product(A: Any, B: Any) -> Any:
    return 1.0 + A @ B.T


def test_a_kernel_of_ones_own_is_opened_in_python(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    problem = tacit.Problem(
        tacit.Box([0.0], [1.0], names=["a"]), tacit.Box([0.0], [1.0], names=["c"]), kernel=product
    )
    create_study(url, problem, horizon=20, budget=BUDGET, rank=4, rng=0)
    with pytest.raises(TacitError, match=r"open it in Python with Study\.open"):
        typed("show", url)
    assert Study.open(url, kernel=product).asked == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "nonsense"], "expected a database URL"),
        (["show", "sqlite:///{}/nowhere.db"], "there is no file"),
        (["release", "sqlite:///{}/nowhere.db", "--out", "policy"], "there is no file"),
        (["create", "sqlite:///{}/new.db", "{}/nowhere.toml"], "there is no problem file"),
        (["create", "sqlite:///{}/new.db", "{}/bare.toml"], "no number of rounds"),
        (
            ["create", "sqlite:///{}/new.db", "{}/problem.toml", "--rounds", "0"],
            "horizon must be a whole number",
        ),
    ],
)
def test_errors_are_one_sentence(
    tmp_path: Path, problem: Path, arguments: list[str], sentence: str
) -> None:
    bare = PROBLEM.replace("horizon = 2000", "")
    (tmp_path / "bare.toml").write_text(bare)
    with pytest.raises(TacitError, match=sentence) as caught:
        typed(*(argument.format(tmp_path) for argument in arguments))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["create", "show", "release"])
def test_help_teaches_by_example(command: str) -> None:
    assert f"tacit study {command} sqlite:///study.db" in typed(command, "--help")
