"""Is Tacit good by default? What a user gets who states the columns and the reward range, and
nothing else.

    python -m tacit_lab.benchmarks.tables [--only pooled-1+7] [--rounds 3000] [--epsilon 1] [--json]
                                          [--store FILE]

Each study is one environment of the arena, drawn for one seed, and a log of uniformly random
actions. The policy is that of `tacit.fit`'s defaults: the default kernel, two passes, nothing known
of who comes. Releases are simulated from seeds, so the figures repeat. Beside it stand the policy
with the environment's own kernel, which knows more than a table says, and the default one with
`advantage=True`; `--no-others` leaves them out.

Values are mean rewards in [-1, 1], over 2000 fresh contexts, of the decisions, of random play, of
the best fixed action and of the best action for each context. No log shows which fixed action is
best; `found` is the value of the one that looks best in the same log, without privacy, and `found
privately` that of the one that Tacit learns with the same budget from actions and rewards alone.
`reached` says in how many studies the policy is at least as good as what was found without privacy,
up to 1 % of the reward range. The share is how much of the way from random play to the best fixed
action the policies have gone, on average over studies taken together: more than 1 if they
personalise with success. Environments on data that is not part of Tacit are measured where they are
named. `--page` writes the table into a page, between its marks. With `--store` a stopped run goes
on: what is in the file is not measured again. The command fails if a default
policy is worse than what was found, on average over the studies of a setting, by more than 1 % of
the reward range.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from tacit import Budget, Categories, Design, Policy, Problem, Statistic
from tacit._typing import Floats
from tacit.passes import release_passes, simulate_with
from tacit_lab.arena.environments import DATA, ENVIRONMENTS
from tacit_lab.arena.measure import CONTEXTS, FRESH_CONTEXTS, FUNCTION, LEARNER, NOISE, stream
from tacit_lab.arena.names import environment_named
from tacit_lab.arena.protocol import Environment
from tacit_lab.arena.values import References, found_fixed, references, value
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.json_lines import append_line, read_lines

ROUNDS = (3_000, 10_000)
EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-6
VISITORS = 2_000  # fresh contexts that are decided for
RANGE = 2.0  # of rewards
ALLOWED = 0.01  # of the reward range, by which a policy may be worse than the fixed action found
LEAST_GAIN = 0.01  # of the reward range: a smaller gain of the fixed action has no share


def default_problem(environment: Environment) -> Problem:
    """What is stated by a user who knows the columns and the reward range only."""
    stated = environment.problem
    return Problem(stated.actions, stated.contexts, reward_range=stated.reward_range)


def own_problem(environment: Environment) -> Problem | None:
    """The same with the environment's own kernel, if that is another than the default."""
    default = default_problem(environment)
    own = replace(default, kernel=environment.problem.kernel)
    return None if own.k == default.k else own


def advantage_problem(environment: Environment) -> Problem:
    """The default, of which only the advantage over a random action is learned."""
    return replace(default_problem(environment), advantage=True)


FOUND = "found"  # the fixed action that looks best in the log
PRIVATELY = "found privately"  # the fixed action that is learned with the same budget
EVERYBODY = Categories(["everybody"], "who")  # contexts that tell nobody from anybody else
# What is measured: each makes the problem of a policy from an environment, or None if it would be
# the default again.
VARIANTS: dict[str, Callable[[Environment], Problem | None]] = {
    "default": default_problem,
    "own": own_problem,
    "advantage": advantage_problem,
}


@dataclass(frozen=True)
class Setting:
    environment: str
    rounds: int
    epsilon: float


Job = tuple[Setting, int]  # and the seed
Study = tuple[References, dict[str, float]]  # and the value of each variant


@dataclass(frozen=True)
class Result:
    """All studies of one setting; one value for each seed."""

    setting: Setting
    references: tuple[References, ...]
    values: dict[str, tuple[float, ...]]  # by variant

    @property
    def reached(self) -> int:
        """The number of studies in which the default is as good as the fixed action found."""
        pairs = zip(self.values["default"], self.values[FOUND], strict=True)
        return sum(value >= found - ALLOWED * RANGE for value, found in pairs)

    @property
    def good(self) -> bool:
        """Whether the default is as good as the fixed action found, on average."""
        off = np.mean(self.values["default"]) - np.mean(self.values[FOUND])
        return bool(off >= -ALLOWED * RANGE)

    def mean_reference(self) -> References:
        rows = np.array([[r.random, r.fixed, r.best] for r in self.references])
        return References(*rows.mean(axis=0).tolist())

    def share(self, variant: str) -> float | None:
        """Of the way from random play to the best fixed action; None where there is hardly any."""
        known = self.mean_reference()
        if known.fixed - known.random < LEAST_GAIN * RANGE:
            return None
        return known.share(float(np.mean(self.values[variant])))


