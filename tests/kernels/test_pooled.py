"""Pooled kernels: a common effect, single columns, and all of them together."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Box, Categories, Matern, Mixed, Pooled, Problem
from tacit._typing import Floats
from tacit.errors import InputError
from tacit.kernels import RBF, Categorical, Kernel, Linear, Product, Separable, default_kernel
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.kernels.cosines import MOST_LABELS
from tacit.kernels.pooled import STRETCH, usual_weights
from tacit.kernels.slopes import with_slopes

COLUMNS = ["a", "b", "c", "d"]
LEVELS = (0, 3, 0, 5)


def mixed(weights: tuple[float, float, float] | None = None) -> Kernel:
    """On two numbers and two columns of labels."""
    numbers = Matern(2.5, 0.5).on("a", "c")
    labels = Categorical(0.15).on("b", "d")
    return Pooled(Product((numbers, labels)), weights, LEVELS).bind(COLUMNS, 0)


def people(n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 4))
    for j, levels in enumerate(LEVELS):
        if levels:
            points[:, j] = rng.integers(levels, size=n) / (levels - 1)
    return points


def test_labels_are_compared_as_categorical_does() -> None:
    points = people(30)[:, 3:]
    alone = Pooled(Categorical(0.3), (0.0, 1.0, 0.0), (5,)).bind(["d"], 0)
    assert np.allclose(alone(points, points), Categorical(0.3)(points, points), atol=1e-12)


def test_many_labels_are_compared_the_same_way() -> None:
    levels = MOST_LABELS + 1
    points = np.random.default_rng(0).integers(levels, size=(40, 1)) / (levels - 1)
    alone = Pooled(Categorical(0.3), (0.0, 1.0, 0.0), (levels,)).bind(["d"], 0)
    assert np.allclose(alone(points, points), Categorical(0.3)(points, points), atol=1e-12)
    assert np.allclose(alone.diagonal(points), 1.0)


@pytest.mark.parametrize("kernel", [Matern(2.5, 0.3), Matern(1.5, 0.5), RBF(0.3)], ids=repr)
def test_a_number_has_about_the_kernel_that_is_asked_for(kernel: Kernel) -> None:
    """Away from the ends, after both are scaled to 1 at distance 0: cosines reflect there."""
    middle = np.linspace(0.35, 0.65, 7)[:, None]
    alone = Pooled(kernel, (0.0, 1.0, 0.0), (0,)).bind(["a"], 0)
    found = alone(middle, middle)
    d = np.sqrt(alone.diagonal(middle))
    assert np.allclose(found / np.outer(d, d), kernel(middle, middle), atol=0.07)


def test_a_column_with_a_long_lengthscale_is_common_to_all() -> None:
    points = people(20)[:, :1]
    alone = Pooled(Matern(2.5, 40.0), (0.0, 1.0, 0.0), (0,)).bind(["a"], 0)
    assert np.allclose(alone(points, points), 1.0, atol=1e-3)


def test_only_the_common_effect_is_left_of_weights_1_0_0() -> None:
    points = people(10)
    assert np.allclose(mixed((1.0, 0.0, 0.0))(points, points), 1.0)


def test_the_full_interaction_is_the_kernel_itself_with_longer_lengthscales() -> None:
    points = people(10)[:, ::2]
    pooled = Pooled(Matern(2.5, 0.5), (0.0, 0.0, 1.0), (0, 0)).bind(["a", "c"], 0)
    expected = Matern(2.5, STRETCH * 0.5)(points, points)
    assert np.allclose(pooled(points, points), expected, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    common=st.floats(0.0, 1.0),
    main=st.floats(0.01, 1.0),
    full=st.floats(0.0, 1.0),
)
def test_slopes_are_those_of_differences(
    seed: int, common: float, main: float, full: float
) -> None:
    kernel = spread(mixed((common, main, full)), 4)
    U = people(12, seed)
    W = np.random.default_rng(seed).normal(size=(12, 12))
    W = W + W.T
    K, pull = with_slopes(kernel, U)
    assert np.allclose(K, kernel(U, U), atol=1e-12)
    found = pull(W)
    at = np.array(lengthscales(kernel))
    assert len(found) == len(at) == 2
    for i, slope in enumerate(found):
        step = 1e-4 * np.eye(2)[i]
        above = np.vdot(W, with_lengthscales(kernel, (at * np.exp(step)).tolist())(U, U))
        below = np.vdot(W, with_lengthscales(kernel, (at * np.exp(-step)).tolist())(U, U))
        assert slope == pytest.approx((above - below) / 2e-4, rel=1e-4, abs=1e-5)


def test_slopes_are_in_the_order_of_the_lengthscales_not_of_the_columns() -> None:
    parts = (RBF(0.2).on("d"), Matern(2.5, (0.4, 0.9)).on("c", "a"), Categorical(0.1).on("b"))
    kernel = spread(Pooled(Product(parts), (0.2, 0.5, 0.3), (0, 3, 0, 0)).bind(COLUMNS, 0), 4)
    U = people(12)
    W = np.add.outer(np.arange(12.0), np.arange(12.0) ** 2)
    W = W + W.T
    K, pull = with_slopes(kernel, U)
    at = np.array(lengthscales(kernel))
    for i, slope in enumerate(pull(W)):
        longer = (at * np.exp(1e-6 * np.eye(3)[i])).tolist()
        difference = np.vdot(W, with_lengthscales(kernel, longer)(U, U) - K) / 1e-6
        assert slope == pytest.approx(difference, rel=1e-3)


def test_weights_add_up_and_leave_less_to_the_rest_the_more_columns_there_are() -> None:
    found = [usual_weights(d) for d in range(1, 60)]
    assert np.allclose(np.sum(found, axis=1), 1.0)
    assert (np.array(found) >= 0).all()
    rest = [full for _, _, full in found[1:]]
    assert rest == sorted(rest, reverse=True)


def test_the_page_on_kernels_has_the_weights_and_lengthscales_of_the_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert len(rows) == 6
    for row in rows:
        columns, *stated = (float(cell) for cell in row)
        contexts = Box([0.0] * int(columns), [1.0] * int(columns))
        kernel = Problem(Box.of(dose=(0, 1)), contexts).kernel
        assert isinstance(kernel, Separable)
        assert isinstance(kernel.contexts, Pooled)
        found = [*kernel.contexts.shares, lengthscales(spread(kernel.contexts, int(columns)))[0]]
        assert np.allclose(stated, found, atol=0.006)


def test_a_problem_without_a_kernel_pools_its_contexts() -> None:
    contexts = Mixed.of(age=(18, 95), kind=["p", "q", "r"])
    problem = Problem(Box.of(dose=(0, 1)), contexts)
    kernel = problem.kernel
    assert isinstance(kernel, Separable)
    assert isinstance(kernel.contexts, Pooled)
    assert kernel.contexts.levels == (0, 3)
    assert not isinstance(kernel.actions, Pooled)
    several = default_kernel(Box([0] * 4, [1] * 4), contexts)
    assert isinstance(several, Separable)
    assert isinstance(several.actions, Pooled)


def test_a_problem_tells_a_pooled_kernel_its_labels() -> None:
    kernel = Separable(Matern(2.5, 0.3), Pooled(Categorical(0.15)))
    problem = Problem(Box.of(dose=(0, 1)), Categories(["p", "q", "r"], "kind"), kernel)
    assert isinstance(problem.kernel, Separable)
    assert isinstance(problem.kernel.contexts, Pooled)
    assert problem.kernel.contexts.levels == (3,)
    assert Problem.from_spec(problem.spec()).kernel == problem.kernel


@pytest.mark.parametrize(
    "weights", [(1.0, 1.0), (0.0, 0.0, 0.0), (-1.0, 1.0, 1.0), (np.nan, 1.0, 1.0), "abc"]
)
def test_weights_that_are_none_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="weights of a Pooled kernel must be three numbers"):
        Pooled(Matern(2.5, 0.3), weights)


def test_kernels_without_parts_on_columns_are_refused() -> None:
    with pytest.raises(InputError, match="Linear kernel has no part on single columns"):
        Problem(Box([0], [1], ["x"]), Box([0, 0], [1, 1]), Pooled(Linear()))
    twice = Matern(2.5, 0.3).on("a") * RBF(0.3).on("a")
    with pytest.raises(InputError, match="on each column once"):
        Pooled(twice).bind(["a"], 0)
    with pytest.raises(InputError, match="must be on all columns"):
        Pooled(Matern(2.5, 0.3).on("a")).bind(["a", "b"], 0)
    with pytest.raises(InputError, match="Pooled takes a kernel"):
        Pooled(0.3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="2 levels do not fit 4 columns"):
        Pooled(Matern(2.5, 0.3), levels=(0, 0)).bind(COLUMNS, 0)
