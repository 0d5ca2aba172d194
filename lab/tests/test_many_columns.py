"""The bench of many columns: what it compares, and that it fails where a ratio is too large. No
test here looks at a clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tacit import DesignOptions
from tacit_lab.benchmarks import columns
from tacit_lab.benchmarks.columns import FEW, KINDS, MANY, Measured, Result, cells, compare

APP = typer.Typer()
APP.command()(columns.main)
QUICK = DesignOptions(rank=8, tau=10.0, public_points=500)


def result(fit: float, decision: float) -> Result:
    few = Measured(FEW, 100, 8, 2.0, 1e-5)
    return Result("context columns", few, Measured(MANY, 100, 8, fit * 2.0, decision * 1e-5))


def test_problems_differ_in_the_number_of_columns_alone() -> None:
    few = KINDS["context columns"](FEW)
    many = KINDS["context columns"](MANY)
    assert (few.contexts.dimension, many.contexts.dimension) == (5, 50)
    assert few.actions == many.actions
    few = KINDS["features of an item"](FEW)
    many = KINDS["features of an item"](MANY)
    assert (few.actions.dimension, many.actions.dimension) == (5, 50)
    assert few.contexts == many.contexts


@pytest.mark.parametrize("name", KINDS)
def test_fits_and_decisions_are_timed(name: str) -> None:
    found = compare(name, 100, passes=1, options=QUICK)
    for each, number in ((found.few, FEW), (found.many, MANY)):
        assert (each.columns, each.rounds) == (number, 100)
        assert each.rank <= 8
        assert min(each.fit, each.decision) > 0


def test_a_ratio_that_is_too_large_fails_and_is_marked() -> None:
    assert result(2.0, 1.9).holds
    assert not result(2.01, 1.0).holds
    assert not result(1.0, 2.01).holds
    assert cells(result(1.5, 3.0))[1][5:] == ["1.50", "33,333", "3.00, more than 2"]
    assert cells(result(1.5, 3.0))[0][5:] == ["", "100,000", ""]


@pytest.mark.parametrize(("fit", "code"), [(1.2, 0), (2.5, 1)])
def test_the_command_prints_a_table_or_json_and_fails_by_its_exit_code(
    fit: float, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(columns, "compare", lambda *given: result(fit, 1.0))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- columns -->\n<!-- end -->\nafter\n")
    done = CliRunner().invoke(APP, ["--markdown", str(page)])
    assert done.exit_code == code
    assert "at most 2 times as long" in done.output
    assert f"{fit:.2f}" in page.read_text()
    done = CliRunner().invoke(APP, ["--json", "--rounds", "100000"])
    assert done.exit_code == code
    assert [row["holds"] for row in json.loads(done.stdout)] == [code == 0] * 2
