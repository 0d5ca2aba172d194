"""The README's code runs as it stands, and so do the pages that this file names."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit.cli import app

ROOT = Path(__file__).parent.parent
EPOCHS = ROOT / "docs" / "epochs.md"


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = python_blocks((ROOT / "README.md").read_text())
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert len(names["best"]["dose"]) == 2
    assert names["policy"].health().good
    assert (tmp_path / "report.html").exists()


def test_the_readme_is_short() -> None:
    """One screen, or two on a small one; ten lines of Python, three of shell."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 80
    (block,) = python_blocks(text)
    assert len([line for line in block.splitlines() if line.strip()]) <= 11
    assert len(shell_lines(text.split("## Three lines of shell")[1].split("\n## ")[0])) == 3


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


def fresh_clone(folder: Path) -> None:
    """The files that git would check out, and an environment as `make` has set it up."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in found.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    scripts = folder / ".venv" / "bin"
    scripts.mkdir(parents=True)
    for name, module in (("python", ""), ("tacit", " -m tacit")):
        script = f'#!/bin/sh\nexec {sys.executable}{module} "$@"\n'
        (scripts / name).write_text(script)
        (scripts / name).chmod(0o755)
    (folder / ".venv" / ".demo").touch()  # the stamp of what `make demo` installs


def test_the_shell_lines_of_the_readme_run_in_a_fresh_clone(tmp_path: Path) -> None:
    """As they are written. What `make` installs is there already: that takes minutes, and a
    network."""
    fresh_clone(tmp_path)
    lines = re.findall(r"^    (.+)$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    typed = [line for line in lines if line.startswith(("make", ".venv"))]
    assert len(typed) == 3
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    for line in typed:
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert (tmp_path / "out" / "demo" / "report.html").exists()
    assert (tmp_path / "out" / "pricing" / "policy.json").exists()


def test_the_shell_lines_of_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, with the files that the lines before have written and those of the repository.
    What takes minutes is checked and not run: pip."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("data"))
    monkeypatch.chdir(tmp_path)
    ran = []
    for line in shell_lines((ROOT / "examples" / "README.md").read_text()):
        if line[0] == "python":
            monkeypatch.setattr(sys, "argv", line[1:])
            runpy.run_path(line[1], run_name="__main__")
        elif line[0] == "tacit":
            done = CliRunner().invoke(app, smaller(line)[1:], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            ran.append(line[1])
        else:
            assert line == ["pip", "install", ".[files]"], line
    assert ran == ["fit", "decide"]


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


# -- all pages ------------------------------------------------------------------------------------

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("docs", "examples", "lab")
    for path in (ROOT / folder).rglob("*.md")
    if "generated" not in path.parts and "project" not in path.parts
)
PAGES += ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """On a forge. The site's own links, and their anchors, are checked when it is built."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        made = "generated/" in target  # by the build of the site
        assert made or "//" in target or ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_no_page_installs_somebody_elses_package(page: str) -> None:
    """`tacit` on the package index is another project: ours is `tacit-dp`."""
    assert not somebody_elses((ROOT / page).read_text())


def somebody_elses(text: str) -> bool:
    return bool(re.search(r"pip install [^\n]*\btacit(?!-dp|-lab)\b|\btacit\[", text))


def test_somebody_elses_package_would_be_seen() -> None:
    assert somebody_elses("pip install tacit")
    assert somebody_elses("pip install 'tacit[plot]'")
    assert not somebody_elses("pip install 'tacit-dp[plot]'")


def outputs(notebook: dict[str, Any]) -> list[Any]:
    """What is left of somebody's run."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [cell for cell in cells if cell["outputs"] or cell["execution_count"] is not None]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """`make docs` executes them."""
    assert not outputs(json.loads(path.read_text())), f"clear the outputs of {path.name}"


def test_there_are_notebooks_and_an_output_would_be_seen() -> None:
    assert len(NOTEBOOKS) == 2
    notebook = json.loads(NOTEBOOKS[0].read_text())
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["1"]}]
    assert outputs(notebook)
