"""Decoders side by side on the same studies: does the default ever lose to USCA's own?

    python -m tacit_lab.benchmarks.decoders [--functions 20] [--warfarin PATH/iwpc.csv] [--json]
                                            [--markdown docs/decoding.md]

Columns, with what is released and what decodes it:

published         nothing is released: each decision is one draw of the exponential mechanism with
                  tau = 1 and no clip (its expected error); USCA
its best tau      the same with tau chosen before the data, as `usca` does in the arena
USCA              the influences alone; USCA's own decoder, `A' bhat`
assumes uniform   influences and energy; Bayes, believes that contexts are uniform
one pass          influences, energy and counts of contexts, all from the same budget; Bayes, learns
                  the law of contexts
default           the same from a part of the budget, then the residuals from the rest; Bayes,
                  learns the law of contexts
knows the truth   as the default, with fewer counts; Bayes, knows the law of contexts
USCA, misled      the influences alone, of a design that expects other contexts; USCA's own decoder
misled            as knows the truth; Bayes, was given the same wrong law

The wrong law crowds where few of those who come are. The error is the reward lost per decision
(rewards in [-1, 1], delta 1e-6). The command fails if the default is worse than USCA's own decoder
by more than 0.005 anywhere, whatever both were given, or less than four times better than the
published mechanism, at its best tau too, on the reference problem.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

import tacit
from tacit import Statistic
from tacit._typing import Floats, Rng
from tacit.decoder import usca_weights
from tacit.kernels import Joint, Kernel, Matern
from tacit.passes import release_passes, simulate_with
from tacit_lab.arena.environments.making import telling
from tacit_lab.arena.learners.usca import best_tau
from tacit_lab.arena.protocol import Setting
from tacit_lab.benchmarks import warfarin
from tacit_lab.benchmarks.pages import print_table, put_table

Collect = Callable[[tacit.Design], Statistic]
PUBLISHED = ["published", "its best tau"]
COLUMNS = [
    *PUBLISHED,
    "USCA",
    "assumes uniform",
    "one pass",
    "default",
    "knows the truth",
    "USCA, misled",
    "misled",
]
NOISE = 0.1
BUMPS = 40  # of which a reward function is made
LARGEST = 0.9  # its largest absolute value
SIDE = 101  # of the grid of actions and contexts
VISITORS = 200  # contexts that are decided for
ALLOWED = 0.005  # by which the default may be worse


def uniform(n: int, rng: Rng) -> Floats:
    return rng.random((n, 1))


def crowded(n: int, rng: Rng) -> Floats:
    return rng.beta(2, 6, (n, 1))


def two_groups(n: int, rng: Rng) -> Floats:
    first = rng.random((n, 1)) < 0.7
    return np.where(first, rng.beta(20, 60, (n, 1)), rng.beta(60, 12, (n, 1)))


def elsewhere(problem: tacit.Problem, n: int, rng: Rng) -> Floats:
    """A wrong law: contexts crowd at the end where those of the worlds below seldom are."""
    return problem.contexts.from_cube(rng.beta(6, 2, (n, problem.contexts.cube_dimension)))


@dataclass(frozen=True)
class World:
    """A study on one action and one context: what is true, and what the design believes."""

    name: str
    truth: Kernel
    believed: Kernel
    rounds: int
    epsilon: float
    contexts: Callable[[int, Rng], Floats] = uniform


WORLDS = [
    World("reference", Matern(2.5, 0.3), Matern(2.5, 0.3), 10_000, 1.0),
    World("reference, epsilon 0.3", Matern(2.5, 0.3), Matern(2.5, 0.3), 10_000, 0.3),
    World("lengthscale 0.3, believed 0.2", Matern(2.5, 0.3), Matern(2.5, 0.2), 10_000, 1.0),
    World(
        "lengthscales (0.2, 1.2), believed 0.2",
        Matern(2.5, (0.2, 1.2)),
        Matern(2.5, 0.2),
        3000,
        1.0,
    ),
    World("rough (Matern 1/2), believed 5/2", Matern(0.5, 0.5), Matern(2.5, 0.3), 10_000, 1.0),
    World("contexts crowd at one end", Matern(2.5, 0.3), Matern(2.5, 0.3), 10_000, 1.0, crowded),
    World("contexts crowd, epsilon 0.3", Matern(2.5, 0.3), Matern(2.5, 0.3), 10_000, 0.3, crowded),
    World("contexts in two groups", Matern(2.5, 0.3), Matern(2.5, 0.3), 10_000, 1.0, two_groups),
]


@dataclass
class Errors:
    """The error of every study, by column."""

    name: str
    by_column: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in COLUMNS}
    )

    def mean(self, column: str) -> float:
        """NaN where the column was not measured."""
        values = self.by_column[column]
        return float(np.mean(values)) if values else math.nan

    def standard_error(self, column: str) -> float:
        values = self.by_column[column]
        if len(values) < 2:
            return math.nan
        return float(np.std(values, ddof=1) / len(values) ** 0.5)

    def cell(self, column: str) -> str:
        if math.isnan(self.mean(column)):
            return ""
        return f"{self.mean(column):.4f} ± {self.standard_error(column):.4f}"

    @property
    def holds(self) -> bool:
        return (
            self.mean("default") <= self.mean("USCA") + ALLOWED
            and self.mean("misled") <= self.mean("USCA, misled") + ALLOWED
        )


def designs(
    problem: tacit.Problem, truth: Any, horizon: int, epsilon: float, rng: Rng
) -> dict[str, tacit.Design]:
    """The design of each column; `truth` is the generator of those who really come."""
    given: dict[str, Any] = {"horizon": horizon, "budget": tacit.Budget(epsilon, 1e-6), "rng": rng}
    told = replace(problem, generator=truth)
    misled = telling(problem, lambda n, rng: elsewhere(problem, n, rng))
    tau = best_tau(Setting(problem, horizon, epsilon, 0.0, NOISE), rng)

    def build(of: tacit.Problem, passes: int = 1, **options: Any) -> tacit.Design:
        chosen = tacit.DesignOptions(**options)
        return tacit.Design.build(of, **given, passes=passes, options=chosen)

    return {
        "published": build(problem, plain=True, tau=1.0, clip=math.inf),
        "its best tau": build(problem, plain=True, tau=tau, clip=math.inf),
        "USCA": build(problem, plain=True),
        "assumes uniform": build(problem, context_share=0.0),
        "one pass": build(problem),
        "default": build(problem, passes=2),
        "knows the truth": build(told, passes=2),
        "USCA, misled": build(misled, plain=True),
        "misled": build(misled, passes=2),
    }


def decided(design: tacit.Design, column: str, collect: Collect, rng: Rng) -> tacit.Policy:
    """The policy of one column; `collect` adds the records of the study to a design's statistic."""
    policy = release_passes(design, collect, simulate_with(rng))
    if column.startswith("USCA"):
        weights = usca_weights(policy.releases[-1])
        return replace(policy, posterior=replace(policy.posterior, weights=weights))
    return policy


