"""Warfarin dosing on the real IWPC data: what a private policy is worth on patients it has not
seen.

    python -m tacit_lab.benchmarks.warfarin PATH/iwpc.csv [--epsilon 1.0] [--repeats 2] [--default]

The file is the International Warfarin Pharmacogenetics Consortium data set (5700 patients, 63
columns), published by PharmGKB under "IWPC data set"; save its table as CSV. Every patient in a
training fold plays one round with a uniformly random dose. The reward is known for every dose:

    1 - min(1, |dose - right dose| / 30)

The policies are measured by 5-fold cross-validation.

Two settings are measured: with a context generator made of public facts (age, height and weight of
adults, genotype shares), and with none, where a share of the same budget learns who came. Each
learns the reward, and once more only the advantage over a random dose, which is all that decisions
need.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tacit
from tacit._typing import Floats
from tacit.passes import release_passes, simulate_with
from tacit_lab.arena.environments.warfarin import SOURCE, population, warfarin_problem
from tacit_lab.arena.environments.warfarin import load as parse
from tacit_lab.benchmarks.pages import print_table

FOLDS = 5
DELTA = 1e-6
Kind = tuple[bool, bool, bool]  # public generator, advantage, default kernel


def load(path: Path) -> tuple[dict[str, Any], Floats]:
    """Contexts and right doses of the patients whose dose, age, height and weight are known."""
    if not path.is_file():
        sys.exit(f"{path} is not there. {SOURCE}")
    return parse(path)


def problem(public: bool, advantage: bool = False, default: bool = False) -> tacit.Problem:
    """With the kernel of the arena's environment, or with the one that nobody has to choose."""
    generator = population if public else None
    found = dataclasses.replace(
        warfarin_problem(), reward_range=(0.0, 1.0), generator=generator, advantage=advantage
    )
    return dataclasses.replace(found, kernel=None) if default else found


def reward(dose: Floats, right: Floats) -> Floats:
    return 1 - np.minimum(1, np.abs(dose - right) / 30)


def _statistic(
    doses: Floats, contexts: dict[str, Any], rewards: Floats, design: tacit.Design
) -> tacit.Statistic:
    return design.statistic().add(doses, contexts, rewards)


def cross_validate(
    contexts: dict[str, Any], right: Floats, epsilon: float, kind: Kind, repeat: int
) -> list[float]:
    """The mean reward on each held-out fold; `repeat` is the seed."""
    given = problem(*kind)
    rng = np.random.default_rng(repeat)
    budget = tacit.Budget(epsilon=epsilon, delta=DELTA)
    fold = rng.permutation(len(right)) % FOLDS
    found = []
    for held_out in range(FOLDS):
        train = fold != held_out
        test = fold == held_out
        design = tacit.Design.build(
            given,
            horizon=int(train.sum()),
            budget=budget,
            rng=rng,
            passes=2,
            options=tacit.DesignOptions(rank=300),
        )
        doses = rng.uniform(0, 100, int(train.sum()))
        seen = {name: column[train] for name, column in contexts.items()}
        fresh = {name: column[test] for name, column in contexts.items()}
        rewards = reward(doses, right[train])
        collect = partial(_statistic, doses, seen, rewards)
        policy = release_passes(design, collect, simulate_with(rng))
        chosen = policy.decide(fresh)["dose"]
        found.append(float(reward(chosen, right[test]).mean()))
    return found


def main(
    data: Annotated[Path, typer.Argument(help="The IWPC data set as CSV.")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget.")] = 1.0,
    repeats: Annotated[int, typer.Option(help="Repeats of the 5 folds.")] = 2,
    default: Annotated[bool, typer.Option("--default", help="Tacit's default kernel.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines.")] = False,
) -> None:
    """Cross-validate private dosing on the IWPC data."""
    contexts, right = load(data)
    fixed = max(float(reward(np.array(dose), right).mean()) for dose in np.linspace(0, 100, 201))
    rows: list[dict[str, Any]] = [{"policy": "best fixed dose", "reward": fixed, "se": 0.0}]
    kinds = list(product((True, False), (False, True), (default,)))
    measure = partial(cross_validate, contexts, right, epsilon)
    with ProcessPoolExecutor(workers) as pool:
        asked = zip(*product(kinds, range(repeats)), strict=True)
        folds = np.array(list(pool.map(measure, *asked)))
    by_kind = folds.reshape(len(kinds), repeats * FOLDS)
    for (public, advantage, _), found in zip(kinds, by_kind, strict=True):
        name = f"private, {'public' if public else 'no'} generator" + ", advantage" * advantage
        error = float(found.std() / len(found) ** 0.5)
        rows.append({"policy": name, "reward": float(found.mean()), "se": error})
    setting = {"epsilon": epsilon, "delta": DELTA, "patients": len(right)}
    if as_json:
        print(json.dumps(setting | {"results": rows}, indent=2))
        return
    title = (
        f"Mean reward on held-out patients, epsilon {epsilon:g}, delta {DELTA:g}, "
        f"{len(right)} patients"
    )
    cells = [[row["policy"], f"{row['reward']:.4f}", f"{row['se']:.4f}"] for row in rows]
    print_table(title, ["policy", "reward", "standard error"], cells)


if __name__ == "__main__":
    typer.run(main)
