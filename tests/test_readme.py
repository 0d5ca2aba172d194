"""The README's code runs as it stands."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit.audit import QUICK, Report
from tacit.cli import app

ROOT = Path(__file__).parent.parent
EPOCHS = ROOT / "docs" / "epochs.md"


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 80)  # 500 would take its time
    blocks = python_blocks((ROOT / "README.md").read_text())
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert len(names["best"]["dose"]) == 2
    assert names["study"].state.released
    assert str(names["done"]) == "epoch 1: 1 of 1,500 rounds were asked"
    assert (tmp_path / "policy" / "policy.json").exists()


def test_the_page_on_epochs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in python_blocks(EPOCHS.read_text()):
        exec(compile(block, "docs/epochs.md", "exec"), names)  # noqa: S102
    study = names["study"]
    assert [epoch.stage for epoch in study.history] == ["released"] * 3 + ["open"]
    assert study.history[2].answer.startswith("the policy of epoch 2 earns")
    assert names["plan"].power(names["plan"].rounds_for(0.05), 0.05) >= 0.8
    assert names["policy"].receipt == study.policy_of(1).receipt
    assert pq.read_metadata("rounds.parquet").num_rows == 310


@pytest.mark.usefixtures("coarse_tuning")
def test_the_example_of_epochs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few rounds: it is to run, not to learn."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = importlib.import_module("epochs")
    monkeypatch.setattr(example, "SIZES", (20, 40, 40, 40, 40, 40))
    records = example.play(rank=8, seed=0)
    example.report(records)
    assert [len(each.regret) for each in records] == [20, 40, 40, 40, 40, 40]
    example.draw(records, tmp_path / "epochs.png")
    assert (tmp_path / "epochs.png").exists()


# -- what is typed in a shell ---------------------------------------------------------------------


def shell_lines(text: str) -> list[list[str]]:
    """The indented lines, as words, without what follows a #. Each line once."""
    lines = re.findall(
        r"^    (\S.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    words = [shlex.split(line, comments=True) for line in lines]
    return [line for i, line in enumerate(words) if line not in words[:i]]


def smaller(line: list[str]) -> list[str]:
    """The same command with few landmarks: it is to run, not to be good."""
    if line[1] not in ("fit", "plan"):
        return line
    if "--rank" in line:
        at = line.index("--rank")
        line = line[:at] + line[at + 2 :]
    return [*line, "--rank", "8"]


def test_the_shell_lines_run_in_a_fresh_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, with the files that the lines before have written and those of the repository.
    What takes minutes, or for ever, is looked at and not run: make, pip, the audit and servers."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 60)
    audits: list[Any] = []

    def audited(settings: Any, size: Any, progress: Any) -> Report:
        audits.append(size)
        return Report((), (), settings, 0.0)

    monkeypatch.setattr("tacit.audit.run_audit", audited)
    served: list[Any] = []

    class Served:
        def run(self) -> None:
            served.append(self)

    monkeypatch.setattr("tacit.service.running.server", lambda *_: Served())
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    makefile = (ROOT / "Makefile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    ran = []
    pages = ("README.md", "examples/README.md")  # one after the other, in one folder
    for line in [line for page in pages for line in shell_lines((ROOT / page).read_text())]:
        if line[0] == "make":
            assert f"\n{line[1]}:" in makefile, line
        elif line[:2] == ["pip", "install"]:
            assert set(re.findall(r"\[(.*)\]", line[2])) <= set(extras), line
        elif line[0] == "python":
            monkeypatch.setattr(sys, "argv", line[1:])
            runpy.run_path(line[1], run_name="__main__")
        else:
            assert line[0] == "tacit", line
            done = CliRunner().invoke(app, smaller(line)[1:], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            ran.append(line[1])
    assert ran == [
        "plan",
        "fit",
        "decide",
        "report",
        "ledger",
        "audit",
        "dashboard",
        "fit",
        "decide",
    ]
    assert (tmp_path / "out" / "report.html").exists()
    assert audits == [QUICK]


def test_the_shell_lines_on_epochs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the one that spends find something to do before there is a single round."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 20)
    # The lines of the arena take minutes, and need the lab.
    found = shell_lines(EPOCHS.read_text())
    lines = [line for line in found if line[1] == "study"]
    typed = ["create", "show", "advance", "history", "validate", "extend"]
    assert [line[2] for line in lines] == typed
    lines += [line for line in found if "--detect" in line]
    assert len(lines) == len(typed) + 2
    for line in lines:
        done = CliRunner().invoke(app, line[1:], catch_exceptions=False)
        assert done.exit_code == (3 if line[2] == "advance" else 0), done.output


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/notation.md",
        "docs/epochs.md",
        "docs/service.md",
        "examples/README.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        assert "//" in target or ((ROOT / page).parent / target).exists(), target
