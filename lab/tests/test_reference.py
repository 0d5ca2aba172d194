"""The reference problem of `tacit_lab.benchmarks.reference` at T = 10^4: it must stay solved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Design
from tacit_lab.benchmarks import reference


@pytest.fixture(scope="module")
def design() -> Design:
    built = reference.reference_design(10_000, 1.0)
    assert isinstance(built, Design)
    return built


def test_ten_thousand_rounds_at_epsilon_one_leave_an_error_of_at_most_four_hundredths(
    design: Design,
) -> None:
    errors, uniform = np.array([reference.study(design, seed) for seed in range(4)]).T
    assert errors.mean() <= 0.04
    assert uniform.mean() > 0.2  # the problem is not an easy one


def test_shuffled_rewards_are_far_worse(design: Design) -> None:
    """The bound above can fail: without the link from action to reward nothing is learned."""
    errors = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        f = reference.random_function(rng)
        x, c, y = reference.play(f, design.horizon, rng)
        policy = design.statistic().add(x, c, rng.permutation(y)).simulate_release(rng)
        errors.append(reference.error_rate(f, policy))
    assert np.mean(errors) > 0.1


def test_the_best_action_has_no_error_and_uniform_play_has_the_mean_one() -> None:
    """The yardstick itself, on a function whose best action is known: f = 0.9 - (x - c)^2."""

    class Oracle:
        def decide(self, contexts: np.ndarray) -> np.ndarray:
            return contexts

    def f(w: np.ndarray) -> np.ndarray:
        return 0.9 - (w[:, 0] - w[:, 1]) ** 2

    oracle: Any = Oracle()
    assert reference.error_rate(f, oracle) == pytest.approx(0.0, abs=1e-12)
    assert reference.uniform_error_rate(f) == pytest.approx(1 / 6, abs=2e-3)  # E (x - c)^2
