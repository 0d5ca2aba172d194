"""The random projection of contexts that is published as private: why its claim does not hold, and
what it does do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from learner_studies import DELTA, setting
from tacit._typing import Floats
from tacit_lab.arena.learners.gpucb_outsourced import (
    PROJECTION,
    GPUCBOutsourced,
    isometric,
    projection,
    raised,
)


def published(X: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """The curator's release for a whole data set: centre, raise the singular values, project."""
    X = X - X.mean(axis=0)
    return X @ raised(X, epsilon, DELTA)[0] @ projection(X.shape[1], rng)


def outside(Z: Floats, X: Floats) -> float:
    """How much of a release lies outside the column space of a data set, relative to its size."""
    Q = np.linalg.qr(X - X.mean(axis=0))[0]
    return float(np.linalg.norm(Z - Q @ (Q.T @ Z)) / np.linalg.norm(Z))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e4])
def test_one_release_tells_two_neighbouring_data_sets_apart(dimension: int, epsilon: float) -> None:
    """Whatever epsilon says: a release of X lies in the column space of X, and never in that of its
    neighbour."""
    rng = np.random.default_rng(0)
    X = rng.random((50, dimension))
    neighbour = X.copy()
    neighbour[0] = 1.0 - neighbour[0]
    for _ in range(20):
        Z = published(X, epsilon, rng)
        assert outside(Z, X) < 1e-9
        assert outside(Z, neighbour) > 1e-3
        Z = published(neighbour, epsilon, rng)
        assert outside(Z, neighbour) < 1e-9
        assert outside(Z, X) > 1e-3


def test_a_release_with_noise_of_its_own_is_not_told_apart_like_this() -> None:
    """The attack needs the missing noise: with some in every entry neither space holds Z."""
    rng = np.random.default_rng(0)
    X = rng.random((50, 2))
    Z = published(X, 1.0, rng)
    assert outside(Z + 0.1 * np.std(Z) * rng.standard_normal(Z.shape), X) > 1e-3


def test_singular_values_are_raised_to_the_published_threshold() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    X -= X.mean(axis=0)
    omega = 16 * math.sqrt(PROJECTION * math.log(2 / DELTA)) * math.log(16 * PROJECTION / DELTA)
    before = np.linalg.svd(X, compute_uv=False)
    after = np.linalg.svd(X @ raised(X, 1.0, DELTA)[0], compute_uv=False)
    assert np.allclose(after, np.sqrt(before**2 + omega**2))
    assert np.allclose(raised(X, 1e9, DELTA)[0], np.eye(2))


def test_the_modeler_sees_distances_as_the_projection_leaves_them() -> None:
    P = projection(2, np.random.default_rng(0))
    X = np.random.default_rng(1).random((10, 2))
    apart = [np.linalg.norm(Z[:, None] - Z[None], axis=2) for Z in (X @ P, X @ isometric(P))]
    assert np.allclose(*apart)


def test_distances_are_right_on_average() -> None:
    """|x M|^2 / r has mean |x|^2 and standard deviation sqrt(2 / r) |x|^2; false-alarm rate below
    1e-7."""
    squares = [
        float(np.sum(projection(3, np.random.default_rng(seed))[0] ** 2)) for seed in range(2000)
    ]
    assert abs(np.mean(squares) - 1.0) < 6 * math.sqrt(2 / PROJECTION / 2000)


def test_without_privacy_contexts_are_seen_as_they_are() -> None:
    plain = GPUCBOutsourced(setting(epsilon=math.inf, contexts=2), np.random.default_rng(0))
    C = np.random.default_rng(1).random((5, 2))
    assert np.array_equal(plain.seen(C), C)
    assert not np.allclose(
        GPUCBOutsourced(setting(contexts=2), np.random.default_rng(0)).seen(C), C
    )
