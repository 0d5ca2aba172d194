"""The tables of docs/performance.md from stored runs of `tacit bench --json`.

    python -m tacit_lab.benchmarks.performance lab/performance/*.json --markdown docs/performance.md

A run is stored with the name of its machine in place of "cuda" or "numpy".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit_lab.benchmarks.pages import put_table


def stage_cells(s: dict[str, Any]) -> list[str]:
    rows = f"{s['rows']:,}"
    share = f"{s['gemm_fraction']:.0%}"
    return [
        s["stage"],
        s["device"],
        rows,
        str(s["rank"]),
        f"{s['seconds']:.3g}",
        f"{s['gflops']:,.0f}",
        share,
    ]


def growth_cells(device: str, run: dict[str, Any]) -> list[str]:
    g = run["growth"]
    span = f"{g['rounds'][0]:,} to {g['rounds'][-1]:,}"
    return [
        device,
        span,
        str(g["rank"]),
        f"{run['growth_exponent']:.2f}",
        f"{max(g['peak_mib']):,.0f}",
    ]


def peer_cells(device: str, p: dict[str, Any]) -> list[str]:
    return [p["peer"], device, f"{p['rows']:,}", str(p["rank"]), f"{p['times_tacit']:.3g}"]


def main(
    runs: Annotated[list[Path], typer.Argument(help="Results of tacit bench --json.")],
    page: Annotated[Path, typer.Option("--markdown", help="The page to put the tables into.")],
) -> None:
    """Put stored figures into the page."""
    stored = [json.loads(path.read_text()) for path in sorted(runs)]
    devices = [run["stages"][0]["device"] for run in stored]
    header = ["stage", "machine", "rows", "rank", "seconds", "GFLOP/s", "share of the product rate"]
    put_table(page, "stages", header, [stage_cells(s) for run in stored for s in run["stages"]])
    grown = [growth_cells(d, run) for d, run in zip(devices, stored, strict=True) if run["growth"]]
    put_table(
        page, "growth", ["machine", "rounds", "rank", "exponent", "peak MiB of the process"], grown
    )
    peers = [peer_cells(d, p) for d, run in zip(devices, stored, strict=True) for p in run["peers"]]
    put_table(
        page,
        "peers",
        ["", "machine", "rows", "rank", "times as long a row as Tacit's statistic"],
        peers,
    )


if __name__ == "__main__":
    typer.run(main)