@dataclass(frozen=True)
class Log:
    """Rounds in unit coordinates, with uniformly random actions."""

    points: Floats
    rewards: Floats

    @classmethod
    def draw(cls, environment: Environment, setting: Setting, seed: int) -> Log:
        name = setting.environment
        contexts = environment.draw_contexts(setting.rounds, stream(name, seed, CONTEXTS))
        rng = stream(name, seed, LEARNER)
        actions = environment.problem.actions.sample_points(setting.rounds, rng)
        rewards = environment.reward(actions, contexts, stream(name, seed, NOISE))
        return cls(np.hstack([actions, contexts]), rewards)

    def collect(self, design: Design) -> Statistic:
        statistic = design.statistic()
        statistic.add_points(self.points, self.rewards)
        return statistic


def fit(problem: Problem, log: Log, epsilon: float, seed: int) -> Policy:
    """As `tacit.fit` does by default, with simulated releases."""
    rng = np.random.default_rng(seed)
    budget = Budget(epsilon=epsilon, delta=DELTA)
    design = Design.build(problem, horizon=len(log.rewards), budget=budget, rng=rng)
    return release_passes(design, log.collect, simulate_with(rng))


def found_privately(environment: Environment, log: Log, epsilon: float, seed: int) -> Floats:
    """The single action that is learned from actions and rewards alone, with the same budget."""
    stated = environment.problem
    problem = Problem(stated.actions, EVERYBODY, reward_range=stated.reward_range)
    actions = log.points[:, : stated.actions.dimension]
    everybody = EVERYBODY.sample_points(len(actions), np.random.default_rng(0))
    policy = fit(problem, Log(np.hstack([actions, everybody]), log.rewards), epsilon, seed)
    return policy.decide_points(everybody[:1])[0]


def study(setting: Setting, seed: int, variants: Sequence[str] = tuple(VARIANTS)) -> Study:
    """One environment as drawn for one seed: the references, and the value of each variant."""
    name = setting.environment
    make, _ = environment_named(name)
    environment = make(stream(name, seed, FUNCTION))
    log = Log.draw(environment, setting, seed)
    draw = environment.fresh_contexts or environment.draw_contexts
    visitors = draw(VISITORS, stream(name, seed, FRESH_CONTEXTS))
    at = environment.problem.actions.dimension
    fixed = {
        FOUND: found_fixed(environment.problem, log.points[:, :at], log.rewards),
        PRIVATELY: found_privately(environment, log, setting.epsilon, seed),
    }
    values = {
        name: value(environment, np.repeat(action[None, :], len(visitors), axis=0), visitors)
        for name, action in fixed.items()
    }
    for variant in variants:
        problem = VARIANTS[variant](environment)
        if problem is not None:
            policy = fit(problem, log, setting.epsilon, seed)
            values[variant] = value(environment, policy.decide_points(visitors), visitors)
    return references(environment, visitors), values


def gathered(setting: Setting, studies: Sequence[Study]) -> Result:
    known = tuple(references for references, _ in studies)
    variants = studies[0][1]
    values = {variant: tuple(found[variant] for _, found in studies) for variant in variants}
    return Result(setting, known, values)


def settings(
    names: Sequence[str], rounds: Sequence[int], epsilons: Sequence[float]
) -> Iterator[Setting]:
    for name, horizon, epsilon in product(names, rounds, epsilons):
        yield Setting(name, horizon, epsilon)


HEADER = (
    "environment",
    "rounds",
    "epsilon",
    "random play",
    "best fixed",
    "best",
    FOUND,
    PRIVATELY,
    "default",
    "share",
    "reached",
)
OTHERS = {"own": "own kernel", "advantage": "advantage"}  # further columns


def header(variants: Sequence[str]) -> list[str]:
    return [*HEADER, *(OTHERS[name] for name in variants if name in OTHERS)]


