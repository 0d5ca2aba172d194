"""What is said of studies in epochs is computed from the rows of both learners, seed by seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tacit_lab.arena.results import RESULTS, TABLE, write_table
from tacit_lab.benchmarks import epochs as benchmark

SHARES = {"tacit": (0.04, 1.0), "tacit-epochs": (0.06, 0.3), "best-fixed": (0.05, 1.0)}


def row(learner: str, environment: str = "branin", seed: int = 0, rounds: int = 3000) -> Any:
    """Of a learner with the error and the regret above, as shares of uniform play's."""
    error, regret = SHARES[learner]
    uniform = 0.5
    found: dict[str, Any] = dict.fromkeys(RESULTS.names, 0)
    found |= {"learner": learner, "environment": environment, "rounds": rounds, "seed": seed}
    found |= {"epsilon": 1.0, "uniform_error": uniform, "version": "0"}
    found |= {"error_rate": error * uniform, "cumulative_regret": regret * uniform * rounds}
    return found


def test_only_seeds_that_both_played_count() -> None:
    rows = [row("tacit"), row("tacit", seed=1), row("tacit-epochs"), row("tacit-epochs", seed=2)]
    [found] = benchmark.settings(rows)
    assert found.one_error == pytest.approx([0.04])
    assert found.epochs_regret == pytest.approx([0.3])
    assert found.ratio == pytest.approx(1.5)
    assert found.fixed_error is None


def test_small_errors_have_no_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHARES, "tacit", (0.001, 1.0))
    monkeypatch.setitem(SHARES, "tacit-epochs", (0.004, 0.3))
    [found] = benchmark.settings([row("tacit"), row("tacit-epochs")])
    assert found.ratio is None


def test_the_summary_names_what_ends_worse() -> None:
    rows = [row(name) for name in SHARES]
    summary = benchmark.summary(benchmark.settings(rows), 3000)
    assert summary["ratio"] == pytest.approx(1.5)
    assert summary["regret"] == pytest.approx(0.3)
    assert summary["worse_than_fixed"] == ["branin"]


def test_both_tables_are_put_into_the_page(tmp_path: Path) -> None:
    rows = [row(name, seed=seed) for name in SHARES for seed in range(benchmark.SEEDS)]
    write_table(rows, tmp_path / TABLE, RESULTS)
    page = tmp_path / "page.md"
    page.write_text("<!-- epochs-gain -->\n<!-- end -->\n\n<!-- epochs-all -->\n<!-- end -->\n")
    app = typer.Typer()
    app.command()(benchmark.main)
    done = CliRunner().invoke(app, [str(tmp_path), "--page", str(page)])
    assert done.exit_code == 0
    assert "| branin | 3,000 | 5 | 0.0400 ± 0.0000 | 0.0600 ± 0.0000 |" in page.read_text()
    assert "| branin | 0.30 | 0.060 | 1.50 |" in page.read_text()
    told = CliRunner().invoke(app, [str(tmp_path), "--json"])
    assert json.loads(told.stdout)["means"]["3000"]["environments"] == 1
