"""Kernels keep the laws of `laws.kernels`, agree with scikit-learn, and read problems as stated."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from array_api_compat import array_namespace
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

from laws import KernelLaws
from tacit import RBF, Box, Catalogue, Categories, InputError, Mixed, Problem
from tacit._typing import Floats
from tacit.kernels import (
    Categorical,
    Custom,
    Joint,
    Kernel,
    Linear,
    Matern,
    On,
    Pooled,
    Product,
    RationalQuadratic,
    Separable,
    Sum,
    natural,
)
from tacit.kernels.against import against
from tacit.spec import dump

ACTIONS = Box([0.0], [1.0], names=["dose"])
CONTEXTS = Box([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
NAMES = ("dose", "age", "weight")


@pytest.fixture
def points() -> Floats:
    return np.random.default_rng(1).random((40, 3))


class TestStationary(KernelLaws):
    @pytest.fixture(
        params=[
            RBF(),
            RBF(0.05),
            RBF([0.1, 1.0, 10.0]),
            Matern(0.5, 0.3),
            Matern(0.5, (0.01, 0.2, 3.0)),
            Matern(1.5, 0.3),
            Matern(1.5, 0.02),
            Matern(2.5, 0.3),
            Matern(2.5, [0.02, 0.2, 2.0]),
            RationalQuadratic(0.3, 0.5),
            RationalQuadratic((0.1, 0.2, 0.3), 3.0),
        ],
        ids=str,
    )
    def kernel(self, request: pytest.FixtureRequest) -> Kernel:
        return cast(Kernel, request.param)

    def test_it_falls_with_distance_from_exactly_one(self, kernel: Kernel) -> None:
        line = np.linspace(0.5, 1.0, 50)[:, None] * np.ones(3)
        row = kernel(line[:1], line)[0]
        assert row[0] == 1.0
        assert (np.diff(row) < 0).all()
        assert (row >= 0).all()

    def test_whole_numbers_are_read_as_numbers(self, kernel: Kernel) -> None:
        corners = np.array([[0, 0, 0], [0, 1, 1]])
        assert np.array_equal(
            kernel(corners, corners), kernel(corners.astype(float), corners.astype(float))
        )


class TestOther(KernelLaws):
    @pytest.fixture(
        params=[Linear(), Linear(0.0), Linear(2.5), Categorical(), Categorical(0.4)], ids=str
    )
    def kernel(self, request: pytest.FixtureRequest) -> Kernel:
        return cast(Kernel, request.param)


class TestComposed(KernelLaws):
    @pytest.fixture(
        params=[
            Product((RBF(0.3), Linear(), Matern(1.5, 0.5))),
            Sum((RBF(0.3), Linear())),
            Sum((RBF(0.3), Matern(0.5, 0.1), Categorical(0.2)), weights=[1.0, 2.0, 5.0]),
            On(Matern(2.5, (0.1, 0.4)), (2, 0)),
            Joint(Matern(2.5, 0.3)),
            Joint(RBF(0.3) + Linear() * RationalQuadratic()),
            Separable(Matern(2.5, 0.2), RBF((0.3, 0.4)), at=1),
            Separable(Linear(), Sum((Categorical(), RBF())), at=2),
            RBF(0.3).on(0) * (Categorical(0.1).on(1) + Linear().on(2, 1)),
            Pooled(Matern(2.5, 0.5), levels=(0, 0, 0)),
            Pooled(RBF((0.2, 0.5, 4.0)), (0.5, 0.5, 0.0), (0, 0, 0)),
            Separable(Matern(2.5, 0.3), Pooled(Matern(1.5, 0.4), (1, 2, 1), (0, 0)), at=1),
        ],
        ids=str,
    )
    def kernel(self, request: pytest.FixtureRequest) -> Kernel:
        return cast(Kernel, request.param)


def polynomial(A: Any, B: Any) -> Any:
    """(1 + a'b)^2, far above 1 on the diagonal."""
    return (1.0 + A @ B.T) ** 2


def halved(A: Any, B: Any) -> Any:
    return 0.5 * RBF(0.3)(A, B)


class TestCustom(KernelLaws):
    has_spec = False

    @pytest.fixture(
        params=[
            Custom(polynomial),
            Custom(halved),
            Joint(Custom(polynomial)),
            Custom(polynomial) * RBF(),
        ]
    )
    def kernel(self, request: pytest.FixtureRequest) -> Kernel:
        return cast(Kernel, request.param)

    def test_no_file_can_hold_it(self, kernel: Kernel) -> None:
        with pytest.raises(InputError, match="a function cannot be written to a file"):
            dump(kernel)


@dataclass(frozen=True)
class Cosine(Kernel):
    """A kernel of somebody else's, with the least that one has to write."""

    frequency: float = 1.0

    def __call__(self, A: Any, B: Any) -> Any:
        xp = array_namespace(A, B)
        turn = 2 * math.pi * self.frequency
        a = xp.sum(A, axis=1)[:, None]
        b = xp.sum(B, axis=1)[None, :]
        return xp.cos(turn * a) * xp.cos(turn * b) + xp.sin(turn * a) * xp.sin(turn * b)


class TestForeign(KernelLaws):
    has_spec: ClassVar[bool] = False

    @pytest.fixture
    def kernel(self) -> Kernel:
        return Cosine(0.7)


# -- scikit-learn as the oracle -------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.3), RationalQuadratic(0.3, 2.0), *(Matern(nu, (0.2,)) for nu in (0.5, 1.5, 2.5))],
)
def test_distances_on_a_line_are_those_of_the_product(kernel: Kernel, points: Floats) -> None:
    line = points[:, :1]
    assert np.allclose(against(kernel, line)(line), kernel(line, line), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.05, 0.3, 2.0, (0.1, 0.5, 2.0)], ids=str)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda s: RBF(s), lambda s: sk.RBF(s)),
        (lambda s: Matern(0.5, s), lambda s: sk.Matern(s, nu=0.5)),
        (lambda s: Matern(1.5, s), lambda s: sk.Matern(s, nu=1.5)),
        (lambda s: Matern(2.5, s), lambda s: sk.Matern(s, nu=2.5)),
    ],
    ids=["rbf", "matern12", "matern32", "matern52"],
)
def test_stationary_kernels_agree_with_scikit_learn(
    ours: Any, theirs: Any, scale: Any, points: Floats
) -> None:
    assert np.allclose(
        ours(scale)(points, points[:9]), theirs(scale)(points, points[:9]), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.0])
