"""Logs that were not played uniformly: what a known law of play, or propensities, are worth.

    python -m tacit_lab.benchmarks.logs [--seeds 32] [--first-seed 0] [--only band] [--json]

The first log has three arms of values 0.45, 0.55 and 0.50, rewards of 0 or 1 and two contexts that
do not matter. Whoever played it took the first arm for the best: 82 % of 20,000 rounds are arm A,
epsilon-greedy with a share of exploration of 0.27. Shown is the value of the policy that is
learned. Around the middle of the reward range even a log that is taken for uniform shows which arm
is best, so the same is shown with all values 0.2 higher.

The second is the arena's matern52-1+1 with 10,000 rounds, of which 80 % lie in a band of a tenth of
the actions that follows the context, and the rest is uniform. Shown is the error of the policy as a
share of uniform play's. Both at epsilon = 1, delta = 1e-6, with simulated noise. The command fails
if a figure is worse than its target.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from tacit import Box, Budget, Categories, Design, DesignOptions, Policy, Problem
from tacit._typing import Floats, Rng
from tacit.design.weights import choose_max_weight
from tacit.passes import release_passes, simulate_with
from tacit.play import EpsilonGreedy, Fixed
from tacit.statistic import Statistic, propensity_weights
from tacit_lab.arena.measure import yardstick
from tacit_lab.benchmarks.pages import print_table

BUDGET = Budget(epsilon=1.0, delta=1e-6)

ARMS = ("A", "B", "C")
VALUES = np.array([0.45, 0.55, 0.50])
EXPLORED = 0.27
ARM_ROUNDS = 20_000
VISITORS = 1000

BANDED = "matern52-1+1"
BAND_ROUNDS = 10_000
WIDTH = 0.1
IN_BAND = 0.8

# (log, what is known, passes) -> the least value, or the largest error
LEAST_VALUE = {("arms", "propensities", 2): 0.53, ("arms", "the law", 2): 0.535}
LARGEST_ERROR = {("band", "the law", 1): 0.07, ("band", "propensities, at most 5", 1): 0.14}


def band(contexts: Any, rng: Rng) -> Floats:
    """Actions near 0.3 + 0.4 c, or anywhere."""
    (c,) = contexts.values()
    near = 0.25 + 0.4 * c + WIDTH * rng.random(len(c))
    return np.where(rng.random(len(c)) < IN_BAND, near, rng.random(len(c)))


def band_density(x: Floats, c: Floats) -> Floats:
    inside = np.abs(x - 0.3 - 0.4 * c) <= WIDTH / 2
    return np.asarray(IN_BAND / WIDTH * inside + 1.0 - IN_BAND, dtype=np.float64)


def learn(
    problem: Problem, points: Floats, y: Floats, p: Floats | None, given: dict[str, Any]
) -> Policy:
    """The policy of simulated releases; `p` are propensities, if they are used."""
    rng = np.random.default_rng(given["seed"])
    options = DesignOptions()
    weights: Floats | None = None
    if p is not None:
        options = DesignOptions(max_weight=given["max_weight"])
        weight = choose_max_weight(problem, len(y), BUDGET, options)
        options = replace(options, max_weight=weight)
        weights = propensity_weights(p, problem.actions, weight)
    design = Design.build(
        problem, horizon=len(y), budget=BUDGET, rng=rng, passes=given["passes"], options=options
    )

    def collect(design: Design) -> Statistic:
        statistic = design.statistic()
        statistic.add_points(points, y, weights=weights)
        return statistic

    return release_passes(design, collect, simulate_with(rng))


def arms(known: str, given: dict[str, Any], lift: float = 0.0) -> float:
    """The value of the policy that is learned from the log of three arms."""
    rng = np.random.default_rng([given["seed"], 1])
    problem = Problem(Categories(ARMS, "arm"), Box.of(age=(0, 1), income=(0, 1)))
    law = EpsilonGreedy(Fixed("A"), EXPLORED)
    points = replace(problem, play=law).public_points(ARM_ROUNDS, rng)
    arm = np.rint(2 * points[:, 0]).astype(int)
    values = VALUES + lift
    y = np.where(rng.random(ARM_ROUNDS) < values[arm], 1.0, -1.0)
    p = EXPLORED / 3 + (1 - EXPLORED) * (arm == 0)
    policy = _learned(problem, law, known, points, y, p, given)
    decided = policy.decide_points(rng.random((VISITORS, 2)))
    return float(values[np.rint(2 * decided[:, 0]).astype(int)].mean())


def banded(known: str, given: dict[str, Any]) -> float:
    """The error of the policy that is learned from the banded log, as a share of uniform play's."""
    rng = np.random.default_rng([given["seed"], 2])
    stick = yardstick(BANDED, given["seed"])
    environment = stick.environment
    problem = environment.problem
    law = None if known == "uniform log" else band
    points = replace(problem, play=law).public_points(BAND_ROUNDS, rng)
    x = points[:, :1]
    c = points[:, 1:]
    y = np.clip(environment.reward(x, c, rng), -1.0, 1.0)
    p = band_density(points[:, 0], points[:, 1])
    policy = _learned(problem, band, known, points, y, p, given)
    return stick.error_rate(policy.decide_points(stick.fresh)) / stick.uniform_error


