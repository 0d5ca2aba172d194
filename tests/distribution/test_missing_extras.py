"""Where a package is not installed, one sentence says which extra brings it; nothing is charged."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from helpers import ROOT, TESTS

# One interpreter in which no extra is installed, nor OpenDP; its answers, by extra.
PROGRAM = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
hidden = {"pyarrow", "matplotlib", "torch", "psycopg", "ray", "sklearn", "msgspec", "httpx"}

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden | {"opendp"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden)

from helpers import BUDGET, create_study, small_problem
from tacit import Ledger
from tacit.cli.serve import serve
from tacit.errors import InputError, MissingExtraError
from tacit.logs import read_table
from tacit.logs.cluster import import_ray
from tacit.numerics.engine import engine
from tacit.report.canvas import drawing

study = create_study("sqlite:///study.db", small_problem(), horizon=20, budget=BUDGET, rank=4)
study.tell(study.ask([50, 70]), 0.5)
pathlib.Path("log.parquet").touch()

def figure():
    with drawing():
        pass

def estimator():
    import tacit.sklearn

def client():
    import tacit.client

uses = {
    "files": lambda: read_table("log.parquet"),
    "plot": figure,
    "torch": lambda: engine("cuda"),
    "postgres": lambda: Ledger.open("postgresql+psycopg://nobody@nowhere/nothing"),
    "ray": import_ray,
    "sklearn": estimator,
    "serve": lambda: serve(["sqlite:///study.db"]),
    "client": client,
    "opendp": study.release,
}
answers = {}
for name, use in uses.items():
    try:
        use()
    except (InputError, MissingExtraError) as error:
        answers[name] = str(error)
answers["spent"] = study.ledger.spent
answers["charges"] = len(study.ledger.charges())
print(json.dumps(answers))
"""
SENTENCES = {
    "files": "Parquet and Arrow files need pyarrow: pip install 'tacit-dp[files]'.",
    "plot": "figures need matplotlib: pip install 'tacit-dp[plot]'.",
    "torch": "devices such as 'cuda' need PyTorch: pip install 'tacit-dp[torch]'.",
    "postgres": "no driver for 'postgresql+psycopg' is installed: for PostgreSQL pip install "
    "'tacit-dp[postgres]'.",
    "ray": "fits on a cluster need Ray: pip install 'tacit-dp[ray]'.",
    "sklearn": "estimators need scikit-learn: pip install 'tacit-dp[sklearn]'.",
    "serve": "services need msgspec: pip install 'tacit-dp[serve]'.",
    "client": "clients need httpx: pip install 'tacit-dp[client]'.",
    "opendp": "releases need OpenDP, which a slim installation lacks: pip install tacit-dp.",
}
TOGETHER = {"all", "check", "docs", "test"}  # extras that bring what others do, or tools


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(TESTS)],
        cwd=tmp_path_factory.mktemp("bare"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["optional-dependencies"]) - TOGETHER


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_a_missing_extra_is_named_in_one_sentence(name: str, answers: dict[str, object]) -> None:
    assert answers[name] == SENTENCES[name]


def test_the_page_on_installing_quotes_a_sentence(answers: dict[str, object]) -> None:
    """As the command line prints it."""
    page = (ROOT / "docs" / "install.md").read_text()
    assert f"```text\ntacit: {answers['files']}\n```" in page


def test_every_extra_has_its_sentence() -> None:
    assert extras() == set(SENTENCES) - {"opendp"}


def test_nothing_is_charged_where_there_is_no_source_of_noise(answers: dict[str, object]) -> None:
    assert answers["spent"] == 0.0
    assert answers["charges"] == 0


def test_no_page_tells_people_to_install_somebody_elses_package() -> None:
    """`tacit` on the index is another project."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    for page in [*pages, *(ROOT / "src").rglob("*.py")]:
        assert not wrong(page), page


def wrong(page: Path) -> bool:
    return any(name in page.read_text() for name in ("pip install tacit\n", "'tacit[", "`tacit["))
