"""The width of windows: as wide as pays, and narrow enough for what they blur."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import tacit
from evaluated import NOW, design, learned, rounds
from helpers import small_problem
from tacit import EvaluationOptions
from tacit.evaluation import EvaluationDesign
from tacit.evaluation.choosing import MOST_BIAS, _Residuals, _unclipped, residual_square
from tacit.evaluation.design import public_contexts
from tacit.evaluation.estimates import Estimate

PROBLEM = small_problem()
POLICY = learned()
POLICIES: dict[str, Any] = {"learned": POLICY, "now": NOW}


def asked(records: int, epsilon: float) -> EvaluationDesign:
    return design(POLICIES, records, budget=tacit.Budget(epsilon, 1e-6))


def scores(found: EvaluationDesign) -> Any:
    """psi of rounds of uniform play, and the differences of all others from the last."""
    log = rounds(20_000, seed=3)
    X = small_problem().actions.encode({"dose": log["dose"]})
    C = small_problem().contexts.encode({"age": log["age"], "weight": log["weight"]})
    psi, _ = found.scorer.scores(X, C, small_problem().scale_reward(log["reward"]), None)
    return np.hstack([psi, psi[:, :-1] - psi[:, -1:]])


def noise(found: EvaluationDesign) -> Any:
    """The standard deviations of the privacy noise in values and differences."""
    encoding = found.encoding
    scale = tacit.core.release_event(encoding, found.budget).scale / encoding.bound
    return found.layout.noises(found.records, scale / found.records)


def bias(found: EvaluationDesign) -> float:
    """What windows may blur, in standard errors that rounds really have."""
    errors = np.sqrt(scores(found).var(axis=0) / found.records + noise(found) ** 2)
    return float(np.max(np.array(found.windows) / errors))


def held(bias: float, most: float) -> float:
    """How often an interval holds a truth that is so many standard errors away from where estimates
    lie, if it has room for `most` of them."""
    half = Estimate(0.0, sampling=1.0, noise=0.0, window=most).half_width
    return float(ndtr(half - bias) - ndtr(-half - bias))


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
    monkeypatch.setattr("tacit.evaluation.choosing.TRIED", 1)
    assert bias(asked(20_000, 10.0)) > 1.5 * MOST_BIAS


@pytest.mark.parametrize(("most", "good"), [(MOST_BIAS, True), (0.7, False)])
def test_intervals_hold_with_and_without_what_windows_may_blur(most: float, good: bool) -> None:
    """Between 93 and 98 %, without any bias and with 1.4 times as much as is expected."""
    assert (held(0.0, most) <= 0.98 and held(1.4 * most, most) >= 0.93) == good


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_the_noise_of_narrow_windows_follows_from_that_of_the_widest(epsilon: float) -> None:
    """Within 10 %; without the weights it would be off by half."""
    budget = tacit.Budget(epsilon, 1e-6)
    wide, narrow = (
        noise(design(POLICIES, 5_000, budget=budget, options=EvaluationOptions(window=width)))
        for width in (0.2, 0.1)
    )
    assert narrow == pytest.approx(2.0 * wide, rel=0.1)


def test_policies_that_agree_have_differences_that_vary_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those whose windows overlap by four fifths, in real rounds and as it is expected; not if
    overlaps are forgotten."""
    near: dict[str, Any] = {"near": {"dose": 34.0}, "learned": POLICY, "now": NOW}
    found = design(near, 5_000, options=EvaluationOptions(window=0.2))
    varies = scores(found).var(axis=0)
    assert varies[3] < 0.6 * varies[2] < 0.6 * varies[4]
    residuals = _Residuals.of(found.scorer.candidates, POLICY, public_contexts(PROBLEM, POLICY), 2)
    expected = residuals.squares(found.scorer.window)
    assert expected[3] < 0.6 * expected[2] < 0.6 * expected[4]
    monkeypatch.setattr(_Residuals, "_overlaps", lambda self, window: np.eye(3))
    assert residuals.squares(found.scorer.window)[3] > expected[2]


def test_one_prediction_serves_all_windows() -> None:
    wide, narrow = (
        design(POLICIES, 500, options=EvaluationOptions(window=width)).scorer
        for width in (0.2, 0.1)
    )
    rng = np.random.default_rng(0)
    X = rng.random((300, 1))
    C = rng.random((300, 2))
    y = rng.uniform(-1.0, 1.0, 300)
    psi, usable = narrow.scores(X, C, y, None)
    again, also = narrow.weighed(wide.predicted(X, C, y, None))
    assert np.array_equal(psi, again)
    assert np.array_equal(usable, also)
    assert not np.array_equal(psi, wide.scores(X, C, y, None)[0])


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
