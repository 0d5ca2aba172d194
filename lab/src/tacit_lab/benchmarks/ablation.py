"""What limits accuracy with few rounds and many coordinates? One part after the other is made
perfect.

    python -m tacit_lab.benchmarks.ablation [--environment hartmann6] [--rounds 3000] [--epsilon 1]
                                            [--seeds 4] [--page docs/decoding.md] [--json]
                                            [--store FILE]

Every variant learns from the same rounds as `tacit` does in the arena, with the environment's own
kernel and law of contexts, and differs from it in one thing. Some of them are impossible: they say
how much that thing costs at most.

as it is            what `tacit.fit` does
one pass            the whole budget on one release
three passes        a third pass over the same rounds
1,000 landmarks     twice as many
pooled kernel       the default kernel instead of the environment's own
advantage           only what actions change is learned
known scales        impossible: the decoder is told the kernel and the variance of the function
perfect residuals   impossible: the whole budget on residuals from a policy that was learned without
                    noise and costs nothing, which is more than any number of passes can do
three times epsilon what a larger budget would do
no privacy          the same without noise

Errors are shares of uniform play's. `closed` is how much of the way from "as it is" to "no privacy"
a variant goes, on average over seeds. With `--store` a stopped run goes on: what is in the file
is not measured again.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit import Budget, Design, DesignOptions, Policy, Problem
from tacit.decoder import decode
from tacit.decoder.drift import Prior
from tacit.kernels.ard import spread
from tacit.passes import release_passes, simulate_with
from tacit_lab.arena.learners.tacit_release import NO_PRIVACY
from tacit_lab.arena.measure import Yardstick, yardstick
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.tables import DELTA, Log, Setting, default_problem
from tacit_lab.json_lines import append_line, read_lines

ENVIRONMENTS = ("matern52-2+4", "hartmann6")
EVERYWHERE = 8192  # points on which the variance of a function is computed
BEFORE = "as it is"
WITHOUT = "no privacy"


@dataclass(frozen=True)
class Case:
    """One environment as drawn for one seed, and its log."""

    stick: Yardstick
    log: Log
    epsilon: float
    seed: int

    @classmethod
    def draw(cls, setting: Setting, seed: int) -> Case:
        stick = yardstick(setting.environment, seed)
        log = Log.draw(stick.environment, setting, seed)
        return cls(stick, log, setting.epsilon, seed)

    @property
    def problem(self) -> Problem:
        return self.stick.environment.problem

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=DELTA)

    def fit(
        self,
        problem: Problem | None = None,
        budget: Budget | None = None,
        passes: int = 2,
        options: DesignOptions | None = None,
    ) -> Policy:
        """With simulated releases, from the same coins every time."""
        rng = np.random.default_rng(self.seed)
        design = Design.build(
            problem or self.problem,
            horizon=len(self.log.rewards),
            budget=budget or self.budget,
            rng=rng,
            passes=passes,
            options=options,
        )
        return release_passes(design, self.log.collect, simulate_with(rng))

    def error(self, policy: Policy) -> float:
        """As a share of uniform play's."""
        decided = policy.decide_points(self.stick.fresh)
        return self.stick.error_rate(decided) / self.stick.uniform_error

    def true_variance(self) -> float:
        """Of the reward function, over actions and contexts."""
        rng = np.random.default_rng(self.seed)
        actions = self.problem.actions.sample_points(EVERYWHERE, rng)
        contexts = self.problem.contexts.sample_points(EVERYWHERE, rng)
        return float(np.var(self.stick.environment.mean(actions, contexts)))


def with_pooled_kernel(case: Case) -> Policy:
    kernel = default_problem(case.stick.environment).k
    return case.fit(replace(case.problem, kernel=kernel))


def with_known_scales(case: Case) -> Policy:
    policy = case.fit()
    problem = policy.problem
    features = policy.releases[-1].design.features
    kernel = spread(problem.k, problem.dimension)
    prior = Prior.of(kernel, case.true_variance(), features.U, features.L)
    return replace(policy, posterior=decode(policy.releases, prior))


def with_perfect_residuals(case: Case) -> Policy:
    free = case.fit(budget=NO_PRIVACY, passes=1)
    design = tacit.refine(free, budget=case.budget)
    # What was learned for nothing is what residuals are taken from; the decoder does not see it.
    alone = replace(design, previous=())
    return case.log.collect(alone).simulate_release(np.random.default_rng(case.seed))


