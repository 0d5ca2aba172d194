"""Planned against measured: reward functions of the prior, and when a promise is kept."""

from __future__ import annotations

import numpy as np
import pytest

from tacit_lab.benchmarks import planned
from tacit_lab.benchmarks.planned import (
    DEFAULT,
    POOLED,
    SETTINGS,
    SIGNAL,
    PooledWaves,
    Result,
    Setting,
    problem_of,
)


@pytest.mark.parametrize("contexts", [3, 20])
def test_pooled_functions_have_the_covariance_of_the_default_kernel(
    contexts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within five standard errors of 20 000 functions; frequencies are drawn anew for each 200."""
    monkeypatch.setattr(planned, "WAVES", 300)
    rng = np.random.default_rng(0)
    problem = problem_of(Setting(1, contexts, DEFAULT, 100, 1.0, 1))
    points = rng.random((8, 1 + contexts))
    values = np.hstack([PooledWaves(problem, 200, rng)(points) for _ in range(100)])
    K = problem.k(points, points)
    error = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / values.shape[1])
    off = np.abs(values @ values.T / values.shape[1] / SIGNAL**2 - K)
    allowed = 5 * error + 0.01
    assert (off < allowed).all()
    assert (allowed < 0.1).all()


def test_standard_errors_count_only_where_functions_are_few() -> None:
    stated = Result(SETTINGS[0], planned=0.1, measured=0.14, standard_error=0.02, uniform=0.3)
    assert not stated.holds
    pooled = Result(POOLED[0], planned=0.1, measured=0.14, standard_error=0.02, uniform=0.3)
    assert pooled.holds
    assert not Result(POOLED[0], 0.1, 0.2, 0.02, 0.3).holds
