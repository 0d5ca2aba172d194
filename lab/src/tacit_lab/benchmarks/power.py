"""Do the intervals of a validation epoch hold, and does it detect gains as often as was planned?

Many validation epochs are simulated: rewards are drawn from a population whose mean is known, a
coin gives each round to the policy or to the baseline, one reward in ten never comes, and noise of
the real scale is added to the sums. They are read as those of a study are.

    python -m tacit_lab.benchmarks.power [--studies 2000] [--json] [--markdown docs/epochs.md]

It fails if power is off by more than 10 points, or if intervals hold in less than 93 % of the
studies, or (where records are protected) in more than 98 %, by more than chance explains.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.stats import norm

import tacit
from tacit._typing import Floats, Rng
from tacit.core import Encoding, release_event
from tacit.design.layout import ARM_ENTRIES
from tacit.evaluation.arms import MeanErrors, arm_entries, arm_sums, mean_errors
from tacit.planning import ValidationPlan
from tacit_lab.arena.environments import ENVIRONMENTS
from tacit_lab.benchmarks.pages import print_table, put_table

DELTA = 1e-6
EPSILONS = (0.3, 1.0, 3.0)
ROUNDS = (1000, 5000)
POPULATION = 100_000
MISSING = 0.1
MENU = 64
AT_ONCE = 2_000_000  # rewards drawn at a time
PEOPLE_ROUNDS = 3  # of each user, where users are protected
PLACES = ("matern52-1+1", "dosing", "pricing", "catalogue")
USERS = "users of three rounds"
DEVIATIONS = float(norm.ppf(0.975))
MOST_OFF = 0.1  # of power
HOLD = (0.93, 0.98)  # between these shares of the studies


@dataclass(frozen=True)
class Law:
    """Rewards in [-1, 1] of people under the policy and under the baseline, one row each."""

    name: str
    policy: Floats
    baseline: Floats


@dataclass(frozen=True)
class Coverage:
    """How often nominal 95 % intervals of both values and of the gain hold the truth."""

    law: str
    rounds: int
    epsilon: float
    policy: float
    baseline: float
    gain: float
    half_width: float  # of the gain, on average, in half reward ranges


@dataclass(frozen=True)
class Setting:
    """A gain to detect, in the units of rewards from 0 to 1."""

    name: str
    draw: Callable[[float, Any, Rng], Floats]  # (mean, shape, rng) -> rewards in [0, 1]
    mean: float  # of the baseline
    std: float
    gain: float
    epsilon: float
    rounds: int | None = None  # those that detect it with a probability of 0.8 if None
    split: float = 0.5


@dataclass(frozen=True)
class Power:
    setting: str
    epsilon: float
    gain: float
    rounds: int
    planned: float
    measured: float


# -- rewards --------------------------------------------------------------------------------------


def laws(rng: Rng) -> list[Law]:
    """Environments of the arena, and rewards that make intervals hard."""
    found = [_of_environment(name, rng) for name in PLACES]
    found.append(_binary("clicks, 50 %", 0.5, 0.45, rng))
    found.append(_binary("rare rewards, 2 %", 0.02, 0.02, rng))
    worse = np.clip(rng.normal(-0.1, 0.5, POPULATION), -1.0, 1.0)
    now = np.clip(rng.normal(0.1, 0.5, POPULATION), -1.0, 1.0)
    found.append(Law("a policy that is worse", worse, now))
    return found


def _binary(name: str, policy: float, baseline: float, rng: Rng) -> Law:
    rows = [np.where(np.arange(POPULATION) < p * POPULATION, 1.0, -1.0) for p in (policy, baseline)]
    return Law(name, *rows)


def _of_environment(name: str, rng: Rng) -> Law:
    """The best of a menu for each person, against one action for everybody."""
    world = ENVIRONMENTS[name](rng)
    contexts = world.draw_contexts(POPULATION // 10, rng)
    menu = world.problem.actions.candidate_points(MENU)
    values = np.column_stack(
        [world.mean(np.tile(action, (len(contexts), 1)), contexts) for action in menu]
    )
    best = menu[values.argmax(axis=1)]
    fixed = np.tile(menu[len(menu) // 2], (len(contexts), 1))
    rows = []
    for actions in (best, fixed):
        drawn = [world.reward(actions, contexts, rng) for _ in range(10)]
        rows.append(np.concatenate(drawn))
    return Law(name, *rows)


# -- simulated epochs -----------------------------------------------------------------------------


def noise_of(epsilon: float, rounds: int) -> float:
    """The standard deviation of the noise in a released sum, in units of one record."""
    encoding = Encoding(size=ARM_ENTRIES, horizon=rounds)
    return release_event(encoding, tacit.Budget(epsilon, DELTA)).scale / encoding.bound


def sums_of(draw: Callable[[int, Rng], Floats], counts: Any, missing: float, rng: Rng) -> Floats:
    """Exact sums of an arm in many studies, of which each has its own number of rounds."""
    found = []
    step = max(1, AT_ONCE // int(counts.max()))
    for start in range(0, len(counts), step):
        own = counts[start : start + step]
        whose = np.repeat(np.arange(len(own)), own)
        rewards = draw(len(whose), rng)
        rewards = np.where(rng.random(len(whose)) < missing, np.nan, rewards)
        rows = arm_entries(rewards, np.zeros(len(whose), dtype=np.intp), "record")
        sums = [np.bincount(whose, rows[:, j], len(own)) for j in range(3)]
        found.append(np.column_stack(sums))
    return np.concatenate(found)


def read(sums: Floats, counts: Any, noise: float, rng: Rng) -> MeanErrors:
    """Released sums of an arm, read as those of a study are."""
    drawn = sums + noise * rng.normal(size=sums.shape)
    return mean_errors(arm_sums(drawn.T, noise, counts, "record"), counts)


def half_width(*arms: MeanErrors) -> Floats:
    variance = sum(arm.sampling**2 + arm.noise**2 for arm in arms)
    return np.asarray(DEVIATIONS * np.sqrt(variance))


def covered(law: Law, rounds: int, studies: int, rng: Rng) -> list[Coverage]:
    counts = rng.binomial(rounds, 0.5, size=studies)
    numbers = (counts, rounds - counts)
    populations = (law.policy, law.baseline)
    sums = []
    for own, rewards in zip(numbers, populations, strict=True):
        sums.append(sums_of(_drawn_from(rewards), own, MISSING, rng))
    truths = [float(rewards.mean()) for rewards in populations]
    found = []
    for epsilon in EPSILONS:
        noise = noise_of(epsilon, rounds)
        one, other = (read(s, n, noise, rng) for s, n in zip(sums, numbers, strict=True))
        half = half_width(one, other)
        gain = one.value - other.value
        found.append(
            Coverage(
                law.name,
                rounds,
                epsilon,
                _share(one.value - truths[0], half_width(one)),
                _share(other.value - truths[1], half_width(other)),
                _share(gain - (truths[0] - truths[1]), half),
                float(half.mean()),
            )
        )
    return found


def covered_users(rounds: int, studies: int, rng: Rng) -> list[Coverage]:
    """Users with three rounds each, in either arm, whose rewards are alike: all that a user adds is
    shrunk together."""
    users = rounds // PEOPLE_ROUNDS
    shape = (users, PEOPLE_ROUNDS)
    truths = (0.2, 0.1)
    sums = np.empty((studies, ARM_ENTRIES))
    units = np.empty((2, studies))
    counts = np.empty((2, studies))
    for i in range(studies):
        own = rng.uniform(-0.3, 0.3, (users, 1))
        arms = rng.integers(0, 2, shape)
        rewards = np.where(arms == 0, *truths) + own + rng.uniform(-0.4, 0.4, shape)
        rewards = np.where(rng.random(shape) < MISSING, np.nan, rewards)
        rows = arm_entries(rewards.ravel(), arms.ravel(), "user")
        together = rows.reshape(*shape, ARM_ENTRIES).sum(axis=1)
        length = np.linalg.norm(together, axis=1, keepdims=True)
        sums[i] = (together / np.maximum(length, 1.0)).sum(axis=0)
        for j in range(2):
            units[j, i] = (arms == j).any(axis=1).sum()
            counts[j, i] = (arms == j).sum()
    found = []
    for epsilon in EPSILONS:
        noise = noise_of(epsilon, rounds)
        drawn = sums + noise * rng.normal(size=sums.shape)
        one, other = (
            mean_errors(arm_sums(drawn[:, 3 * j : 3 * j + 3].T, noise, counts[j], "user"), units[j])
            for j in range(2)
        )
        half = half_width(one, other)
        gain = one.value - other.value
        found.append(
            Coverage(
                USERS,
                rounds,
                epsilon,
                _share(one.value - truths[0], half_width(one)),
                _share(other.value - truths[1], half_width(other)),
                _share(gain - (truths[0] - truths[1]), half),
                float(half.mean()),
            )
        )
    return found


def _drawn_from(population: Floats) -> Callable[[int, Rng], Floats]:
    return lambda n, rng: population[rng.integers(len(population), size=n)]


def _share(off: Floats, half: Floats) -> float:
    return float(np.mean(np.abs(off) <= half))


# -- power ----------------------------------------------------------------------------------------


def clicks(mean: float, shape: Any, rng: Rng) -> Floats:
    return (rng.random(shape) < mean).astype(np.float64)


def bell(std: float) -> Callable[[float, Any, Rng], Floats]:
    """Rewards of this standard deviation around their mean, so narrow that none has to be cut."""

    def draw(mean: float, shape: Any, rng: Rng) -> Floats:
        return mean + np.sqrt(3.0) * std * rng.uniform(-1.0, 1.0, shape)

    return draw


SETTINGS = [
    Setting("clicks, 45 %", clicks, 0.45, 0.5, 0.05, 1.0),
    Setting("clicks, 45 %, 4 of 5 to the policy", clicks, 0.45, 0.5, 0.05, 3.0, 3000, 0.8),
    Setting("rare rewards, 2 %", clicks, 0.02, 0.14, 0.01, 1.0),
    Setting("numbers, 0.5 ± 0.25", bell(0.25), 0.5, 0.25, 0.025, 1.0, 2000),
    Setting("numbers, 0.5 ± 0.25", bell(0.25), 0.5, 0.25, 0.05, 0.3, 1500),
    Setting("numbers, 0.8 ± 0.05", bell(0.05), 0.8, 0.05, 0.01, 1.0),
]


def power_of(setting: Setting, studies: int, rng: Rng) -> Power:
    plan = ValidationPlan(
        tacit.Budget(setting.epsilon, DELTA),
        (0.0, 1.0),
        setting.std,
        setting.mean,
        setting.split,
    )
    rounds = setting.rounds or plan.rounds_for(setting.gain)
    noise = noise_of(setting.epsilon, rounds)
    counts = rng.binomial(rounds, setting.split, size=studies)
    arms = []
    for own, mean in ((counts, setting.mean + setting.gain), (rounds - counts, setting.mean)):

        def draw(n: int, rng: Rng, mean: float = mean) -> Floats:
            return 2.0 * setting.draw(mean, n, rng) - 1.0

        arms.append(read(sums_of(draw, own, 0.0, rng), own, noise, rng))
    one, other = arms
    detected = one.value - other.value > half_width(one, other)
    return Power(
        setting.name,
        setting.epsilon,
        setting.gain,
        rounds,
        plan.power(rounds, setting.gain),
        float(detected.mean()),
    )


# -- what has to hold -----------------------------------------------------------------------------


def broken(powers: list[Power], coverages: list[Coverage], studies: int) -> list[str]:
    """What does not hold, by more than three standard errors."""
    error = 3.0 * (0.5**2 / studies) ** 0.5
    found = [
        f"power of {each.setting} at epsilon {each.epsilon:g}"
        for each in powers
        if abs(each.planned - each.measured) > MOST_OFF + error
    ]
    error = 3.0 * (HOLD[0] * (1.0 - HOLD[0]) / studies) ** 0.5
    for each in coverages:
        held = (each.policy, each.baseline, each.gain)
        most = 1.0 if each.law == USERS else HOLD[1] + error
        if min(held) < HOLD[0] - error or max(held) > most:
            found.append(f"intervals of {each.law}, {each.rounds:,} rounds")
    return found


# -- tables ---------------------------------------------------------------------------------------

POWER_HEADER = ["rewards", "epsilon", "gain", "rounds", "planned power", "measured power"]
COVERAGE_HEADER = ["rewards", "rounds", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)]


def power_rows(results: list[Power]) -> list[list[str]]:
    return [
        [
            each.setting,
            f"{each.epsilon:g}",
            f"{each.gain:g}",
            f"{each.rounds:,}",
            f"{each.planned:.2f}",
            f"{each.measured:.2f}",
        ]
        for each in results
    ]


def coverage_rows(results: list[Coverage]) -> list[list[str]]:
    """Policy, baseline and gain in one cell, and half the width of the last."""
    rows: dict[tuple[str, int], list[str]] = {}
    for each in results:
        row = rows.setdefault((each.law, each.rounds), [each.law, f"{each.rounds:,}"])
        held = " / ".join(f"{share:.3f}" for share in (each.policy, each.baseline, each.gain))
        row.append(f"{held}, ± {each.half_width:.3f}")
    return list(rows.values())


def main(
    studies: Annotated[int, typer.Option(min=2, help="Simulated epochs of each kind.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of all of them.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put both tables into.")
    ] = None,
) -> None:
    """Hold planned and measured power, and nominal and measured coverage, side by side."""
    rng = np.random.default_rng(seed)
    powers = [power_of(setting, studies, rng) for setting in SETTINGS]
    coverages = []
    populations = laws(rng)
    for rounds in ROUNDS:
        for law in populations:
            coverages += covered(law, rounds, studies, rng)
        coverages += covered_users(rounds, studies, rng)
    if as_json:
        print(
            json.dumps(
                {"power": list(map(asdict, powers)), "coverage": list(map(asdict, coverages))},
                indent=2,
            )
        )
        return
    tables = [
        ("power", "Power, planned and measured", POWER_HEADER, power_rows(powers)),
        (
            "arm-coverage",
            "Coverage: policy / baseline / gain, and the gain's half-width",
            COVERAGE_HEADER,
            coverage_rows(coverages),
        ),
    ]
    for mark, title, header, rows in tables:
        print_table(title, header, rows, width=160)
        if page is not None:
            put_table(page, mark, header, rows)
    for each in broken(powers, coverages, studies):
        typer.echo(f"does not hold: {each}", err=True)
    raise typer.Exit(1 if broken(powers, coverages, studies) else 0)


if __name__ == "__main__":
    typer.run(main)
