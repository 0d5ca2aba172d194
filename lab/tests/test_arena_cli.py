"""`tacit arena` as people type it, and docs/arena.md as it stands."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from laws_environments import EnvironmentLaws
from laws_learners import LearnerLaws
from tacit._typing import Rng
from tacit.cli import app
from tacit_lab.arena.config import parse, read_config
from tacit_lab.arena.environments import ENVIRONMENTS
from tacit_lab.arena.protocol import Environment, Learner
from tacit_lab.arena.results import read_results

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "arena.md").read_text()
FLOOR = "tacit_lab.arena.learners.floor:"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", DOCS, flags=re.DOTALL)


def tacit(*words: str) -> str:
    done = CliRunner().invoke(app, ["arena", *words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The documentation's own learner and environment, in a file as a user would have it."""
    path = tmp_path_factory.mktemp("docs") / "mine.py"
    path.write_text("\n".join(blocks("python")))
    spec = importlib.util.spec_from_file_location("mine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    spec.loader.exec_module(module)
    return module


class TestTheDocumentedLearner(LearnerLaws):
    @pytest.fixture
    def learner(self, mine: ModuleType) -> type[Learner]:
        kind: type[Learner] = mine.Nearest
        return kind


class TestTheDocumentedEnvironment(EnvironmentLaws):
    @pytest.fixture
    def make(self, mine: ModuleType) -> Callable[[Rng], Environment]:
        function: Callable[[Rng], Environment] = mine.hills
        return function


def test_the_documented_command_runs(
    mine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = [
        line for block in blocks("console") for line in block.splitlines() if "mine.py:" in line
    ]
    monkeypatch.chdir(Path(str(mine.__file__)).parent)
    words = command.removeprefix("tacit arena ").replace("uniform", f"{FLOOR}Uniform").split()
    found = json.loads(tacit(*words, "--out", str(tmp_path), "--jobs", "0", "--json"))
    errors = {cell["learner"]: cell["error_rate"] for cell in found["results"]}
    assert found["failures"] == []
    assert errors["mine.py:Nearest"] < 0.5 * errors[f"{FLOOR}Uniform"]
    columns = {"learner", "environment", "rounds", "epsilon", "error_rate", "ci", "seeds"}
    assert set(found["results"][0]) == columns
    assert found["results"][0]["epsilon"] is None
    assert all(cell["ci"][0] < cell["error_rate"] < cell["ci"][1] for cell in found["results"])


def test_the_documented_file_is_understood() -> None:
    spec = tomllib.loads(blocks("toml")[0]) | {"learners": [f"{FLOOR}Uniform"]}
    jobs = parse(spec, "docs").jobs
    assert len(jobs) == 10 * 3 * 3


def test_every_environment_is_in_the_documentation() -> None:
    described = re.findall(r"`([^`\n]+)`", DOCS.split("## The environments")[1])
    assert {name for name in ENVIRONMENTS if not re.match(r"matern|rbf", name)} <= set(described)


@pytest.mark.parametrize("name", ["reduced.toml", "study.toml"])
def test_the_configs_of_the_study_are_understood(name: str) -> None:
    assert read_config(ROOT / "lab" / "arena" / name).jobs


def test_results_are_ranked_drawn_and_written_up(tmp_path: Path) -> None:
    learners = ("--learner", f"{FLOOR}Uniform", "--learner", f"{FLOOR}BestFixed")
    where = ["--environment", "branin", "--rounds", "200", "--seeds", "2", "--jobs", "0"]
    shown = tacit(*learners, *where, "--out", str(tmp_path / "r"))
    assert "Error rate after 200 rounds" in shown
    assert "4 rows, 0 failures" in shown
    assert len(read_results(tmp_path / "r")[0]) == 4
    printed = tacit("figures", str(tmp_path / "r"), "--out", str(tmp_path / "f"), "--json")
    assert all(Path(path).exists() for path in json.loads(printed)["figures"])
    tacit("study", str(tmp_path / "r"), "--out", str(tmp_path / "study.md"))
    assert (tmp_path / "study.md").read_text().startswith("# The study")


def test_learners_and_environments_are_listed() -> None:
    found = json.loads(tacit("--list", "--json"))
    assert {row["environment"] for row in found["environments"]} == set(ENVIRONMENTS)
    assert "Environments" in tacit("--list")


def test_the_help_teaches() -> None:
    shown = tacit("--help")
    for word in ("--quick", "--config", "tacit arena --quick", "figures", "study", "--data"):
        assert word in shown


@pytest.mark.parametrize(
    "words", [["--quick", "--config", "x.toml"], ["--rounds", "10"], ["--config", "none.toml"]]
)
def test_a_command_that_says_too_much_or_too_little_is_refused(words: list[str]) -> None:
    done = CliRunner().invoke(app, ["arena", *words])
    assert done.exit_code != 0
    assert re.search(r"say one of|is not there", str(done.exception))
