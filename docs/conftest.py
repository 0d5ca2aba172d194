"""`pytest docs`: every page is a test that executes its code blocks (see `_ext/blocks.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from blocks import BlockFailure, Run, blocks_of  # noqa: E402

RUNS: list[Run] = []


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    if file_path.suffix != ".md" or "generated" in file_path.parts:
        return None
    if not any(
        each.kind in ("python", "console", "text") for each in blocks_of(file_path.read_text())
    ):
        return None
    return Page.from_parent(parent, path=file_path)


class Page(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield PageItem.from_parent(self, name=self.path.stem)


class PageItem(pytest.Item):
    def runtest(self) -> None:
        RUNS.append(Run(self.path).run())

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, BlockFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"page {self.path.name}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not RUNS:
        return
    executed = sum(run.executed for run in RUNS)
    skipped = [each for run in RUNS for each in run.skipped]
    elsewhere = [each for each in skipped if "executed by: " in each]
    terminalreporter.write_line(
        f"{executed} code blocks were executed on {len(RUNS)} pages, {len(elsewhere)} further ones "
        f"are executed by `make test`, and {len(skipped) - len(elsewhere)} are not executed:"
    )
    for each in skipped:
        if each not in elsewhere:
            terminalreporter.write_line(f"  {each}")
