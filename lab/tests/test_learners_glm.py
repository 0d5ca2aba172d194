"""Stochastic gradients from local users: the mechanism, its mean, and the steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import rounds, setting, told
from tacit._typing import Floats
from tacit.design.features import clipped
from tacit_lab.arena.learners import glm_local
from tacit_lab.arena.learners.glm_local import (
    RADIUS,
    GLMLocal,
    GreedySGD,
    private_direction,
    sphere_radius,
)

FALSE_ALARM = 1e-7  # of each statistical test here; seeds are fixed
DRAWS = 8000
wild = st.floats(-1e6, 1e6)


def near(mechanism: Any, x: Floats, towards: Floats, epsilon: float = 1.0) -> int:
    """How many of the messages of one input lie on one side."""
    rng = np.random.default_rng(0)
    return sum(mechanism(x, RADIUS, epsilon, rng) @ towards > 0 for _ in range(DRAWS))


def within_epsilon(mechanism: Any, epsilon: float = 1.0) -> bool:
    """Whether the likeliest event, the side of the input, is e^epsilon times as likely as for the
    opposite input, and no more: a test of one binomial count, whose probability is known."""
    x = np.array([RADIUS, 0.0, 0.0])
    chance = 1.0 / (1.0 + math.exp(-epsilon))
    counts = near(mechanism, x, x, epsilon), DRAWS - near(mechanism, -x, x, epsilon)
    return all(stats.binomtest(n, DRAWS, chance).pvalue > FALSE_ALARM for n in counts)


def test_the_side_of_a_message_is_randomised_response() -> None:
    assert within_epsilon(private_direction)


def test_a_mechanism_that_spends_twice_as_much_is_caught() -> None:
    assert not within_epsilon(
        lambda x, radius, epsilon, rng: private_direction(x, radius, 2 * epsilon, rng)
    )


def test_a_mechanism_that_never_lies_is_caught() -> None:
    def honest(x: Floats, radius: float, epsilon: float, rng: Any) -> Floats:
        z = private_direction(x, radius, epsilon, rng)
        return z if z @ x > 0 else -z

    assert not within_epsilon(honest)


def test_only_the_side_of_a_message_depends_on_the_input() -> None:
    """Given its side a message is uniform: the squared cosine to the input is Beta(1/2, (d-1)/2)
    for every input; and all messages are equally long."""
    rng = np.random.default_rng(0)
    for x in (np.array([2.0, 0, 0, 0]), np.array([0.1, -0.4, 0.2, 0.0])):
        z = np.array([private_direction(x, RADIUS, 1.0, rng) for _ in range(DRAWS)])
        lengths = np.linalg.norm(z, axis=1)
        assert np.allclose(lengths, sphere_radius(4, RADIUS, 1.0))
        cosine = z @ x / lengths / np.linalg.norm(x)
        assert stats.kstest(cosine**2, stats.beta(0.5, 1.5).cdf).pvalue > FALSE_ALARM


def mean_is(x: Floats, radius: float) -> bool:
    """Whether messages have mean x: a z-test in each coordinate."""
    rng = np.random.default_rng(0)
    z = np.array([private_direction(x, radius, 2.0, rng) for _ in range(DRAWS)])
    errors = np.abs(z.mean(axis=0) - x) / (z.std(axis=0) / math.sqrt(DRAWS))
    return bool((errors < stats.norm.isf(FALSE_ALARM / len(x) / 2)).all())


def test_messages_have_the_gradient_as_their_mean() -> None:
    assert mean_is(np.array([0.9, -0.3, 0.6]), RADIUS)
    assert mean_is(np.zeros(3), RADIUS)
    assert not mean_is(np.array([0.9, -0.3, 0.6]), 0.6)  # a radius that the gradient passes


@given(st.lists(wild, min_size=5, max_size=5), wild, st.lists(wild, min_size=5, max_size=5))
def test_no_gradient_is_longer_than_the_radius(
    phi: list[float], reward: float, theta: list[float]
) -> None:
    one = object.__new__(GreedySGD)
    one.theta = np.array(theta)
    gradient = one.message(clipped(np.array([phi]), 1.0)[0], reward)
    assert np.linalg.norm(gradient) <= RADIUS * (1 + 1e-12)


def test_the_learner_sends_through_the_mechanism_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a mechanism that drops its input nothing is learned; and each round sends once."""
    sent = []

    def silent(x: Floats, radius: float, epsilon: float, rng: Any) -> Floats:
        sent.append((radius, epsilon))
        return np.zeros_like(x)

    monkeypatch.setattr(glm_local, "private_direction", silent)
    X, C, y = rounds(60)
    one = told(GLMLocal(setting(60, 0.7), np.random.default_rng(0)), X, C, y)
    assert not one.theta.any()
    assert sent == [(RADIUS, 0.7)] * 60


def test_without_privacy_steps_are_stochastic_gradients() -> None:
    X, C, y = rounds(60)
    one = told(GLMLocal(setting(60, math.inf), np.random.default_rng(0)), X, C, y)
    theta = np.zeros(one.phi.size)
    for t, (phi, reward) in enumerate(zip(one.phi(np.hstack([X, C])), y, strict=True), 1):
        theta -= one.c / (t + one.t0) * (np.tanh(phi @ theta) - reward) * phi
    assert np.allclose(one.theta, theta)


def test_more_noise_takes_fewer_features_and_shorter_steps() -> None:
    levels = (0.1, 10.0, math.inf)
    made = [GLMLocal(setting(200_000, e), np.random.default_rng(0)) for e in levels]
    sizes = [one.phi.size for one in made]
    assert sizes[0] < sizes[1] < sizes[2]
    steps = [one.c / (1 + one.t0) for one in made]
    assert steps[0] < steps[1] < steps[2] <= 1.0
