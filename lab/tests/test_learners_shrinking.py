"""Learners that explore at random and shrink: what an epoch lets out moves as little as its noise
assumes, others' actions depend on it alone, and the published steps are done."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learner_studies import REPLACED, mean_reward, neighbours, problem, rounds, setting, told
from tacit._typing import Floats
from tacit.design.features import clipped
from tacit_lab.arena.learners import features, kernel_projected, linear_weighted
from tacit_lab.arena.learners.gp_threds import GPThreDS, halves
from tacit_lab.arena.learners.igpucb import FAILURE, IGPUCB, B
from tacit_lab.arena.learners.kernel_projected import KernelProjected, KernelProjectedLocal
from tacit_lab.arena.learners.linear_weighted import LinearWeighted, fixed_point, weighted_sum
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.learners.shrinking import Information, Shrinking, epoch_sizes
from tacit_lab.arena.mechanisms import noise_rho

SLACK = 1 + 1e-9
wild = st.floats(-1e6, 1e6)
vectors = st.lists(wild, min_size=3, max_size=3)


class Recorded(Shrinking):
    """Keeps what it lets out, epoch by epoch. To be mixed in before a private learner."""

    def released(self, *args: Any) -> Floats:
        self.out = [*getattr(self, "out", []), super().released(*args)]  # type: ignore[misc]
        return self.out[-1]


class RecordedJoint(Recorded, KernelProjected):
    sensitivity = kernel_projected.SENSITIVITY


class RecordedLocal(Recorded, KernelProjectedLocal):
    sensitivity = kernel_projected.SENSITIVITY


class RecordedWeighted(Recorded, LinearWeighted):
    sensitivity = linear_weighted.SENSITIVITY


KINDS = [RecordedJoint, RecordedLocal, RecordedWeighted]


def moves(kind: Any, replaced: tuple[int, float, float, float]) -> Floats:
    """How far each epoch's release moves. Both learners draw the same noise."""
    one, two = neighbours(kind, *replaced)
    return np.array([np.linalg.norm(a - b) for a, b in zip(one.out, two.out, strict=True)])


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("replaced", REPLACED)
def test_one_release_moves_and_no_further_than_its_noise_assumes(
    kind: Any, replaced: tuple[int, float, float, float]
) -> None:
    found = moves(kind, replaced)
    assert len(found) == 4
    assert np.count_nonzero(found) == 1
    assert found.max() <= kind.sensitivity * SLACK


@pytest.mark.parametrize("replaced", REPLACED)
def test_a_weighted_release_moves_no_further_than_its_noise_assumes(
    replaced: tuple[int, float, float, float],
) -> None:
    """Later epochs are weighted by what earlier ones let out, so their releases may differ: for
    either output of the earlier ones, which the two share, they do not depend on the round."""
    found = moves(RecordedWeighted, replaced)
    epoch = int(np.searchsorted(np.cumsum(epoch_sizes(60)), replaced[0], side="right"))
    assert not found[:epoch].any()
    assert 0 < found[epoch] <= RecordedWeighted.sensitivity * SLACK


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_that_forgets_to_clip_is_caught(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "clipped", lambda Phi, _: 3.0 * Phi)
    assert moves(kind, REPLACED[2]).max() > kind.sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_of_rewards_that_nobody_clips_is_caught(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn(self: Any, points: Floats, rewards: Floats) -> None:
        self.done.append(self.inform(self.phi(points), rewards))
        self._bounds.append(self.done[-1].posterior())

    monkeypatch.setattr(Shrinking, "learn", learn)
    assert moves(kind, REPLACED[3]).max() > kind.sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_every_epoch_spends_the_budget_of_the_people_in_it(kind: Any) -> None:
    one = kind(setting(1000), np.random.default_rng(0))
    spent = kind.sensitivity**2 / (2 * one.sigma**2)
    rho = noise_rho(one.setting)
    assert 0.99 * rho <= spent <= rho * SLACK
    assert sum(one.sizes) == 1000  # so that a round is in one epoch


def plausible(noise: Floats, sigma: float) -> bool:
    """Of this size: chi-square, false-alarm rate 1e-7."""
    low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], noise.size)
    return bool(low < float(np.sum(noise**2)) / sigma**2 < high)


def test_releases_have_the_noise_that_they_should() -> None:
    Phi = clipped(np.random.default_rng(1).normal(size=(50, 40)), 1.0)
    y = np.ones(50)
    joint = KernelProjected(setting(), np.random.default_rng(0))
    local = KernelProjectedLocal(setting(), np.random.default_rng(0))
    weighted = LinearWeighted(setting(), np.random.default_rng(0))
    for noise, sigma in (
        (joint.released(Phi, y) - Phi.T @ y, joint.sigma),
        (local.messages(Phi, y) - Phi * y[:, None], local.sigma),
        (local.released(Phi, y) - Phi.T @ y, local.released_sigma(50)),
        (
            weighted.released(Phi, y, np.eye(40)) - weighted_sum(Phi, y, np.eye(40)),
            weighted.sigma,
        ),
    ):
        assert plausible(noise, sigma)
        assert not plausible(noise, 4.0 * sigma)
        assert not plausible(noise, sigma / 4.0)


