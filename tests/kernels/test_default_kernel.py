"""The default kernel goes the whole way: design, records, both passes, decisions, files, workers,
plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import build_design
from tacit import (
    Box,
    Budget,
    Categories,
    Design,
    DesignOptions,
    Mixed,
    Policy,
    Problem,
    plan,
    refine,
)
from tacit._typing import Floats
from tacit.logs.worker import counter_for, shipped

pytestmark = pytest.mark.usefixtures("coarse_fits")

BUDGET = Budget(epsilon=3.0, delta=1e-6)
LEVELS = ["a", "b", "c", "d"]
# The right dose of each label, which neither rises nor falls with the order of the labels.
RIGHT = np.array([0.2, 0.8, 0.3, 0.9])
PEOPLE = Mixed.of(age=(18, 95), kind=LEVELS)
PROBLEMS: dict[str, Problem] = {
    "contexts": Problem(Box.of(dose=(0, 1)), PEOPLE),
    "advantage": Problem(Box.of(dose=(0, 1)), PEOPLE, advantage=True),
    "actions": Problem(Mixed.of(dose=(0, 1), drug=["p", "q"]), PEOPLE),
    "labels only": Problem(Categories(LEVELS, "arm"), Categories(LEVELS, "kind")),
}


def played(problem: Problem, n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Points and rewards in [-1, 1]: each label has a right value of the first action, far from its
    neighbours'."""
    rng = np.random.default_rng(seed)
    points = problem.public_points(n, rng)
    right = RIGHT[np.rint(points[:, -1] * 3).astype(int)]
    return points, 1 - 2 * np.minimum(1, np.abs(points[:, 0] - right))


def design_of(problem: Problem) -> Design:
    return build_design(
        problem, horizon=2000, budget=BUDGET, rng=0, passes=2, rank=32, public_points=2048
    )


def learned(design: Design, points: Floats, y: Floats, rng: np.random.Generator) -> Policy:
    statistic = design.statistic()
    statistic.add_points(points, y)
    return statistic.simulate_release(rng)


@pytest.mark.parametrize("name", PROBLEMS)
def test_labels_without_an_order_are_learned_and_saved(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]
    points, y = played(problem, 2000)
    design = design_of(problem)
    rng = np.random.default_rng(1)
    first = learned(design, points, y, rng)
    policy = learned(refine(first), points, y, rng)

    people = problem.draw_contexts(200, rng)
    chosen = policy.decide_points(people)
    right = RIGHT[np.rint(people[:, -1] * 3).astype(int)]
    # Seed and noise are fixed. A random dose is 0.35 away on average; the nearest arm of four, up
    # to 0.14.
    assert np.mean(np.abs(chosen[:, 0] - right)) < 0.18

    loaded = Policy.load(policy.save(tmp_path / "policy"))
    assert loaded.problem.kernel == problem.kernel
    assert np.array_equal(loaded.decide_points(people), chosen)
    assert np.array_equal(
        loaded.posterior.variance(points[:20]), policy.posterior.variance(points[:20])
    )


def test_labels_without_an_order_are_planned() -> None:
    errors = [
        plan(PROBLEMS["labels only"], horizon=n, budget=BUDGET).forecast.expected_error
        for n in (500, 50_000)
    ]
    assert 0 <= errors[1] < errors[0] < 1
    with_numbers = plan(
        PROBLEMS["contexts"],
        horizon=2000,
        budget=BUDGET,
        lengthscales=(0.2, 0.5),
        options=DesignOptions(rank=24),
    )
    assert 0 < with_numbers.forecast.expected_error < 1


def test_a_worker_makes_the_same_rows_of_the_design_that_it_is_sent() -> None:
    problem = PROBLEMS["contexts"]
    design = design_of(problem)
    points, y = played(problem, 300)
    worker = counter_for(shipped(design), None).design
    assert worker.fingerprint == design.fingerprint
    known = np.ones(len(y))
    assert np.array_equal(worker.rows(points, y, known), design.rows(points, y, known))


def test_one_record_at_a_time_writes_the_same_rows_as_many() -> None:
    problem = PROBLEMS["actions"]
    design = design_of(problem)
    points, y = played(problem, 64)
    known = np.ones(len(y))
    many: Any = design.rows(points, y, known)
    alone = np.vstack(
        [design.rows(points[i : i + 1], y[i : i + 1], known[i : i + 1]) for i in range(64)]
    )
    assert np.allclose(many, alone, rtol=0, atol=1e-12)
