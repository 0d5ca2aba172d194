"""A generator says who will come; released counts say whether it was right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tacit
from helpers import build_design, sqlite, unit_problem
from tacit import Budget, Study
from tacit._typing import Floats, Rng
from tacit.contexts.cells import Cells, probabilities
from tacit.decoder.context_law import ContextCounts, moments_given
from tacit.design import Design, DesignOptions, Moments
from tacit.design.cube import evenly
from tacit.design.features import moments
from tacit.design.layout import CHECKING_SHARE, CONTEXT_SHARE
from tacit.kernels import Matern

pytestmark = pytest.mark.usefixtures("coarse_tuning")

BUDGET = Budget(epsilon=1.0, delta=1e-6)
ROUNDS = 10_000
UNTOLD = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1))


def crowded(n: int, rng: Rng) -> Floats:
    return rng.beta(2, 5, size=(n, 1))


TOLD = replace(UNTOLD, generator=crowded)


def test_a_generator_is_checked_with_a_small_share_of_the_budget() -> None:
    def share(problem: tacit.Problem, budget: Budget, **given: Any) -> float:
        design = build_design(problem, horizon=1000, budget=budget, rng=0, rank=20, **given)
        return design.layout.context_share

    assert share(TOLD, BUDGET) == share(TOLD, BUDGET, passes=2) == CHECKING_SHARE
    assert share(UNTOLD, BUDGET) == CONTEXT_SHARE
    assert (
        share(TOLD, BUDGET, context_share=0.0)
        == share(TOLD, BUDGET, plain=True)
        == share(TOLD, Budget(1.0))
        == 0
    )


@pytest.fixture(scope="module")
def lost() -> dict[tuple[str, float | None], float]:
    """Mean squared errors of predictions for whoever comes, by who comes and the share that counts
    them."""
    found: dict[tuple[str, float | None], float] = {}
    for share in (None, 0.0):
        design = build_design(
            TOLD, horizon=ROUNDS, budget=BUDGET, rng=0, rank=120, context_share=share
        )
        for name, who in (
            ("as told", crowded),
            ("otherwise", lambda n, rng: 1.0 - crowded(n, rng)),
        ):
            rng = np.random.default_rng(5)
            errors = []
            for _ in range(4):
                U = rng.random((40, 2))
                a = rng.normal(size=40)
                points = np.hstack([rng.random((ROUNDS, 1)), who(ROUNDS, rng)])
                f = UNTOLD.k(points, U) @ a
                f *= 0.3 / np.std(f)
                statistic = design.statistic()
                statistic.add_points(points, np.clip(f + 0.1 * rng.normal(size=ROUNDS), -1, 1))
                policy = statistic.simulate_release(rng)
                errors.append(np.mean((policy.posterior.mean(points[:1000]) - f[:1000]) ** 2))
            found[name, share] = float(np.mean(errors))
    return found


def test_a_wrong_generator_is_left(lost: dict[tuple[str, float | None], float]) -> None:
    """A decoder that believes it, having counted nobody, is far worse: this is what the share is
    for."""
    assert lost["otherwise", None] < 0.25 * lost["otherwise", 0.0]


def test_a_right_generator_loses_next_to_nothing(
    lost: dict[tuple[str, float | None], float],
) -> None:
    assert lost["as told", None] < 1.2 * lost["as told", 0.0]


def test_a_generator_stands_where_counts_say_nothing_against_it() -> None:
    design = build_design(TOLD, horizon=1000, budget=BUDGET, rng=0, rank=20)
    counts = Cells(UNTOLD.contexts).onehot(np.random.default_rng(0).random((1000, 1))).sum(axis=0)
    unclear = ContextCounts(counts, 400.0, 1000)
    clear = ContextCounts(counts, 1.0, 1000)
    assert moments_given(design, unclear) is design.moments
    assert moments_given(design, clear) is not design.moments


def alike(n: int, rng: Rng) -> Floats:
    """Two columns that say nearly the same."""
    first = rng.beta(2, 5, size=n)
    return np.column_stack([first, np.clip(first + 0.05 * rng.normal(size=n), 0, 1)])


def test_counts_mend_the_columns_and_leave_how_they_depend_on_each_other() -> None:
    """Histograms alone do not know that two columns go together; the generator does, though it is
    wrong about both."""
    problem = tacit.Problem(
        actions=tacit.Box([0.0], [1.0], names=["x"]),
        contexts=tacit.Box([0.0, 0.0], [1.0, 1.0], names=["a", "b"]),
        kernel=Matern(2.5, 0.3),
        generator=alike,
    )
    told = build_design(problem, horizon=1000, budget=BUDGET, rng=0, rank=60)
    rng = np.random.default_rng(0)
    came = np.clip(1.4 * alike(40_000, rng), 0, 1)  # other people, as alike as ever
    counts = Cells(problem.contexts).onehot(came).sum(axis=0)
    Phi = told.features(np.hstack([rng.random((40_000, 1)), came]))
    right = moments(Phi, Phi @ told.whitening.T, told.clip)

    def off(found: Moments) -> float:
        return float(np.linalg.norm(found.cross - right.cross) / np.linalg.norm(right.cross))

    clear = ContextCounts(counts, 1.0, 40_000)
    generator = off(told.moments)
    mended = off(moments_given(told, clear))
    histograms = off(moments_given(replace(told, generator_sample=None), clear))
    assert mended < 0.5 * min(generator, histograms)


@given(st.integers(0, 2**32 - 1))
def test_fitted_weights_give_each_column_its_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = tacit.Mixed(
        [tacit.Box([0.0], [1.0], names=["a"]), tacit.Categories(["u", "v", "w"], "kind")]
    )
    cells = Cells(domain)
    points = domain.sample_points(3000, rng)
    wanted = [rng.dirichlet(np.full(size, 3.0)) for size in (12, 3)]
    weights = cells.fitted(points, np.ones(len(points)), wanted)
    assert weights @ cells.onehot(points) == pytest.approx(np.concatenate(wanted), abs=1e-6)
    again = cells.fitted(points, weights, wanted)
    assert again == pytest.approx(weights, abs=1e-9)


@given(
    arrays(np.float64, st.integers(1, 60), elements=st.floats(0.0, 10.0)).filter(
        lambda w: w.sum() > 0.01
    )
)
def test_rows_are_taken_as_often_as_they_weigh(weights: Floats) -> None:
    taken = np.bincount(evenly(weights), minlength=len(weights))
    assert taken.sum() == len(weights)
    assert np.all(np.abs(taken - len(weights) * weights / weights.sum()) < 1 + 1e-9)


def test_hopeless_counts_leave_the_prior() -> None:
    prior = np.array([0.5, 0.4999, 0.0001])
    counts = np.array([100.0, 400.0, 500.0])
    assert probabilities(counts, 1e6, 1000.0, prior) == pytest.approx(prior)
    assert probabilities(counts, 0.1, 1000.0, prior) == pytest.approx(counts / 1000, abs=1e-3)


def test_what_a_design_kept_of_its_generator_draws_on() -> None:
    """The generator is somebody's function, so it is not kept; contexts that it drew are."""
    design = build_design(TOLD, horizon=1000, budget=BUDGET, rng=0, passes=2, rank=20)
    restored = Design.restore(UNTOLD, design.facts(), design.arrays())
    assert restored.fingerprint == design.fingerprint
    assert restored.generator_sample is not None
    drawn = restored.problem.draw_contexts(2000, np.random.default_rng(0))
    assert np.isin(drawn, restored.generator_sample).all()
    assert (
        Design.restore(
            UNTOLD,
            *(
                part(Design.build(UNTOLD, horizon=9, budget=BUDGET, rng=0, passes=1))
                for part in (Design.facts, Design.arrays)
            ),
        ).problem.generator
        is None
    )


def test_a_study_that_is_opened_again_still_knows_who_was_expected(tmp_path: Path) -> None:
    """A second pass is designed at the release, long after the process that had the generator has
    gone."""
    Study.create(
        sqlite(tmp_path), TOLD, horizon=50, budget=BUDGET, options=DesignOptions(rank=15, seed=0)
    )
    study = Study.open(sqlite(tmp_path))
    for decision in study.ask_many(np.linspace(0, 1, 30)[:, None]):
        study.tell(decision.id, 0.5)
    study.release()
    kept = study._store.design_of_pass(2)
    assert kept is not None
    second = Design.restore(study.problem, *kept)
    expected = np.mean(crowded(20_000, np.random.default_rng(0)))
    assert second.generator_sample is not None
    assert np.mean(second.generator_sample) == pytest.approx(expected, abs=0.02)  # uniform: 0.5
    assert second.layout.context_share == CHECKING_SHARE
