"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProblemPath = Annotated[
    Path, typer.Argument(help="The problem, as TOML (see examples/dosing.toml).")
]
Epsilon = Annotated[
    float | None, typer.Option(help="Privacy budget; that of the problem file otherwise.")
]
Delta = Annotated[float, typer.Option(help="Goes with --epsilon.")]
Rank = Annotated[int | None, typer.Option(help="The largest number of landmarks.")]
Passes = Annotated[
    int,
    typer.Option(
        min=1, help="How often the records are read: twice is more accurate at the same budget."
    ),
]
