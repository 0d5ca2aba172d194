"""Everything in one run, as one result."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tacit.numerics.engine import engine
from tacit.progress import Progress, silent
from tacit_lab.bench.growth import growth
from tacit_lab.bench.peers import peers
from tacit_lab.bench.stages import stages


def measure(
    rank: int,
    rows: int,
    *,
    device: str | None = None,
    points: int | None = None,
    compare: bool = True,
    most: int = 1_000_000,
    growth_rank: int = 100,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Stages, peers (NumPy only) and growth from a hundredth of `most` up to it; 0 leaves growth
    out."""
    on = engine(device)
    timed = stages(rank, rows, on, device or "numpy", points, progress=progress)
    grown = None
    if most:
        sizes = [most // 100, most // 30, most // 10, most // 3, most]
        grown = growth(growth_rank, sizes, on, progress=progress)
    # last: some of them need much memory
    beside = peers(rank, rows) if compare and device is None else []
    return {
        "stages": [asdict(stage) for stage in timed],
        "peers": beside,
        "growth_exponent": grown.exponent if grown else None,
        "growth": asdict(grown) if grown else None,
    }
