"""The lab is a distribution of its own: its commands come and go with it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

LAB = Path(__file__).parents[1]
BENCHMARKS = LAB / "src" / "tacit_lab" / "benchmarks"
HELP = """
import sys
from tacit.cli import main
sys.argv = ["tacit", "--help"]
try:
    main()
finally:
    print("imported:", *sorted(name for name in sys.modules if name.startswith("tacit_lab")))
"""
# As where only Tacit is installed: the group has no entry points.
HIDDEN = """
import importlib.metadata
found = importlib.metadata.entry_points
def hidden(**which):
    return [] if which.get("group") == "tacit.commands" else found(**which)
importlib.metadata.entry_points = hidden
"""


def help_of(program: str) -> tuple[set[str], set[str]]:
    """The commands that `tacit --help` lists, and the modules of the lab that were imported."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    shown, _, imported = done.stdout.partition("imported:")
    return set(re.findall(r"^\W*([a-z]+) ", shown, flags=re.MULTILINE)), set(imported.split())


def test_the_commands_are_entry_points() -> None:
    declared = {entry.name: entry.value for entry in entry_points(group="tacit.commands")}
    assert declared["arena"] == "tacit_lab.commands.arena:app"
    assert declared["bench"] == "tacit_lab.commands.bench:bench"


def test_help_lists_the_commands_of_the_lab() -> None:
    commands, imported = help_of(HELP)
    assert {"fit", "plan", "arena", "bench"} <= commands
    assert "tacit_lab.commands.arena" in imported


def test_without_the_lab_tacit_has_neither_command_and_imports_nothing_of_it() -> None:
    commands, imported = help_of(HIDDEN + HELP)
    assert {"fit", "plan"} <= commands
    assert not {"arena", "bench"} & commands
    assert imported == set()


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(BENCHMARKS.glob("*.py")) if "__main__" in path.read_text()],
    ids=lambda path: path.stem,
)
def test_every_benchmark_says_how_it_is_typed(path: Path) -> None:
    assert f"    python -m tacit_lab.benchmarks.{path.stem} " in path.read_text()
