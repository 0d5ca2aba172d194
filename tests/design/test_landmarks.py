"""Landmarks: randomly pivoted Cholesky explains the pool, says how well, and always stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import RBF, Box, Catalogue, Categories, InputError, Problem
from tacit._typing import Floats
from tacit.design import landmarks
from tacit.design.landmarks import pivots
from tacit.kernels import Categorical, Custom, Joint, Kernel, Linear, Matern, Separable

POOL = np.random.default_rng(0).random((400, 3))
ROUGH = Joint(Matern(0.5, 0.3))
KERNELS = [
    Joint(Matern(2.5, 0.4)),
    ROUGH,
    Joint(RBF(0.5)),
    Separable(Linear(), Matern(1.5, 0.5), at=1),
]


def run(
    kernel: Kernel,
    pool: Floats = POOL,
    *,
    most: int = 60,
    tolerance: float = 0.0,
    seed: int = 1,
    block: int = 32,
) -> tuple[Any, Floats]:
    return pivots(
        kernel, pool, most=most, tolerance=tolerance, rng=np.random.default_rng(seed), block=block
    )


def residual(kernel: Kernel, pool: Floats, chosen: Any) -> float:
    """The mean of k(w, w) - k_U(w)' Kuu^-1 k_U(w), by the definition."""
    Kuu = kernel(pool[chosen], pool[chosen])
    Kpu = kernel(pool, pool[chosen])
    explained = np.sum(Kpu * np.linalg.lstsq(Kuu, Kpu.T, rcond=1e-13)[0].T, axis=1)
    return float(np.mean(kernel.diagonal(pool) - explained))


