"""Do the 95 % intervals of an evaluation hold the truth, and how wide are they?

    python -m tacit_lab.benchmarks.intervals [--runs 300] [--only dosing] [--json]
    python -m tacit_lab.benchmarks.intervals --results a.json --results b.json --page PAGE
    python -m tacit_lab.benchmarks.intervals --data PATH/iwpc.csv [--repeats 2]

A policy is learned once in each environment, from 10,000 rounds at epsilon 1 (`rare`: 50,000), and
then evaluated against a baseline on fresh logs of uniform play. The baseline is the fixed action
that the policy itself takes for the best; in `worse` the policy was learned from 300 rounds at
epsilon 0.3, and the baseline is that of `pricing`, which is better. `rare` has rewards of 0 or 1
that are 1 two times in a hundred. Logs of 1,000 rounds are the fifths of those of 5,000, so there
are five times as many. Half-widths are in units of half the reward range. Releases are simulated
from seeds, so the figures repeat.

With `--data` the policies are those of real patients: learned by 5-fold cross-validation on the
IWPC data with uniformly random doses, and evaluated on the fold held out, against the fixed dose of
35 mg and the IWPC formula. What each would have earned is known there for every patient.

`--page` writes the table into a page, between its marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track
from scipy.special import ndtri

from tacit import Box, Budget, Design, DesignOptions, Policy, Problem
from tacit._typing import Floats
from tacit.core import private_sum, simulate_gaussian
from tacit.evaluation import Estimate, EvaluationDesign, as_candidates
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
SCORED = 50_000  # rounds at a time


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


def measure(case: str, runs: int, show: Callable[[Any], Any] = iter) -> list[Result]:
    """All numbers of rounds and epsilons of one case, on the same logs."""
    env = environment(case)
    candidates = as_candidates(policies(case), env.problem)
    rng = np.random.default_rng(4)
    people = env.draw_contexts(PEOPLE, rng)
    values = []
    for candidate in candidates:
        chosen = candidate.rules[0].actions(people, env.problem.contexts)
        values.append(float(expected(env, chosen, people).mean()))
    truth = np.array([*values, values[0] - values[1]])
    designs = {
        (n, epsilon): EvaluationDesign.build(
            env.problem, candidates, records=n, budget=Budget(epsilon, DELTA)
        )
        for n in ROUNDS
        for epsilon in EPSILONS
    }
    found: dict[tuple[int, float], list[list[Estimate]]] = {key: [] for key in designs}
    most = max(ROUNDS)
    each = max(1, SCORED // most)
    for start in show(range(0, runs, each)):
        logs = min(each, runs - start)
        C = env.draw_contexts(logs * most, rng)
        X = env.problem.actions.sample_points(logs * most, rng)
        y = env.reward(X, C, rng)
        scores: dict[float, Any] = {}
        for (n, epsilon), design in designs.items():
            width = design.scorer.window.width
            if width not in scores:
                scores[width] = design.scorer.scores(X, C, y, None)
            psi, usable = scores[width]
            for first in range(0, logs * most, n):
                rows = slice(first, first + n)
                found[n, epsilon].append(_released(design, psi[rows], usable[rows], rng))
    return [_result(case, *key, design, found[key], truth) for key, design in designs.items()]


def _released(
    design: EvaluationDesign, psi: Floats, usable: Any, rng: np.random.Generator
) -> list[Estimate]:
    total = private_sum(design.encoding, "record")
    total.add(design.rows(psi, usable, None), len(psi))
    told = design.read(simulate_gaussian(total, design.budget, rng), {})
    return [told.values["policy"], told.values["baseline"], told.differences["policy"]]


def _result(
    case: str,
    rounds: int,
    epsilon: float,
    design: EvaluationDesign,
    found: list[list[Estimate]],
    truth: Floats,
) -> Result:
    value = np.array([[each.value for each in row] for row in found])
    half = np.array([[each.half_width for each in row] for row in found])
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
    for case in only or (() if results else CASES):
        found += measure(case, runs, partial(track, description=case, disable=as_json))
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
