"""The arena's environments keep the laws of `laws_environments`, and are what they say."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laws_environments import EnvironmentLaws
from tacit._typing import Floats, Rng
from tacit.demo import patients as people
from tacit.domains.base import sobol
from tacit.errors import InputError
from tacit_lab.arena.environments import DATA, ENVIRONMENTS, RKHS
from tacit_lab.arena.environments.about import ABOUT
from tacit_lab.arena.environments.classics import Classic, ackley, branin, hartmann, levy
from tacit_lab.arena.environments.data import VARIABLE
from tacit_lab.arena.environments.dosing import _right
from tacit_lab.arena.environments.jester import GAUGE
from tacit_lab.arena.environments.making import misled, untold
from tacit_lab.arena.environments.rkhs import Bumps
from tacit_lab.arena.measure import stream, yardstick
from tacit_lab.arena.names import environment_named
from tacit_lab.arena.protocol import Environment

Make = Callable[[Rng], Environment]


def write_people(folder: Path) -> None:
    """Files of the shape of the real ones, and nobody's data."""
    rng = np.random.default_rng(7)
    (folder / "warfarin").mkdir()
    (folder / "jester").mkdir()
    body = ["Height (cm)", "Weight (kg)", "Therapeutic Dose of Warfarin", "Age"]
    genes = ["VKORC1 -1639 consensus", "CYP2C9 consensus"]
    with (folder / "warfarin" / "iwpc.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*body, *genes])
        writer.writerow([170, "", 30, "60 - 69", "A/G", "*1/*1"])  # no weight: left out
        for _ in range(400):
            decade = rng.integers(2, 9)
            height = rng.integers(165, 175)
            weight = rng.integers(70, 75)
            vkorc1 = rng.choice(["A/G", "A/A", ""])
            cyp2c9 = rng.choice(["*1/*1", "*1/*3", "odd"])
            age = f"{decade}0 - {decade}9"
            writer.writerow([height, weight, 10 + 5 * decade, age, vkorc1, cyp2c9])
    ratings = np.round(10 * rng.uniform(-1, 1, size=(480, 100)), 2).astype(object)
    for row in ratings[400:]:
        row[rng.choice(np.setdiff1d(np.arange(100), GAUGE), size=20, replace=False)] = ""
    with (folder / "jester" / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"j{i + 1}" for i in range(100)])
        writer.writerows(ratings)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_people(folder)
    return folder


class TestEnvironments(EnvironmentLaws):
    @pytest.fixture(params=[name for name in ENVIRONMENTS if name not in DATA])
    def make(self, request: pytest.FixtureRequest) -> Make:
        return ENVIRONMENTS[request.param]


