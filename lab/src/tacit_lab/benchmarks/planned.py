"""Planned against measured: is the error that `tacit plan` promises the error that a study then
has?

    python -m tacit_lab.benchmarks.planned [--passes 2] [--pooled] [--quick] [--json]
                                           [--store FILE] [--markdown docs/planning.md]

For each setting reward functions are drawn from the prior (standard deviation 0.3, noise 0.3 around
it, rewards in [-1, 1]); every function is a new study with fresh rewards, two passes at them, and
simulated releases. With `--store` a stopped run goes on: settings that are in the file are not
measured again. Kernel parameters are those of the truth; the law of contexts is learned from the
budget, as by default. `--pooled` measures problems of 10 and 20 context columns with the default
kernel, whose reward functions are pooled too. The command fails if a ratio of measured to planned
error leaves 0.7 to 1.3; with `--pooled`, where few functions are affordable and some are much
harder than others, by more than two standard errors.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit._typing import Floats
from tacit.kernels import RBF, Kernel, Matern, Pooled, Separable
from tacit.kernels.stationary import Stationary
from tacit.passes import release_passes, simulate_with
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.json_lines import append_line, read_lines

SIGNAL = 0.3  # standard deviation of reward functions
NOISE = 0.3  # and of rewards around them
DELTA = 1e-6
WAVES = 3000  # of which a reward function is made
CONTEXTS = 200  # that are decided for
WITHIN = 0.3  # by which the ratio of measured to planned error may differ from 1
KERNELS: dict[str, dict[int, Kernel]] = {
    "Matern-5/2": {2: Matern(2.5, 0.3), 5: Matern(2.5, 0.6)},
    "RBF": {2: RBF(0.3), 5: RBF(0.6)},
}
DEFAULT = "default"  # the kernel of a problem that names none


@dataclass(frozen=True)
class Setting:
    actions: int
    contexts: int
    kernel: str
    rounds: int
    epsilon: float
    functions: int
    rank: int | None = None  # of landmarks, at most


@dataclass(frozen=True)
class Result:
    setting: Setting
    planned: float
    measured: float
    standard_error: float
    uniform: float

    @property
    def ratio(self) -> float:
        return self.measured / self.planned

    @property
    def holds(self) -> bool:
        allowed = WITHIN
        if self.setting.kernel == DEFAULT:
            allowed += 2.0 * self.standard_error / self.planned
        return abs(self.ratio - 1.0) <= allowed


SETTINGS = [
    Setting(1, 1, "Matern-5/2", 1000, 1.0, 40),
    Setting(1, 1, "Matern-5/2", 10_000, 0.3, 80),
    Setting(1, 1, "Matern-5/2", 10_000, 1.0, 80),
    Setting(1, 1, "Matern-5/2", 10_000, 3.0, 80),
    Setting(1, 1, "Matern-5/2", 100_000, 0.3, 40),
    Setting(1, 1, "RBF", 1000, 3.0, 60),
    Setting(1, 1, "RBF", 10_000, 1.0, 120),
    Setting(1, 1, "RBF", 100_000, 0.3, 60),
    Setting(2, 3, "Matern-5/2", 1000, 3.0, 12),
    Setting(2, 3, "Matern-5/2", 10_000, 0.3, 12),
    Setting(2, 3, "Matern-5/2", 10_000, 1.0, 12),
    Setting(2, 3, "Matern-5/2", 100_000, 1.0, 16),
    Setting(2, 3, "RBF", 1000, 1.0, 12),
    Setting(2, 3, "RBF", 10_000, 3.0, 12),
    Setting(2, 3, "RBF", 100_000, 0.3, 10),
]


# Studies of many columns are decoded in seconds with so few landmarks: they resolve fewer
# directions than these.
FEW_LANDMARKS = 120
POOLED = [
    Setting(1, 10, DEFAULT, 3000, 1.0, 28, FEW_LANDMARKS),
    Setting(1, 10, DEFAULT, 10_000, 3.0, 28, FEW_LANDMARKS),
    Setting(1, 20, DEFAULT, 3000, 3.0, 28, FEW_LANDMARKS),
    Setting(1, 20, DEFAULT, 10_000, 1.0, 28, FEW_LANDMARKS),
]


def problem_of(setting: Setting) -> tacit.Problem:
    a = setting.actions
    c = setting.contexts
    kernel = None
    if setting.kernel != DEFAULT:
        kernel = KERNELS[setting.kernel][a + c]
    return tacit.Problem(
        actions=tacit.Box([0.0] * a, [1.0] * a, names=[f"x{i}" for i in range(a)]),
        contexts=tacit.Box([0.0] * c, [1.0] * c, names=[f"c{i}" for i in range(c)]),
        kernel=kernel,
        reward_range=(-1.0, 1.0),
    )


class Waves:
    """Functions of the prior by the kernel's spectrum: f(w) = sum_j a_j cos(o_j'w + b_j), which
    leaves nothing out.

    A product kernel has independent frequencies on actions and contexts.
    """

    def __init__(self, setting: Setting, count: int, rng: np.random.Generator) -> None:
        kernel = KERNELS[setting.kernel][setting.actions + setting.contexts]
        dimensions = (setting.actions, setting.contexts)
        self.O = np.hstack([frequencies(kernel, d, WAVES, rng) for d in dimensions])
        self.b = 2 * np.pi * rng.random(WAVES)
        self.a = SIGNAL * np.sqrt(2 / WAVES) * rng.normal(size=(WAVES, count))

    def __call__(self, points: Floats) -> Floats:
        """Every function at every point."""
        parts = np.array_split(points, -(-len(points) // 4096))
        return np.concatenate([np.cos(part @ self.O.T + self.b) @ self.a for part in parts])


class PooledWaves:
    """Functions of a pooled prior: f(x, c) = sum_j a_j cos(o_j'x + b_j) psi_j(c), where psi_j is 1,
    a cosine of one column, or a wave on all of them, in the proportions of the kernel's weights."""

    def __init__(self, problem: tacit.Problem, count: int, rng: np.random.Generator) -> None:
        kernel = problem.k
        assert isinstance(kernel, Separable)
        assert isinstance(kernel.contexts, Pooled)
        self.at = problem.actions.dimension
        self.contexts = kernel.contexts
        _, _, full = self.contexts.shares
        weights = np.array([self.contexts.constant, *self.contexts.cosine_weights, full])
        each = np.ceil(WAVES * weights).astype(int)  # waves of each part: at least one
        self.kind = np.repeat(np.arange(len(weights)), each)
        n = len(self.kind)
        self.O = frequencies(kernel.actions, self.at, n, rng)
        self.b = 2 * np.pi * rng.random(n)
        self.whole = frequencies(self.contexts.full, problem.contexts.dimension, each[-1], rng)
        self.phase = 2 * np.pi * rng.random(each[-1])
        scale = SIGNAL * np.sqrt(2 * weights[self.kind] / each[self.kind])
        self.a = scale[:, None] * rng.normal(size=(n, count))

    def __call__(self, points: Floats) -> Floats:
        """Every function at every point."""
        parts = np.array_split(points, -(-len(points) // 4096))
        return np.concatenate([self._waves(part) @ self.a for part in parts])

    def _waves(self, points: Floats) -> Floats:
        contexts = points[:, self.at :]
        alone = np.hstack([np.ones((len(points), 1)), self.contexts.features(contexts)])
        together = np.sqrt(2) * np.cos(contexts @ self.whole.T + self.phase)
        psi = np.hstack([alone[:, self.kind[: len(self.kind) - len(self.phase)]], together])
        waves = np.cos(points[:, : self.at] @ self.O.T + self.b)
        return np.asarray(waves * psi)


def frequencies(kernel: Kernel, columns: int, count: int, rng: np.random.Generator) -> Floats:
    """Of a stationary kernel on so many columns: normal for RBF, Student-t for Matern."""
    assert isinstance(kernel, Stationary)
    o = rng.normal(size=(count, columns)) / np.asarray(kernel.lengthscale)
    if isinstance(kernel, Matern):
        degrees = 2 * kernel.smoothness
        o /= np.sqrt(rng.chisquare(degrees, size=(count, 1)) / degrees)
    return o


def functions_of(
    setting: Setting, problem: tacit.Problem, rng: np.random.Generator
) -> Waves | PooledWaves:
    """So many functions of the prior as the setting says."""
    if setting.kernel == DEFAULT:
        return PooledWaves(problem, setting.functions, rng)
    return Waves(setting, setting.functions, rng)


def released(
    design: tacit.Design, points: Floats, y: Floats, rng: np.random.Generator
) -> tacit.Policy:
    """After all passes of the design over the same records."""

    def collect(design: tacit.Design) -> tacit.Statistic:
        statistic = design.statistic()
        statistic.add_points(points, y)
        return statistic

    return release_passes(design, collect, simulate_with(rng))


def best_on_menu(problem: tacit.Problem, waves: Waves | PooledWaves, contexts: Floats) -> Floats:
    """Of every function in every context."""
    menu = problem.actions.candidate_points(256)
    grid = np.hstack([np.tile(menu, (len(contexts), 1)), np.repeat(contexts, len(menu), axis=0)])
    return waves(grid).reshape(len(contexts), len(menu), -1).max(axis=1)


def lost(
    policy: tacit.Policy, waves: Waves | PooledWaves, i: int, contexts: Floats, best: Floats
) -> float:
    """By this policy on function `i`, per decision. It may do better than any action of the menu:
    that is no loss."""
    value = waves(np.hstack([policy.decide_points(contexts), contexts]))[:, i]
    return float(np.mean(np.maximum(best[:, i], value) - value))


def standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def measure(setting: Setting, passes: int) -> Result:
    rng = np.random.default_rng(7)
    problem = problem_of(setting)
    budget = tacit.Budget(setting.epsilon, DELTA)
    given: dict[str, Any] = {
        "horizon": setting.rounds,
        "budget": budget,
        "options": tacit.DesignOptions(rank=setting.rank, signal=SIGNAL, noise=NOISE),
        "passes": passes,
    }
    forecast = tacit.plan(problem, **given).forecast
    design = tacit.Design.build(problem, rng=rng, **given)
    waves = functions_of(setting, problem, rng)
    points = rng.random((setting.rounds, problem.dimension))
    f = waves(points)
    contexts = rng.random((CONTEXTS, setting.contexts))
    best = best_on_menu(problem, waves, contexts)
    errors = []
    for i in range(f.shape[1]):
        y = np.clip(f[:, i] + NOISE * rng.normal(size=len(f)), -1.0, 1.0)
        policy = released(design, points, y, rng)
        errors.append(lost(policy, waves, i, contexts, best))
    return Result(
        setting=setting,
        planned=forecast.expected_error,
        measured=float(np.mean(errors)),
        standard_error=standard_error(errors),
        uniform=forecast.uniform_error,
    )


def cells(result: Result) -> list[str]:
    s = result.setting
    return [
        f"{s.actions}+{s.contexts}",
        s.kernel,
        f"{s.rounds:,}",
        f"{s.epsilon:g}",
        f"{result.uniform:.3f}",
        f"{result.planned:.4f}",
        f"{result.measured:.4f} ± {result.standard_error:.4f}",
        f"{result.ratio:.2f}",
    ]


def read(store: Path | None, passes: int) -> dict[Setting, Result]:
    """What an earlier run has stored for so many passes."""
    results = {}
    for row in read_lines(store):
        setting = Setting(**row.pop("setting"))
        if row.pop("passes") == passes:
            results[setting] = Result(setting, **row)
    return results


HEADER = [
    "dimensions",
    "kernel",
    "rounds",
    "epsilon",
    "random play",
    "planned",
    "measured",
    "ratio",
]


def main(
    quick: Annotated[bool, typer.Option(help="Four functions each, to see that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
    passes: Annotated[int, typer.Option(min=1, max=2, help="At the records.")] = 2,
    pooled: Annotated[
        bool, typer.Option(help="Many context columns and the default kernel instead.")
    ] = False,
    store: Annotated[
        Path | None, typer.Option(help="Results so far, one JSON object a line.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = os.cpu_count() or 1,
) -> None:
    """Hold the planner's promise against what happens, setting by setting."""
    settings = POOLED if pooled else SETTINGS
    wanted = [replace(setting, functions=4) if quick else setting for setting in settings]
    known = read(store, passes)
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        todo = [setting for setting in wanted if setting not in known]
        done = [pool.apply_async(measure, (setting, passes)) for setting in todo]
        for job in track(done, "measuring", console=Console(stderr=True)):
            found = job.get()
            known[found.setting] = found
            append_line(store, {"passes": passes} | asdict(found))
    results = [known[setting] for setting in wanted]
    if as_json:
        rows: list[Any] = [asdict(r) | {"ratio": r.ratio, "holds": r.holds} for r in results]
        print(json.dumps(rows, indent=2))
    else:
        title = "Error per decision: planned before the data, measured after"
        print_table(title, HEADER, [cells(result) for result in results])
    if page is not None:
        mark = f"planned.py --passes {passes}" + (" --pooled" if pooled else "")
        put_table(page, mark, HEADER, [cells(r) for r in results])
    if not quick and not all(r.holds for r in results):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
