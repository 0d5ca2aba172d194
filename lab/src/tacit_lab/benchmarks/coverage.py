"""Do 90 % intervals hold the truth 90 % of the time, whatever rewards are like?

    python -m tacit_lab.benchmarks.coverage [--runs 40] [--rewards binary-0.03] [--json]

One action and one context in [0, 1]. Rewards are binary with a mean of 0.5 to 50 %, exponential,
heavy-tailed and clipped to their range, or a value with uniform noise. Either nothing matters, or
the mean reward of a pair is between 0.2 and 1.8 times the average. Each run is a new function, new
records and a new release at epsilon 1; its intervals are looked at in 200 random pairs of action
and context. Releases are simulated from seeds, so the figures repeat.

The error is what the decisions lose against the best ones, and is compared with that of one pass.
`--page` writes the table into a page, between its marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import norm

from tacit import Box, Budget, Design, DesignOptions, Policy, Problem, Statistic
from tacit._typing import Floats, Rng
from tacit.passes import release_passes, simulate_with
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.reference import GRID, random_function

BUDGET = Budget(epsilon=1.0, delta=1e-6)
ROUNDS = (3_000, 20_000)
RANK = 200
PAIRS = 200
LEVEL = 0.9
ACCEPTED = (0.85, 0.97)
ACTIONS = np.linspace(0.0, 1.0, 64)
STRENGTH = 0.8 / 0.9  # random functions have a largest absolute value of 0.9
TAIL = 1.5  # the standard deviation of the logarithm of heavy-tailed rewards


@dataclass(frozen=True)
class Rewards:
    """Rewards in [0, 1] around `centre`: their mean at a pair, and draws of them.

    Both are functions of `size`, which is `centre` where nothing matters.
    """

    centre: float
    mean: Callable[[Floats], Floats]
    draw: Callable[[Floats, Rng], Floats]


def binary(p: float) -> Rewards:
    return Rewards(
        p, lambda size: size, lambda size, rng: np.where(rng.random(len(size)) < size, 1.0, 0.0)
    )


def exponential(centre: float) -> Rewards:
    """Clipped at 1."""
    return Rewards(
        centre,
        lambda size: size * -np.expm1(-1.0 / size),
        lambda size, rng: np.minimum(size * rng.exponential(size=len(size)), 1.0),
    )


def heavy_tailed(centre: float) -> Rewards:
    """Log-normal rewards, clipped at 1."""

    def mean(size: Floats) -> Floats:
        location = np.log(size) - TAIL**2 / 2
        below = norm.cdf(-location / TAIL - TAIL)
        return np.asarray(size * below + norm.sf(-location / TAIL))

    def draw(size: Floats, rng: Rng) -> Floats:
        location = np.log(size) - TAIL**2 / 2
        return np.minimum(np.exp(location + TAIL * rng.normal(size=len(size))), 1.0)

    return Rewards(centre, mean, draw)


def uniform() -> Rewards:
    """A value in [0, 1] and uniform noise in [0, 1], together scaled to [0, 1]."""
    return Rewards(
        0.5,
        lambda size: (size + 0.5) / 2,
        lambda size, rng: (size + rng.random(len(size))) / 2,
    )


REWARDS = {f"binary {p:g}": binary(p) for p in (0.005, 0.01, 0.03, 0.1, 0.3, 0.5)} | {
    "exponential 0.1": exponential(0.1),
    "heavy-tailed 0.05": heavy_tailed(0.05),
    "uniform noise": uniform(),
}


@dataclass(frozen=True)
class Setting:
    rewards: str
    effect: bool
    rounds: int
    advantage: bool
    passes: int


@dataclass(frozen=True)
class Result:
    setting: Setting
    runs: int
    coverage: float
    coverage_se: float
    width: float  # of the intervals, on average, in units of the reward range
    errors: tuple[float, ...]  # of each study
    uniform: float  # the error of random play

    @property
    def error(self) -> float:
        return float(np.mean(self.errors))

    @property
    def accepted(self) -> bool:
        return ACCEPTED[0] <= self.coverage <= ACCEPTED[1]


@cache
def design_of(rounds: int, advantage: bool, passes: int) -> Design:
    problem = Problem(Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), advantage=advantage)
    return Design.build(
        problem,
        horizon=rounds,
        budget=BUDGET,
        rng=0,
        passes=passes,
        options=DesignOptions(rank=RANK),
    )


def run(setting: Setting, seed: int) -> tuple[float, float, float, float]:
    """One study: coverage, width, error, and the error of random play."""
    rng = np.random.default_rng([seed, setting.rounds])
    rewards = REWARDS[setting.rewards]
    f = random_function(rng)
    strength = STRENGTH if setting.effect else 0.0

    def size(x: Floats, c: Floats) -> Floats:
        return rewards.centre * (1.0 + strength * f(np.column_stack([x, c])))

    x = rng.random(setting.rounds)
    c = rng.random(setting.rounds)
    y = rewards.draw(size(x, c), rng)
    design = design_of(setting.rounds, setting.advantage, setting.passes)
    policy = release_passes(design, partial(_collect, x, c, y), simulate_with(rng))
    return _judge(policy, lambda a, b: rewards.mean(size(a, b)), rng)


def _collect(x: Floats, c: Floats, y: Floats, design: Design) -> Statistic:
    return design.statistic().add(x[:, None], c[:, None], y)


def _judge(
    policy: Policy, mean: Callable[[Floats, Floats], Floats], rng: Rng
) -> tuple[float, float, float, float]:
    x = rng.random(PAIRS)
    c = rng.random(PAIRS)
    truth = mean(x, c)
    interval = policy.interval
    if policy.problem.advantage:
        truth = truth - _on_menu(mean, c).mean(axis=1)
        interval = policy.advantage_interval
    low, high = interval(x[:, None], c[:, None], LEVEL)
    covered = float(np.mean((low <= truth) & (truth <= high)))
    width = float(np.mean(high - low))
    values = _on_menu(mean, GRID)
    chosen = mean(policy.decide_points(GRID[:, None])[:, 0], GRID)
    best = values.max(axis=1)
    return covered, width, float(np.mean(best - chosen)), float(np.mean(best - values.mean(axis=1)))


def _on_menu(mean: Callable[[Floats, Floats], Floats], contexts: Floats) -> Floats:
    """(contexts, actions)"""
    x, c = np.meshgrid(ACTIONS, contexts)
    return mean(x.ravel(), c.ravel()).reshape(x.shape)


def measure(setting: Setting, runs: int) -> Result:
    found = np.array([run(setting, seed) for seed in range(runs)])
    covered, width, error, random = found.T
    return Result(
        setting=setting,
        runs=runs,
        coverage=float(covered.mean()),
        coverage_se=float(covered.std(ddof=1) / np.sqrt(runs)),
        width=float(width.mean()),
        errors=tuple(error.tolist()),
        uniform=float(random.mean()),
    )


def settings(names: Sequence[str]) -> Iterator[Setting]:
    flags = (False, True)
    for name, effect, rounds, advantage in product(names, flags, ROUNDS, flags):
        for passes in (1, 2):
            yield Setting(name, effect, rounds, advantage, passes)


HEADER = (
    "rewards",
    "effect",
    "rounds",
    "learns",
    "coverage, 1 pass",
    "2 passes",
    "width, 1 pass",
    "2 passes",
    "error, 1 pass",
    "2 passes",
    "of one's",
    "random play",
)


def table_rows(results: Sequence[Result]) -> list[list[str]]:
    """One row for both passes of a setting."""
    rows = []
    for one, two in zip(results[::2], results[1::2], strict=True):
        setting = one.setting
        rows.append(
            [
                setting.rewards,
                "yes" if setting.effect else "no",
                f"{setting.rounds:,}",
                "advantage" if setting.advantage else "reward",
                f"{one.coverage:.2f} ± {one.coverage_se:.2f}",
                f"{two.coverage:.2f} ± {two.coverage_se:.2f}",
                f"{one.width:.3g}",
                f"{two.width:.3g}",
                f"{one.error:.3g}",
                f"{two.error:.3g}",
                _ratio(one, two),
                f"{one.uniform:.3g}",
            ]
        )
    return rows


def _ratio(one: Result, two: Result) -> str:
    """The error of two passes as a share of that of one, in the same studies."""
    if not one.setting.effect:
        return ""
    apart = np.array(two.errors) - np.array(one.errors)
    standard_error = float(apart.std(ddof=1) / np.sqrt(one.runs)) / one.error
    return f"{two.error / one.error:.2f} ± {standard_error:.2f}"


def main(
    runs: Annotated[int, typer.Option(min=2, help="Studies for each setting.")] = 40,
    rewards: Annotated[list[str] | None, typer.Option(help="Only these rewards.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    page: Annotated[Path | None, typer.Option(help="A page to write the table to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Measures the coverage of intervals."""
    asked = list(settings(rewards or list(REWARDS)))
    with ProcessPoolExecutor(workers) as pool:
        results = list(pool.map(partial(measure, runs=runs), asked))
    if as_json:
        print(json.dumps([asdict(r) | {"accepted": r.accepted} for r in results], indent=2))
        return
    rows = table_rows(results)
    if page is not None:
        put_table(page, "coverage", HEADER, rows)
    print_table(f"Coverage of 90 % intervals, {runs} studies each", HEADER, rows, width=180)


if __name__ == "__main__":
    typer.run(main)