def published_error(
    design: tacit.Design, statistic: tacit.Statistic, table: Floats, grid: Floats, epsilon: float
) -> float:
    """The expected error of drawing x from exp(epsilon mubar / (4 B sup sigmabar^2)), B = 1, over
    the grid."""
    b = statistic._sum._value()[: design.rank] / 2**design.encoding.bits * design.clip
    q = design.influence(grid)
    exponent = epsilon * (q @ b).reshape(table.shape) / (4.0 * float(np.sum(q * q, axis=1).max()))
    chance = np.exp(exponent - exponent.max(axis=0))
    chance /= chance.sum(axis=0)
    return float(np.mean(table.max(axis=0) - (chance * table).sum(axis=0)))


def simulate(world: World, functions: int) -> Errors:
    rng = np.random.default_rng(11)
    problem = tacit.Problem(
        tacit.Box([0.0], [1.0], ["x"]),
        tacit.Box([0.0], [1.0], ["c"]),
        world.believed,
        reward_range=(-1.0, 1.0),
    )
    built = designs(
        problem,
        lambda n, rng: {"c": world.contexts(n, rng)[:, 0]},
        world.rounds,
        world.epsilon,
        rng,
    )
    truth = Joint(world.truth)
    side = np.linspace(0, 1, SIDE)
    errors = Errors(world.name)
    for _ in track(range(functions), world.name, console=Console(stderr=True)):
        centres = rng.random((BUMPS, 2))
        weights = rng.normal(size=BUMPS)
        every = np.column_stack([np.repeat(side, SIDE), np.tile(side, SIDE)])
        weights *= LARGEST / np.abs(truth(every, centres) @ weights).max()
        visitors = world.contexts(VISITORS, rng)
        grid = np.column_stack([np.repeat(side, VISITORS), np.tile(visitors[:, 0], SIDE)])
        table = (truth(grid, centres) @ weights).reshape(SIDE, VISITORS)  # (action, visitor)
        points = np.hstack([rng.random((world.rounds, 1)), world.contexts(world.rounds, rng)])
        y = np.clip(truth(points, centres) @ weights + NOISE * rng.normal(size=len(points)), -1, 1)

        def collect(design: tacit.Design, points: Floats = points, y: Floats = y) -> Statistic:
            statistic = design.statistic()
            statistic.add_points(points, y)
            return statistic

        for column, design in built.items():
            if column in PUBLISHED:
                error = published_error(design, collect(design), table, grid, world.epsilon)
            else:
                chosen = decided(design, column, collect, rng).decide_points(visitors)
                value = truth(np.hstack([chosen, visitors]), centres) @ weights
                error = float(np.mean(np.maximum(table.max(axis=0), value) - value))
            errors.by_column[column].append(error)
    return errors


