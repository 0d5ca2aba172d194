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

STAGES = ["stage", "machine", "rows", "rank", "seconds", "GFLOP/s", "share of the product rate"]
GROWTH = ["machine", "rounds", "rank", "exponent", "peak MiB of the process"]
PEERS = ["", "machine", "rows", "rank", "times as long a row as Tacit's statistic"]


def stage_cells(stage: dict[str, Any]) -> list[str]:
    return [
        stage["stage"],
        stage["device"],
        f"{stage['rows']:,}",
        str(stage["rank"]),
        f"{stage['seconds']:.3g}",
        f"{stage['gflops']:,.0f}",
        f"{stage['gemm_fraction']:.0%}",
    ]


def growth_cells(run: dict[str, Any]) -> list[str]:
    growth = run["growth"]
    return [
        machine(run),
        f"{growth['rounds'][0]:,} to {growth['rounds'][-1]:,}",
        str(growth["rank"]),
        f"{run['growth_exponent']:.2f}",
        f"{max(growth['peak_mib']):,.0f}",
    ]


def peer_cells(run: dict[str, Any], peer: dict[str, Any]) -> list[str]:
    return [
        peer["peer"],
        machine(run),
        f"{peer['rows']:,}",
        str(peer["rank"]),
        f"{peer['times_tacit']:.3g}",
    ]


def machine(run: dict[str, Any]) -> str:
    name: str = run["stages"][0]["device"]
    return name


def main(
    runs: Annotated[list[Path], typer.Argument(help="Results of tacit bench --json.")],
    page: Annotated[Path, typer.Option("--markdown", help="The page to put the tables into.")],
) -> None:
    """Put stored figures into the page."""
    stored = [json.loads(path.read_text()) for path in sorted(runs)]
    stages = [stage_cells(stage) for run in stored for stage in run["stages"]]
    growth = [growth_cells(run) for run in stored if run["growth"]]
    peers = [peer_cells(run, peer) for run in stored for peer in run["peers"]]
    put_table(page, "stages", STAGES, stages)
    put_table(page, "growth", GROWTH, growth)
    put_table(page, "peers", PEERS, peers)


if __name__ == "__main__":
    typer.run(main)
