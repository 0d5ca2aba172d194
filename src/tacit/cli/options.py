"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.logs import ProblemFile

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


def chosen_budget(spec: ProblemFile, epsilon: float | None, delta: float) -> Budget:
    """That of the options, or else of the problem file."""
    from tacit.core import Budget

    if epsilon is not None:
        return Budget(epsilon=epsilon, delta=delta)
    if spec.budget is None:
        raise InputError(
            "no budget: pass --epsilon 1 --delta 1e-6, or add a [budget] table to the problem file."
        )
    return spec.budget


def chosen_rounds(spec: ProblemFile, rounds: int | None) -> int:
    """The same for the number of rounds."""
    if rounds is not None:
        return rounds
    if spec.horizon is None:
        raise InputError(
            "no number of rounds: pass --rounds, or put horizon into the problem file."
        )
    return spec.horizon
