"""tacit.paper against scikit-learn, against brute force, and as the oracle for Design and
Statistic."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from helpers import build_design
from tacit import (
    Box,
    Budget,
    Design,
    InputError,
    Joint,
    Linear,
    Matern,
    Problem,
    StateError,
    Statistic,
)
from tacit._typing import Floats
from tacit.kernels import Kernel
from tacit.paper import (
    USCA,
    Estimator,
    approximation_points,
    exponential_measure,
    greedy_information,
    information_gain,
    maximal_information_gain,
)

MATERN = Joint(Matern(2.5, 0.3))
FALSE_ALARM = 1e-6


def problem(kernel: Kernel = MATERN) -> Problem:
    return Problem(
        Box([0.0], [1.0], ["x"]), Box([0.0], [1.0], ["c"]), kernel, reward_range=(-1.0, 1.0)
    )


def records(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.random((n, 2)), rng.uniform(-1.0, 1.0, size=n)


# -- the estimator is a Gaussian process posterior whose covariance comes from Z ------------------


@pytest.mark.parametrize("tau", [0.05, 1.0, 20.0])
def test_with_Z_equal_to_W_and_K_one_the_estimator_is_the_gaussian_process_posterior(
    tau: float,
) -> None:
    rng = np.random.default_rng(1)
    (W, Y) = records(40, rng)
    points = rng.random((30, 2))
    estimator = Estimator(MATERN, W, 1, tau)
    estimator.add(W, Y)
    process = GaussianProcessRegressor(sk.Matern(0.3, nu=2.5), alpha=tau, optimizer=None).fit(W, Y)
    mean, std = process.predict(points, return_std=True)
    np.testing.assert_allclose(estimator.mubar(points), mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(tau * estimator.sigmabar2(points), std**2, rtol=0, atol=1e-10)


def test_the_kernel_trick_equals_the_operator_on_explicit_features() -> None:
    # Linear kernel: phi(w) = (1, 2w - 1) / sqrt(3), so Ztilde is a 3 x 3 matrix.
    rng = np.random.default_rng(2)
    (W, Y) = records(10, rng)
    Z = rng.random((30, 2))
    points = rng.random((20, 2))
    K = 3
    tau = 0.7
    estimator = Estimator(Joint(Linear()), Z, K, tau)
    estimator.add(W, Y)

    def phi(w: Floats) -> Floats:
        return np.hstack([np.ones((len(w), 1)), 2.0 * w - 1.0]) / math.sqrt(3.0)

    Ztilde = phi(Z).T @ phi(Z) / K + tau * np.eye(3)
    mubar = phi(points) @ np.linalg.solve(Ztilde, phi(W).T @ Y)
    sigmabar2 = np.sum(phi(points).T * np.linalg.solve(Ztilde, phi(points).T), axis=0)
    np.testing.assert_allclose(estimator.mubar(points), mubar, rtol=0, atol=1e-10)
    np.testing.assert_allclose(estimator.sigmabar2(points), sigmabar2, rtol=0, atol=1e-10)


def test_records_may_come_in_pieces() -> None:
    rng = np.random.default_rng(3)
    (W, Y) = records(20, rng)
    Z = rng.random((40, 2))
    points = rng.random((10, 2))
    whole = Estimator(MATERN, Z, 2, 1.0)
    pieces = Estimator(MATERN, Z, 2, 1.0)
    whole.add(W, Y)
    for part in (slice(0, 1), slice(1, 13), slice(13, 20)):
        pieces.add(W[part], Y[part])
    assert pieces.records == 20
    np.testing.assert_allclose(pieces.mubar(points), whole.mubar(points), rtol=0, atol=1e-12)


# -- the oracle for Design and Statistic ----------------------------------------------------------


def unclipped(problem: Problem, Z: Floats, landmarks: Floats, horizon: int, tau: float) -> Design:
    """T mean(phi phi') over the T K points of Z is (1/K) sum phi phi': Ztilde as published."""
    return build_design(
        problem,
        horizon=horizon,
        budget=Budget(1.0, 1e-6),
        rng=0,
        tau=tau,
        clip=math.inf,
        landmarks=landmarks,
        public_points=Z,
        plain=True,
    )


def total(statistic: Statistic) -> Floats:
    """b without noise, from the integers of the private sum."""
    bits = statistic.design.encoding.bits
    return np.asarray(statistic._sum._total * (statistic.design.clip / 2.0**bits), dtype=np.float64)


def assert_design_equals_paper(
    design: Design, estimator: Estimator, W: Floats, Y: Floats, points: Floats
) -> None:
    """mubar(w) = q(w)'b and sigmabar^2(w) = |q(w)|^2"""
    estimator.add(W, Y)
    statistic = design.statistic().add(W[:, :1], W[:, 1:], Y)
    q = design.influence(points)
    exact = design.influence(W).T @ Y
    np.testing.assert_allclose(
        np.sum(q**2, axis=1), estimator.sigmabar2(points), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(q @ exact, estimator.mubar(points), rtol=0, atol=1e-10)
    np.testing.assert_allclose(q @ total(statistic), estimator.mubar(points), rtol=0, atol=1e-6)
    # Each of T roundings moves each coordinate by at most half a unit of clip / 2^bits.
    unit = design.clip / 2.0**design.encoding.bits
    assert np.abs(total(statistic) - exact).max() <= 0.5 * unit * len(Y) * (1 + 1e-6)


@pytest.mark.parametrize("kernel", [MATERN, Matern(2.5, 0.3), Joint(Matern(0.5, 0.3))])
@pytest.mark.parametrize("tau", [0.3, 5.0])
def test_low_rank_equals_paper_when_landmarks_are_all_points(kernel: Kernel, tau: float) -> None:
    rng = np.random.default_rng(4)
    T = 20
    K = 3
    Z = rng.random((T * K, 2))
    # Data among Z, repeats allowed: inside the span of the landmarks.
    rows = rng.integers(len(Z), size=T)
    W = Z[rows]
    Y = rng.uniform(-1.0, 1.0, size=T)
    design = unclipped(problem(kernel), Z, Z, T, tau)
    assert_design_equals_paper(design, Estimator(design.problem.k, Z, K, tau), W, Y, points=Z)


def test_low_rank_mean_equals_paper_on_landmarks_for_data_anywhere() -> None:
    # What of phi(w_i) lies outside the span of Z is orthogonal to phi(z), and Ztilde does not mix
    # the two.
    rng = np.random.default_rng(5)
    T = 20
    K = 3
    tau = 1.0
    Z = rng.random((T * K, 2))
    (W, Y) = records(T, rng)
    design = unclipped(problem(), Z, Z, T, tau)
    estimator = Estimator(MATERN, Z, K, tau)
    estimator.add(W, Y)
    b = design.influence(W).T @ Y
    np.testing.assert_allclose(design.influence(Z) @ b, estimator.mubar(Z), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("kernel", "features"), [(Joint(Linear()), 3), (Linear(), 4)])
def test_finite_rank_kernel_equals_paper_at_arbitrary_points(kernel: Kernel, features: int) -> None:
    # As many landmarks as the kernel has features span everything: 1, x, c and for the product also
    # x c.
    rng = np.random.default_rng(6)
    T = 15
    K = 4
    tau = 0.5
    Z = rng.random((T * K, 2))
    (W, Y) = records(T, rng)
    points = rng.random((50, 2))
    design = unclipped(problem(kernel), Z, Z[:features], T, tau)
    assert_design_equals_paper(design, Estimator(design.problem.k, Z, K, tau), W, Y, points)


def test_the_comparison_notices_a_wrong_tau() -> None:
    rng = np.random.default_rng(7)
    T = 15
    K = 4
    Z = rng.random((T * K, 2))
    (W, Y) = records(T, rng)
    points = rng.random((50, 2))
    design = unclipped(problem(Joint(Linear())), Z, Z[:3], T, tau=0.5)
    with pytest.raises(AssertionError):
        assert_design_equals_paper(design, Estimator(design.problem.k, Z, K, 0.5001), W, Y, points)


# -- information gain -----------------------------------------------------------------------------


def test_information_gain_is_half_the_log_determinant() -> None:
    points = np.random.default_rng(8).random((12, 2))
    tau = 0.4
    _, logdet = np.linalg.slogdet(np.eye(12) + MATERN(points, points) / tau)
    assert information_gain(MATERN, points, tau) == pytest.approx(0.5 * logdet, abs=1e-12)


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_every_greedy_step_is_the_best_one_by_direct_log_determinants(tau: float) -> None:
    candidates = np.random.default_rng(9).random((15, 2))
    chosen, gains = greedy_information(MATERN, candidates, 25, tau)
    assert len(set(chosen.tolist())) < len(chosen)  # repeats happen, and are counted rightly
    for t in range(25):
        before = information_gain(MATERN, candidates[chosen[:t]], tau) if t else 0.0
        after = [
            information_gain(MATERN, candidates[[*chosen[:t], i]], tau) - before
            for i in range(len(candidates))
        ]
        assert gains[t] == pytest.approx(after[chosen[t]], abs=1e-10)
        assert gains[t] == pytest.approx(max(after), abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("horizon", [1, 2, 3, 4])
def test_greedy_gain_is_between_the_submodular_bound_and_the_optimum(
    seed: int, horizon: int
) -> None:
    candidates = np.random.default_rng(seed).random((6, 2))
    tau = 0.3
    best = max(
        information_gain(MATERN, candidates[list(rows)], tau)
        for rows in itertools.combinations_with_replacement(range(6), horizon)
    )
    greedy = maximal_information_gain(MATERN, candidates, horizon, tau)
    assert (1 - 1 / math.e) * best <= greedy <= best + 1e-12


def test_maximal_information_gain_grows_with_the_horizon_and_ever_more_slowly() -> None:
    candidates = np.random.default_rng(10).random((50, 2))
    gains = [maximal_information_gain(MATERN, candidates, T, 1.0) for T in (1, 2, 4, 8, 16, 32, 64)]
    assert np.all(np.diff(gains) > 0)
    assert np.all(np.diff(np.divide(gains, [1, 2, 4, 8, 16, 32, 64])) < 0)


def test_approximation_points_are_T_times_K() -> None:
    K, Z = approximation_points(problem(), 20, 6.5, np.random.default_rng(0))
    assert K == 4  # ceil(20 / 6.5)
    assert Z.shape == (80, 2)


def test_a_horizon_too_large_for_the_published_formula_is_refused() -> None:
    with pytest.raises(InputError, match=r"tacit\.Design"):
        approximation_points(problem(), 10_000, 50.0, np.random.default_rng(0))


# -- the exponential mechanism --------------------------------------------------------------------

EPSILON = 10.0
DRAWS = 1000
CONTEXT = np.array([0.3])


def learned() -> USCA:
    rng = np.random.default_rng(11)
    usca = USCA(problem(), 40, rng, grid=9, candidates=9)
    usca.learn(rng.random((40, 1)), lambda w: 0.9 - 1.8 * np.abs(w[:, 0] - w[:, 1]), rng)
    return usca


def joint(usca: USCA) -> Floats:
    return np.column_stack([usca.actions[:, 0], np.full(len(usca.actions), CONTEXT[0])])


def p_value(usca: USCA, epsilon: float) -> float:
    """Chi-square of decisions at `epsilon` against exp(EPSILON mubar / (4 B sup sigmabar^2)),
    written out anew."""
    rng = np.random.default_rng(12)
    density = np.exp(EPSILON * usca.estimator.mubar(joint(usca)) / (4.0 * usca.largest_sigmabar2))
    drawn = [usca.decide(CONTEXT, epsilon, rng)[0] for _ in range(DRAWS)]
    counts = [np.count_nonzero(np.isclose(drawn, x)) for x in usca.actions[:, 0]]
    expected = DRAWS * density / density.sum()
    assert expected.min() > 5  # where chi-square is a good approximation
    return float(stats.chisquare(counts, expected).pvalue)


def test_decisions_follow_the_exponential_measure() -> None:
    """False alarm at most 1e-6, were the seed not fixed."""
    assert p_value(learned(), EPSILON) > FALSE_ALARM


def test_the_chi_square_rejects_half_the_epsilon() -> None:
    assert p_value(learned(), EPSILON / 2) < FALSE_ALARM


def test_the_measure_survives_huge_scores_and_is_uniform_at_equal_ones() -> None:
    np.testing.assert_allclose(exponential_measure(np.array([0.0, 1e6]), 1.0, 1.0), [0.0, 1.0])
    np.testing.assert_allclose(exponential_measure(np.full(4, -1e6), 1.0, 1.0), np.full(4, 0.25))


def test_a_huge_epsilon_decides_for_the_largest_mubar() -> None:
    usca = learned()
    rng = np.random.default_rng(13)
    mubar = usca.estimator.mubar(joint(usca))
    assert {usca.decide(CONTEXT, 1e4, rng)[0] for _ in range(20)} == {
        usca.actions[mubar.argmax(), 0]
    }


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_an_epsilon_that_is_not_positive_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        learned().decide(CONTEXT, epsilon, np.random.default_rng(0))


def test_records_past_the_horizon_are_refused() -> None:
    usca = learned()
    with pytest.raises(StateError, match="horizon"):
        usca.add(np.full((1, 2), 0.5), np.zeros(1))


def test_a_problem_that_is_not_played_uniformly_is_refused() -> None:
    played = Problem(
        Box([0.0], [1.0], ["x"]),
        Box([0.0], [1.0], ["c"]),
        play=lambda contexts, rng: rng.beta(2, 2, len(contexts["c"])),
    )
    with pytest.raises(InputError, match="uniformly"):
        USCA(played, 10, np.random.default_rng(0))


# -- sensitivity: Lemma "|mubar - mubar'| <= 2 B sup sigmabar^2" ----------------------------------

ROUNDS = 12
GRID = np.stack(
    np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7), indexing="ij"), axis=-1
).reshape(-1, 2)
PUBLIC = np.random.default_rng(14).random((3 * ROUNDS, 2))
unit = st.floats(0.0, 1.0)
reward = st.floats(-1.0, 1.0)
record = st.tuples(st.tuples(unit, unit), reward)


def estimated(data: list[tuple[tuple[float, float], float]], tau: float) -> Estimator:
    estimator = Estimator(MATERN, PUBLIC, 3, tau)
    estimator.add(np.array([w for w, _ in data]), np.array([y for _, y in data]))
    return estimator


@settings(max_examples=100, deadline=None)
@given(
    data=st.lists(record, min_size=1, max_size=ROUNDS),
    other=record,
    tau=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_replacing_one_record_moves_mubar_by_at_most_twice_the_largest_sigmabar2(
    data: list[tuple[tuple[float, float], float]],
    other: tuple[tuple[float, float], float],
    tau: float,
) -> None:
    # The supremum is over a set that contains both records.
    points = np.vstack([GRID, [data[0][0], other[0]]])
    before = estimated(data, tau)
    after = estimated([other, *data[1:]], tau)
    moved = np.abs(before.mubar(points) - after.mubar(points))
    assert moved.max() <= 2.0 * before.sigmabar2(points).max() * (1 + 1e-9)


@pytest.mark.parametrize("tau", [0.1, 1.0, 10.0])
def test_the_sensitivity_bound_is_attained(tau: float) -> None:
    """Turning a reward of 1 into -1 where sigmabar is largest: no smaller constant would be
    private."""
    sigmabar2 = Estimator(MATERN, PUBLIC, 3, tau).sigmabar2(GRID)
    w = (float(GRID[sigmabar2.argmax(), 0]), float(GRID[sigmabar2.argmax(), 1]))
    moved = estimated([(w, 1.0)], tau).mubar(GRID) - estimated([(w, -1.0)], tau).mubar(GRID)
    assert np.abs(moved).max() == pytest.approx(2.0 * sigmabar2.max(), rel=1e-9)


@settings(max_examples=50, deadline=None)
@given(
    rows=st.tuples(*[st.integers(0, len(GRID) - 1)] * 2),
    y=st.tuples(reward, reward),
    seed=st.integers(0, 2**32 - 1),
)
def test_decisions_for_neighbouring_data_differ_by_at_most_e_to_the_epsilon(
    rows: tuple[int, int], y: tuple[float, float], seed: int
) -> None:
    W, Y = records(ROUNDS - 1, np.random.default_rng(seed))
    logs = []
    for row, value in zip(rows, y, strict=True):
        coins = np.random.default_rng(0)  # the same for both
        usca = USCA(problem(), ROUNDS, coins, grid=7, candidates=7)
        usca.add(np.vstack([W, GRID[row]]), np.append(Y, value))
        logs.append(np.log(usca.probabilities(np.array([0.5]), 2.0)))
    assert np.abs(logs[0] - logs[1]).max() <= 2.0 * (1 + 1e-9)
