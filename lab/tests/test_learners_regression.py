"""Private regression on logs of uniform play: each statistic moves as little as its noise assumes,
and all of them together spend the budget, once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import REPLACED, neighbours, rounds, setting
from tacit._typing import Floats
from tacit.design.features import clipped
from tacit_lab.arena.learners import adassp, adassp_boosted, features, gram, sgd_ridge
from tacit_lab.arena.learners.adassp import EIGENVALUE, GRAM, RESPONSE, AdaSSP
from tacit_lab.arena.learners.adassp_boosted import ROUNDS, BoostedAdaSSP
from tacit_lab.arena.learners.ridge import Ridge
from tacit_lab.arena.learners.sgd_ridge import CLIP, STEPS, SGDRidge
from tacit_lab.arena.mechanisms import noise_rho

PRIVATE: list[type[Ridge]] = [AdaSSP, BoostedAdaSSP, SGDRidge]
wild = st.floats(-1e6, 1e6)
vectors = st.lists(wild, min_size=5, max_size=5)
SLACK = 1 + 1e-9


def design(one: Any) -> tuple[Floats, Floats]:
    W, y = one.data
    return one.phi(W), y


def adassp_moves(replaced: tuple[int, float, float, float]) -> tuple[float, float, float]:
    """How far the least eigenvalue, the Gram matrix and the responses move. Both learners draw the
    same noise."""
    one, two = neighbours(AdaSSP, *replaced)
    (Phi, y), (Psi, z) = design(one), design(two)
    least = [float(np.linalg.eigvalsh(F.T @ F)[0]) for F in (Phi, Psi)]
    responses = one.released_response(Phi, y) - two.released_response(Psi, z)
    grams = Phi.T @ Phi - Psi.T @ Psi
    return abs(least[0] - least[1]), float(np.linalg.norm(grams)), float(np.linalg.norm(responses))


@pytest.mark.parametrize("replaced", REPLACED)
def test_the_statistics_of_adassp_move_as_little_as_their_noise_assumes(
    replaced: tuple[int, float, float, float],
) -> None:
    least, grams, responses = adassp_moves(replaced)
    assert least <= EIGENVALUE * SLACK
    assert 0 < grams <= GRAM * SLACK
    assert 0 < responses <= RESPONSE * SLACK


@given(vectors, vectors, wild, wild, st.integers(0, 10))
def test_one_round_moves_each_statistic_by_at_most_its_sensitivity(
    a: list[float], b: list[float], y: float, z: float, others: int
) -> None:
    rest = clipped(np.random.default_rng(others).normal(size=(others, 5)), 1.0)
    Phi, Psi = (np.vstack([clipped(np.array([one]), 1.0), rest]) for one in (a, b))
    least = [float(np.linalg.eigvalsh(F.T @ F)[0]) for F in (Phi, Psi)]
    assert abs(least[0] - least[1]) <= EIGENVALUE + 1e-9
    assert np.linalg.norm(Phi.T @ Phi - Psi.T @ Psi) <= GRAM + 1e-9
    apart = Phi[0] * np.clip(y, -1.0, 1.0) - Psi[0] * np.clip(z, -1.0, 1.0)
    assert np.linalg.norm(apart) <= RESPONSE + 1e-9


def test_the_sensitivities_are_reached() -> None:
    e = np.eye(2)
    assert np.linalg.norm(np.outer(e[0], e[0]) - np.outer(e[1], e[1])) == pytest.approx(GRAM)
    one, two = np.linalg.eigvalsh(e.T @ e)[0], np.linalg.eigvalsh(2 * np.outer(e[0], e[0]))[0]
    assert one - two == pytest.approx(EIGENVALUE)
    assert np.linalg.norm(e[0] - (-e[0])) == RESPONSE


def test_adassp_without_a_clip_of_features_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "clipped", lambda Phi, _: 2.0 * Phi)
    _, grams, responses = adassp_moves(REPLACED[0])
    assert grams > GRAM
    assert responses > RESPONSE


def step_move(kind: Any, theta_size: float, replaced: Any = REPLACED[2]) -> float:
    """How far one step moves that starts at the same public theta."""
    one, two = neighbours(kind, *replaced)
    theta = theta_size * np.random.default_rng(0).normal(size=one.phi.size)
    name = "released_step" if kind is BoostedAdaSSP else "released_gradient"
    steps = [getattr(each, name)(*design(each), theta) for each in (one, two)]
    return float(np.linalg.norm(steps[0] - steps[1]))


@pytest.mark.parametrize("theta_size", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("replaced", REPLACED)
def test_steps_move_as_little_as_their_noise_assumes_wherever_they_start(
    theta_size: float, replaced: tuple[int, float, float, float]
) -> None:
    assert 0 < step_move(BoostedAdaSSP, theta_size, replaced) <= RESPONSE * SLACK
    assert 0 < step_move(SGDRidge, theta_size, replaced) <= 2.0 * CLIP * SLACK


def test_a_step_that_forgets_to_clip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoostedAdaSSP, "residuals", lambda self, Phi, y, theta: y - Phi @ theta)
    monkeypatch.setattr(sgd_ridge, "clipped", lambda each, _: each)
    assert step_move(BoostedAdaSSP, 1e3) > RESPONSE
    assert step_move(SGDRidge, 1e3) > 2.0 * CLIP


def drawn(kind: type[Ridge], monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The noise that a fit draws: its standard deviation, and the sensitivity that this is for."""
    one = kind(setting(), np.random.default_rng(0))
    X, C, y = rounds(60)
    one.add(np.hstack([X, C]), y)
    found = []
    meant = {adassp: RESPONSE, adassp_boosted: RESPONSE, gram: GRAM, sgd_ridge: 2.0 * CLIP}
    for module, sensitivity in meant.items():

        def recorded(shape: Any, sigma: float, rng: Any, meant: float = sensitivity) -> Any:
            found.append((sigma, EIGENVALUE if shape == 1 else meant))
            return np.zeros(shape)

        monkeypatch.setattr(module, "gaussian", recorded)
    one.decide(C[:2])
    one.decide(C[2:4])
    return found


