"""`tacit bench`: how fast, beside the machine's own matrix product."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    """Time every heavy stage as a share of this machine's own float64 matrix-product rate, in one
    run.

    Times depend on the machine; the share says how much of it is used. Growth is fitted from 10^5
    rounds (or a hundredth of --most) upwards on a log scale: an exponent of 1 is linear.
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
    timed = result["stages"]
    beside = result["peers"]
    grown = Growth(**result["growth"]) if result["growth"] else None
    if figure is not None and grown is not None:
        _draw(grown, figure)
    if json:
        emit(result)
        return
    table(
        "Heavy stages",
        ["stage", "device", "rows", "rank", "seconds", "GFLOP/s", "of a product's rate"],
        [
            [
                s["stage"],
                s["device"],
                f"{s['rows']:,}",
                str(s["rank"]),
                f"{s['seconds']:.3g}",
                f"{s['gflops']:.0f}",
                f"{s['gemm_fraction']:.0%}",
            ]
            for s in timed
        ],
    )
    if beside:
        rows_ = [
            [p["peer"], f"{p['rows']:,}", f"{p['us_per_row']:.3g}", f"{p['times_tacit']:.3g}"]
            for p in beside
        ]
        table("Others on the same rows", ["", "rows", "us a row", "times as long"], rows_)
    if grown:
        sizes_ = [
            [f"{t:,}", f"{s:.3g}", f"{m:.0f}"]
            for t, s, m in zip(grown.rounds, grown.seconds, grown.peak_mib, strict=True)
        ]
        table(f"Growth at rank {grown.rank}", ["rounds", "seconds", "peak MiB"], sizes_)
        out.print(f"cost grows as rounds^{grown.exponent:.3f}")
    if figure is not None:
        err.print(f"Figure: {figure}")


def _draw(grown: Growth, path: Path) -> None:
    """Cost against rounds on log-log axes, with the fitted line."""
    import numpy as np

    from tacit.errors import InputError, MissingExtraError

    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path} should end in .png or .svg.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("figures need matplotlib: install tacit[plot].") from None
    picture = Figure(figsize=(6, 4), layout="constrained")
    axes = picture.subplots()
    rounds = np.array(grown.rounds, dtype=float)
    seconds = np.array(grown.seconds)
    slope, level = np.polyfit(np.log(rounds), np.log(seconds), 1)
    axes.loglog(rounds, np.exp(level) * rounds**slope, color="#c2410c", label=f"rounds^{slope:.2f}")
    axes.loglog(rounds, seconds, "o", color="#0b6e8f", label=f"statistic, rank {grown.rank}")
    axes.set_xlabel("rounds")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=150)