def cells(result: Result, variants: Sequence[str]) -> list[str]:
    setting = result.setting
    known = result.mean_reference()
    share = result.share("default")
    return [
        setting.environment,
        f"{setting.rounds:,}",
        f"{setting.epsilon:g}",
        f"{known.random:.3f}",
        f"{known.fixed:.3f}",
        f"{known.best:.3f}",
        f"{np.mean(result.values[FOUND]):.3f}",
        f"{np.mean(result.values[PRIVATELY]):.3f}",
        _with_error(result.values["default"]),
        "" if share is None else f"{share:.2f}",
        f"{result.reached} of {len(result.references)}",
        *(_with_error(result.values.get(name, ())) for name in variants if name in OTHERS),
    ]


def _with_error(values: Sequence[float]) -> str:
    if not values:
        return ""
    shown = f"{np.mean(values):.3f}"
    if len(values) > 1:
        shown += f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.3f}"
    return shown


def as_row(result: Result) -> dict[str, Any]:
    known = result.mean_reference()
    return asdict(result) | {
        "random": known.random,
        "best_fixed": known.fixed,
        "best": known.best,
        "mean": {variant: float(np.mean(found)) for variant, found in result.values.items()},
        "share": {variant: result.share(variant) for variant in result.values},
        "reached": result.reached,
        "good": result.good,
    }


def measure(
    wanted: Sequence[Setting],
    seeds: int,
    workers: int,
    variants: Sequence[str],
    store: Path | None = None,
) -> list[Result]:
    """All settings, in processes with one thread each. What is in `store` is not measured again."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    studies = stored(store, variants)
    jobs = [(setting, seed) for seed in range(seeds) for setting in wanted]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running = {pool.submit(study, *job, variants): job for job in jobs if job not in studies}
        done = track(
            as_completed(running), "measuring", total=len(running), console=Console(stderr=True)
        )
        for each in done:
            setting, seed = running[each]
            known, values = each.result()
            studies[setting, seed] = known, values
            line = {"setting": asdict(setting), "seed": seed}
            append_line(store, line | {"references": asdict(known), "values": values})
    return [
        gathered(setting, [studies[setting, seed] for seed in range(seeds)]) for setting in wanted
    ]


def stored(store: Path | None, variants: Sequence[str]) -> dict[Job, Study]:
    """The studies in a file in which all of these variants were measured."""
    found = {}
    for line in read_lines(store):
        setting = Setting(**line["setting"])
        wanted = (FOUND, PRIVATELY, *apart(setting.environment, tuple(variants)))
        if all(name in line["values"] for name in wanted):
            values = {name: line["values"][name] for name in wanted}
            found[setting, line["seed"]] = References(**line["references"]), values
    return found


@cache
def apart(name: str, variants: tuple[str, ...]) -> list[str]:
    """Those of the variants that are not the default again in an environment."""
    environment = environment_named(name)[0](stream(name, 0, FUNCTION))
    return [variant for variant in variants if VARIANTS[variant](environment) is not None]


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only these environments.")] = None,
    rounds: Annotated[list[int] | None, typer.Option(min=1, help="Rounds of a log.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Privacy budgets.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Studies for each setting.")] = 4,
    others: Annotated[bool, typer.Option(help="Own kernel and advantage, too.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    store: Annotated[
        Path | None, typer.Option(help="A file that keeps what is done, to go on from.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="A page to write the table to.")] = None,
    mark: Annotated[str, typer.Option(help="Which table of the page it is.")] = "tables",
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Measures what the default policy is worth."""
    names = only or [name for name in ENVIRONMENTS if name not in DATA]
    for name in names:
        environment_named(name)  # an unknown one is refused before anything is measured
    wanted = list(settings(names, rounds or ROUNDS, epsilon or EPSILONS))
    variants = list(VARIANTS) if others else ["default"]
    results = measure(wanted, seeds, workers, variants, store)
    if as_json:
        print(json.dumps([as_row(result) for result in results], indent=2))
    else:
        columns = header(variants)
        rows = [cells(result, variants) for result in results]
        if page is not None:
            put_table(page, mark, columns, rows)
        title = f"The value of default policies, {seeds} studies each, delta {DELTA:g}"
        print_table(title, columns, rows, width=150)
    if not all(result.good for result in results):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
