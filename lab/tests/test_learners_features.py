"""Feature maps and posteriors of the arena's learners."""

from __future__ import annotations

import numpy as np
import pytest

from learner_studies import problem, rounds
from tacit import RBF, Box, Matern, Problem
from tacit._typing import Floats
from tacit.kernels import Joint, Linear
from tacit_lab.arena.learners.features import Map, nystroem, principal
from tacit_lab.arena.learners.fourier import (
    Fourier,
    lattice,
    quadrature,
    random_fourier,
    stationary,
)
from tacit_lab.arena.learners.menu import pairs
from tacit_lab.arena.learners.posterior import PRIOR, Posterior

POINTS = np.random.default_rng(1).random((150, 2))


def coins() -> np.random.Generator:
    return np.random.default_rng(0)


def error(phi: Map, of: Problem) -> float:
    """The largest difference between the kernel and what the features make of it."""
    Phi = phi(POINTS)
    return float(np.abs(Phi @ Phi.T - of.k(POINTS, POINTS)).max())


@pytest.mark.parametrize(
    "make", [nystroem, lambda p, r: principal(p, r, 12), lambda p, r: quadrature(p, r, 24)]
)
def test_no_feature_vector_is_longer_than_one(make: object) -> None:
    phi = make(problem(), coins())  # type: ignore[operator]
    wild = np.vstack([POINTS, POINTS * 1e3, -POINTS])
    assert np.linalg.norm(phi(wild), axis=1).max() <= 1 + 1e-12
    assert phi(POINTS).shape[1] == phi.size


def test_a_map_that_forgot_to_shrink_would_be_longer() -> None:
    phi = nystroem(problem(), coins())
    phi.B = phi.B * 1.5
    assert np.linalg.norm(phi.raw(POINTS), axis=1).max() > 1.2
    assert np.linalg.norm(phi(POINTS), axis=1).max() <= 1 + 1e-12


def test_nystroem_features_give_back_the_kernel() -> None:
    assert error(nystroem(problem(), coins()), problem()) < 0.01


def test_principal_features_leave_less_than_as_many_landmarks() -> None:
    best = principal(problem(), coins(), 20)
    some = nystroem(problem(), coins(), most=20)
    left = [1.0 - np.mean(np.sum(phi(POINTS) ** 2, axis=1)) for phi in (best, some)]
    assert best.size == some.size == 20
    assert left[0] < left[1]


def test_a_floor_leaves_light_features_out_but_never_all() -> None:
    sizes = [principal(problem(), coins(), 32, floor).size for floor in (0.0, 0.02, 9.0)]
    assert sizes[0] == 32 > sizes[1] > sizes[2] == 4
    sizes = [quadrature(problem(), coins(), 32, floor).size for floor in (0.0, 0.02, 9.0)]
    assert 31 <= sizes[0] <= 32
    assert sizes[0] > sizes[1] > sizes[2] >= 4


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(2.5, 0.3), Joint(Matern(1.5, 0.5)), RBF(1.2)])
def test_quadrature_leaves_out_at_most_the_weight_of_what_it_leaves_out(kernel: object) -> None:
    p = Problem(Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), kernel)  # type: ignore[arg-type]
    spectrum = lattice(p)
    assert spectrum is not None
    weights = np.sort(spectrum[1])[::-1]
    periodic = error(Fourier(*spectrum), p)  # what repeating the kernel costs
    assert periodic < 0.04
    order = np.argsort(-spectrum[1])
    for count in (8, 32):
        heaviest = order[:count]
        phi = Fourier(spectrum[0][heaviest], spectrum[1][heaviest])
        left = float(weights[count:].sum())
        assert error(phi, p) <= left + periodic


def test_a_kernel_that_is_not_stationary_gets_its_principal_features() -> None:
    p = Problem(Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), Linear())
    assert stationary(problem().k, 2)
    assert not stationary(p.k, 2)
    assert error(quadrature(p, coins(), 8), p) < 1e-6
    assert error(random_fourier(p, coins(), 8), p) < 1e-6


def test_random_features_are_right_on_average() -> None:
    few = error(random_fourier(problem(), coins(), 40), problem())
    many = error(random_fourier(problem(), coins(), 4000), problem())
    assert many < 0.1 < few


@pytest.mark.parametrize("kernel", [Matern(2.5, 0.3), Joint(Matern(2.5, 0.3))])
def test_a_menu_has_the_same_features_as_its_points(kernel: object) -> None:
    p = Problem(Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), kernel)  # type: ignore[arg-type]
    menu = p.actions.candidate_points(9)
    for phi in (nystroem(p, coins()), quadrature(p, coins(), 24)):
        for c in (0.2, 0.9):
            at = np.array([c])
            assert np.allclose(
                phi.on_menu(menu, at), phi(pairs(menu, at[None])), rtol=0, atol=1e-12
            )
        several = np.array([[0.2], [0.9], [0.4]])
        assert np.allclose(
            phi.on_menu(menu, several), phi(pairs(menu, several)), rtol=0, atol=1e-12
        )


def records() -> tuple[Floats, Floats]:
    X, C, y = rounds(80)
    return np.hstack([X, C]), y


def test_the_posterior_is_the_gaussian_process() -> None:
    """mean = v k'(v K + s^2 I)^-1 y,  var = v k - v k'(v K + s^2 I)^-1 v k"""
    W, y = records()
    phi = nystroem(problem(), coins(), tolerance=1e-10)
    k = problem().k
    s = 0.2
    posterior = Posterior(phi.size, s)
    posterior.add_all(phi(W), y)
    gain = PRIOR * k(POINTS, W) @ np.linalg.inv(PRIOR * k(W, W) + s**2 * np.eye(len(W)))
    variance = PRIOR - np.sum(gain * PRIOR * k(POINTS, W), axis=1)
    assert np.allclose(posterior.mean(phi(POINTS)), gain @ y, atol=2e-3)
    assert np.allclose(posterior.std(phi(POINTS)) ** 2, variance, atol=2e-3)


def test_round_by_round_and_at_once_are_the_same() -> None:
    W, y = records()
    phi = nystroem(problem(), coins())
    one = Posterior(phi.size, 0.1)
    all_ = Posterior(phi.size, 0.1)
    for row, reward in zip(phi(W), y, strict=True):
        one.add(row, float(reward))
    all_.add_all(phi(W), y)
    assert np.allclose(one.C, all_.C, atol=1e-8)
    assert np.allclose(one.theta, all_.theta, atol=1e-8)
