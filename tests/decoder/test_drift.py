"""What releases about different people say together, and reward functions that change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from helpers import BUDGET, build_design, records, small_problem
from tacit import Box, Budget, DesignOptions, Matern, Problem, refine
from tacit._typing import Floats
from tacit.decoder import WhitenedObservation, decoding
from tacit.decoder.averaging import over_scales
from tacit.decoder.decoding import _Group, by_people, observe
from tacit.decoder.drift import Prior, carried, over_epochs
from tacit.decoder.evidence import Level
from tacit.decoder.observations import combined, innovations
from tacit.design import Design
from tacit.epochs import Course, Shares
from tacit.epochs.summary import epoch_facts
from tacit.residual.clipping import clipping, secant_response

SIZE = 4


def random_observation(rng: np.random.Generator) -> WhitenedObservation:
    return WhitenedObservation(rng.normal(size=(SIZE + 1, SIZE + 1)), rng.normal(size=SIZE + 1))


def dense(
    observed: list[WhitenedObservation], retention: float, prior: Prior
) -> tuple[Floats, Floats, float]:
    """Mean and covariance of the last weights, and the log density of all that was observed, from
    the joint normal law of everything."""
    n = len(observed)
    size = SIZE + 1
    stationary = np.zeros((size, size))
    stationary[:-1, :-1] = prior.covariance
    joint = np.zeros((n * size, n * size))
    for i in range(n):
        for j in range(n):
            block = retention ** abs(i - j) * stationary
            # The last level has variance 1, and each earlier one is a step of a random walk off.
            steps = min(n - 1 - i, n - 1 - j)
            block[-1, -1] = 1.0 + steps * (1.0 - retention**2) * prior.scale
            joint[i * size : (i + 1) * size, j * size : (j + 1) * size] = block
    A = np.zeros((n * size, n * size))
    for i, each in enumerate(observed):
        A[i * size : (i + 1) * size, i * size : (i + 1) * size] = each.A
    z = np.concatenate([each.z for each in observed])
    S = A @ joint @ A.T + np.eye(n * size)
    gain = (joint @ A.T @ np.linalg.inv(S))[-size:]
    covariance = joint[-size:, -size:] - gain @ A @ joint[:, -size:]
    return gain @ z, covariance, float(multivariate_normal(cov=S).logpdf(z))


@pytest.mark.parametrize("retention", [1.0, 0.7, 0.0])
def test_epochs_of_a_changing_world_are_read_as_their_joint_law_says(retention: float) -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(SIZE, SIZE))
    prior = Prior(Matern(2.5, 0.3), 0.3, root @ root.T)
    observed = [random_observation(rng) for _ in range(3)]
    mean, covariance, density = dense(observed, retention, prior)

    seen = over_epochs(observed, [retention] * 2, prior)
    prior_precision = np.zeros((SIZE + 1, SIZE + 1))
    prior_precision[:-1, :-1] = np.linalg.inv(prior.covariance)
    prior_precision[-1, -1] = 1.0
    precision = seen.A.T @ seen.A + prior_precision
    assert np.allclose(np.linalg.inv(precision), covariance)
    assert np.allclose(np.linalg.solve(precision, seen.A.T @ seen.z), mean)
    S = seen.A @ np.linalg.inv(prior_precision) @ seen.A.T + np.eye(SIZE + 1)
    last = float(multivariate_normal(cov=S).logpdf(seen.z))
    beyond = 2 * (SIZE + 1) * np.log(2 * np.pi) / 2
    assert last - beyond - seen.rest / 2 == pytest.approx(density)


def test_nothing_is_known_of_a_world_that_is_another_one() -> None:
    seen = random_observation(np.random.default_rng(1))
    prior = Prior(Matern(2.5, 0.3), 0.1, np.eye(SIZE))
    assert carried(seen, 1.0, prior) is seen
    assert np.allclose(carried(seen, 0.0, prior).A[:, :-1], 0.0)


@pytest.mark.parametrize("gain", [1.0, 2.5])
def test_a_group_says_at_every_gain_what_its_passes_say(gain: float) -> None:
    problem = small_problem()
    data = records(300)
    design = build_design(problem, horizon=300, budget=BUDGET, rng=0, rank=12, passes=2)
    early = design.statistic().add(*data).simulate_release(np.random.default_rng(1))
    policy = refine(early).statistic().add(*data).simulate_release(np.random.default_rng(2))
    (passes,) = by_people(policy.releases)

    direct = combined(innovations(_Group(passes).observations(gain)))
    summed = observe(passes).at(gain)
    assert np.allclose(summed.A.T @ summed.A, direct.A.T @ direct.A)
    assert np.allclose(summed.A.T @ summed.z, direct.A.T @ direct.z)
    level = Level(np.zeros(len(direct.z)), 1.0)
    assert over_scales(np.eye(12), direct.A[:, :-1], direct.z, level).evidence < 0


def world(shift: float, contexts: Floats, actions: Floats) -> Floats:
    """The best action is the context, moved by `shift` around the circle."""
    off = np.abs((actions[:, 0] - contexts[:, 0] - shift + 0.5) % 1.0 - 0.5)
    return 1.0 - 4.0 * off


def play_worlds(shifts: list[float], rounds: int = 1500) -> Course:
    problem = Problem(Box.of(x=(0, 1)), Box.of(c=(0, 1)), Matern(2.5, 0.3), reward_range=(-1, 1))
    rng = np.random.default_rng(0)
    sizes = [rounds] * len(shifts)
    options = DesignOptions(rank=40, public_points=4000)
    course = Course(
        problem, sizes, Budget(3.0, 1e-6), rng, shares=Shares(explore=0.1), options=options
    )
    for shift in shifts:
        contexts = rng.random((rounds, 1))
        actions, _ = course.play(contexts)
        rewards = world(shift, contexts, actions) + rng.normal(0, 0.1, rounds)
        course.learn(np.hstack([actions, contexts]), np.clip(rewards, -1, 1))
    return course


def value(course: Course, epoch: int, shift: float) -> float:
    contexts = np.linspace(0, 1, 50)[:, None]
    return float(world(shift, contexts, course.policies[epoch].decide_points(contexts)).mean())


def test_a_study_whose_world_changes_notices_and_recovers() -> None:
    """Seeds are fixed: 0.96 and 0.95 were found, and -0.37 where no change is reckoned with."""
    course = play_worlds([0.0, 0.0, 0.4, 0.4, 0.4])
    assert value(course, 1, 0.0) > 0.8
    retained = [policy.posterior.retention for policy in course.policies]
    assert retained[:2] == [1.0, 1.0]
    assert min(retained[2:]) < 0.8
    assert value(course, 4, 0.4) > 0.7


def test_a_world_that_stays_is_not_said_to_change() -> None:
    course = play_worlds([0.0, 0.0, 0.0])
    assert [policy.posterior.retention for policy in course.policies] == [1.0, 1.0, 1.0]
    assert value(course, 2, 0.0) > 0.85


def test_a_new_world_is_a_draw_from_the_prior_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise it could be flat, which explains an epoch that plays nothing but good actions, and
    all that was learned before would be forgotten."""
    policy = play_worlds([0.0, 0.0]).policy
    assert policy.posterior.retention == 1.0
    monkeypatch.setattr(decoding.ExpectedMean, "contradicted_by", lambda *_: True)
    monkeypatch.setattr(decoding, "CHANGED", -1e6)  # a change, at any price
    changed = decoding.decode(policy.releases)
    assert changed.retention < 1.0
    assert changed.scale == pytest.approx(policy.posterior.scale)


