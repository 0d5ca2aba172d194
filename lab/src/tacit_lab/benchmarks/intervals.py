"""Do the 95 % intervals of an evaluation hold the truth, and how wide are they?

    python -m tacit_lab.benchmarks.intervals [--runs 300] [--only dosing] [--jobs 4] [--json]
    python -m tacit_lab.benchmarks.intervals --results a.json --results b.json --page PAGE
    python -m tacit_lab.benchmarks.intervals --data PATH/iwpc.csv [--repeats 2]

A policy is learned once in each environment, from 10,000 rounds at epsilon 1 (`rare`: 50,000), and
then evaluated against a baseline on fresh logs of uniform play. The baseline is the fixed action
that the policy itself takes for the best; in `worse` the policy was learned from 300 rounds at
epsilon 0.3, and the baseline is that of `pricing`, which is better. `rare` has rewards of 0 or 1
that are 1 two times in a hundred. Logs of 1,000 rounds are the fifths of those of 5,000, so there
are five times as many. Half-widths are in units of half the reward range. Releases are simulated
from seeds, so the figures repeat, with however many processes (`--jobs`); `--seed` draws others.

With `--data` the policies are those of real patients: learned by 5-fold cross-validation on the
IWPC data with uniformly random doses, and evaluated on the fold held out, against the fixed dose of
35 mg and the IWPC formula. What each would have earned is known there for every patient.

`--page` writes the table into a page, between its marks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from scipy.special import ndtri

from tacit import Box, Budget, Design, DesignOptions, Policy, Problem
from tacit._typing import Floats
from tacit.core import private_sum, simulate_gaussian
from tacit.evaluation import EvaluationDesign, as_candidates
from tacit.passes import release_passes, simulate_with
from tacit_lab.arena.environments import ENVIRONMENTS
from tacit_lab.arena.protocol import Environment
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.benchmarks.reference import random_function
from tacit_lab.benchmarks.warfarin_intervals import evaluate_patients

ROUNDS = (1_000, 5_000)
EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-6
RANK = 160
LEARNED = 10_000
LEARNED_RARE = 50_000
FEW = 300
PEOPLE = 200_000  # contexts that the truth is averaged over
ACCEPTED = (0.93, 0.98)
QUANTILES = ndtri((np.arange(33) + 0.5) / 33)
RARE = 0.02
BLOCK = 10  # logs of 5,000 rounds at a time

Key = tuple[int, float]  # rounds and epsilon


def rare(rng: np.random.Generator) -> Environment:
    """One action and one context; rewards are 1 with a probability around 0.02, else 0."""
    f = random_function(rng)
    problem = Problem(Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), reward_range=(-1.0, 1.0))

    def mean(X: Floats, C: Floats) -> Floats:
        return 2.0 * RARE * (1.0 + f(np.hstack([X, C]))) - 1.0

    return Environment("rare", problem, mean, problem.contexts.sample_points, binary=True)


@dataclass(frozen=True)
class Result:
    """Coverage and median half-width of the policy's value, the baseline's, and the difference."""

    case: str
    rounds: int
    epsilon: float
    window: float | None
    runs: int
    truth: tuple[float, float, float]
    coverage: tuple[float, float, float]
    half_width: tuple[float, float, float]
    bias: tuple[float, float, float]

    @property
    def accepted(self) -> bool:
        return all(ACCEPTED[0] <= share <= ACCEPTED[1] for share in self.coverage)


@cache
def environment(case: str) -> Environment:
    rng = np.random.default_rng(1)
    if case == "rare":
        return rare(rng)
    return ENVIRONMENTS["pricing" if case == "worse" else case](rng)


@cache
def learn(case: str, rounds: int, epsilon: float) -> Policy:
    """The policy of simulated releases."""
    env = environment(case)
    rng = np.random.default_rng([2, rounds])
    design = Design.build(
        env.problem,
        horizon=rounds,
        budget=Budget(epsilon, DELTA),
        rng=0,
        passes=2,
        options=DesignOptions(rank=RANK),
    )
    C = env.draw_contexts(rounds, rng)
    X = env.problem.actions.sample_points(rounds, rng)
    y = env.reward(X, C, rng)

    def collect(design: Design) -> Any:
        statistic = design.statistic()
        statistic.add_points(np.hstack([X, C]), y)
        return statistic

    return release_passes(design, collect, simulate_with(rng))


def policies(case: str) -> dict[str, Any]:
    """The policy and its baseline."""
    env = environment(case)
    policy = learn(case, LEARNED_RARE if case == "rare" else LEARNED, 1.0)
    if case == "worse":
        return {"policy": learn(case, FEW, 0.3), "baseline": policy}
    people = env.draw_contexts(500, np.random.default_rng(3))
    fixed = env.problem.actions.decode(policy.decide_alike_points(people))
    return {
        "policy": policy,
        "baseline": {name: column.tolist()[0] for name, column in fixed.items()},
    }


def expected(env: Environment, X: Floats, C: Floats) -> Floats:
    """The mean reward, where noise is cut at the ends of the range."""
    mean = env.mean(X, C)
    if env.sample is not None or env.binary:
        return mean
    return np.clip(mean[:, None] + env.noise * QUANTILES, -1.0, 1.0).mean(axis=1)


@dataclass(frozen=True, eq=False)
class Case:
    """The designs of one environment by rounds and epsilon, and the truth. It runs logs by the
    block, each from a seed of its own."""

    name: str
    designs: dict[Key, EvaluationDesign]
    truth: Floats

    def run(self, block: int, logs: int, seed: int) -> dict[Key, Floats]:
        """Values and half-widths of so many logs, one row for each release."""
        env = environment(self.name)
        rng = np.random.default_rng([4, seed, block])
        most = max(ROUNDS)
        C = env.draw_contexts(logs * most, rng)
        X = env.problem.actions.sample_points(logs * most, rng)
        y = env.reward(X, C, rng)
        # All designs predict alike; only their windows differ.
        rounds = next(iter(self.designs.values())).scorer.predicted(X, C, y, None)
        scores: dict[float, Any] = {}
        found = {}
        for (n, epsilon), design in self.designs.items():
            width = design.scorer.window.width
            if width not in scores:
                scores[width] = design.scorer.weighed(rounds)
            psi, usable = scores[width]
            parts = [slice(first, first + n) for first in range(0, logs * most, n)]
            rows = [_released(design, psi[part], usable[part], rng) for part in parts]
            found[n, epsilon] = np.array(rows)
        return found

    def results(self, found: Sequence[dict[Key, Floats]]) -> list[Result]:
        """All blocks together."""
        return [
            _result(self.name, *key, design, np.vstack([block[key] for block in found]), self.truth)
            for key, design in self.designs.items()
        ]


@cache
def prepare(name: str) -> Case:
    """Learns the policies, and finds out what they earn."""
    env = environment(name)
    candidates = as_candidates(policies(name), env.problem)
    people = env.draw_contexts(PEOPLE, np.random.default_rng(4))
    values = []
    for candidate in candidates:
        chosen = candidate.rules[0].actions(people, env.problem.contexts)
        values.append(float(expected(env, chosen, people).mean()))
    designs = {
        (n, epsilon): EvaluationDesign.build(
            env.problem, candidates, records=n, budget=Budget(epsilon, DELTA)
        )
        for n in ROUNDS
        for epsilon in EPSILONS
    }
    return Case(name, designs, np.array([*values, values[0] - values[1]]))


def measure(names: Sequence[str], runs: int, seed: int = 0, jobs: int = 1) -> list[Result]:
    """All numbers of rounds and epsilons of these environments, on the same logs."""
    cases = [prepare(name) for name in names]
    tasks = [
        (case.name, block, min(BLOCK, runs - block * BLOCK), seed)
        for case in cases
        for block in range(math.ceil(runs / BLOCK))
    ]
    show = partial(track, total=len(tasks), console=Console(stderr=True))
    if jobs == 1:
        found = list(show(map(_run, tasks)))
    else:
        # Forked, so that what was learned here is known there.
        with get_context("fork").Pool(jobs) as pool:
            found = list(show(pool.imap(_run, tasks)))
    results = []
    for case in cases:
        own = [each for each, task in zip(found, tasks, strict=True) if task[0] == case.name]
        results += case.results(own)
    return results


def _run(task: tuple[str, int, int, int]) -> dict[Key, Floats]:
    name, *arguments = task
    return prepare(name).run(*arguments)


def _released(
    design: EvaluationDesign, psi: Floats, usable: Any, rng: np.random.Generator
) -> list[float]:
    """The three values of a release, then their half-widths."""
    total = private_sum(design.encoding, "record")
    total.add(design.rows(psi, usable, None), len(psi))
    told = design.read(simulate_gaussian(total, design.budget, rng), {})
    three = [told.values["policy"], told.values["baseline"], told.differences["policy"]]
    return [each.value for each in three] + [each.half_width for each in three]


def _result(
    case: str,
    rounds: int,
    epsilon: float,
    design: EvaluationDesign,
    found: Floats,
    truth: Floats,
) -> Result:
    value = found[:, :3]
    half = found[:, 3:]
    covered = (np.abs(value - truth) <= half).mean(axis=0)
    window = design.scorer.window.width if design.scorer.problem.actions.continuous else None
    return Result(
        case,
        rounds,
        epsilon,
        window,
        len(found),
        _three(truth),
        _three(covered),
        _three(np.median(half, axis=0)),
        _three(value.mean(axis=0) - truth),
    )


def _three(numbers: Floats) -> tuple[float, float, float]:
    policy, baseline, difference = numbers.tolist()
    return policy, baseline, difference


HEADER = (
    "environment",
    "rounds",
    "epsilon",
    "window",
    "logs",
    "policy earns",
    "more than baseline",
    "coverage: policy",
    "baseline",
    "difference",
    "half-width: policy",
    "difference",
)
CASES = ("matern52-1+1", "dosing", "pricing", "catalogue", "rare", "worse")


def table_rows(results: Sequence[Result]) -> list[list[str]]:
    return [
        [
            r.case,
            f"{r.rounds:,}",
            f"{r.epsilon:g}",
            "" if r.window is None else f"{r.window:g}",
            f"{r.runs:,}",
            f"{r.truth[0]:.3f}",
            f"{r.truth[2]:.3f}",
            *(f"{100 * share:.1f} %" for share in r.coverage),
            f"{r.half_width[0]:.3f}",
            f"{r.half_width[2]:.3f}",
        ]
        for r in results
    ]


def main(
    runs: Annotated[int, typer.Option(min=2, help="Logs of 5,000 rounds in each case.")] = 300,
    only: Annotated[list[str] | None, typer.Option(help="Only these environments.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the logs.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that run at the same time.")] = 1,
    data: Annotated[
        Path | None, typer.Option(help="The IWPC data set as CSV: evaluate on real patients.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of the 5 folds, with --data.")] = 2,
    results: Annotated[
        list[Path] | None, typer.Option(help="What earlier runs printed with --json: show it.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="A page to write the table to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Measures the coverage and the width of intervals of evaluations."""
    if data is not None:
        evaluate_patients(data, repeats, page, as_json)
        return
    found: list[Result] = []
    for file in results or []:
        found += [_restored(row) for row in json.loads(file.read_text())]
    found += measure(only or (() if results else CASES), runs, seed, jobs)
    if as_json:
        print(json.dumps([asdict(r) | {"accepted": r.accepted} for r in found], indent=2))
        return
    if page is not None:
        put_table(page, "intervals", HEADER, table_rows(found))
    print_table("Coverage of 95 % intervals", HEADER, table_rows(found), width=180)
    missed = [r for r in found if not r.accepted]
    print(f"{len(found) - len(missed)} of {len(found)} settings within 93 to 98 %")


def _restored(row: dict[str, Any]) -> Result:
    """The inverse of what `--json` prints."""
    del row["accepted"]
    return Result(**row)


if __name__ == "__main__":
    typer.run(main)