class TestPeople(EnvironmentLaws):
    @pytest.fixture(params=list(DATA))
    def make(
        self, request: pytest.FixtureRequest, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Make:
        monkeypatch.setenv(VARIABLE, str(data))
        return DATA[request.param]

    def test_nobody_who_plays_is_decided_for(self, environment: Environment) -> None:
        assert environment.fresh_contexts is not None
        now = {row.tobytes() for row in environment.draw_contexts(320, np.random.default_rng(0))}
        later = {row.tobytes() for row in environment.fresh_contexts(80, np.random.default_rng(0))}
        assert len(later - now) >= 0.5 * len(later)  # some look the same

    def test_more_rounds_than_people_are_refused(self, environment: Environment) -> None:
        with pytest.raises(InputError, match="320 people to play with, got 321 rounds"):
            environment.draw_contexts(321, np.random.default_rng(0))


# -- the laws can fail ----------------------------------------------------------------------------


def broken(**changes: object) -> Make:
    return lambda rng: replace(ENVIRONMENTS["matern52-1+1"](rng), **changes)  # type: ignore[arg-type]


def two_numbers(actions: Floats, contexts: Floats, rng: Rng) -> Floats:
    noise = 0.1 * rng.normal(size=len(actions)) * rng.random(len(actions))
    return np.clip(actions[:, 0] - 0.5 + noise, -1, 1)


@pytest.mark.parametrize(
    ("law", "make"),
    [
        ("test_its_means_are_rewards", broken(mean=lambda x, c: 3.0 * x[:, 0])),
        (
            "test_its_contexts_are_in_the_domain",
            broken(draw_contexts=lambda n, rng: 2.0 * rng.random((n, 1))),
        ),
        ("test_rewards_have_the_mean_that_they_should", broken(sample=two_numbers)),
        ("test_a_round_takes_one_random_number", broken(sample=two_numbers)),
        ("test_its_surface_is_its_mean", broken(surface=lambda x, c: np.zeros((len(c), len(x))))),
        ("test_no_action_of_the_menu_is_better_than_the_best", None),
    ],
)
def test_each_law_refuses_what_breaks_it(
    law: str, make: Make | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if make is None:  # the best that is found is not the best
        monkeypatch.setattr(
            "laws_environments.best_values",
            lambda environment, contexts: np.full(len(contexts), -1.0),
        )
    environment = (make or ENVIRONMENTS["branin"])(np.random.default_rng(0))
    with pytest.raises(AssertionError):
        getattr(EnvironmentLaws(), law)(environment)


# -- each is what it says -------------------------------------------------------------------------


def test_every_environment_has_a_line_about_it() -> None:
    assert set(ABOUT) == set(ENVIRONMENTS)
    assert {name.split("-")[1] for name in RKHS} == {"1+1", "2+2", "2+4"}


def test_functions_of_a_kernel_are_sums_of_bumps_scaled_to_nine_tenths() -> None:
    environment = ENVIRONMENTS["rbf-2+4"](np.random.default_rng(5))
    bumps: Bumps = environment.mean.__self__  # type: ignore[attr-defined]
    w = np.random.default_rng(0).random((50, 6))
    assert np.allclose(
        environment.mean(w[:, :2], w[:, 2:]), environment.problem.k(w, bumps.u) @ bumps.a
    )
    everywhere = np.vstack([sobol(20_000, 6), bumps.u])
    largest = np.abs(bumps.mean(everywhere[:, :2], everywhere[:, 2:])).max()
    assert largest == pytest.approx(0.9, abs=0.05)


def test_test_functions_have_their_known_extremes() -> None:
    assert branin(np.array([[math.pi, 2.275]]))[0] == pytest.approx(0.397887, abs=1e-6)
    best4 = np.array([[0.187395, 0.194152, 0.557918, 0.264780]])
    best6 = np.array([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]])
    assert hartmann(best4)[0] == pytest.approx(-3.729841, abs=1e-5)
    assert hartmann(best6)[0] == pytest.approx(-3.32237, abs=1e-5)
    assert ackley(np.zeros((1, 4)))[0] == pytest.approx(0.0, abs=1e-12)
    assert levy(np.ones((1, 4)))[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["branin", "hartmann4", "hartmann6", "ackley", "levy"])
def test_scaling_uses_the_whole_range_and_converts_back(name: str) -> None:
    classic = ENVIRONMENTS[name]
    assert isinstance(classic, Classic)
    environment = classic(np.random.default_rng(0))
    cube = sobol(2**15, environment.problem.dimension)
    mean = environment.mean(cube[:, : len(classic.actions)], cube[:, len(classic.actions) :])
    assert mean.max() <= 1.0
    assert mean.min() >= -1.0
    assert np.ptp(mean) > 1.4  # of 2
    assert environment.scale == pytest.approx((classic.high - classic.low) / 2)


def test_uniform_play_on_hartmann4_loses_what_the_usca_paper_shows() -> None:
    """About 1.0 in Hartmann's own unit, with coordinates 1 and 2 as the context."""
    stick = yardstick("hartmann4", 0)
    assert stick.uniform_error * stick.environment.scale == pytest.approx(1.0, abs=0.08)


def test_the_bump_is_the_papers_formula() -> None:
    environment = ENVIRONMENTS["bump"](np.random.default_rng(3))
    rng = np.random.default_rng(3)
    a = rng.random()
    x = rng.random(5)
    w = rng.uniform(-1, 1, 5)
    action = np.array([[0.3]])
    context = np.random.default_rng(1).random((1, 5))
    r = max(0.0, 1 - abs(0.3 - a) - w @ (context[0] - x))
    reward = environment.mean(action, context)[0]
    assert (reward + 1) * environment.scale == pytest.approx(r)


def test_right_doses_are_the_demos() -> None:
    problem = ENVIRONMENTS["dosing"](np.random.default_rng(0)).problem
    patients = people.sample_patients(500, np.random.default_rng(1))
    assert np.allclose(
        _right(problem.contexts.encode(patients), np.zeros(500)), people.formula_dose(patients)
    )


def test_a_learner_can_be_told_nothing_or_a_wrong_law_while_contexts_stay() -> None:
    told = ENVIRONMENTS["matern52-1+1"](np.random.default_rng(0))
    for name, believed in (("none", 0.5), ("wrong", 2 / 7)):
        made, change = environment_named(f"matern52-1+1@{name}")
        environment = change(made(np.random.default_rng(0)))
        contexts = told.draw_contexts(50, np.random.default_rng(1))
        assert np.array_equal(contexts, environment.draw_contexts(50, np.random.default_rng(1)))
        actions = contexts
        assert np.array_equal(told.mean(actions, contexts), environment.mean(actions, contexts))
        mean = environment.problem.draw_contexts(20_000, np.random.default_rng(2)).mean()
        assert mean == pytest.approx(believed, abs=0.02)  # more than nine standard errors
    assert untold(told).problem.generator is None
    assert misled(told).problem.generator is not None


def test_variants_meet_the_same_random_numbers() -> None:
    assert (
        stream("dosing@wrong", 3, 1).random()
        == stream("dosing", 3, 1).random()
        != stream("dosing", 4, 1).random()
    )


def test_missing_data_is_one_sentence_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError, match=r"pass --data DIR.*PharmGKB"):
        DATA["warfarin"](np.random.default_rng(0))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"ratings.csv is not there.*free for research"):
        DATA["jester"](np.random.default_rng(0))


@pytest.mark.parametrize(
    "name", ["nobody", "matern52-1+1@maybe", "nofile.py:f", "no.module:f", "math:nothing"]
)
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(
        InputError,
        match=r"there is no environment|is none of|is not there|cannot be imported|has no",
    ):
        environment_named(name)


@pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the real data")
def test_real_people_have_the_reference_figures() -> None:
    """Rewards in [0, 1]: uniform play, the best fixed action in hindsight, and the best action for
    each."""
    figures = {"warfarin": (0.284, 0.628, 1.0), "jester": (0.565, 0.694, 0.909)}
    for name, (uniform, fixed, best) in figures.items():
        environment = ENVIRONMENTS[name](np.random.default_rng(0))
        actions = environment.problem.actions.candidate_points(401)
        contexts = environment.draw_contexts(1000, np.random.default_rng(1))
        assert environment.surface is not None
        value = (environment.surface(actions, contexts) + 1) / 2
        assert value.mean() == pytest.approx(uniform, abs=0.02)
        assert value.mean(axis=0).max() == pytest.approx(fixed, abs=0.02)
        assert value.max(axis=1).mean() == pytest.approx(best, abs=0.02)
