"""Options of studies in epochs."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.typed import read_baseline, read_epochs, read_wait

__all__ = [
    "Baseline",
    "Control",
    "Epochs",
    "Exploit",
    "Explore",
    "Wait",
    "read_baseline",
    "read_epochs",
    "read_wait",
]

Epochs = Annotated[
    str,
    typer.Option(help="How many epochs the study has, or their sizes: 1500,3000,6000,19500."),
]
Explore = Annotated[
    float, typer.Option(help="The share of rounds played uniformly, from the second epoch on.")
]
Exploit = Annotated[
    float, typer.Option(help="The share played by the policy's own decision, to see its worth.")
]
Control = Annotated[float, typer.Option(help="The share played by --baseline, in every epoch.")]
Baseline = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="The action of --control: dose=30; once for each column."
    ),
]
Wait = Annotated[
    str,
    typer.Option(
        help="How long rewards of an epoch are waited for after its last round: 7d, 12h, 30m."
    ),
]
