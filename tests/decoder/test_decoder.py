"""The decoder: learns from released numbers who came and how smooth the reward is, and knows what
it does not know."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import tacit
from helpers import BUDGET, build_design, unit_problem
from tacit import Budget
from tacit._typing import Floats
from tacit.contexts.cells import Cells, probabilities
from tacit.decoder import LinearObservation, ReleaseParts
from tacit.decoder.evidence import Evidence, Level, candidates
from tacit.decoder.kinds import kinds
from tacit.design import Moments
from tacit.design.layout import Layout
from tacit.design.played import PlayCells
from tacit.kernels import RBF, Categorical, Joint, Kernel, Matern, Separable
from tacit.kernels.ard import action_lengthscales, lengthscales, spread, with_lengthscales
from tacit.numerics.histogram import hat

# As many landmarks and public points as the functions here need: the defaults take twice the time.
SMALLER: dict[str, Any] = {"rank": 60, "public_points": 6000}


def bumps(kernel: Kernel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """40 random kernel bumps scaled to max |f| = 0.9."""
    centres = rng.random((40, 2))
    weights = rng.normal(size=40)
    grid = np.linspace(0, 1, 41)
    points = np.column_stack([np.repeat(grid, 41), np.tile(grid, 41)])
    return centres, weights * 0.9 / np.abs(kernel(points, centres) @ weights).max()


def test_lengthscales_are_found_by_the_evidence() -> None:
    """The design believes 0.2 everywhere; the truth is smooth in the context."""
    truth = Joint(Matern(2.5, (0.2, 1.2)))
    problem = unit_problem(kernel=Matern(2.5, 0.2), reward_range=(-1, 1))
    design = build_design(problem, horizon=20_000, budget=BUDGET, rng=0, tau=20.0, **SMALLER)
    rng = np.random.default_rng(0)
    centres, weights = bumps(truth, rng)
    W = rng.random((20_000, 2))
    statistic = design.statistic()
    statistic.add_points(W, truth(W, centres) @ weights + 0.1 * rng.normal(size=len(W)))
    found = statistic.simulate_release(rng).posterior.lengthscales
    assert found[1] > 2 * found[0]


def test_ninety_percent_intervals_cover_the_truth() -> None:
    """At random points of functions from the prior: between 85 and 95 %."""
    problem = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1))
    design = build_design(problem, horizon=5000, budget=BUDGET, rng=0, **SMALLER)
    rng = np.random.default_rng(2)
    grid = np.linspace(0, 1, 31)
    points = np.column_stack([np.repeat(grid, 31), np.tile(grid, 31)])
    root = np.linalg.cholesky(problem.k(points, points) + 1e-10 * np.eye(len(points)))
    inside = []
    for _ in range(25):
        f = 0.25 * root @ rng.normal(size=len(points))
        at = rng.integers(len(points), size=5000)
        statistic = design.statistic()
        statistic.add_points(points[at], np.clip(f[at] + 0.1 * rng.normal(size=5000), -1, 1))
        policy = statistic.simulate_release(rng)
        mean, std = (g(points[:, :1], points[:, 1:]) for g in (policy.mean, policy.std))
        inside.append(np.abs(mean - f) <= 1.645 * std)
        low, high = policy.interval(points[:, :1], points[:, 1:], 0.9)
        assert np.allclose([mean - 1.645 * std, mean + 1.645 * std], [low, high], atol=1e-3)
    assert 0.85 < np.mean(inside) < 0.95


def test_labels_have_additive_relatives_with_the_same_lengthscales() -> None:
    contexts = tacit.Mixed.of(
        age=(0, 1), kind=["a", "b", "c"], weight=(0, 1), site=["north", "south"]
    )
    one = tacit.Matern(2.5, 0.3)
    labels = tacit.Categorical(0.15)
    product = one.on("age", "weight") * labels.on("kind", "site")
    kernel = Separable(one, product)
    problem = tacit.Problem(tacit.Box.of(dose=(0, 1)), contexts, kernel)
    found = kinds(problem.k, problem.dimension)
    assert len(found) == 4  # itself, rougher, smoother, additive in the contexts
    assert {tuple(lengthscales(kernel)) for kernel in found} == {(0.3, 0.3, 0.3)}
    points = problem.public_points(30, np.random.default_rng(0))
    parts = [
        k(points[:, [j]], points[:, [j]]) for k, j in ((one, 1), (one, 3), (labels, 2), (labels, 4))
    ]
    expected = one(points[:, :1], points[:, :1]) * np.mean(parts, axis=0)
    assert np.allclose(found[-1](points, points), expected)


def test_pooled_kernels_have_relatives_that_pool_more_and_less() -> None:
    contexts = tacit.Mixed.of(age=(0, 1), kind=["a", "b", "c"], weight=(0, 1))
    problem = tacit.Problem(tacit.Box.of(dose=(0, 1)), contexts)
    found = kinds(problem.k, problem.dimension)
    assert len({tuple(lengthscales(kernel)) for kernel in found}) == 1
    common = [kernel.contexts.shares[0] for kernel in found]  # type: ignore[attr-defined]
    assert min(common) < common[0] < max(common)


def test_the_first_lengthscales_are_of_the_actions_if_those_have_any() -> None:
    people = tacit.Mixed.of(age=(0, 1), kind=["a", "b"])
    for actions, count in ((tacit.Box([0, 0], [1, 1]), 2), (tacit.Categories([1, 2, 3]), 0)):
        own = kinds(tacit.Problem(actions, people).k, actions.dimension + 2)[0]
        assert action_lengthscales(own, actions.dimension) == count
    assert action_lengthscales(spread(tacit.Joint(tacit.RBF()), 3), 2) == 2


def test_counts_of_contexts_come_back_from_the_sum() -> None:
    domain = tacit.Mixed([tacit.Box([0, 0], [1, 1]), tacit.Categories(["a", "b", "c"], "kind")])
    cells = Cells(domain)
    assert cells.size == 12 + 12 + 3
    actions = tacit.Mixed([tacit.Box([0], [1]), tacit.Categories(["x", "y"], "arm")])
    rng = np.random.default_rng(0)
    contexts = domain.sample_points(1000, rng)
    points = np.hstack([actions.sample_points(1000, rng), contexts])
    play = PlayCells.among(actions, contexts)
    assert (play.groups, play.columns, play.size) == (3, 2, 3 * (6 + 2))
    layout = Layout(5, cells, 0.2, play, 0.03, 0.04, 0.01, 0.02)
    y = rng.uniform(-1, 1, 1000)
    rewards = rng.uniform(-1, 1, 1000)
    weight = rng.random(1000)
    influence = rng.normal(size=(1000, 5))
    influence /= np.linalg.norm(influence, axis=1, keepdims=True)
    ones = np.ones(1000)
    rows = layout.rows(influence, ones, y, points, ones, weight, rewards)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    found = layout.split(rows.sum(axis=0))
    assert found.contexts is not None
    assert found.play is not None
    assert found.histogram is not None
    assert np.allclose(found.influences, influence.T @ (weight * y))
    assert np.allclose(found.contexts, cells.onehot(contexts).sum(axis=0))
    assert np.allclose(found.play, weight @ play.onehot(points))
    assert np.allclose(found.histogram, weight @ hat(y))
    told = (found.mean, found.square)
    assert told == pytest.approx((np.sum(weight * rewards), np.sum((weight * y) ** 2)))


def test_the_learned_generator_follows_the_counts_and_ignores_noise() -> None:
    counts = np.array([700.0, 200.0, 100.0])
    assert np.allclose(probabilities(counts, 1.0, 1000.0), counts / 1000, atol=0.01)
    hopeless = probabilities(counts + 5000 * np.array([1, -1, 0]), 50_000.0, 1000.0)
    assert np.allclose(hopeless, 1 / 3)


@pytest.mark.parametrize("advantage", [False, True])
def test_nobody_came(advantage: bool) -> None:
    """Releases of nothing but noise are read, too: the budget was spent on them."""
    problem = unit_problem(kernel=Matern(2.5, 0.3), advantage=advantage)
    design = build_design(problem, horizon=50, budget=BUDGET, rng=0, passes=2, rank=15)
    policy = design.statistic().simulate_release(np.random.default_rng(0))
    again = tacit.refine(policy).statistic().simulate_release(np.random.default_rng(0))
    assert np.isfinite(again.posterior.weights).all()


def test_noise_in_how_many_came_does_not_matter() -> None:
    """How many records there are is public: noise that all counts of a column share says nothing
    about its law."""
    rng = np.random.default_rng(0)
    cells = Cells(tacit.Box([0, 0], [1, 1]))
    counts = cells.onehot(rng.beta(2, 5, size=(3000, 2))).sum(axis=0)
    right = cells.column_probabilities(counts, 10.0, 3000)
    for shift in (-300.0, 300.0):  # the sum is then negative, or more than twice as large
        moved = cells.column_probabilities(counts + shift, 10.0, 3000)
        assert np.abs(np.stack(moved) - np.stack(right)).max() < 0.05


def test_a_wrong_guess_of_who_comes_is_mended_by_the_counts() -> None:
    """Contexts crowd at one end. Knowing it, the decoder predicts rewards better than one that
    believes uniform."""
    rng = np.random.default_rng(3)
    problem = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1))
    designs = [
        build_design(problem, horizon=20_000, budget=BUDGET, rng=0, context_share=share, **SMALLER)
        for share in (0.15, 0.0)
    ]
    errors = np.zeros(2)
    for _ in range(4):
        centres, weights = bumps(Joint(Matern(2.5, 0.3)), rng)
        W = np.column_stack([rng.random(20_000), rng.beta(1, 6, 20_000)])
        y = Joint(Matern(2.5, 0.3))(W, centres) @ weights
        for i, design in enumerate(designs):
            statistic = design.statistic()
            statistic.add_points(W, y)
            policy = statistic.simulate_release(rng)
            errors[i] += np.mean((policy.mean(W[:2000, :1], W[:2000, 1:]) - y[:2000]) ** 2)
    assert errors[0] < 0.5 * errors[1]


def test_lengthscales_are_read_and_replaced_wherever_they_stand() -> None:
    kernel = Separable(Matern(2.5, 0.3), RBF(0.5) * Matern(1.5, 0.7), 1)
    whole = spread(kernel, 3)
    assert lengthscales(whole) == [0.3, 0.5, 0.5, 0.7, 0.7]
    changed = with_lengthscales(whole, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert lengthscales(changed) == [1.0, 2.0, 3.0, 4.0, 5.0]
    points = np.random.default_rng(0).random((6, 3))
    assert np.allclose(whole(points, points), kernel(points, points))


def learned_policy(
    advantage: bool = False, mean_reward: float = 0.0
) -> tuple[tacit.Policy, Floats, Floats]:
    """A policy with the points and the mean rewards that it learned from. `mean_reward` is added to
    all rewards."""
    problem = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1), advantage=advantage)
    design = build_design(problem, horizon=20_000, budget=BUDGET, rng=0, public_points=6000)
    rng = np.random.default_rng(4)
    truth = Joint(Matern(2.5, 0.3))
    centres, weights = bumps(truth, rng)
    W = rng.random((20_000, 2))
    f = np.clip(0.5 * truth(W, centres) @ weights + mean_reward, -1, 1)
    statistic = design.statistic()
    statistic.add_points(W, f)
    return statistic.simulate_release(rng), W, f


def test_draws_from_the_posterior_have_its_mean_and_spread() -> None:
    """300 draws at 50 points: standardised means are normal with 1/sqrt(300), and never off by 7 of
    them."""
    policy, W, _ = learned_policy()
    at = (W[:50, :1], W[:50, 1:])
    rng = np.random.default_rng(0)
    draws = np.stack([policy.sample(rng).mean(*at) for _ in range(300)])
    mean = policy.mean(*at)
    std = policy.std(*at)
    assert np.abs((draws.mean(axis=0) - mean) / std).max() < 7 / np.sqrt(300)
    assert np.allclose(draws.std(axis=0) / std, 1.0, atol=0.25)
    thompson = policy.sample(rng)
    assert not np.allclose(thompson.decide_points(W[:50, 1:]), policy.decide_points(W[:50, 1:]))


def test_an_advantage_is_learned_without_the_mean_reward() -> None:
    """Its mean over the actions is nought in every context, and it knows the differences. The
    level of rewards beside it makes it the mean reward on average over the contexts."""
    policy, W, f = learned_policy(advantage=True, mean_reward=0.4)
    actions = np.linspace(0, 1, 101)[:, None]
    for points in pairs(actions, np.array([[0.1], [0.5], [0.9]])):
        assert abs(np.mean(policy.posterior.mean(points))) < 0.02
        assert np.allclose(
            policy.advantage(points[:, :1], points[:, 1:]), policy.posterior.mean(points), atol=0.02
        )
    reward, _, _ = learned_policy(mean_reward=0.4)
    for each in (reward, policy):
        assert np.mean(each.mean(W[:, :1], W[:, 1:])) == pytest.approx(np.mean(f), abs=0.1)
    best = np.abs(policy.decide_points(W[:300, 1:]) - reward.decide_points(W[:300, 1:]))
    assert np.median(best) < 0.1


@cache
def lost_advantage(passes: int, mean_reward: float) -> float:
    """The mean squared error of advantages that were learned from rewards of some mean."""
    problem = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1), advantage=True)
    budget = Budget(epsilon=3.0, delta=1e-6)
    design = build_design(problem, horizon=5000, budget=budget, rng=0, passes=passes, **SMALLER)
    truth = Joint(Matern(2.5, 0.3))
    actions = np.linspace(0, 1, 64)[:, None]
    rng = np.random.default_rng(6)
    errors = []
    for _ in range(2):
        centres, weights = bumps(truth, rng)
        W = rng.random((5000, 2))
        C = rng.random((60, 1))
        y = np.clip(
            0.3 * truth(W, centres) @ weights + mean_reward + 0.1 * rng.normal(size=5000), -1, 1
        )
        statistic = design.statistic()
        statistic.add_points(W, y)
        policy = statistic.simulate_release(rng)
        if passes == 2:
            statistic = tacit.refine(policy).statistic()
            statistic.add_points(W, y)
            policy = statistic.simulate_release(rng)
        f = np.stack([0.3 * truth(points, centres) @ weights for points in pairs(actions, C)])
        found = np.stack([policy.posterior.mean(points) for points in pairs(actions, C)])
        errors.append(np.mean((found - f + f.mean(axis=1, keepdims=True)) ** 2))
    return float(np.mean(errors))


def pairs(actions: Floats, contexts: Floats) -> list[Floats]:
    """All actions, in each context."""
    return [np.hstack([actions, np.full((len(actions), 1), c)]) for c in contexts[:, 0]]


@pytest.mark.parametrize("passes", [1, 2])
def test_the_mean_reward_is_not_taken_for_advantages(
    passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clipped influences are not centred over the actions: a decoder that forgets the level of the
    rewards finds it in the sum."""
    aware = lost_advantage(passes, mean_reward=0.6)
    right = ReleaseParts.observation

    def forgetful(parts: ReleaseParts, moments: Moments) -> LinearObservation:
        cross = moments.cross.copy()
        cross[:, -1] = 0.0
        return right(parts, replace(moments, cross=cross))

    monkeypatch.setattr(ReleaseParts, "observation", forgetful)
    assert aware < 0.3 * lost_advantage.__wrapped__(passes, mean_reward=0.6)


