"""Files about the project say what is so: workflows, versions, dates, commands, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tacit
from helpers import ROOT

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
YAML = [
    *WORKFLOWS,
    *sorted((FORGE / "ISSUE_TEMPLATE").glob("*.yml")),
    ROOT / ".pre-commit-config.yaml",
    ROOT / "CITATION.cff",
    ROOT / "docker" / "compose.yaml",
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LAB = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
PAGES = ["SECURITY.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "docs/install.md"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def jobs() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.stem}/{name}", job)
        for path in WORKFLOWS
        for name, job in read(path)["jobs"].items()
    ]


def made(text: str) -> set[str]:
    """The targets of `make` in some commands."""
    return set(re.findall(r"^\s*make ([a-z-]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_files_for_the_forge_are_yaml(path: Path) -> None:
    assert isinstance(read(path), dict)


@pytest.mark.parametrize(("name", "job"), jobs())
def test_a_job_says_where_it_runs_how_long_and_what(name: str, job: dict[str, Any]) -> None:
    assert job["runs-on"] == "ubuntu-latest"
    assert job["timeout-minutes"] <= 60, name
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert "@" in step.get("uses", "@"), "a version of the action"


def test_workflows_type_what_people_type() -> None:
    """The documentation's target comes with the documentation."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    typed = {target for path in WORKFLOWS for target in made(commands(path))}
    assert {"check", "test", "test-lowest", "dist", "docs"} == typed
    assert typed - {"docs"} <= targets
    assert {"check", "test"} <= made((ROOT / ".ci" / "run").read_text())


def commands(path: Path) -> str:
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    return "\n".join(step.get("run", "") for step in steps)


def test_every_python_that_is_promised_is_tested() -> None:
    found = [re.fullmatch(r".*Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    promised = [each[1] for each in found if each]
    assert PROJECT["requires-python"] == f">={promised[0]}"
    for job in ("test", "wheels"):
        matrix = read(FORGE / "workflows" / "test.yml")["jobs"][job]["strategy"]["matrix"]
        assert matrix["python"] == promised


def test_one_version_everywhere_and_the_changelog_dates_it() -> None:
    version = tacit.__version__
    citation = read(ROOT / "CITATION.cff")
    assert LAB["version"] == version
    assert citation["version"] == version
    dated = re.search(
        rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", CHANGELOG, re.MULTILINE
    )
    assert dated is not None
    assert dated[1] == str(citation["date-released"])


def test_the_lab_depends_on_this_distribution() -> None:
    assert PROJECT["name"] == "tacit-dp"
    assert [each for each in LAB["dependencies"] if each.startswith("tacit")] == [
        "tacit-dp[files]>=0.2"
    ]
    assert all("tacit-dp" in each for each in LAB["optional-dependencies"]["service"])


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        assert "//" in target or ((ROOT / page).parent / target).exists(), target


def test_every_extra_and_dependency_is_explained() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    for extra in PROJECT["optional-dependencies"]:
        assert f"`{extra}`" in page, extra
    for requirement in PROJECT["dependencies"]:
        assert re.split(r"[>\[]", requirement)[0] in page.lower(), requirement


def test_addresses_are_placeholders_until_a_maintainer_fills_them() -> None:
    """RELEASING.md names the files: none of them may be forgotten."""
    page = (ROOT / "RELEASING.md").read_text()
    files = ["pyproject.toml", "slim/pyproject.toml", "CITATION.cff", "SECURITY.md"]
    files += ["CODE_OF_CONDUCT.md", ".github/ISSUE_TEMPLATE/config.yml"]
    for file in files:
        assert "example.org" in (ROOT / file).read_text(), file
        assert f"`{file}`" in page, file