def test_rational_quadratic_agrees_with_scikit_learn(alpha: float, points: Floats) -> None:
    theirs = sk.RationalQuadratic(length_scale=0.4, alpha=alpha)
    assert np.allclose(
        RationalQuadratic(0.4, alpha)(points, points), theirs(points), rtol=0, atol=1e-12
    )


def test_products_agree_with_scikit_learn(points: Floats) -> None:
    ours = RBF(0.3) * Matern(1.5, 0.7)
    theirs = sk.RBF(0.3) * sk.Matern(0.7, nu=1.5)
    assert np.allclose(ours(points, points), theirs(points), rtol=0, atol=1e-12)


def test_a_sum_is_the_average_of_what_scikit_learn_adds(points: Floats) -> None:
    ours = RBF(0.3) + Matern(1.5, 0.7) + RationalQuadratic(0.2, 2.0)
    theirs = sk.RBF(0.3) + sk.Matern(0.7, nu=1.5) + sk.RationalQuadratic(0.2, 2.0)
    assert np.allclose(3 * ours(points, points), theirs(points), rtol=0, atol=1e-12)
    weighted = Sum((RBF(0.3), Matern(1.5, 0.7)), weights=(1.0, 3.0))
    assert np.allclose(
        4 * weighted(points, points),
        sk.RBF(0.3)(points) + 3 * sk.Matern(0.7, nu=1.5)(points),
        atol=1e-12,
    )


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.0])
def test_linear_is_a_scaled_dot_product_of_scikit_learn(bias: float, points: Floats) -> None:
    theirs = sk.DotProduct(sigma_0=bias)(2 * points - 1)
    assert np.allclose((bias**2 + 3) * Linear(bias)(points, points), theirs, rtol=0, atol=1e-12)


def test_separable_is_a_product_over_columns(points: Floats) -> None:
    ours = Separable(Matern(2.5, 0.3), RBF((0.2, 0.5)), at=1)
    theirs = sk.Matern(0.3, nu=2.5)(points[:, :1]) * sk.RBF((0.2, 0.5))(points[:, 1:])
    assert np.allclose(ours(points, points), theirs, rtol=0, atol=1e-12)