def test_two_passes_do_not_mind_the_mean_reward() -> None:
    """The second compares rewards with their level, too."""
    assert lost_advantage(2, mean_reward=0.6) < 3.0 * lost_advantage(2, mean_reward=0.0)
    assert lost_advantage(2, mean_reward=0.6) < 0.5 * lost_advantage(1, mean_reward=0.6)


def test_an_advantage_needs_a_kernel_on_actions() -> None:
    with pytest.raises(tacit.InputError, match="needs a kernel on actions times one on contexts"):
        unit_problem(kernel=Joint(Matern(2.5, 0.3)), advantage=True)


def test_a_problem_remembers_that_it_asks_for_the_advantage() -> None:
    problem = unit_problem(kernel=Matern(2.5, 0.3), advantage=True)
    again = tacit.Problem.from_spec(problem.spec())
    assert again.advantage
    assert again.spec() == problem.spec()
    assert "advantage" not in unit_problem(kernel=Matern(2.5, 0.3)).spec()["reward"]


def test_the_kind_of_kernel_is_told_by_the_evidence_when_it_is_clear() -> None:
    """A rough function (Matern 3/2) is seen through smooth features; a release with little noise
    tells."""
    rng = np.random.default_rng(0)
    U = rng.random((60, 2))
    own = Separable(RBF((0.3,)), RBF((0.3,)), 1)
    rough = Separable(Matern(1.5, (0.3,)), Matern(1.5, (0.3,)), 1)
    M = 30.0 * np.eye(60)
    level = Level(M @ np.ones(60), 0.25)
    for truth in (own, rough):
        f = 0.3 * np.linalg.cholesky(truth(U, U) + 1e-9 * np.eye(60)) @ rng.normal(size=60)
        fits = candidates(kinds(own, 2), U, M, M @ f + rng.normal(size=60), level)
        best = max(fits, key=lambda fit: fit.evidence)
        assert isinstance(best.kernel, Separable)
        assert isinstance(best.kernel.actions, type(truth.actions))


