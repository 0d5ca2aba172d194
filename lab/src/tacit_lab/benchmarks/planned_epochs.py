"""Planned against measured, for studies in epochs: are the final error, the regret and the mean
reward that `tacit plan --epochs` promises those that a study then has?

    python -m tacit_lab.benchmarks.planned_epochs [--further | --arena] [--quick] [--json]
                                        [--store FILE] [--markdown docs/planning.md]

The problems are those of the arena's RKHS environments: kernel, lengthscale, law of contexts and
noise (0.1). Reward functions are drawn from the prior (standard deviation 0.3), in pairs f and -f,
so that few of them have the right mean; the plan is told the standard deviation of those that were
drawn. Each is a study of its own, simulated epoch by epoch (`tacit.epochs.Course`). With `--arena`
the functions are the arena's own, f = sum_j a_j k(w, u_j). These are smoother than functions of the
prior: their covariance is the kernel convolved with itself, which for RBF is the same kernel with
sqrt(2) times the lengthscale, and for others about that. The plan is told this.

With `--store` a stopped run goes on: what was measured is not measured again, only planned. The
command fails if a ratio of measured to planned leaves 0.7 to 1.3 by more than two standard errors.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit._typing import Floats, Rng
from tacit.epochs import Course, Shares, epoch_sizes
from tacit_lab.arena.environments.rkhs import KERNELS, SIZES, rkhs
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.planned import frequencies
from tacit_lab.json_lines import append_line, read_lines

SIGNAL = 0.3
NOISE = 0.1
DELTA = 1e-6
EXPLORE = 0.05
WAVES = 1000  # of which a reward function is made
CONTEXTS = 500  # that are decided for, and rounds of an epoch whose regret is measured
MENU = 256  # actions that the best one is sought among
WITHIN = 0.3  # by which a ratio of measured to planned may differ from 1
MEASURES = ("error", "regret", "reward")


@dataclass(frozen=True)
class Setting:
    kernel: str
    actions: int
    contexts: int
    rounds: int
    epsilon: float
    epochs: int
    functions: int
    rank: int | None = None  # of landmarks, at most
    arena: bool = False  # whether functions are the arena's own

    @property
    def lengthscale(self) -> float:
        return SIZES[self.actions, self.contexts][0]


@dataclass(frozen=True)
class Figures:
    """Final error and regret as shares of uniform play's, and the mean reward of all rounds."""

    error: float
    regret: float
    reward: float


@dataclass(frozen=True)
class Result:
    setting: Setting
    planned: Figures
    measured: Figures
    standard_error: Figures

    def ratio(self, measure: str) -> float:
        return float(getattr(self.measured, measure) / getattr(self.planned, measure))

    @property
    def holds(self) -> bool:
        return all(
            abs(self.ratio(each) - 1.0)
            <= WITHIN + 2.0 * getattr(self.standard_error, each) / getattr(self.planned, each)
            for each in MEASURES
        )


SETTINGS = [
    Setting("matern52", 1, 1, 3000, 1.0, 3, 16),
    Setting("matern52", 1, 1, 10_000, 0.3, 3, 12),
    Setting("matern52", 1, 1, 10_000, 1.0, 4, 12),
    Setting("matern52", 1, 1, 30_000, 1.0, 4, 8),
    Setting("matern52", 1, 1, 30_000, 1.0, 6, 6),
    Setting("rbf", 1, 1, 3000, 1.0, 3, 16),
    Setting("rbf", 1, 1, 10_000, 1.0, 4, 12),
    Setting("matern32", 1, 1, 3000, 3.0, 4, 12),
]
# These take longer.
FURTHER = [
    Setting("matern32", 1, 1, 10_000, 1.0, 4, 10),
    Setting("matern52", 2, 2, 10_000, 3.0, 4, 6, 200),
    Setting("matern52", 2, 2, 30_000, 1.0, 4, 6, 200),
]
ARENA = [
    Setting("matern52", 1, 1, 3000, 1.0, 3, 10, arena=True),
    Setting("matern52", 1, 1, 10_000, 1.0, 4, 8, arena=True),
    Setting("rbf", 1, 1, 10_000, 1.0, 4, 8, arena=True),
    Setting("matern32", 1, 1, 10_000, 1.0, 4, 8, arena=True),
]