VARIANTS: dict[str, Callable[[Case], Policy]] = {
    BEFORE: Case.fit,
    "one pass": lambda case: case.fit(passes=1),
    "three passes": lambda case: case.fit(passes=3),
    "1,000 landmarks": lambda case: case.fit(options=DesignOptions(rank=1000)),
    "pooled kernel": with_pooled_kernel,
    "advantage": lambda case: case.fit(replace(case.problem, advantage=True)),
    "known scales": with_known_scales,
    "perfect residuals": with_perfect_residuals,
    "three times epsilon": lambda case: replace(case, epsilon=3.0 * case.epsilon).fit(),
    WITHOUT: lambda case: case.fit(budget=NO_PRIVACY),
}


@dataclass(frozen=True)
class Measured:
    """The errors of one variant, by seed."""

    environment: str
    variant: str
    errors: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))

    def cells(self, before: Measured, without: Measured) -> list[str]:
        off = np.array(self.errors) - np.array(before.errors)
        closed = -float(np.mean(off)) / (before.mean - without.mean)
        shown = "" if self.variant == BEFORE else f"{closed:.0%}"
        difference = (
            "" if self.variant == BEFORE else f"{np.mean(off):+.3f} ± {_std_error(off):.3f}"
        )
        return [self.environment, self.variant, f"{self.mean:.3f}", difference, shown]


def _std_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")


def study(setting: Setting, variant: str, seed: int) -> float:
    case = Case.draw(setting, seed)
    return case.error(VARIANTS[variant](case))


Key = tuple[Any, ...]  # environment, rounds, epsilon, variant, seed


def measure(
    settings: Sequence[Setting],
    variants: Sequence[str],
    seeds: int,
    workers: int,
    store: Path | None = None,
) -> list[Measured]:
    """All variants, in processes with one thread each."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    errors: dict[Key, float] = {tuple(key): error for *key, error in read_lines(store)}
    jobs = list(itertools.product(settings, variants, range(seeds)))
    jobs.sort(key=lambda job: job[2])  # seed by seed, so that a stopped run is a smaller one
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running = {pool.submit(study, *job): job for job in jobs if key_of(*job) not in errors}
        done = track(
            as_completed(running), "measuring", total=len(running), console=Console(stderr=True)
        )
        for each in done:
            key = key_of(*running[each])
            errors[key] = each.result()
            append_line(store, [*key, errors[key]])
    return [
        Measured(
            setting.environment,
            name,
            tuple(errors[key_of(setting, name, seed)] for seed in range(seeds)),
        )
        for setting in settings
        for name in variants
    ]


def key_of(setting: Setting, variant: str, seed: int) -> Key:
    return (*astuple(setting), variant, seed)


HEADER = ["environment", "variant", "error", "difference", "closed"]


def table(found: Sequence[Measured]) -> list[list[str]]:
    """Each variant beside what is and what would be without privacy."""
    by_name = {(each.environment, each.variant): each for each in found}
    return [
        each.cells(by_name[each.environment, BEFORE], by_name[each.environment, WITHOUT])
        for each in found
    ]


def main(
    environment: Annotated[list[str] | None, typer.Option(help="Of the arena.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only these, and the ends.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Of a log.")] = 3000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=1, help="Studies for each variant.")] = 4,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    store: Annotated[
        Path | None, typer.Option(help="Results so far, one JSON list a line.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="A page to write the table to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Measures what limits accuracy."""
    wanted = list(variant or VARIANTS)
    for name in wanted:
        if name not in VARIANTS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(VARIANTS)}.")
    chosen = [name for name in VARIANTS if name in {*wanted, BEFORE, WITHOUT}]
    settings = [Setting(name, rounds, epsilon) for name in environment or ENVIRONMENTS]
    found = measure(settings, chosen, seeds, workers, store)
    if as_json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return
    rows = table(found)
    if page is not None:
        put_table(page, "ablation", HEADER, rows)
    print_table(f"{rounds:,} rounds, epsilon {epsilon:g}, {seeds} seeds", HEADER, rows, width=100)


if __name__ == "__main__":
    typer.run(main)
