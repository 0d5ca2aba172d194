"""Learners that decide by a private draw: how far scores can move, and that the draw is the one
that was promised."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import REPLACED, error_rate, neighbours, problem, rounds, setting
from tacit.core import integer_weights
from tacit.core.events import PermuteAndFlip
from tacit.core.selection import selection_measurement, sensitivity
from tacit.paper import Estimator, exponential_measure
from tacit_lab.arena.learners.features import nystroem
from tacit_lab.arena.learners.menu import pairs
from tacit_lab.arena.learners.tacit_release import Tacit, TacitPure, flip
from tacit_lab.arena.learners.usca import TAUS, USCA, Covariance, best_tau, whole

wild = st.floats(-1e6, 1e6)

# -- USCA -----------------------------------------------------------------------------------------


EVERYWHERE = np.vstack([whole(problem())[::17], list(product((0.0, 1.0), repeat=2))])


@cache
def one_usca() -> USCA:
    return USCA(setting(), np.random.default_rng(5))


def usca_move(replaced: tuple[int, float, float, float]) -> tuple[float, float]:
    """How far mubar moves, at its most, and how far it may."""
    one, two = neighbours(USCA, *replaced)
    return float(np.abs(one.mean(EVERYWHERE) - two.mean(EVERYWHERE)).max()), one.sensitivity


@pytest.mark.parametrize("replaced", [*REPLACED, (3, 0.0, 0.0, -1.0)])
def test_mubar_moves_by_at_most_its_sensitivity(replaced: tuple[int, float, float, float]) -> None:
    moved, allowed = usca_move(replaced)
    assert 0 < moved <= allowed * (1 + 1e-9)


@given(st.floats(0, 1), st.floats(0, 1), wild, st.floats(0, 1), st.floats(0, 1), wild)
def test_mubar_moves_by_at_most_its_sensitivity_wherever_the_round_is(
    x: float, c: float, y: float, x2: float, c2: float, y2: float
) -> None:
    one = one_usca()
    W = np.array([[x, c], [x2, c2]])
    rewards = np.clip([y, -y2], -1.0, 1.0)
    moved = one.covariance.phi(EVERYWHERE) @ one.covariance.weights(W, rewards)
    assert np.abs(moved).max() <= one.sensitivity * (1 + 1e-9)


def test_a_supremum_over_the_inside_is_caught_at_a_corner() -> None:
    one = USCA(setting(200, math.inf), np.random.default_rng(5))
    inside = pairs(np.linspace(0.2, 0.8, 9)[:, None], np.linspace(0.2, 0.8, 9)[:, None])
    corner = np.zeros((1, 2))
    unit_round = one.covariance.phi(corner) @ one.covariance.weights(corner, np.ones(1))
    assert 2.0 * unit_round.max() > 2.0 * float(one.covariance.sigmabar2(inside).max())
    assert 2.0 * unit_round.max() <= one.sensitivity * (1 + 1e-9)


def test_usca_through_features_is_the_published_estimator() -> None:
    """With landmarks that leave nothing of the kernel, and the same Z."""
    rng = np.random.default_rng(0)
    p = problem()
    X, C, y = rounds(40)
    W = np.hstack([X, C])
    Z = p.public_points(120, rng)
    paper = Estimator(p.k, Z, 3, 1.0)
    paper.add(W, y)
    phi = nystroem(p, rng, most=400, tolerance=1e-9)
    ours = Covariance(p.k, phi, Z, 3.0, 1.0)
    points = p.public_points(200, rng)
    assert np.allclose(ours.sigmabar2(points), paper.sigmabar2(points), atol=1e-4)
    assert np.allclose(phi(points) @ ours.weights(W, y), paper.mubar(points), atol=1e-3)


def test_tau_grows_with_the_noise_of_the_draw() -> None:
    taus = [
        best_tau(setting(2000, epsilon), np.random.default_rng(5))
        for epsilon in (math.inf, 10.0, 1.0, 0.1)
    ]
    assert taus[0] == TAUS[0]
    assert taus == sorted(set(taus))


def test_the_tau_chosen_is_worth_half_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Error of 400 decisions"""

    def error() -> float:
        one = USCA(setting(3000), np.random.default_rng(5))
        X, C, y = rounds(3000)
        one.add(np.hstack([X, C]), y)
        return error_rate(one, 400)

    chosen = error()
    monkeypatch.setattr("tacit_lab.arena.learners.usca.best_tau", lambda *_: 1.0)
    assert chosen < 0.5 * error()


def test_usca_draws_by_the_exponential_mechanism() -> None:
    """Frequencies of 20 000 draws against exp(eps mubar / (2 m)); false-alarm rate 1e-7."""
    one = USCA(setting(60, epsilon=4.0), np.random.default_rng(5))
    scores = one.sensitivity * np.array([0.0, 0.5, 1.0, -1.0])
    drawn = np.bincount(one.choose(np.tile(scores, (20_000, 1))), minlength=4)
    expected = 20_000 * exponential_measure(scores, 4.0, one.sensitivity)
    assert stats.chisquare(drawn, expected).pvalue > 1e-7
    assert (
        stats.chisquare(drawn, 20_000 * exponential_measure(scores, 8.0, one.sensitivity)).pvalue
        < 1e-7
    )


# -- Tacit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Tacit, TacitPure])
@pytest.mark.parametrize("replaced", REPLACED[2:])
def test_the_integer_sum_moves_by_at_most_its_sensitivity(
    kind: type[Tacit], replaced: tuple[int, float, float, float]
) -> None:
    one, two = neighbours(kind, *replaced)
    moved = one.collect(one.design)._sum._value() - two.collect(two.design)._sum._value()
    assert (
        0 < math.sqrt(float(np.sum(moved.astype(object) ** 2))) <= one.design.encoding.sensitivity
    )


@pytest.mark.parametrize("replaced", REPLACED[2:])
def test_scores_of_a_pure_decision_move_apart_by_at_most_twice_the_sensitivity(
    replaced: tuple[int, float, float, float],
) -> None:
    one, two = neighbours(TacitPure, *replaced)
    theta = integer_weights(
        one.design.influence(pairs(one.menu, np.array([[0.3]]))), one.design.encoding
    )
    moved = theta @ (one._total - two._total)
    assert 0 < int(np.ptp(moved)) <= 2 * sensitivity(theta, one.design.encoding)


def test_the_simulated_choice_is_the_cores_own() -> None:
    """2000 draws of either, compared by a chi-square test: false-alarm rate 1e-7. Half the noise is
    rejected."""
    scores = np.array([0, 40, 55, 60])
    delta = 10
    epsilon = 1.0
    n = 2000
    rng = np.random.default_rng(0)
    core = selection_measurement(len(scores), PermuteAndFlip(epsilon), delta)
    real = np.bincount([int(core(scores.tolist())) for _ in range(n)], minlength=4)
    ours = np.bincount([flip(scores, delta, epsilon, rng) for _ in range(n)], minlength=4)
    wrong = np.bincount([flip(scores, delta, 2 * epsilon, rng) for _ in range(n)], minlength=4)
    assert stats.chi2_contingency([real, ours]).pvalue > 1e-7
    assert stats.chi2_contingency([real, wrong]).pvalue < 1e-7
