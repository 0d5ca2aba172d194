"""How much memory a fit takes, at several sizes of the log: it should be the same at all of them.

    python -m tacit_lab.benchmarks.memory [--rank 1000] [--rows 200000,800000] [--release] [--json]

Every size is one Parquet file with a single row group, read by one `tacit fit` of its own; the peak
is the largest resident size that Linux saw of that process. Without `--release` it stops when every
row is counted in a first pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import typer

from tacit_lab.benchmarks.pages import print_table
from tacit_lab.benchmarks.resume import PROBLEM, make_table

# Runs the command line and then says, as the last line of stderr, the peak in MiB.
FIT = """
import sys
from tacit.cli import main
try:
    main()
finally:
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(int(line.split()[1]) / 1024, file=sys.stderr)
"""


def peak(folder: Path, rows: int, rank: int, release: bool) -> dict[str, Any]:
    log = folder / f"{rows}.parquet"
    checkpoint = folder / f"{rows}.partial"
    pq.write_table(make_table(rows), log, row_group_size=rows)
    options = ["--rank", str(rank), "--checkpoint", str(checkpoint), "--json"]
    options += ["--out", str(folder / str(rows))]
    if not release:
        options.append("--collect-only")
    command = [sys.executable, "-c", FIT, "fit", str(folder / "problem.toml"), str(log), *options]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = time.perf_counter() - begun
    return {
        "rows": rows,
        "file_mb": log.stat().st_size / 1e6,
        "rank": json.loads(done.stdout)["rank"],
        "released": release,
        "seconds": seconds,
        "peak_mib": float(done.stderr.splitlines()[-1]),
    }


def main(
    rank: int = typer.Option(1000, min=1),
    rows: str = typer.Option("200000,800000", help="sizes of the log"),
    release: bool = typer.Option(False, help="spend the budget and write the policy, too"),
    to_json: bool = typer.Option(False, "--json"),
) -> None:
    """Measures the peak memory of fits of several sizes."""
    with tempfile.TemporaryDirectory(prefix="tacit-") as temporary:
        folder = Path(temporary)
        (folder / "problem.toml").write_text(
            PROBLEM.replace("lengthscale = 0.3", "lengthscale = 0.1")
        )
        measured = [peak(folder, int(size), rank, release) for size in rows.split(",")]
    if to_json:
        print(json.dumps({"fits": measured}, indent=2))
        return
    print_table("Peak memory of a fit", list(measured[0]), [_cells(fit) for fit in measured])


def _cells(fit: dict[str, Any]) -> list[str]:
    return [f"{value:,.0f}" if isinstance(value, float) else str(value) for value in fit.values()]


if __name__ == "__main__":
    typer.run(main)
