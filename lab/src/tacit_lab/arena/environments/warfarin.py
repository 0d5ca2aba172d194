"""Warfarin on the real IWPC patients: the reward `1 - min(1, |dose - right dose| / 30)` is known
for every dose.

It is scaled to [-1, 1], so an error times 0.5 is in that reward; the best action is each patient's
own right dose, which no policy can know: even the published formula has an error here.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tacit._typing import Floats, Rng
from tacit.domains import Box, Categories, Mixed
from tacit.kernels import Matern, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.data import People, data_file
from tacit_lab.arena.protocol import Environment

SOURCE = "The IWPC data set is published by PharmGKB: save its table as CSV."
VKORC1 = ["G/G", "unknown", "A/G", "A/A"]
CONTEXTS = ["age", "height", "weight", "vkorc1", "cyp2c9"]
CYP2C9 = ["*1/*1", "unknown", "*1/*2", "*1/*3", "*2/*2", "*2/*3", "*3/*3"]


def load(path: Path) -> tuple[dict[str, Any], Floats]:
    """Contexts and right doses of the patients whose dose, age, height and weight are known."""
    patients: list[tuple[int, float, float, str, str]] = []
    doses: list[float] = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            try:
                dose = float(row["Therapeutic Dose of Warfarin"])
                height = float(row["Height (cm)"])
                weight = float(row["Weight (kg)"])
                age = int(row["Age"][0])  # in decades: "60 - 69"
            except (ValueError, IndexError):
                continue
            vkorc1 = row["VKORC1 -1639 consensus"] or "unknown"
            cyp2c9 = row["CYP2C9 consensus"]
            if cyp2c9 not in CYP2C9:
                cyp2c9 = "unknown"
            patients.append((age, height, weight, vkorc1, cyp2c9))
            doses.append(dose)
    columns = zip(*patients, strict=True)
    contexts = {name: np.array(column) for name, column in zip(CONTEXTS, columns, strict=True)}
    return contexts, np.array(doses)


def population(n: int, rng: Rng) -> dict[str, Any]:
    """Who takes warfarin, from public facts: older adults of ordinary size; genotype shares of
    mixed populations."""
    height = rng.normal(168, 11, n)
    return {
        "age": np.clip(np.rint(rng.normal(6.3, 1.5, n)), 1, 9),
        "height": height,
        "weight": np.exp(rng.normal(4.33, 0.25, n) + 0.012 * (height - 168)),
        "vkorc1": rng.choice(VKORC1, size=n, p=[0.25, 0.25, 0.25, 0.25]),
        "cyp2c9": rng.choice(CYP2C9, size=n, p=[0.74, 0.03, 0.12, 0.08, 0.01, 0.01, 0.01]),
    }


def warfarin_problem() -> Problem:
    return Problem(
        actions=Box([0.0], [100.0], names=["dose"]),
        contexts=Mixed(
            (
                Box([1, 140, 40], [9, 200, 140], names=["age", "height", "weight"]),
                Categories(VKORC1, "vkorc1"),
                Categories(CYP2C9, "cyp2c9"),
            )
        ),
        kernel=Separable(Matern(2.5, 0.3), Matern(2.5, 0.7)),
        reward_range=(-1.0, 1.0),
        generator=population,
    )


def warfarin(rng: Rng) -> Environment:
    problem = warfarin_problem()
    columns, doses = _loaded(data_file("warfarin/iwpc.csv", SOURCE))
    people = People(problem.contexts.encode(columns), rng, "warfarin")
    right = people.by_group(doses)

    def mean(actions: Floats, contexts: Floats) -> Floats:
        return _worth(100.0 * actions, right[people.number(contexts)])

    def surface(actions: Floats, contexts: Floats) -> Floats:
        return _worth(100.0 * actions[None, :, :], right[people.number(contexts)][:, None, :])

    return people.environment(problem, mean, surface, "dosing reward")


def _worth(dose: Floats, right: Floats) -> Floats:
    """The mean over those who look the same, in [-1, 1]."""
    return np.asarray(
        2.0 * np.nanmean(1.0 - np.minimum(1.0, np.abs(dose - right) / 30.0), axis=-1) - 1.0
    )


@lru_cache(maxsize=1)
def _loaded(path: Path) -> tuple[dict[str, Any], Floats]:
    return load(path)