def dosing(path: Path, epsilon: float) -> Errors:
    """Real patients: 1 minus the reward on held-out folds, so lower is better here too."""
    rng = np.random.default_rng(0)
    contexts, right = warfarin.load(path)
    fold = rng.permutation(len(right)) % warfarin.FOLDS
    errors = Errors(f"warfarin, epsilon {epsilon:g} (1 - reward)")
    for held_out in track(range(warfarin.FOLDS), errors.name, console=Console(stderr=True)):
        train = fold != held_out
        test = fold == held_out
        seen = {name: column[train] for name, column in contexts.items()}
        fresh = {name: column[test] for name, column in contexts.items()}
        doses = rng.uniform(0, 100, int(train.sum()))
        rewards = warfarin.reward(doses, right[train])
        # As if a public table had the law of those who come: a copy, since the records themselves
        # would be refused.
        public = tacit.contexts.PublicSample({name: column.copy() for name, column in seen.items()})
        built = designs(warfarin.problem(False), public, len(doses), epsilon, rng)

        def collect(
            design: tacit.Design, doses: Floats = doses, seen: Any = seen, rewards: Floats = rewards
        ) -> Statistic:
            return design.statistic().add(doses, seen, rewards)

        for column, design in built.items():
            if column in PUBLISHED:
                continue
            for _ in range(2):
                chosen = decided(design, column, collect, rng).decide(fresh)["dose"]
                error = 1.0 - float(warfarin.reward(chosen, right[test]).mean())
                errors.by_column[column].append(error)
    return errors


def main(
    functions: Annotated[int, typer.Option(help="Reward functions per world.")] = 20,
    patients: Annotated[
        Path | None, typer.Option("--warfarin", help="The IWPC data set as CSV.")
    ] = None,
    only: Annotated[
        str, typer.Option(help="Worlds whose name holds this text; all otherwise.")
    ] = "",
    page: Annotated[
        Path | None, typer.Option("--markdown", help="A page to put the table into.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Compare decoders on the same studies."""
    results = [simulate(world, functions) for world in WORLDS if only in world.name]
    if patients is not None:
        results += [dosing(patients, epsilon) for epsilon in (1.0, 0.3)]
    rows = [[errors.name, *map(errors.cell, COLUMNS)] for errors in results]
    if as_json:
        found = []
        for errors in results:
            means = {column: errors.mean(column) for column in COLUMNS}
            found.append({"world": errors.name, **means, "holds": errors.holds})
        print(json.dumps(found))
    else:
        print_table("Reward lost per decision", ["", *COLUMNS], rows, width=150)
    if page is not None:
        put_table(page, "decoders.py", ["", *COLUMNS], rows)
    far_enough = [
        errors.mean(column) >= 4 * errors.mean("default")
        for errors in results
        if errors.name == "reference"
        for column in PUBLISHED
    ]
    if not all(errors.holds for errors in results) or not all(far_enough):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