def test_kinds_are_relatives_with_the_same_lengthscales() -> None:
    kernel = Separable(Matern(2.5, 0.3), Matern(2.5, (0.5, 0.7)), 1)
    found = kinds(kernel, 3)
    assert found[0] == spread(kernel, 3)
    assert len(found) == 4  # itself, rougher, smoother, additive in the contexts
    assert all(lengthscales(k) == [0.3, 0.5, 0.7] for k in found)
    points = np.random.default_rng(0).random((5, 3))
    additive = found[-1](points, points)
    expected = Matern(2.5, 0.3)(points[:, :1], points[:, :1]) * (
        0.5 * Matern(2.5, 0.5)(points[:, 1:2], points[:, 1:2])
        + 0.5 * Matern(2.5, 0.7)(points[:, 2:], points[:, 2:])
    )
    assert np.allclose(additive, expected)
    assert kinds(Categorical(0.5), 1) == [Categorical(0.5)]


def test_the_gradient_of_the_evidence_is_the_slope_of_the_evidence() -> None:
    rng = np.random.default_rng(1)
    U = rng.random((30, 2))
    M = rng.normal(size=(12, 30))
    z = 3 * rng.normal(size=12)
    evidence = Evidence(U, M, z, Level(rng.normal(size=12), 0.25))
    kernel = spread(Separable(Matern(2.5, 0.3), RBF(0.5), 1), 2)
    x = np.log([0.2, 0.25, 0.6])
    _, slope = evidence._negative(kernel, x)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-4
        up, down = (evidence._negative(kernel, x + sign * step)[0] for sign in (1, -1))
        assert slope[j] == pytest.approx((up - down) / 2e-4, rel=1e-3, abs=1e-4)