def _learned(
    problem: Problem,
    law: Any,
    known: str,
    points: Floats,
    y: Floats,
    p: Floats,
    given: dict[str, Any],
) -> Policy:
    if known == "the law":
        return learn(replace(problem, play=law), points, y, None, given)
    if known.startswith("propensities"):
        return learn(problem, points, y, p, given)
    return learn(problem, points, y, None, given)


Measure = Callable[[str, dict[str, Any]], float]
# what is shown: the log, its measure, what is known of its play, the largest weight
ROWS: list[tuple[str, Measure, str, float | None]] = [
    ("arms", arms, "the law", None),
    ("arms", arms, "propensities", None),
    ("arms", arms, "nothing: taken for uniform", None),
    ("arms + 0.2", partial(arms, lift=0.2), "the law", None),
    ("arms + 0.2", partial(arms, lift=0.2), "propensities", None),
    ("arms + 0.2", partial(arms, lift=0.2), "nothing: taken for uniform", None),
    ("band", banded, "uniform log", None),
    ("band", banded, "the law", None),
    ("band", banded, "propensities", None),
    ("band", banded, "propensities, at most 5", 5.0),
    ("band", banded, "propensities, at most 2", 2.0),
    ("band", banded, "nothing: taken for uniform", None),
]
HEADER = ["log", "what is known of its play", "passes", "value or error", "target"]


def one_log(row: tuple[str, Measure, str, float | None], passes: int, seed: int) -> float:
    _, measure, known, max_weight = row
    return measure(known, {"seed": seed, "passes": passes, "max_weight": max_weight})


def measured(
    row: tuple[str, Measure, str, float | None], passes: int, found: list[float]
) -> dict[str, Any]:
    """The row of the table for what was found with each seed."""
    log, _, known, _ = row
    seeds = len(found)
    target = LEAST_VALUE.get((log, known, passes)) or LARGEST_ERROR.get((log, known, passes))
    return {
        "log": log,
        "known": known,
        "passes": passes,
        "mean": float(np.mean(found)),
        "standard_error": float(np.std(found, ddof=1) / seeds**0.5) if seeds > 1 else None,
        "target": target,
    }


def reached(row: dict[str, Any]) -> bool:
    if row["target"] is None:
        return True
    if row["log"] == "arms":
        return bool(row["mean"] >= row["target"])
    return bool(row["mean"] <= row["target"])


def cells(row: dict[str, Any]) -> list[str]:
    target = ""
    if row["target"] is not None:
        target = f"{'at least' if row['log'] == 'arms' else 'at most'} {row['target']:g}"
    shown = f"{row['mean']:.4f}"
    if row["standard_error"] is not None:
        shown += f" ± {row['standard_error']:.4f}"
    return [row["log"], row["known"], str(row["passes"]), shown, target]


def main(
    seeds: Annotated[int, typer.Option(min=1, help="Logs for each row.")] = 32,
    first_seed: Annotated[int, typer.Option(min=0, help="The seed of the first log.")] = 0,
    only: Annotated[str | None, typer.Option(help="arms or band: one of the two logs.")] = None,
    known: Annotated[str | None, typer.Option(help="Only rows with this known play.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Learn from logs that were not played uniformly."""
    asked = [
        (row, passes)
        for row in ROWS
        for passes in (1, 2)
        if (only is None or row[0].startswith(only)) and known in (None, row[2])
    ]
    rows = []
    each = range(first_seed, first_seed + seeds)
    with ProcessPoolExecutor(workers) as pool:
        for row, passes in track(asked, "logs", console=Console(stderr=True)):
            found = list(pool.map(partial(one_log, row, passes), each))
            rows.append(measured(row, passes, found))
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        print_table("Logs that were not played uniformly", HEADER, [cells(row) for row in rows])
    if not all(reached(row) for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
