"""`tacit bench`: what it prints, and that cost and memory are counted. No test here looks at a
clock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit_lab.bench import Growth, measure

RANK = 20
ROWS = 2000
WITHOUT = """
import runpy, sys
for missing in ("opendp", "typer", "rich", "matplotlib", "pyarrow"):
    sys.modules[missing] = None
sys.argv = "bench --rank 5 --rows 300 --no-peers --most 0".split()
runpy.run_module("tacit_lab.bench", run_name="__main__")
"""


def test_every_stage_is_measured_against_a_product() -> None:
    result = measure(RANK, ROWS, most=10_000, growth_rank=10)
    assert [s["stage"] for s in result["stages"]] == [
        "public points of a design",
        "statistic",
        "10 000 decisions, 256 candidates",
    ]
    keys = {"stage", "device", "rows", "rank", "seconds", "gflops", "gemm_fraction"}
    assert all(set(stage) == keys and stage["device"] == "numpy" for stage in result["stages"])
    assert {
        "tacit statistic",
        "scikit-learn Nystroem + Ridge",
        "tacit.paper (USCA as published)",
    } <= {peer["peer"] for peer in result["peers"]}
    assert len(result["growth"]["seconds"]) == 5


def test_the_exponent_is_the_slope_on_log_log_axes() -> None:
    rounds = [10**3, 10**4, 10**5]
    seconds = [1e-3 * t**1.5 for t in rounds]
    assert Growth(1, rounds, seconds, [0.0] * 3).exponent == pytest.approx(1.5)


def test_the_command_prints_tables_json_and_a_figure(tmp_path: Path) -> None:
    options = ["bench", "--rank", "15", "--rows", "1000", "--no-peers"]
    options += ["--most", "3000", "--growth-rank", "8"]
    done = CliRunner().invoke(app, [*options, "--figure", str(tmp_path / "growth.png")])
    assert done.exit_code == 0, done.output
    assert "Heavy stages" in done.output
    assert "cost grows as rounds" in done.output
    assert (tmp_path / "growth.png").stat().st_size > 5000
    parsed = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert {"stages", "peers", "growth_exponent"} <= set(parsed)
    assert np.isfinite(parsed["growth_exponent"])


def test_the_bench_needs_neither_opendp_nor_the_command_line() -> None:
    """A GPU worker has NumPy, SciPy and PyTorch; what the guarantee and the terminal need may be
    missing."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["stages"]) == 3