def test_categorical_counts_the_columns_that_differ() -> None:
    labels = np.array([[0.0, 0.0], [0.0, 0.5], [1.0, 0.5], [1.0, 0.0]])
    s = 0.3
    assert Categorical(s)(labels[:1], labels) == pytest.approx(np.array([[1.0, s, s * s, s]]))
    assert Categorical()(labels, labels) == pytest.approx(np.eye(4))


# -- anybody's own --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "theirs",
    [
        4.0 * sk.RBF(0.3),
        sk.DotProduct(sigma_0=1.0),
        sk.RBF(0.3) + sk.Matern(0.2),
        sk.ConstantKernel(0.5) * sk.RBF(0.3),
    ],
    ids=str,
)
def test_a_kernel_of_scikit_learn_is_scaled_where_its_diagonal_is_over_one(
    theirs: Any, points: Floats
) -> None:
    ours = Custom(theirs)
    top = np.maximum(1.0, theirs.diag(points))
    assert (ours.diagonal(points) <= 1.0).all()
    assert np.allclose(
        ours(points, points), theirs(points) / np.sqrt(np.outer(top, top)), rtol=0, atol=1e-12
    )
    assert np.allclose(np.diag(ours(points, points)), ours.diagonal(points), rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(ours(points, points)).min() >= -1e-8


def test_the_diagonal_of_a_function_is_computed_in_blocks() -> None:
    seen: list[int] = []

    def watched(A: Any, B: Any) -> Any:
        seen.append(len(A))
        return polynomial(A, B)

    many = np.random.default_rng(0).random((1000, 2))
    assert Custom(watched).diagonal(many) == pytest.approx(np.ones(1000))
    assert max(seen) <= 64
    assert Custom(watched).diagonal(many[:0]).shape == (0,)


def test_a_custom_kernel_must_be_callable() -> None:
    with pytest.raises(InputError, match=r"needs a function k\(A, B\), got 'rbf'"):
        Custom("rbf")  # type: ignore[arg-type]


# -- how a problem reads a kernel -----------------------------------------------------------------


def bound(kernel: Any, actions: Any = ACTIONS, contexts: Any = CONTEXTS) -> Kernel:
    return Problem(actions, contexts, kernel).k


def test_a_plain_kernel_becomes_the_product_over_actions_and_contexts(points: Floats) -> None:
    k = bound(Matern(2.5, 0.3))
    assert isinstance(k, Separable)
    theirs = sk.Matern(0.3, nu=2.5)
    expected = theirs(points[:, :1]) * theirs(points[:, 1:])
    assert np.allclose(k(points, points), expected, rtol=0, atol=1e-12)
    assert not np.allclose(k(points, points), theirs(points), rtol=0, atol=1e-3)


def test_lengthscales_of_a_plain_kernel_go_to_their_columns(points: Floats) -> None:
    k = bound(Matern(1.5, (0.1, 0.2, 0.3)))
    expected = sk.Matern(0.1, nu=1.5)(points[:, :1]) * sk.Matern((0.2, 0.3), nu=1.5)(points[:, 1:])
    assert np.allclose(k(points, points), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "plain", [RBF(0.3) + Linear(), RBF(0.3) * Linear(), Sum((RBF(0.3), Linear()), (1.0, 4.0))]
)
def test_sums_and_products_of_plain_kernels_are_plain(plain: Kernel, points: Floats) -> None:
    expected = plain(points[:, :1], points[:, :1]) * plain(points[:, 1:], points[:, 1:])
    assert np.allclose(bound(plain)(points, points), expected, rtol=0, atol=1e-12)


def test_joint_stays_joint(points: Floats) -> None:
    k = bound(Joint(Matern(2.5, (0.1, 0.2, 0.3))))
    assert np.allclose(
        k(points, points), sk.Matern((0.1, 0.2, 0.3), nu=2.5)(points), rtol=0, atol=1e-12
    )


def test_a_function_is_joint(points: Floats) -> None:
    theirs = sk.Matern(0.4, nu=2.5)
    assert np.allclose(bound(theirs)(points, points), theirs(points), rtol=0, atol=1e-12)


def test_separable_takes_one_kernel_for_each_side(points: Floats) -> None:
    k = bound(Separable(Linear(), Matern(2.5, (0.2, 0.5))))
    expected = Linear()(points[:, :1], points[:, :1]) * sk.Matern((0.2, 0.5), nu=2.5)(points[:, 1:])
    assert np.allclose(k(points, points), expected, rtol=0, atol=1e-12)


def test_columns_are_found_by_name(points: Floats) -> None:
    k = bound(Separable(RBF(0.2), Matern(2.5, 0.3).on("weight") * RBF(0.7).on("age")))
    expected = (
        sk.RBF(0.2)(points[:, :1])
        * sk.Matern(0.3, nu=2.5)(points[:, 2:])
        * sk.RBF(0.7)(points[:, 1:2])
    )
    assert np.allclose(k(points, points), expected, rtol=0, atol=1e-12)


def test_columns_are_found_by_name_in_a_joint_kernel(points: Floats) -> None:
    k = bound(Joint(RBF((0.2, 0.5)).on("weight", "dose")))
    assert np.allclose(k(points, points), sk.RBF((0.2, 0.5))(points[:, [2, 0]]), rtol=0, atol=1e-12)
    by_number = bound(Joint(RBF((0.2, 0.5)).on(2, 0)))
    assert np.array_equal(k(points, points), by_number(points, points))


def test_the_features_of_an_item_share_its_name(points: Floats) -> None:
    items = Catalogue([[1.0, 2.0], [3.0, 4.0]], names=["film"])
    contexts = Mixed([Box([0.0], [1.0], names=["age"])])
    k = bound(Joint(RBF((0.2, 0.5)).on("film")), items, contexts)
    assert np.allclose(k(points, points), sk.RBF((0.2, 0.5))(points[:, :2]), rtol=0, atol=1e-12)


def test_names_are_right_where_an_item_stands_in_the_middle() -> None:
    items = Catalogue([[1.0, 2.0], [3.0, 4.0]], names=["film"])
    contexts = Mixed([Box([0.0], [1.0], names=["age"]), Mixed([items, Categories([1, 2], "sex")])])
    points = np.random.default_rng(0).random((10, 5))
    k = bound(Joint(RBF(0.3).on("sex")), ACTIONS, contexts)
    assert np.allclose(k(points, points), sk.RBF(0.3)(points[:, 4:]), rtol=0, atol=1e-12)


def test_a_sum_of_separable_kernels_needs_joint_around_it(points: Floats) -> None:
    parts = Separable(RBF(0.1), Linear()), Separable(Linear(), RBF(0.3))
    with pytest.raises(
        InputError, match="a Separable inside a sum or product does not split: write Joint"
    ):
        bound(Sum(parts))
    k = bound(Joint(Sum(parts)))
    assert np.allclose(
        k(points, points), (bound(parts[0])(points, points) + bound(parts[1])(points, points)) / 2
    )


@pytest.mark.parametrize(
    "whole", [Joint(RBF()), Custom(polynomial), RBF().on("age")], ids=["joint", "custom", "on"]
)
def test_a_whole_kernel_inside_a_plain_one_is_refused(whole: Kernel) -> None:
    with pytest.raises(InputError, match=r"does not split"):
        bound(whole * RBF())


def test_binding_twice_changes_nothing(points: Floats) -> None:
    k = bound(Separable(RBF(0.2).on("dose"), Matern(2.5, 0.3).on("weight")))
    again = natural(k, NAMES, 1)
    assert np.array_equal(again(points, points), k(points, points))


@given(st.permutations(range(3)), st.sampled_from([Product, Sum]))
def test_brackets_and_order_do_not_matter(order: list[int], kind: type) -> None:
    points = np.random.default_rng(2).random((5, 2))
    parts: list[Kernel] = [RBF(0.2), Linear(), Matern(0.5, 0.4)]
    a, b, c = (parts[i] for i in order)
    left, right = ((a * b) * c, a * (b * c)) if kind is Product else ((a + b) + c, a + (b + c))
    assert left == right
    assert np.allclose(left(points, points), kind(tuple(parts))(points, points), rtol=0, atol=1e-12)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RBF, RationalQuadratic, lambda s: Matern(2.5, s)])
