"""Arguments and options that several commands take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InputError, StateError

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.logs import ProblemFile
    from tacit.policy import Policy

StudyUrl = Annotated[
    str, typer.Argument(help="The study's database, for example sqlite:///study.db.")
]
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

Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the policy in the folder of --out by the new one."),
]


def save_released(policy: Policy, to: Path) -> None:
    """Writes a policy that was paid for. Where that fails, it can be had again."""
    try:
        policy.save(to)
    except InputError as error:
        reason, _, _ = str(error).rpartition(": ")
        raise StateError(
            f"the policy was released, but {reason}: run the same command with another --out, and "
            "it is written there without spending anything again."
        ) from None


def require_file(path: Path, *inputs: Path) -> None:
    """Fails unless a file can be written there that is none of the command's own inputs. One that
    is there is replaced."""
    from tacit.policy.folders import probe_folder

    if path.is_dir():
        raise InputError(f"{path} is a folder: --out takes the name of a file.")
    if path.exists() and any(each.exists() and path.samefile(each) for each in inputs):
        raise InputError(f"{path} is what is read: choose another file for --out.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path} cannot be written: choose another file for --out.")
    probe_folder(path.absolute().parent)


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