class Function(Protocol):
    """A reward function of actions and contexts in unit coordinates."""

    def at(self, actions: Floats, contexts: Floats) -> Floats:
        """Row by row."""

    def surface(self, menu: Floats, contexts: Floats) -> Floats:
        """Every action of a menu in every context: (contexts, actions)."""


class Bumps:
    """A function of the arena's own, or its negative."""

    def __init__(self, setting: Setting, rng: Rng, sign: float) -> None:
        self._environment = rkhs(setting.kernel, setting.actions, setting.contexts, rng)
        self._sign = sign

    def at(self, actions: Floats, contexts: Floats) -> Floats:
        return self._sign * self._environment.mean(actions, contexts)

    def surface(self, menu: Floats, contexts: Floats) -> Floats:
        assert self._environment.surface is not None
        return self._sign * self._environment.surface(menu, contexts)


class Waves:
    """A function of the prior by the kernel's spectrum: f(x, c) = sum_j a_j cos(o_j'x + p_j'c +
    b_j)."""

    def __init__(self, setting: Setting, rng: Rng, sign: float) -> None:
        kernel = KERNELS[setting.kernel](setting.lengthscale)
        self._actions = frequencies(kernel, setting.actions, WAVES, rng)
        self._contexts = frequencies(kernel, setting.contexts, WAVES, rng)
        self._phase = 2 * np.pi * rng.random(WAVES)
        self._a = sign * SIGNAL * np.sqrt(2 / WAVES) * rng.normal(size=WAVES)

    def at(self, actions: Floats, contexts: Floats) -> Floats:
        found = []
        for part in np.array_split(np.arange(len(actions)), -(-len(actions) // 2048)):
            wave = actions[part] @ self._actions.T + contexts[part] @ self._contexts.T
            found.append(np.cos(wave + self._phase) @ self._a)
        return np.concatenate(found)

    def surface(self, menu: Floats, contexts: Floats) -> Floats:
        # cos(u + v) = cos u cos v - sin u sin v: all pairs by two matrix products
        u = menu @ self._actions.T
        v = contexts @ self._contexts.T + self._phase
        return (self._a * np.cos(v)) @ np.cos(u).T - (self._a * np.sin(v)) @ np.sin(u).T


def function_of(setting: Setting, number: int) -> Function:
    """Two numbers that follow each other have a function and its negative."""
    rng = np.random.default_rng([11, number // 2])
    sign = 1.0 if number % 2 else -1.0
    return Bumps(setting, rng, sign) if setting.arena else Waves(setting, rng, sign)


@dataclass(frozen=True)
class Outcome:
    """Of one study, in units of half the reward range."""

    uniform: float  # regret of uniform play, per round
    error: float
    regret: float
    reward: float


def study(setting: Setting, number: int) -> Outcome:
    """One study, played for real with simulated releases."""
    function = function_of(setting, number)
    rng = np.random.default_rng([12, number])
    problem = _problem(setting)
    menu = problem.actions.candidate_points(MENU)
    course = Course(
        problem,
        epoch_sizes(setting.rounds, setting.epochs),
        tacit.Budget(setting.epsilon, DELTA),
        rng,
        shares=Shares(explore=EXPLORE),
        options=tacit.DesignOptions(rank=setting.rank, signal=SIGNAL, noise=NOISE),
    )
    regret = 0.0
    reward = 0.0
    for size in course.sizes:
        contexts = problem.contexts.sample_points(size, rng)
        actions, _ = course.play(contexts)
        f = function.at(actions, contexts)
        best = function.surface(menu, contexts[:CONTEXTS]).max(axis=1)
        own = f[:CONTEXTS]
        regret += size * float(np.mean(np.maximum(best, own) - own))
        reward += float(np.sum(f))
        y = np.clip(f + NOISE * rng.normal(size=size), -1.0, 1.0)
        course.learn(np.hstack([actions, contexts]), y)
    contexts = problem.contexts.sample_points(CONTEXTS, rng)
    surface = function.surface(menu, contexts)
    best = surface.max(axis=1)
    own = function.at(course.policy.decide_points(contexts), contexts)
    return Outcome(
        uniform=float(np.mean(best - surface.mean(axis=1))),
        error=float(np.mean(np.maximum(best, own) - own)),
        regret=regret / setting.rounds,
        reward=reward / setting.rounds,
    )


def forecast(setting: Setting) -> Figures:
    """What a plan expects that is told what is known of the functions."""
    lengthscales = None
    if setting.arena:
        lengthscales = (math.sqrt(2) * setting.lengthscale,) * 2
    plan = tacit.plan(
        _problem(setting),
        horizon=setting.rounds,
        budget=tacit.Budget(setting.epsilon, DELTA),
        epochs=setting.epochs,
        explore=EXPLORE,
        lengthscales=lengthscales,
        options=tacit.DesignOptions(rank=setting.rank, signal=_deviation(setting), noise=NOISE),
    )
    return Figures(plan.final_error_share, plan.regret_share, plan.mean_reward)


def _deviation(setting: Setting) -> float:
    """The standard deviation of the functions that are measured, around 0."""
    points = np.random.default_rng(13).random((4096, setting.actions + setting.contexts))
    found = []
    for number in range(0, setting.functions, 2):
        function = function_of(setting, number)
        f = function.at(points[:, : setting.actions], points[:, setting.actions :])
        found.append(np.mean(f**2))
    return float(np.sqrt(np.mean(found)))


def measure(setting: Setting) -> Result:
    outcomes = [study(setting, number) for number in range(setting.functions)]
    uniform = float(np.mean([each.uniform for each in outcomes]))
    found = np.array([[o.error / uniform, o.regret / uniform, o.reward] for o in outcomes])
    # f and -f have means that cancel: their average is one of independent values.
    pairs = found.reshape(-1, 2, len(MEASURES)).mean(axis=1)
    deviations = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    return Result(
        setting,
        planned=forecast(setting),
        measured=Figures(*found.mean(axis=0).tolist()),
        standard_error=Figures(*deviations.tolist()),
    )


def _problem(setting: Setting) -> tacit.Problem:
    rng = np.random.default_rng(0)
    return rkhs(setting.kernel, setting.actions, setting.contexts, rng).problem


HEADER = [
    "problem",
    "rounds",
    "epsilon",
    "epochs",
    "final error, planned",
    "measured",
    "ratio",
    "regret, planned",
    "measured",
    "ratio",
    "mean reward, planned",
    "measured",
    "ratio",
]


def cells(result: Result) -> list[str]:
    s = result.setting
    found = [
        f"{s.kernel}-{s.actions}+{s.contexts}",
        f"{s.rounds:,}",
        f"{s.epsilon:g}",
        f"{s.epochs}",
    ]
    for name in MEASURES:
        digits = 4 if name == "error" else 3
        planned, measured, deviation = (
            f"{getattr(each, name):.{digits}f}"
            for each in (result.planned, result.measured, result.standard_error)
        )
        found += [planned, f"{measured} ± {deviation}", f"{result.ratio(name):.2f}"]
    return found


def read(store: Path | None) -> dict[Setting, Result]:
    """What an earlier run has stored."""
    results: dict[Setting, Result] = {}
    for row in read_lines(store):
        setting = Setting(**row.pop("setting"))
        results[setting] = Result(setting, **{name: Figures(**row[name]) for name in row})
    return results


def found_in(
    wanted: Sequence[Setting], known: dict[Setting, Result], store: Path | None
) -> list[Result]:
    """Of all settings: what is known already, and what is measured now."""
    for setting in track(wanted, "measuring", console=Console(stderr=True)):
        if setting in known:
            known[setting] = replace(known[setting], planned=forecast(setting))
            continue
        known[setting] = measure(setting)
        append_line(store, asdict(known[setting]))
    return [known[setting] for setting in wanted]


def main(
    quick: Annotated[bool, typer.Option(help="Four functions each, to see that it runs.")] = False,
    arena: Annotated[bool, typer.Option(help="Functions of the arena's own instead.")] = False,
    further: Annotated[bool, typer.Option(help="Larger problems instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Results so far, one JSON object a line.")
    ] = None,
) -> None:
    """Hold the plans of studies in epochs against what happens, setting by setting."""
    settings = ARENA if arena else FURTHER if further else SETTINGS
    wanted = [replace(setting, functions=4) if quick else setting for setting in settings]
    results = found_in(wanted, read(store), store)
    if as_json:
        rows: list[Any] = [asdict(result) | {"holds": result.holds} for result in results]
        print(json.dumps(rows, indent=2))
    else:
        title = "Studies in epochs: planned before the data, measured after"
        print_table(title, HEADER, [cells(result) for result in results])
    if page is not None:
        mark = "planned_epochs.py" + (" --arena" if arena else " --further" if further else "")
        put_table(page, mark, HEADER, [cells(result) for result in results])
    if not quick and not all(result.holds for result in results):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
