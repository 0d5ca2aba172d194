"""How many landmarks are enough? The same studies with a different number of them.

    python -m tacit_lab.benchmarks.ranks [--rounds 1000000] [--functions 4] [--json]
                                         [--markdown docs/planning.md] 500 1000

Reward functions of a Matern-5/2 kernel on 2 + 3 dimensions as in planned.py, two passes at epsilon
1. Seconds are those of two passes and their decoding, as a ratio to the first row.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.planned import (
    CONTEXTS,
    DELTA,
    NOISE,
    SIGNAL,
    Setting,
    Waves,
    best_on_menu,
    lost,
    problem_of,
    released,
    standard_error,
)


@dataclass(frozen=True)
class Result:
    rank: int
    error: float
    standard_error: float
    planned: float
    limited_by: str
    seconds: float


class Studies:
    """The same functions, records and contexts for every rank."""

    def __init__(self, rounds: int, functions: int) -> None:
        self.setting = Setting(2, 3, "Matern-5/2", rounds, 1.0, functions)
        self.problem = problem_of(self.setting)
        self.budget = tacit.Budget(self.setting.epsilon, DELTA)
        rng = np.random.default_rng(2)
        self.waves = Waves(self.setting, functions, np.random.default_rng(1))
        self.points = rng.random((rounds, self.problem.dimension))
        rewards = self.waves(self.points) + NOISE * rng.normal(size=(rounds, functions))
        self.y = np.clip(rewards, -1.0, 1.0)
        self.contexts = rng.random((CONTEXTS, self.setting.contexts))
        self.best = best_on_menu(self.problem, self.waves, self.contexts)

    def measure(self, rank: int) -> Result:
        horizon = self.setting.rounds
        options = tacit.DesignOptions(rank=rank, signal=SIGNAL, noise=NOISE)
        forecast = tacit.plan(
            self.problem, horizon=horizon, budget=self.budget, options=options
        ).forecast
        rng = np.random.default_rng(5)
        design = tacit.Design.build(
            self.problem,
            horizon=horizon,
            budget=self.budget,
            rng=rng,
            options=tacit.DesignOptions(rank=rank),
            passes=1,
        )
        errors = []
        began = time.perf_counter()
        for i, y in enumerate(self.y.T):
            policy = released(design, self.points, y, rng)
            errors.append(lost(policy, self.waves, i, self.contexts, self.best))
        seconds = (time.perf_counter() - began) / len(errors)
        return Result(
            rank=rank,
            error=float(np.mean(errors)),
            standard_error=standard_error(errors),
            planned=forecast.expected_error,
            limited_by=forecast.limited_by,
            seconds=seconds,
        )


HEADER = ["rank", "measured", "planned", "limited by", "time"]


def main(
    ranks: Annotated[list[int], typer.Argument(help="Landmarks.")],
    rounds: Annotated[int, typer.Option(help="Of every study.")] = 1_000_000,
    functions: Annotated[int, typer.Option(min=2, help="Studies.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
) -> None:
    """Hold errors and costs of different numbers of landmarks side by side."""
    studies = Studies(rounds, functions)
    results = [
        studies.measure(rank) for rank in track(ranks, "measuring", console=Console(stderr=True))
    ]
    rows = [
        [
            str(r.rank),
            f"{r.error:.4f} ± {r.standard_error:.4f}",
            f"{r.planned:.4f}",
            r.limited_by,
            f"{r.seconds / results[0].seconds:.1f}",
        ]
        for r in results
    ]
    if page is not None:
        put_table(page, f"ranks.py --rounds {rounds}", HEADER, rows)
    if as_json:
        print(json.dumps({"rounds": rounds, "results": [asdict(r) for r in results]}, indent=2))
        return
    print_table("Landmarks", HEADER, rows)


if __name__ == "__main__":
    typer.run(main)
