"""The width of windows: as wide as pays, and narrow enough for what they blur."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from evaluated import NOW, design, learned, rounds
from helpers import small_problem
from tacit.evaluation import EvaluationDesign
from tacit.evaluation.choosing import MOST_BIAS, _unclipped, residual_square

POLICY = learned()
POLICIES: dict[str, Any] = {"learned": POLICY, "now": NOW}


def asked(records: int, epsilon: float) -> EvaluationDesign:
    return design(POLICIES, records, budget=tacit.Budget(epsilon, 1e-6))


def bias(found: EvaluationDesign) -> float:
    """What the windows of values may blur, in standard errors that rounds really have."""
    log = rounds(20_000, seed=3)
    X = small_problem().actions.encode({"dose": log["dose"]})
    C = small_problem().contexts.encode({"age": log["age"], "weight": log["weight"]})
    psi, _ = found.scorer.scores(X, C, small_problem().scale_reward(log["reward"]), None)
    inverse = np.linalg.inv(found.mix.matrix)
    encoding = found.encoding
    scale = tacit.core.release_event(encoding, found.budget).scale / encoding.bound
    noise = (scale / found.records) ** 2 * np.diag(inverse @ inverse.T)[:2]
    errors = np.sqrt(psi.var(axis=0) / found.records + noise)
    return float(np.max(np.array(found.windows[:2]) / errors))


def test_windows_are_narrower_where_more_is_known() -> None:
    widths = [asked(n, epsilon).scorer.window.width for n, epsilon in WIDER_TO_NARROWER]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 0.2
    assert widths[-1] < 0.15


WIDER_TO_NARROWER = ((500, 0.3), (20_000, 10.0), (200_000, 10.0))


def test_what_windows_blur_is_a_fraction_of_the_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of real rounds, whose errors are guessed from public numbers; and more without that rule."""
    assert bias(asked(20_000, 10.0)) <= 1.5 * MOST_BIAS
    monkeypatch.setattr("tacit.evaluation.choosing.MOST_BIAS", np.inf)
    monkeypatch.setattr("tacit.evaluation.choosing.WIDTHS", (0.2,))
    assert bias(asked(20_000, 10.0)) > 1.5 * MOST_BIAS


def test_the_residuals_of_a_clipped_normal_law_are_found() -> None:
    r = np.random.default_rng(0).normal(0.0, 0.4, 200_000)
    for clip in (0.2, 0.5, 2.0):
        square = float(np.mean(np.minimum(r**2, clip**2)))
        assert _unclipped(square, clip) == pytest.approx(0.16, rel=0.03)


def test_residuals_are_guessed_from_what_learning_released() -> None:
    """Rewards have uniform noise of +-0.2 around a mean, in units of half their range: 0.013. They
    vary less near an end of their range."""
    assert 0.005 <= residual_square(POLICY, 0.0) <= 0.1
    of_two_passes = replace(POLICY, facts=POLICY.facts | {"residual_clip": 1.0})
    assert residual_square(of_two_passes, 0.9) < residual_square(of_two_passes, 0.0)