@pytest.mark.parametrize("kind", PRIVATE)
def test_all_draws_of_a_regression_together_spend_the_budget(
    kind: type[Ridge], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deciding twice draws once."""
    found = drawn(kind, monkeypatch)
    assert len(found) == {AdaSSP: 3, BoostedAdaSSP: 2 + ROUNDS, SGDRidge: STEPS}[kind]
    rho = noise_rho(setting())
    spent = sum(sensitivity**2 / (2 * sigma**2) for sigma, sensitivity in found)
    assert 0.99 * rho <= spent <= rho * SLACK


def noise_is(kind: Any, scale: float) -> bool:
    """Whether a statistic's noise may be `scale` times what it should be: chi-square, false-alarm
    rate 1e-7."""
    one = kind(setting(), np.random.default_rng(0))
    X, C, y = rounds(60)
    Phi = one.phi(np.hstack([X, C]))
    theta = np.zeros(one.phi.size)
    if kind is SGDRidge:
        draws = [one.released_gradient(Phi, y, theta) for _ in range(100)]
        noise = np.array(draws) - one.gradient(Phi, y, theta)
    elif kind is BoostedAdaSSP:
        noise = np.array([one.released_step(Phi, y, theta) for _ in range(100)]) - Phi.T @ y
    else:
        noise = np.array([one.released_response(Phi, y) for _ in range(100)]) - Phi.T @ y
    sigma = one.step_sigma if kind is BoostedAdaSSP else one.sigma
    total = float(np.sum(noise**2)) / (scale * sigma) ** 2
    low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], noise.size)
    return bool(low < total < high)


@pytest.mark.parametrize("kind", PRIVATE)
def test_statistics_have_the_noise_that_they_should(kind: type[Ridge]) -> None:
    assert noise_is(kind, 1.0)
    assert not noise_is(kind, 0.5)


def test_the_noise_of_a_gram_matrix_is_symmetric_and_lighter_beside_the_diagonal() -> None:
    """Variance sigma^2 on the diagonal and half of it beside; false-alarm rate 1e-7 together."""
    rng = np.random.default_rng(0)
    noise = np.array([gram.noisy_gram(np.zeros((6, 6)), 2.0, rng) for _ in range(500)])
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    diagonal = noise[:, range(6), range(6)]
    beside = noise[:, *np.triu_indices(6, 1)]
    for values, variance in ((diagonal, 4.0), (beside, 2.0)):
        total = float(np.sum(values**2)) / variance
        low, high = stats.chi2.ppf([2.5e-8, 1 - 2.5e-8], values.size)
        assert low < total < high


def test_adassp_raises_its_ridge_where_the_noise_calls_for_it() -> None:
    """With much noise the released matrix is positive definite; without any nothing is added."""
    X, C, _ = rounds(60)
    private = AdaSSP(setting(60, 0.1), np.random.default_rng(0))
    Phi = private.phi(np.hstack([X, C]))
    assert np.linalg.eigvalsh(private.released_gram(Phi))[0] > 0
    plain = AdaSSP(setting(60, math.inf), np.random.default_rng(0))
    Phi = plain.phi(np.hstack([X, C]))
    assert np.allclose(plain.released_gram(Phi), Phi.T @ Phi, atol=1e-12)


def test_boosting_takes_shrinkage_back() -> None:
    """Without noise in the steps, but with the ridge of a noisy Gram matrix, more rounds are closer
    to the ridge regression."""
    one = BoostedAdaSSP(setting(2000, 3.0), np.random.default_rng(0))
    X, C, y = rounds(2000)
    Phi = one.phi(np.hstack([X, C]))
    right = one.solve(Phi.T @ Phi, Phi.T @ y)
    one.step_sigma = 0.0
    boosted = one.fit(Phi, y)
    once = one.solve(one.released_gram(Phi), Phi.T @ y)
    assert np.linalg.norm(Phi @ (boosted - right)) < 0.8 * np.linalg.norm(Phi @ (once - right))


def test_gradient_descent_without_noise_approaches_the_ridge_regression() -> None:
    one = SGDRidge(setting(400, 1e6), np.random.default_rng(0))
    X, C, y = rounds(400)
    Phi = one.phi(np.hstack([X, C]))
    right = Ridge.fit(one, Phi, y)
    error = np.std(Phi @ (one.fit(Phi, y) - right)) / np.std(Phi @ right)
    assert error < 0.35