def test_what_leaves_a_user_is_private_by_itself() -> None:
    """Any two users' messages differ by at most the sensitivity, noise apart."""
    sent = []
    for phi, y in ((np.array([[1.0, 0.0]]), 1.0), (np.array([[1.0, 0.0]]), -1.0)):
        one = object.__new__(KernelProjectedLocal)
        one.sigma = 5.0
        one.rng = np.random.default_rng(0)
        sent.append(one.messages(phi, np.array([y])))
    assert np.linalg.norm(sent[0] - sent[1]) == pytest.approx(kernel_projected.SENSITIVITY)


@pytest.mark.parametrize("kind", [Shrinking, KernelProjected, LinearWeighted])
def test_within_an_epoch_nobody_plays_by_what_the_others_said(kind: Any) -> None:
    played = []
    for first in (0.1, 0.9):
        C = rounds(60)[1]
        C[0] = first
        one = kind(setting(60, 1.0), np.random.default_rng(0))
        played.append(one.play(C, lambda a, c: mean_reward(a, c)))
    assert np.array_equal(played[0][1:4], played[1][1:4])  # the first epoch has four rounds


# -- information weights --------------------------------------------------------------------------


@given(vectors, vectors, wild, wild, st.integers(0, 20))
def test_one_round_moves_the_weighted_sum_by_at_most_the_sensitivity(
    a: list[float], b: list[float], y: float, z: float, seed: int
) -> None:
    root = np.random.default_rng(seed).normal(size=(3, 3)) * np.array([1e-3, 1.0, 1e3])
    U = root.T @ root
    one, two = (
        weighted_sum(clipped(np.array([phi]), 1.0), np.clip([reward], -1.0, 1.0), U)
        for phi, reward in ((a, y), (b, z))
    )
    assert np.linalg.norm(one - two) <= linear_weighted.SENSITIVITY * SLACK


def test_the_sensitivity_of_weighted_sums_is_approached() -> None:
    """Two vectors that are close, and that U turns into opposite directions."""
    U = np.diag([1e-6, 1.0])
    one, two = (
        weighted_sum(clipped(np.array([[1.0, sign * 1e-3]]), 1.0), np.ones(1), U)
        for sign in (1.0, -1.0)
    )
    apart = float(np.linalg.norm(one - two))
    assert 0.999 * linear_weighted.SENSITIVITY < apart <= linear_weighted.SENSITIVITY * SLACK


def test_a_round_without_features_adds_nothing() -> None:
    assert not weighted_sum(np.zeros((1, 3)), np.ones(1), np.eye(3)).any()


def test_weights_solve_their_equation_and_bound_the_error() -> None:
    """U A U + shrink U = I; and the mean of |U phi| is at most the number of features, however
    unevenly they are spread."""
    Phi = np.random.default_rng(0).normal(size=(2000, 4)) * np.array([1.0, 0.3, 0.03, 0.001])
    Phi = clipped(Phi, 1.0)
    shrink = 0.01
    U = fixed_point(Phi, shrink)
    lengths = np.linalg.norm(Phi @ U, axis=1)
    A = Phi.T @ (Phi / lengths[:, None]) / len(Phi)
    assert np.allclose(U @ A @ U + shrink * U, np.eye(4), atol=1e-6)
    assert lengths.mean() <= 4.0
    assert np.linalg.norm(Phi @ np.linalg.inv(Phi.T @ Phi / len(Phi)), axis=1).mean() > 100.0


def test_with_little_noise_a_weighted_release_gives_theta_back() -> None:
    one = LinearWeighted(setting(600, 1e4), np.random.default_rng(0))
    Phi = one.phi(problem().public_points(600, np.random.default_rng(1)))
    theta = np.random.default_rng(2).normal(size=one.phi.size) * math.sqrt(PRIOR)
    found, _ = one.inform(Phi, Phi @ theta).posterior()
    assert np.std(Phi @ (found - theta)) < 0.05 * np.std(Phi @ theta)


# -- epochs ---------------------------------------------------------------------------------------


def test_epochs_double_and_fill_the_horizon() -> None:
    assert epoch_sizes(3000) == [200, 400, 800, 1600]
    assert all(sum(epoch_sizes(T)) == T and min(epoch_sizes(T)) > 0 for T in (1, 2, 17, 96, 5001))