def test_a_mean_reward_that_nobody_expected_is_a_change() -> None:
    (parts,) = by_people(play_worlds([0.0, 0.0]).policy.releases)[-1]
    rewards = replace(parts, design=replace(parts.design, residual=None))
    high = replace(rewards, sums=rewards.sums._replace(mean=0.9 * rewards.records))
    assert decoding.ExpectedMean(0.0, 1e-4).contradicted_by(high)
    assert not decoding.ExpectedMean(0.9, 1e-4).contradicted_by(high)
    assert not decoding.ExpectedMean(0.0, 1.0).contradicted_by(high), "little was known"


def test_the_design_of_an_epoch_is_the_same_after_it_was_written_down() -> None:
    course = play_worlds([0.0], rounds=300)
    course.sizes = [300, 300]
    rng = np.random.default_rng(1)
    from tacit.epochs import EpochPlay, Learned, cohort_of, next_epoch

    policy = course.policy
    law = EpochPlay(course.problem, Shares(), Learned.of(policy.posterior, rng), private=False)
    design = next_epoch(policy, law, cohort_of(2, 300, 300), budget=BUDGET, rng=rng)
    again = Design.restore(design.problem, design.facts(), design.arrays())
    assert again.fingerprint == design.fingerprint
    assert again.cohort == design.cohort
    assert not again.private
    (kept,) = again.earlier
    assert np.array_equal(kept.observation, design.earlier[0].observation)
    assert kept.guarantee == design.earlier[0].guarantee


def test_residuals_that_are_all_cut_off_still_say_how_far_off_they_are() -> None:
    clip = 0.2
    assert secant_response(0.8, 0.99 * clip**2, clip) == pytest.approx(clip / 0.8, rel=0.05)
    inside, kept = clipping(1.5)
    small = secant_response(0.0, kept * (clip / 1.5) ** 2, clip)
    assert small == pytest.approx(inside, rel=0.05)


def test_the_error_of_a_mean_reward_holds_sampling_where_records_add_residuals() -> None:
    course = play_worlds([0.0, 0.0])
    policy = course.policy
    assert policy.releases
    first = by_people(policy.releases)[-1][0]
    assert not first.adds_rewards
    privacy = first.block_noise("mean") / first.records
    stated = epoch_facts(policy, 2)["mean_reward_std"]
    assert stated**2 > privacy**2 + 0.05 / first.records  # rewards have a variance of 0.3
