"""A study that begins with what another one has learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers import BUDGET, sqlite
from tacit import Box, Budget, DesignOptions, InputError, Matern, Policy, Problem, Study
from tacit.decoder.decoding import LEVEL_VARIANCE
from tacit.decoder.observations import GroupObservation
from tacit.epochs import Course
from tacit.epochs.prior import as_earlier

PROBLEM = Problem(Box.of(x=(0, 1)), Box.of(c=(0, 1)), Matern(2.5, 0.3), reward_range=(-1, 1))
OPTIONS = DesignOptions(rank=30, seed=0)


def other_study() -> Policy:
    """The best action is the context."""
    rng = np.random.default_rng(0)
    course = Course(PROBLEM, [2000], Budget(3.0, 1e-6), rng, options=OPTIONS)
    contexts = rng.random((2000, 1))
    actions, _ = course.play(contexts)
    rewards = 1.0 - 4.0 * np.abs(actions - contexts)[:, 0]
    return course.learn(np.hstack([actions, contexts]), np.clip(rewards, -1, 1))


def test_a_policy_is_an_observation_that_gives_its_posterior_again() -> None:
    policy = other_study()
    posterior = policy.posterior
    earlier = as_earlier(policy)
    seen = GroupObservation(earlier.observation, earlier.features, has_gain=False).at(4.0)
    assert policy.releases
    L = policy.releases[-1].design.features.L
    prior = np.append(np.full(posterior.rank, 1.0 / posterior.scale), 1.0 / LEVEL_VARIANCE)
    mean = np.linalg.solve(seen.A.T @ seen.A + np.diag(prior), seen.A.T @ seen.z)
    assert mean[-1] == pytest.approx(posterior.level, abs=1e-6)
    assert np.allclose(mean[:-1], L.T @ posterior.weights, atol=1e-6)


def test_the_first_epoch_is_played_by_what_the_other_study_has_learned(tmp_path: Path) -> None:
    study = Study.create(
        sqlite(tmp_path),
        PROBLEM,
        horizon=120,
        budget=BUDGET,
        epochs=[60, 60],
        options=OPTIONS,
        prior=other_study(),
    )
    contexts = np.random.default_rng(1).random((60, 1))
    decisions = study.ask_many(contexts)
    assert {decision.mode for decision in decisions} >= {"learn"}
    played = np.array([decision.action["x"] for decision in decisions])
    assert np.mean(np.abs(played - contexts[:, 0]) < 0.2) > 0.7
    study.tell_many(decisions, 1.0 - 4.0 * np.abs(played - contexts[:, 0]))
    study.advance()
    policy = Study.open(sqlite(tmp_path)).policy
    decided = policy.decide_points(np.linspace(0.1, 0.9, 9)[:, None])
    assert np.abs(decided[:, 0] - np.linspace(0.1, 0.9, 9)).max() < 0.2
    # The prior was learned with a seed, and that is never forgotten.
    assert not policy.private
    # Its people are others: what they were promised is no part of this promise.
    assert policy.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)


def test_the_policy_of_another_problem_is_refused(tmp_path: Path) -> None:
    other = Problem(Box.of(x=(0, 2)), Box.of(c=(0, 1)), Matern(2.5, 0.3), reward_range=(-1, 1))
    with pytest.raises(InputError, match="another problem"):
        Study.create(
            sqlite(tmp_path), other, horizon=120, budget=BUDGET, epochs=2, prior=other_study()
        )
    with pytest.raises(InputError, match="epochs"):
        Study.create(sqlite(tmp_path), PROBLEM, horizon=120, budget=BUDGET, prior=other_study())
