"""The decoder: learns from released numbers who came and how smooth the reward is, and knows what it does not know."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit import Budget
from tacit.design.cells import Cells, probabilities
from tacit.design.layout import Layout
from tacit.kernels import RBF, Joint, Kernel, Matern, Separable
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.tables import Floats

BUDGET = Budget(epsilon=1.0, delta=1e-6)
UNIT = {"actions": tacit.Box([0.0], [1.0], names=["x"]), "contexts": tacit.Box([0.0], [1.0], names=["c"])}


def bumps(kernel: Kernel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """40 random kernel bumps scaled to max |f| = 0.9."""
    centres, weights = rng.random((40, 2)), rng.normal(size=40)
    grid = np.linspace(0, 1, 41)
    points = np.column_stack([np.repeat(grid, 41), np.tile(grid, 41)])
    return centres, weights * 0.9 / np.abs(kernel(points, centres) @ weights).max()


def test_lengthscales_are_found_by_the_evidence() -> None:
    """The design believes 0.2 everywhere; the truth is smooth in the context."""
    truth = Joint(Matern(2.5, (0.2, 1.2)))
    problem = tacit.Problem(kernel=Matern(2.5, 0.2), reward_range=(-1, 1), **UNIT)
    design = tacit.Design.build(problem, horizon=20_000, budget=BUDGET, rng=0, tau=20.0)
    rng = np.random.default_rng(0)
    centres, weights = bumps(truth, rng)
    W = rng.random((20_000, 2))
    statistic = design.statistic()
    statistic.add_points(W, truth(W, centres) @ weights + 0.1 * rng.normal(size=len(W)))
    found = statistic.simulate_release(rng).posterior.lengthscales
    assert found[1] > 2 * found[0]


def test_ninety_percent_intervals_cover_the_truth() -> None:
    """At random points of functions from the prior: between 85 and 95 %."""
    problem = tacit.Problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1), **UNIT)
    design = tacit.Design.build(problem, horizon=5000, budget=BUDGET, rng=0)
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
    assert 0.85 < np.mean(inside) < 0.95


def test_counts_of_contexts_come_back_from_the_sum() -> None:
    domain = tacit.Mixed([tacit.Box([0, 0], [1, 1]), tacit.Categories(["a", "b", "c"], "kind")])
    cells = Cells(domain)
    assert cells.size == 12 + 12 + 3
    layout = Layout(5, cells, 0.2, 0.01)
    rng = np.random.default_rng(0)
    contexts, y = domain.sample_points(1000, rng), rng.uniform(-1, 1, 1000)
    influence = rng.normal(size=(1000, 5))
    influence /= np.linalg.norm(influence, axis=1, keepdims=True)
    rows = layout.rows(influence, y, contexts, np.ones(1000))
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    b, counts, energy = layout.split(rows.sum(axis=0))
    assert counts is not None
    assert np.allclose(b, influence.T @ y)
    assert np.allclose(counts, cells.onehot(contexts).sum(axis=0))
    assert energy == pytest.approx(np.sum(y**2))


def test_the_learned_generator_follows_the_counts_and_ignores_noise() -> None:
    counts = np.array([700.0, 200.0, 100.0])
    assert np.allclose(probabilities(counts, noise=1.0), counts / 1000, atol=0.01)
    hopeless = probabilities(counts + 5000 * np.array([1, -1, 0]), noise=50_000.0)
    assert np.allclose(hopeless, 1 / 3)


def test_a_wrong_guess_of_who_comes_is_mended_by_the_counts() -> None:
    """Contexts crowd at one end. Knowing it, the decoder predicts rewards better than one that believes uniform."""
    rng = np.random.default_rng(3)
    problem = tacit.Problem(kernel=Matern(2.5, 0.3), reward_range=(-1, 1), **UNIT)
    designs = [
        tacit.Design.build(problem, horizon=20_000, budget=BUDGET, rng=0, context_share=share) for share in (0.15, 0.0)
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