def decays(kernel: Kernel, block: int = 32) -> list[Floats]:
    return [run(kernel, seed=seed, block=block)[1] for seed in range(6)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_pivots_are_different_rows_of_the_pool(kernel: Kernel) -> None:
    chosen, decay = run(kernel)
    assert len(chosen) == len(decay) == 60
    assert len(set(chosen.tolist())) == 60
    assert chosen.min() >= 0
    assert chosen.max() < len(POOL)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("block", [1, 7, 32])
def test_the_residual_is_what_the_definition_says_and_never_grows(
    kernel: Kernel, block: int
) -> None:
    chosen, decay = run(kernel, block=block)
    assert (np.diff(decay) <= 1e-12).all()
    for rank in (1, 5, 20, 60):
        assert decay[rank - 1] == pytest.approx(
            residual(kernel, POOL, chosen[:rank]), rel=1e-4, abs=1e-9
        )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_residual_is_within_twice_the_best_of_half_its_rank(kernel: Kernel) -> None:
    """The theorem compares with a smaller rank: at the same rank columns of a smooth kernel lose
    more than that."""
    values = np.linalg.eigvalsh(kernel(POOL, POOL))
    for rank in (10, 30, 60):
        best, best_of_half = (
            float(values[: len(POOL) - r].sum() / len(POOL)) for r in (rank, rank // 2)
        )
        mean = np.mean([decay[rank - 1] for decay in decays(kernel)])
        assert best <= mean <= 2.0 * best_of_half
        assert mean <= (2.0 if kernel == ROUGH else 6.0) * best


@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[2]], ids=str)
def test_blocks_are_as_good_as_one_at_a_time_because_they_reject(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    singly, in_blocks = (
        np.mean([decay[29] for decay in decays(kernel, block=block)]) for block in (1, 32)
    )
    assert in_blocks == pytest.approx(singly, rel=0.1)
    accept = landmarks._accept
    monkeypatch.setattr(
        landmarks, "_accept", lambda H, diagonal, rng: accept(H, 0.0 * diagonal, rng)
    )
    assert np.mean([decay[29] for decay in decays(kernel)]) > 1.15 * singly


def test_uniform_rows_do_worse_where_the_pool_is_uneven() -> None:
    """What the pivoting is for: a crowd in one corner and a few points elsewhere."""
    rng = np.random.default_rng(3)
    pool = np.vstack([0.02 * rng.random((360, 3)), rng.random((40, 3))])
    kernel = Joint(Matern(2.5, 0.3))
    uniform = np.mean(
        [residual(kernel, pool, rng.choice(400, 30, replace=False)) for _ in range(5)]
    )
    pivoted = np.mean([run(kernel, pool, most=30, seed=seed)[1][-1] for seed in range(5)])
    assert pivoted < uniform / 3


@pytest.mark.parametrize("tolerance", [0.3, 0.1, 0.01])
def test_it_stops_as_soon_as_the_tolerance_is_reached(tolerance: float) -> None:
    chosen, decay = run(KERNELS[0], most=300, tolerance=tolerance)
    assert len(chosen) < 300
    assert decay[-1] <= tolerance < decay[-2]


@pytest.mark.parametrize("most", [1, 31, 32, 33, 50])
def test_it_stops_at_the_largest_number(most: int) -> None:
    chosen, decay = run(KERNELS[0], most=most)
    assert len(chosen) == len(decay) == most


def test_there_is_one_landmark_even_where_none_is_needed() -> None:
    chosen, decay = run(KERNELS[0], tolerance=2.0)
    assert len(chosen) == len(decay) == 1


def test_the_same_coins_give_the_same_landmarks_and_others_give_others() -> None:
    first, again, other = (run(KERNELS[0], seed=seed)[0].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


# -- kernels of finite rank -----------------------------------------------------------------------

LABELS = Categories(["a", "b", "c"]).sample_points(500, np.random.default_rng(0))
ITEMS = Catalogue([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0], [0.0, 0.0], [2.0, 9.0]])


@pytest.mark.parametrize(
    ("kernel", "pool", "rank"),
    [
        (Linear(), POOL, 4),
        (Linear(0.0), POOL, 3),
        (Linear() * Linear(), POOL, 10),
        (Categorical(), LABELS, 3),
        (Categorical(0.5), LABELS, 3),
        (RBF(0.3), LABELS, 3),
        (Matern(0.5, 0.3), ITEMS.sample_points(400, np.random.default_rng(0)), 5),
        (Custom(lambda A, B: np.ones((len(A), len(B)))), POOL, 1),
        (RBF(0.3), np.repeat(POOL[:7], 40, axis=0), 7),
        (RBF(0.3), POOL[:1], 1),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1e-15])
def test_a_kernel_of_finite_rank_stops_at_its_rank(
    kernel: Kernel, pool: Floats, rank: int, tolerance: float
) -> None:
    for seed in range(5):
        chosen, decay = run(kernel, pool, most=50, tolerance=tolerance, seed=seed)
        assert len(chosen) == rank
        assert decay[-1] < 1e-11


@pytest.mark.parametrize("scale", [3.0, 30.0, 1e4])
def test_a_kernel_that_is_nearly_of_finite_rank_stops_where_rounding_begins(scale: float) -> None:
    chosen, decay = run(RBF(scale), most=500)
    assert 1 < len(chosen) < 200
    assert decay[-1] < 1e-11


def test_a_problem_of_labels_and_items_is_explained_completely() -> None:
    problem = Problem(
        ITEMS, Categories(["a", "b", "c"]), Separable(Matern(2.5, 0.3), Categorical())
    )
    pool = problem.public_points(1000, np.random.default_rng(0))
    chosen, decay = run(problem.k, pool, most=500)
    assert len(chosen) == 15
    assert decay[-1] < 1e-11


def test_a_kernel_of_nothing_has_no_landmarks() -> None:
    chosen, decay = run(Custom(lambda A, B: np.zeros((len(A), len(B)))))
    assert len(chosen) == len(decay) == 0


@dataclass(frozen=True)
class Boastful(Kernel):
    """Claims a diagonal of 1 but has 1/2: wrong, and no reason to run for ever."""

    def __call__(self, A: Any, B: Any) -> Any:
        return 0.5 * Linear()(A, B)


def test_a_kernel_that_misstates_its_diagonal_stops_too() -> None:
    chosen, _ = run(Boastful())
    assert len(chosen) == 4


@pytest.mark.parametrize("value", [-0.5, np.nan])
def test_a_kernel_with_an_impossible_diagonal_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"k\(w, w\) that is negative or NaN"):
        run(Custom(lambda A, B: np.full((len(A), len(B)), value)))


@given(
    st.integers(1, 40), st.integers(1, 20), st.integers(1, 40), st.floats(0, 0.5), st.integers(0, 5)
)
def test_any_size_works(rows: int, most: int, block: int, tolerance: float, seed: int) -> None:
    pool = Box([0.0, 0.0], [1.0, 1.0]).sample_points(rows, np.random.default_rng(seed))
    chosen, decay = run(
        Matern(1.5, 0.2), pool, most=most, tolerance=tolerance, seed=seed, block=block
    )
    assert 1 <= len(chosen) <= min(most, rows)
    assert len(set(chosen.tolist())) == len(chosen) == len(decay)
    assert len(chosen) == min(most, rows) or decay[-1] <= tolerance
