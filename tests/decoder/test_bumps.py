"""Reward functions that are sums of a kernel's bumps: a prior of its own, which the evidence tells
from draws."""

from __future__ import annotations

import numpy as np
import pytest

from tacit._typing import Floats
from tacit.decoder.averaging import mixture, over_scales
from tacit.decoder.evidence import Fit, Level, bump_covariance, candidates
from tacit.kernels import Matern
from tacit.numerics import linalg

KERNEL = Matern(2.5, (0.2, 0.2))
NOISE = 0.15
SEEDS = range(8)
CENTRE_TO_CORNER = 2.0


def points(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).random((n, 2))


def covariance_of(kind: str, U: Floats) -> Floats:
    """0.1 times the covariance of one kind of reward functions."""
    if kind == "bumps":
        return 0.1 * bump_covariance(KERNEL, U, points(2000, 1))
    return 0.1 * KERNEL(U, U)


def release(kind: str, seed: int) -> tuple[Floats, Floats, Floats, list[Fit]]:
    """Landmarks, the truth on them, the observed values in units of their noise, and what is fitted
    to these."""
    U = points(90, 2)
    rng = np.random.default_rng(seed)
    truth = linalg.root(covariance_of(kind, U)) @ rng.normal(size=len(U))
    z = truth / NOISE + rng.normal(size=len(U))
    M = np.eye(len(U)) / NOISE
    level = Level(np.full(len(U), 1.0 / NOISE), 1e-6)
    return U, truth, z, candidates([KERNEL], U, M, z, level, 1, points(2000, 1))


def better(kind: str) -> float:
    """By how many nats bumps explain releases of a kind better than draws do, on average."""
    found = []
    for seed in SEEDS:
        _, _, _, fits = release(kind, seed)
        draws = max(fit.evidence for fit in fits if fit.bumps is None)
        found.append(max(fit.evidence for fit in fits if fit.bumps is not None) - draws)
    return float(np.mean(found))


def test_the_covariance_is_that_of_sums_of_bumps() -> None:
    U = points(5)
    P = points(40, 1)
    a = np.random.default_rng(2).normal(size=(40, 200_000))
    drawn = np.cov(KERNEL(U, P) @ a)
    K = bump_covariance(KERNEL, U, P)
    assert np.mean(np.diag(K)) == pytest.approx(1.0)
    assert np.allclose(drawn / np.mean(np.diag(drawn)), K, atol=0.02)  # its error is about 0.005


def test_sums_of_bumps_vary_less_in_a_corner_than_in_the_middle() -> None:
    U = np.array([[0.5, 0.5], [0.0, 0.0]])
    middle, corner = np.diag(bump_covariance(KERNEL, U, points(2000, 1)))
    assert middle > CENTRE_TO_CORNER * corner
    assert np.ptp(np.diag(KERNEL(U, U))) == pytest.approx(0.0)  # draws do not


def test_nothing_varies_where_no_bump_reaches() -> None:
    far = Matern(2.5, (1e-4, 1e-4))
    assert not bump_covariance(far, np.zeros((2, 2)), np.ones((3, 2))).any()


def test_the_evidence_tells_sums_of_bumps_from_draws() -> None:
    assert better("bumps") > 2.0
    assert better("draws") < -2.0


def test_what_is_read_of_a_sum_of_bumps_is_closer_to_it() -> None:
    with_bumps = 0.0
    without = 0.0
    for seed in SEEDS:
        U, truth, z, fits = release("bumps", seed)
        level = Level(np.full(len(U), 1.0 / NOISE), 1e-6)
        M = np.eye(len(U)) / NOISE
        beliefs = [over_scales(fit.covariance(U), M, z, level) for fit in fits]
        logs = [fit.evidence for fit in fits]
        draws = [i for i, fit in enumerate(fits) if fit.bumps is None]
        both = mixture(beliefs, logs)
        alone = mixture([beliefs[i] for i in draws], [logs[i] for i in draws])
        with_bumps += float(np.mean((both.mean - truth) ** 2))
        without += float(np.mean((alone.mean - truth) ** 2))
    assert with_bumps < 0.95 * without