@pytest.mark.parametrize(
    "scale",
    [
        0.0,
        -1.0,
        math.nan,
        math.inf,
        [],
        [0.1, 0.0],
        [0.1, None],
        "0.3",
        "3",
        None,
        ["a"],
        {},
        np.ones((2, 2)),
    ],
)
def test_a_lengthscale_must_be_positive(kind: Any, scale: Any) -> None:
    with pytest.raises(
        InputError, match="lengthscale must be a positive number, or one per dimension"
    ):
        kind(scale)


def test_lengthscales_may_be_any_kind_of_numbers() -> None:
    assert RBF(np.array([0.1, 0.2])) == RBF([0.1, 0.2]) == RBF((0.1, 0.2))  # type: ignore[arg-type]
    assert RBF(np.float32(0.5)) == RBF(0.5)  # type: ignore[arg-type]
    assert RBF(1) == RBF(1.0)


@pytest.mark.parametrize("wrap", [lambda k: k, Joint], ids=["plain", "joint"])
def test_lengthscales_must_be_as_many_as_columns(wrap: Any) -> None:
    with pytest.raises(
        InputError,
        match=r"2 lengthscales do not fit 3 columns \(dose, age, weight\): give one number",
    ):
        bound(wrap(RBF((0.1, 0.2))))


