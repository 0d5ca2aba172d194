"""The reference problem: how far from the best action are decisions after T rounds at epsilon?

One action and one context in [0, 1]. The reward is a random function of the Matern-5/2 RKHS with
lengthscale 0.3 (40 kernel bumps at uniform centres with normal weights, scaled to max |f| = 0.9),
plus normal noise of 0.1, clipped to [-1, 1]. Every function is a new study: fresh records, one
release, a decision for each of 201 contexts.

    python -m tacit_lab.benchmarks.reference [--functions 10] [--json]

Releases are simulated from seeds, so the figures repeat, up to the rounding of the linear algebra
library (which turns the basis that the noise is drawn in). The command fails if a floor is broken.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tacit import Box, Budget, Design, Joint, Matern, Policy, Problem
from tacit._typing import Floats, Rng

Function = Callable[[Floats], Floats]

KERNEL = Joint(Matern(2.5, 0.3))
BUMPS = 40  # of which a reward function is made
LARGEST = 0.9  # its largest absolute value
NOISE = 0.1
DELTA = 1e-6
GRID = np.linspace(0.0, 1.0, 201)
# all (action, context) pairs
CELLS = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1).reshape(-1, 2)


@dataclass(frozen=True)
class Setting:
    """So many rounds at this epsilon must leave an error rate of at most `floor`."""

    horizon: int
    epsilon: float
    floor: float


@dataclass(frozen=True)
class Result:
    setting: Setting
    functions: int
    rank: int
    error: float  # mean over the functions
    standard_error: float  # of that mean
    uniform: float  # error of playing uniformly
    seconds: float

    @property
    def holds(self) -> bool:
        return self.error <= self.setting.floor


SETTINGS = (Setting(10_000, 1.0, 0.04), Setting(100_000, 1.0, 0.01))


def reference_design(horizon: int, epsilon: float) -> Design:
    """The default kernel: Matern-5/2 on actions times the same on contexts, lengthscale 0.3."""
    problem = Problem(
        Box([0.0], [1.0], ["x"]),
        Box([0.0], [1.0], ["c"]),
        Matern(2.5, 0.3),
        reward_range=(-1.0, 1.0),
    )
    budget = Budget(epsilon, DELTA)
    return Design.build(problem, horizon=horizon, budget=budget, rng=0, passes=1)


def random_function(rng: Rng) -> Function:
    """f(w) = sum_j a_j k(w, u_j), scaled to the largest |f| on the grid."""
    u = rng.random((BUMPS, 2))
    a = rng.normal(size=BUMPS)
    scale = LARGEST / np.abs(KERNEL(CELLS, u) @ a).max()
    return lambda w: np.asarray(scale * (KERNEL(w, u) @ a))


def play(f: Function, horizon: int, rng: Rng) -> tuple[Floats, Floats, Floats]:
    """Contexts arrive and actions are taken, both uniformly at random; rewards come back with
    noise."""
    x = rng.random((horizon, 1))
    c = rng.random((horizon, 1))
    return x, c, f(np.hstack([x, c])) + NOISE * rng.normal(size=horizon)


def error_rate(f: Function, policy: Policy) -> float:
    """E_c[ max_x f(x, c) - f(xhat(c), c) ] over the grid of contexts."""
    decided = np.column_stack([policy.decide(GRID.reshape(-1, 1)), GRID])
    return float(np.mean(_best(f) - f(decided)))


def uniform_error_rate(f: Function) -> float:
    """E_c[ max_x f(x, c) - E_x f(x, c) ]"""
    return float(np.mean(_best(f) - _values(f).mean(axis=0)))


def _values(f: Function) -> Floats:
    """f by action (rows) and context (columns)."""
    return f(CELLS).reshape(len(GRID), len(GRID))


def _best(f: Function) -> Floats:
    return np.asarray(_values(f).max(axis=0))


def study(design: Design, seed: int) -> tuple[float, float]:
    """One function from start to finish: the policy's error rate, and that of uniform play."""
    rng = np.random.default_rng(seed)
    f = random_function(rng)
    policy = design.statistic().add(*play(f, design.horizon, rng)).simulate_release(rng)
    return error_rate(f, policy), uniform_error_rate(f)


def measure(setting: Setting, functions: int) -> Result:
    started = time.perf_counter()
    design = reference_design(setting.horizon, setting.epsilon)
    errors, uniform = np.array([study(design, seed) for seed in range(functions)]).T
    return Result(
        setting=setting,
        functions=functions,
        rank=design.rank,
        error=float(errors.mean()),
        standard_error=float(errors.std(ddof=1) / math.sqrt(functions)),
        uniform=float(uniform.mean()),
        seconds=time.perf_counter() - started,
    )


def table(results: list[Result]) -> Table:
    title = f"Error rate, Matern-5/2, delta = {DELTA:g}, mean over {results[0].functions} functions"
    shown = Table(title=title, box=box.SIMPLE, collapse_padding=True)
    for column in ("rounds", "epsilon", "rank", "error rate", "uniform", "floor", "", "seconds"):
        shown.add_column(column, justify="right", no_wrap=True)
    for result in results:
        setting = result.setting
        shown.add_row(
            f"{setting.horizon:,}",
            f"{setting.epsilon:g}",
            str(result.rank),
            f"{result.error:.4f} ± {result.standard_error:.4f}",
            f"{result.uniform:.3f}",
            f"{setting.floor:g}",
            "holds" if result.holds else "BROKEN",
            f"{result.seconds:.1f}",
        )
    return shown


def as_json(results: list[Result]) -> str:
    return json.dumps([asdict(r) | {"delta": DELTA, "holds": r.holds} for r in results], indent=2)


def main(
    functions: int = typer.Option(10, min=2), to_json: bool = typer.Option(False, "--json")
) -> None:
    """Measures the reference problem and prints a table, or JSON."""
    results = [measure(setting, functions) for setting in SETTINGS]
    if to_json:
        print(as_json(results))
    else:
        Console().print(table(results))
    raise typer.Exit(0 if all(r.holds for r in results) else 1)


if __name__ == "__main__":
    typer.run(main)