def test_epochs_together_are_the_posterior_of_all_rounds() -> None:
    X, C, y = rounds(60)
    one: Any = told(Shrinking(setting(60, math.inf), np.random.default_rng(0)), X, C, y)
    Phi = one.phi(np.hstack([X, C]))
    ridge = 0.1**2 / PRIOR * np.eye(one.phi.size)
    right = Phi @ np.linalg.solve(Phi.T @ Phi + ridge, Phi.T @ y)
    assert np.allclose(one.mean(np.hstack([X, C])), right, atol=1e-6)


def test_actions_are_ruled_out_and_not_the_best() -> None:
    one = Shrinking(setting(400, math.inf), np.random.default_rng(0))
    actions = one.play(rounds(400)[1], mean_reward)
    left = one.menu[one.alive(np.array([[0.3]]))[0]][:, 0]
    assert len(left) < len(one.menu) / 2
    assert left.min() <= 0.7 <= left.max()
    assert mean_reward(actions[-200:], rounds(400)[1][-200:]).mean() > 0.6


def errors_over_their_variance() -> Floats:
    """|estimate - truth|^2 over what the posterior expects, one mean for each of 40 draws of theta
    from the prior."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng([7, seed])
        one = KernelProjected(setting(600, 2.0), rng)
        theta = math.sqrt(PRIOR) * rng.standard_normal(one.phi.size)
        Phi = one.phi(problem().public_points(600, rng))
        found, S = one.inform(Phi, Phi @ theta + 0.1 * rng.standard_normal(600)).posterior()
        at = one.phi(problem().public_points(50, rng))
        ratios.append(np.mean((at @ (found - theta)) ** 2 / np.einsum("nd,de,ne->n", at, S, at)))
    return np.array(ratios)


def test_the_projected_estimate_knows_how_wrong_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean ratio is 1 to within 6 standard errors: false-alarm rate below 1e-7. Noise of a
    third of the size is not believed."""
    ratios = errors_over_their_variance()
    assert abs(ratios.mean() - 1.0) < 6.0 * ratios.std() / math.sqrt(len(ratios))
    monkeypatch.setattr(KernelProjected, "released_sigma", lambda self, _: self.sigma / 3.0)
    ratios = errors_over_their_variance()
    assert ratios.mean() - 1.0 > 6.0 * ratios.std() / math.sqrt(len(ratios))


def test_information_adds_up() -> None:
    one = Information(np.eye(2), np.ones(2))
    mean, S = (one + one).posterior()
    assert np.allclose(S, np.eye(2) / (2 + 1 / PRIOR))
    assert np.allclose(mean, 2 / (2 + 1 / PRIOR))


# -- without privacy ------------------------------------------------------------------------------


def test_the_improved_width_is_the_published_one() -> None:
    """beta = B + R sqrt(2 (log det(I + K / lambda) / 2 + 1 + log(1 / delta))), and the posterior
    has lambda = 1 + 2 / T for a kernel of variance 1."""
    X, C, y = rounds(30)
    one: Any = told(IGPUCB(setting(30, math.inf), np.random.default_rng(0)), X, C, y)
    lam = 1.0 + 2.0 / 30
    Phi = one.phi(np.hstack([X, C]))
    gain = 0.5 * np.linalg.slogdet(np.eye(30) + Phi @ Phi.T / lam)[1]
    beta = B + 0.1 * math.sqrt(2.0 * (gain + 1.0 + math.log(1.0 / FAILURE)))
    at = one.phi(np.random.default_rng(1).random((9, 2)))
    V = Phi.T @ Phi + lam * np.eye(one.phi.size)
    sigma = np.sqrt(lam * np.einsum("nd,nd->n", at @ np.linalg.inv(V), at))
    assert np.allclose(one.width * one.posterior.std(at), beta * sigma, atol=1e-8)
    assert np.allclose(one.posterior.mean(at), at @ np.linalg.solve(V, Phi.T @ y), atol=1e-8)


def fixed_reward(actions: Floats, contexts: Floats) -> Floats:
    """Best at 0.3, with something for contexts to do."""
    return 0.6 - 2.0 * np.abs(actions[:, 0] - 0.3) + 0.2 * (contexts[:, 0] - 0.5)


def test_thresholds_shrink_the_menu_to_the_best_action_of_all() -> None:
    one = GPThreDS(setting(600, math.inf), np.random.default_rng(0))
    actions = one.play(rounds(600)[1], fixed_reward)
    decided = one.decide(np.array([[0.1], [0.9]]))
    assert abs(decided[0, 0] - 0.3) < 0.05
    assert np.array_equal(decided[0], decided[1])
    assert np.abs(actions[-200:, 0] - 0.3).mean() < 0.1 < np.abs(actions[:50, 0] - 0.3).mean()


def test_halves_are_the_whole() -> None:
    menu = np.random.default_rng(0).random((9, 2)) * np.array([1.0, 5.0])
    low, high = halves(menu, np.arange(9))
    assert sorted([*low, *high]) == list(range(9))
    assert menu[low, 1].max() <= menu[high, 1].min()
