"""How often is a policy called learned, where nothing matters and where something does?

Each row of the table is a problem and a kind of rewards; each seed is a study of its own, released
in two passes (simulated). `Policy.health` gives the verdicts.

    python -m tacit_lab.benchmarks.verdicts [--seeds 50] [--rounds 3000] [--only reference]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer

from tacit import Box, Budget, Categories, Design, DesignOptions, Matern, Mixed, Policy, Problem
from tacit._typing import Floats, Rng
from tacit.passes import release_passes, simulate_with
from tacit.statistic import Statistic
from tacit_lab.benchmarks.pages import print_table
from tacit_lab.benchmarks.reference import random_function

Rewards = Callable[[Floats, Floats, Rng], Floats]  # of actions and contexts in unit coordinates
DELTA = 1e-6
NOISE = 0.1
RANK = 150

PROBLEMS = {
    "reference": Problem(
        Box([0.0], [1.0], ["x"]),
        Box([0.0], [1.0], ["c"]),
        Matern(2.5, 0.3),
        reward_range=(-1.0, 1.0),
    ),
    "labels": Problem(
        Categories(["a", "b", "c", "d", "e"], "x"),
        Mixed.of(u=(0, 1), v=["p", "q", "r"]),
        reward_range=(-1.0, 1.0),
    ),
    "five contexts": Problem(
        Box([0.0], [1.0], ["x"]), Box([0.0] * 5, [1.0] * 5), reward_range=(-1.0, 1.0)
    ),
}


def _noise(x: Floats, c: Floats, rng: Rng) -> Floats:
    return NOISE * rng.normal(size=len(x))


def _coin(x: Floats, c: Floats, rng: Rng) -> Floats:
    return rng.choice([-1.0, 1.0], len(x))


def _by_context(x: Floats, c: Floats, rng: Rng) -> Floats:
    return 0.7 * np.sin(6.0 * c[:, 0]) + _noise(x, c, rng)


def _by_action(x: Floats, c: Floats, rng: Rng) -> Floats:
    return 0.5 - 2.0 * np.abs(x[:, 0] - 0.6) + _noise(x, c, rng)


def _by_both(x: Floats, c: Floats, rng: Rng) -> Floats:
    return 0.3 - np.abs(x[:, 0] - 0.6) + 0.5 * np.sin(6.0 * c[:, 0]) + _noise(x, c, rng)


def _by_match(x: Floats, c: Floats, rng: Rng) -> Floats:
    return 0.5 - 2.0 * np.abs(x[:, 0] - c[:, 0]) + _noise(x, c, rng)


def _random_function(x: Floats, c: Floats, rng: Rng) -> Floats:
    return random_function(rng)(np.hstack([x, c])) + _noise(x, c, rng)


REWARDS: dict[str, Rewards] = {
    "nothing but noise": _noise,
    "tosses of a coin": _coin,
    "the context alone": _by_context,
    "the action alone": _by_action,
    "both, each by itself": _by_both,
    "how both go together": _by_match,
    "a random function": _random_function,
}


def study(design: Design, rewards: Rewards, seed: int) -> Policy:
    """One policy from fresh records."""
    rng = np.random.default_rng(seed)
    points = design.problem.public_points(design.horizon, rng)
    at = design.problem.actions.dimension
    y = np.clip(rewards(points[:, :at], points[:, at:], rng), -1.0, 1.0)

    def collect(design: Design) -> Statistic:
        statistic = design.statistic()
        statistic.add_points(points, y)
        return statistic

    return release_passes(design, collect, simulate_with(rng))


def main(
    seeds: Annotated[int, typer.Option(help="Studies of each kind.")] = 50,
    rounds: Annotated[int, typer.Option(help="Rounds of each study.")] = 3000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    only: Annotated[str, typer.Option(help="One of the problems.")] = "",
) -> None:
    """Count verdicts over many studies."""
    cells = []
    for name, problem in PROBLEMS.items():
        if only not in ("", name):
            continue
        design = Design.build(
            problem,
            horizon=rounds,
            budget=Budget(epsilon, DELTA),
            rng=0,
            options=DesignOptions(rank=RANK),
        )
        for kind, rewards in REWARDS.items():
            if rewards is _random_function and problem.dimension != 2:
                continue  # they are functions of two numbers
            found = Counter(study(design, rewards, seed).health().verdict for seed in range(seeds))
            shown = ", ".join(f"{verdict} {count}" for verdict, count in found.most_common())
            cells.append([name, kind, shown])
    title = f"Verdicts on {seeds} policies each, {rounds} rounds, epsilon {epsilon:g}"
    print_table(title, ["problem", "rewards depend on", "verdicts"], cells)


if __name__ == "__main__":
    typer.run(main)
