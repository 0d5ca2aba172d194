"""The mix of entries: no extreme case leaves the ball, and no other mix is much less noisy."""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats
from tacit.evaluation.shape import Mix, answer_noise, best_mix


def cost(mix: Mix, answers: Floats) -> float:
    return float(np.trace(answer_noise(mix, answers)))


def lengths(mix: Mix, cases: Floats) -> Floats:
    return np.asarray(np.linalg.norm(mix.rows(cases), axis=1))


def test_every_extreme_case_stays_in_the_unit_ball() -> None:
    rng = np.random.default_rng(0)
    for centred in (True, False):
        cases = rng.normal(size=(40, 4)) * [1.0, 5.0, 0.1, 2.0] + 3.0
        mix = best_mix(cases, np.eye(4), centred)
        assert lengths(mix, cases).max() <= 1.0 + 1e-9
        assert lengths(mix, cases).max() > 0.99


def test_a_box_is_mixed_as_its_sides_say() -> None:
    """Of a box with sides 2 s_i the best mix is known: M = diag(1 / (s_i S)), S = sum of s."""
    sides = np.array([1.0, 3.0])
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) * sides + 7.0
    mix = best_mix(corners, np.eye(2))
    assert np.allclose(mix.centre, 7.0, atol=0.05)
    assert np.isclose(cost(mix, np.eye(2)), sides.sum() ** 2, rtol=0.01)


def test_no_random_mix_is_less_noisy() -> None:
    rng = np.random.default_rng(1)
    cases = rng.normal(size=(30, 3)) * [1.0, 4.0, 2.0] + rng.normal(size=3)
    answers = rng.normal(size=(5, 3))
    best = best_mix(cases, answers)
    for _ in range(300):
        matrix = best.matrix @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
        other = Mix(matrix, best.centre + 0.3 * rng.normal(size=3))
        other = other.scaled(1.0 / lengths(other, cases).max())
        assert cost(other, answers) >= cost(best, answers) * 0.99


def test_squares_are_almost_free() -> None:
    """(u, u^2 - 1) lies in the unit disc for u in [-1, 1]: the mix finds that centre."""
    u = np.linspace(-1.0, 1.0, 41)
    mix = best_mix(np.column_stack([u, u**2]), np.array([[1.0, 0.0], [0.0, 0.3]]))
    alone, square = np.diag(answer_noise(mix, np.eye(2)))
    assert alone < 1.02
    assert square < 1.1


def test_a_centre_saves_noise_where_cases_lie_to_one_side() -> None:
    cases = np.array([[0.0], [10.0]])
    with_centre = best_mix(cases, np.eye(1))
    without = best_mix(cases, np.eye(1), centred=False)
    assert np.isclose(cost(with_centre, np.eye(1)), 25.0, rtol=0.02)
    assert np.isclose(cost(without, np.eye(1)), 100.0, rtol=0.02)
