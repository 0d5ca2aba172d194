"""The average over scales, against conditioning at each scale by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._typing import Floats
from tacit.decoder.averaging import SCALES, mixture, over_scales
from tacit.decoder.evidence import SCALE_GUESS, SCALE_WIDTH, Level
from tacit.kernels import Matern


def released(seed: int, seen: int, landmarks: int) -> tuple[Floats, Floats, Floats, Level]:
    """K, M, z and the level of a release of nothing in particular."""
    rng = np.random.default_rng(seed)
    U = rng.random((landmarks, 2))
    M = rng.normal(size=(seen, landmarks))
    z = 2.0 * rng.normal(size=seen)
    return Matern(2.5, 0.4)(U, U), M, z, Level(rng.normal(size=seen), 1.0)


def by_conditioning(K: Floats, M: Floats, z: Floats, level: Level) -> tuple[Floats, Floats, float]:
    """Mean and covariance of (l, g(U)), and the mean scale: a mixture of Gaussian posteriors."""
    H = np.column_stack([level.a, M])
    means = []
    squares = []
    weights = []
    for v in SCALES:
        P = np.zeros((len(K) + 1, len(K) + 1))
        P[0, 0] = level.variance
        P[1:, 1:] = v * K
        C = np.eye(len(z)) + H @ P @ H.T
        gain = P @ H.T @ np.linalg.inv(C)
        mean = gain @ z
        means.append(mean)
        squares.append(P - gain @ H @ P + np.outer(mean, mean))
        prior = -0.5 * (np.log(v / SCALE_GUESS) / SCALE_WIDTH) ** 2
        weights.append(prior - 0.5 * z @ np.linalg.solve(C, z) - 0.5 * np.linalg.slogdet(C)[1])
    p = np.exp(np.array(weights) - max(weights))
    p /= p.sum()
    mean = np.einsum("i,ij->j", p, np.array(means))
    square = np.einsum("i,ijk->jk", p, np.array(squares))
    return mean, square - np.outer(mean, mean), float(p @ SCALES)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), seen=st.integers(1, 9), landmarks=st.integers(1, 8))
def test_it_is_the_mixture_of_the_posteriors_at_each_scale(
    seed: int, seen: int, landmarks: int
) -> None:
    K, M, z, level = released(seed, seen, landmarks)
    mean, covariance, scale = by_conditioning(K, M, z, level)
    found = over_scales(K, M, z, level)
    assert found.scale == pytest.approx(scale, rel=1e-6)
    assert found.level == pytest.approx(mean[0], rel=1e-6, abs=1e-7)
    assert np.allclose(found.mean, mean[1:], rtol=1e-6, atol=1e-7)
    assert found.level_variance == pytest.approx(covariance[0, 0], rel=1e-6, abs=1e-7)
    assert np.allclose(found.level_covariance, covariance[0, 1:], rtol=1e-6, atol=1e-7)
    assert np.allclose(found.covariance, covariance[1:, 1:], rtol=1e-6, atol=1e-7)


def test_a_release_of_nothing_but_noise_makes_small_scales_likely() -> None:
    K, M, z, level = released(1, 40, 12)
    noise = over_scales(K, M, z / np.linalg.norm(z), level)
    signal = over_scales(K, M, z + M @ np.linalg.cholesky(K) @ np.ones(12), level)
    assert noise.scale < signal.scale / 10


def test_a_mixture_has_the_moments_of_draws_from_it() -> None:
    """Exactly: the mean of means, and the mean of covariances with the spread of means."""
    found = []
    for seed in (1, 2, 3):
        K, M, z, level = released(seed, 9, 4)
        found.append(over_scales(K, M, z, level))
    logs = [0.0, -1.0, -0.3]
    p = np.exp(logs) / np.sum(np.exp(logs))
    both = mixture(found, logs)
    means = np.array([np.append(each.level, each.mean) for each in found])
    inner = []
    for each in found:
        top = np.append(each.level_variance, each.level_covariance)
        inner.append(np.vstack([top, np.column_stack([each.level_covariance, each.covariance])]))
    mean = p @ means
    covariance = np.einsum("i,ijk->jk", p, np.array(inner)) + (means - mean).T @ np.diag(p) @ (
        means - mean
    )
    assert np.allclose(np.append(both.level, both.mean), mean)
    assert np.allclose(both.covariance, covariance[1:, 1:])
    assert np.allclose(both.level_covariance, covariance[0, 1:])
    assert both.level_variance == pytest.approx(covariance[0, 0])
    assert both.scale == pytest.approx(float(p @ [each.scale for each in found]))