def test_lengthscales_of_one_side_must_fit_that_side() -> None:
    with pytest.raises(InputError, match=r"3 lengthscales do not fit 2 columns \(age, weight\)"):
        bound(Separable(RBF(), RBF((0.1, 0.2, 0.3))))


@pytest.mark.parametrize("column", ["height", 3, -1, 0.5])
def test_an_unknown_column_is_named(column: Any) -> None:
    with pytest.raises(
        InputError, match=rf"the kernel names column {column!r}, which is none of dose, age, weight"
    ):
        bound(Joint(RBF().on(column)))


def test_a_column_of_the_other_side_is_unknown() -> None:
    with pytest.raises(InputError, match="'dose', which is none of age, weight"):
        bound(Separable(RBF(), RBF().on("dose")))


def test_named_columns_alone_do_not_split() -> None:
    with pytest.raises(InputError, match=r"write Separable\(actions=..., contexts=...\)"):
        bound(RBF().on("dose"))


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        (Matern, (3.5,), "smoothness must be 0.5, 1.5 or 2.5, got 3.5: use RBF"),
        (Matern, ("2.5",), "smoothness must be 0.5, 1.5 or 2.5, got '2.5'"),
        (RationalQuadratic, (0.3, 0.0), "alpha must be positive, got 0.0"),
        (RationalQuadratic, (0.3, "a"), "alpha must be positive, got 'a'"),
        (RationalQuadratic, (0.3, math.nan), "alpha must be positive"),
        (Linear, (-1.0,), "bias must be a number of at least 0, got -1.0"),
        (Linear, ("a",), "bias must be a number of at least 0"),
        (Linear, (math.inf,), "bias must be a number of at least 0"),
        (Categorical, (1.0,), r"similarity must be in \[0, 1\), got 1.0"),
        (Categorical, (math.nan,), "similarity must be in"),
        (Categorical, (None,), "similarity must be in"),
        (Sum, ((RBF(), RBF()), [1.0]), "one positive weight per kernel"),
        (Sum, ((RBF(), RBF()), [1.0, 0.0]), "one positive weight per kernel"),
        (Sum, ((RBF(), RBF()), [1.0, "a"]), "one positive weight per kernel"),
        (Sum, ((),), "takes kernels"),
        (Product, ((RBF(), polynomial),), "wrap a plain function in tacit.kernels.Custom"),
        (Product, (RBF(),), "takes kernels"),
        (operator.mul, (RBF(), 2.0), "takes kernels"),
        (operator.add, (RBF(), sk.RBF()), "wrap a plain function"),
        (Joint, (polynomial,), "wrap a plain function"),
        (Separable, (RBF(), polynomial), "wrap a plain function"),
        (On, (polynomial, ["age"]), "wrap a plain function"),
        (On, (RBF(), "age"), "On needs a list of columns, got 'age'"),
        (On, (RBF(), 0), "On needs a list of columns, got 0"),
        (On, (RBF(), ()), r"On needs a list of columns, got \(\)"),
    ],
)
def test_a_wrong_kernel_is_refused(kind: Any, arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        kind(*arguments)
