"""Columns with up to a thousand levels, as contexts and as actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from helpers import BUDGET
from tacit import Box, Categories, Mixed, Problem
from tacit.contexts import simulate_marginals
from tacit.contexts.cells import Cells
from tacit.design.choices import default_rank, most_levels
from tacit.design.tuning import influence_quantile
from tacit.kernels import Categorical, Matern, Separable

pytestmark = pytest.mark.usefixtures("coarse_tuning")

ROUNDS = 2000
OPTIONS = tacit.DesignOptions(rank=60, public_points=4000)


def labels(n: int) -> list[str]:
    return [f"level {i}" for i in range(n)]


def often(n: int, name: str) -> Any:
    """A law under which every other draw is `level 7`, and the others are uniform."""

    def draw(count: int, rng: np.random.Generator) -> dict[str, Any]:
        drawn = np.where(rng.random(count) < 0.5, 7, rng.integers(n, size=count))
        return {name: np.array(labels(n), dtype=object)[drawn]}

    return draw


def learned(problem: Problem, log: dict[str, Any], rewards: Any) -> tacit.Policy:
    """Both passes, with simulated noise."""
    rng = np.random.default_rng(1)
    design = tacit.Design.build(
        problem, horizon=ROUNDS, budget=BUDGET, rng=0, passes=2, options=OPTIONS
    )
    policy = design.statistic().add(log, log, rewards).simulate_release(rng)
    following = tacit.refine(policy)
    return following.statistic().add(log, log, rewards).simulate_release(rng)


@pytest.mark.parametrize("n", [300, 1000])
def test_a_context_with_many_levels_is_learned_where_one_matters(n: int) -> None:
    rng = np.random.default_rng(0)
    law = often(n, "ward")
    problem = Problem(Box.of(dose=(0, 1)), Categories(labels(n), "ward"), generator=law)
    log = law(ROUNDS, rng) | {"dose": rng.random(ROUNDS)}
    right = np.where(log["ward"] == "level 7", 0.9, 0.1)
    policy = learned(problem, log, 1 - np.abs(log["dose"] - right))
    doses = policy.decide({"ward": ["level 7", "level 8"]})["dose"]
    assert doses[0] > 0.7
    assert doses[1] < 0.5


@pytest.mark.parametrize("n", [300, 1000])
def test_the_best_of_many_actions_is_found_where_it_was_played(n: int) -> None:
    rng = np.random.default_rng(0)
    law = often(n, "ward")
    problem = Problem(
        Categories(labels(n), "ward"),
        Box.of(age=(0, 1)),
        play=lambda contexts, rng: law(len(contexts["age"]), rng),
    )
    log = law(ROUNDS, rng) | {"age": rng.random(ROUNDS)}
    policy = learned(problem, log, np.where(log["ward"] == "level 7", 0.9, 0.2))
    assert policy.decide({"age": [0.1, 0.9]})["ward"].tolist() == ["level 7", "level 7"]


@pytest.mark.parametrize("place", ["contexts", "actions"])
def test_labels_that_are_nothing_like_each_other_are_no_singular_matrix(place: str) -> None:
    """Most labels are no landmark then, and have no influence at all: the clip was 0, and the
    variance predicted with it the solution of a singular system."""
    few = Categories(["a", "b"], "arm")
    many = Categories(labels(300), "ward")
    actions, contexts = (few, many) if place == "contexts" else (many, few)
    problem = Problem(actions, contexts, Categorical(0.0))
    design = tacit.Design.build(
        problem, horizon=ROUNDS, budget=BUDGET, rng=0, passes=1, options=OPTIONS
    )
    assert design.clip > 0
    rng = np.random.default_rng(0)
    points = problem.public_points(ROUNDS, rng)
    log = problem.actions.decode(points[:, :1]) | problem.contexts.decode(points[:, 1:])
    policy = design.statistic().add(log, log, rng.random(ROUNDS)).simulate_release(rng)
    assert np.isfinite(policy.mean(log, log)).all()


def test_the_clip_is_the_median_of_those_that_have_an_influence() -> None:
    q = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [3.0]])
    assert influence_quantile(q) == 2.0
    assert influence_quantile(q[3:]) == 2.0
    assert influence_quantile(0 * q) == 1.0


def test_there_are_landmarks_for_all_levels_if_there_are_rounds_for_them() -> None:
    many = Problem(Box.of(dose=(0, 1)), Mixed.of(ward=labels(1000), age=(0, 1)))
    assert most_levels(many) == 1000
    assert most_levels(Problem(Box.of(dose=(0, 1)), Box.of(age=(0, 1)))) == 1
    ranks = [default_rank(rounds, 1000) for rounds in (2000, 15_000, 20_000, 10**6)]
    assert ranks == [500, 750, 1000, 1000]
    assert default_rank(20_000, 300) == default_rank(20_000) == 500


def test_cells_of_a_thousand_levels_are_those_of_the_nearest_label() -> None:
    domain = Mixed.of(ward=labels(1000), age=(0, 1))
    points = domain.sample_points(3000, np.random.default_rng(0))
    ward = Cells(domain).parts[0].index(points)
    assert [f"level {i}" for i in ward] == domain.decode(points)["ward"].tolist()
    items = tacit.Catalogue(np.random.default_rng(1).normal(size=(500, 3)))
    places = items.candidate_points(0)
    assert np.array_equal(Cells(items).parts[0].index(places), np.arange(500))


def test_marginals_of_a_thousand_levels_follow_the_rows() -> None:
    """Large wards are old; the dependence and the frequent ward are both seen again."""
    domain = Mixed.of(ward=labels(1000), age=(0, 1))
    rng = np.random.default_rng(0)
    ward = np.where(rng.random(20_000) < 0.5, 7, rng.integers(1000, size=20_000))
    age = np.where(ward > 500, 0.9, 0.1)
    table = {"ward": np.array(labels(1000), dtype=object)[ward], "age": age}
    law = simulate_marginals(table, domain, budget=tacit.Budget(8.0, 1e-6), rng=rng)
    drawn = law.sample(4000, rng)
    assert np.mean(drawn["ward"] == "level 7") == pytest.approx(0.5, abs=0.1)
    number = np.array([int(name.split()[1]) for name in drawn["ward"]])
    assert np.mean(drawn["age"][number > 520]) > 0.6 > 0.4 > np.mean(drawn["age"][number < 480])


@pytest.mark.parametrize("levels", [["one"], ["one", "two"]])
def test_one_level_and_two_levels_work(levels: list[str]) -> None:
    rng = np.random.default_rng(0)
    kernel = Separable(Matern(2.5, 0.5), Categorical(0.15))
    problem = Problem(Box.of(dose=(0, 1)), Categories(levels, "ward"), kernel)
    dose = rng.random(ROUNDS)
    log = {"dose": dose, "ward": [levels[i % len(levels)] for i in range(ROUNDS)]}
    policy = learned(problem, log, 1 - np.abs(dose - 0.8))
    assert policy.decide({"ward": levels})["dose"] == pytest.approx(0.8, abs=0.2)
    arms = Problem(Categories(levels, "ward"), Box.of(age=(0, 1)))
    policy = learned(arms, log | {"age": dose}, dose)
    assert set(policy.decide({"age": [0.5]})["ward"]) <= set(levels)
