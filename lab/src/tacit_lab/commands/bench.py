"""`tacit bench`: how fast, beside the machine's own matrix product."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress, table

if TYPE_CHECKING:
    from tacit_lab.bench import Growth


def bench(
    rank: Annotated[int, typer.Option(help="Landmarks.")] = 1000,
    rows: Annotated[int, typer.Option(help="Private records for the statistic.")] = 100_000,
    points: Annotated[
        int | None, typer.Option(help="Public points for the design; as many as records otherwise.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="PyTorch device such as cuda; NumPy otherwise.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Time other libraries on the same rows.")
    ] = True,
    most: Annotated[
        int, typer.Option(help="Rounds up to which growth is measured; 0 leaves it out.")
    ] = 1_000_000,
    growth_rank: Annotated[int, typer.Option(help="Rank at which growth is measured.")] = 100,
    figure: Annotated[
        Path | None, typer.Option(help="Draw cost against rounds: a PNG or SVG file.")
    ] = None,
    json: Json = False,
) -> None:
    """Time every heavy stage beside this machine's own float64 matrix product, in one run.

    Times depend on the machine; the share of the product's rate says how much of it is used.
    Growth is fitted from a hundredth of --most upwards on a log scale: an exponent of 1 is linear.
    """
    from tacit_lab.bench import Growth, measure

    with progress(json) as show:
        result = measure(
            rank,
            rows,
            device=device,
            points=points,
            compare=compare,
            most=most,
            growth_rank=growth_rank,
            progress=show,
        )
    growth = Growth(**result["growth"]) if result["growth"] else None
    if figure is not None and growth is not None:
        _draw(growth, figure)
    if json:
        emit(result)
        return
    _show_stages(result["stages"])
    if result["peers"]:
        _show_peers(result["peers"])
    if growth is not None:
        _show_growth(growth)
    if figure is not None:
        err.print(f"Figure: {figure}")


def _show_stages(stages: list[dict[str, Any]]) -> None:
    header = ["stage", "device", "rows", "rank", "seconds", "GFLOP/s", "of a product's rate"]
    cells = [
        [
            stage["stage"],
            stage["device"],
            f"{stage['rows']:,}",
            str(stage["rank"]),
            f"{stage['seconds']:.3g}",
            f"{stage['gflops']:.0f}",
            f"{stage['gemm_fraction']:.0%}",
        ]
        for stage in stages
    ]
    table("Heavy stages", header, cells)


def _show_peers(peers: list[dict[str, Any]]) -> None:
    cells = [
        [
            peer["peer"],
            f"{peer['rows']:,}",
            f"{peer['us_per_row']:.3g}",
            f"{peer['times_tacit']:.3g}",
        ]
        for peer in peers
    ]
    table("Others on the same rows", ["", "rows", "us a row", "times as long"], cells)


def _show_growth(growth: Growth) -> None:
    measured = zip(growth.rounds, growth.seconds, growth.peak_mib, strict=True)
    cells = [[f"{rounds:,}", f"{seconds:.3g}", f"{peak:.0f}"] for rounds, seconds, peak in measured]
    table(f"Growth at rank {growth.rank}", ["rounds", "seconds", "peak MiB"], cells)
    out.print(f"cost grows as rounds^{growth.exponent:.3f}")


def _draw(growth: Growth, path: Path) -> None:
    """Cost against rounds on log-log axes, with the fitted line."""
    import numpy as np
    from matplotlib.figure import Figure

    from tacit.errors import InputError

    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path} should end in .png or .svg.")
    picture = Figure(figsize=(6, 4), layout="constrained")
    axes = picture.subplots()
    rounds = np.array(growth.rounds, dtype=float)
    seconds = np.array(growth.seconds)
    slope, intercept = np.polyfit(np.log(rounds), np.log(seconds), 1)
    axes.loglog(
        rounds, np.exp(intercept) * rounds**slope, color="#c2410c", label=f"rounds^{slope:.2f}"
    )
    axes.loglog(rounds, seconds, "o", color="#0b6e8f", label=f"statistic, rank {growth.rank}")
    axes.set_xlabel("rounds")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=150)
