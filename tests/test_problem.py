"""The problem: what is wrong with it is said in one sentence, and plain data describes it fully."""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import RBF, Ball, Box, Catalogue, Categorical, Categories, InputError, Joint, Linear, Matern, Mixed, Problem
from tacit.kernels import Custom, Kernel, Separable, Sum
from tacit.spec import dump, load

ACTIONS = Box([0.0], [10.0], names=["dose"])
CONTEXTS = Box([18.0, 40.0], [95.0, 140.0], names=["age", "weight"])
SECRET = 31.4159
BOX = {"type": "box", "low": [0], "high": [1], "names": ["x"]}
DISC = {"type": "ball", "centre": [0], "names": ["y"]}


def problem(**changes: Any) -> Problem:
    return Problem(**{"actions": ACTIONS, "contexts": CONTEXTS} | changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"reward_range": (1.0, 0.0)},
            r"reward_range must be finite and increasing, got \(1.0, 0.0\): pass \(low, high\)",
        ),
        ({"reward_range": (1.0, 1.0)}, r"must be finite and increasing, got \(1.0, 1.0\): pass"),
        ({"reward_range": (math.nan, 1.0)}, r"must be finite and increasing, got \(nan, 1.0\): pass"),
        ({"reward_range": (0.0, math.inf)}, r"must be finite and increasing, got \(0.0, inf\): pass"),
        ({"reward_range": (-1.7e308, 1.7e308)}, r"must be finite and increasing, got .*: pass"),
        ({"reward_range": 1.0}, r"reward_range must be two numbers, got float: pass \(low, high\)"),
        ({"reward_range": None}, r"must be two numbers, got NoneType: pass"),
        ({"reward_range": (0.0, 1.0, 2.0)}, r"must be two numbers, got tuple: pass"),
        ({"reward_range": ("low", "high")}, r"must be two numbers, got tuple: pass"),
        ({"reward_range": pd.Series([SECRET] * 5)}, r"must be two numbers, got Series: pass"),
        (
            {"actions": [0.0, 1.0]},
            r"actions must be a domain, got list: pass for example tacit.Box\(\[0.0\], \[1.0\]\)",
        ),
        ({"actions": Box}, "actions must be a domain, got ABCMeta: pass"),
        ({"contexts": None}, "contexts must be a domain, got NoneType: pass"),
        ({"contexts": pd.DataFrame({"age": [SECRET]})}, "contexts must be a domain, got DataFrame: pass"),
        (
            {"contexts": Box([0.0], [1.0], names=["dose"])},
            r"must not share column names, both have dose: pass names=\[",
        ),
        ({"actions": Box([0.0], [1.0]), "contexts": Box([0.0], [1.0])}, r"both have x0: pass names=\["),
        ({"kernel": None}, r"kernel must be a kernel or a function k\(A, B\), got None: pass for example tacit.Matern"),
        ({"kernel": "matern"}, r"got 'matern': pass for example tacit.Matern\(2.5, 0.3\)"),
        ({"kernel": {"type": "matern"}}, "kernel must be a kernel or a function"),
        ({"kernel": Matern}, "kernel must be a kernel or a function"),
        ({"kernel": RBF((0.1, 0.2))}, "2 lengthscales do not fit 3 columns .*: give one number, or one per column"),
        ({"kernel": Joint(RBF().on("height"))}, "names column 'height', which is none of dose, age, weight"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        problem(**changes)
    assert "\n" not in str(caught.value)
    assert str(SECRET) not in str(caught.value)


def test_without_a_kernel_it_is_the_product_of_matern_kernels() -> None:
    k = problem().k
    assert isinstance(k, Separable)
    assert (k.actions, k.contexts, k.at) == (Matern(2.5, 0.3), Matern(2.5, 0.3), 1)


def test_joint_points_are_the_action_and_then_the_context() -> None:
    points = problem(play=lambda n, rng: np.zeros(n), generator=lambda n, rng: np.tile([95.0, 90.0], (n, 1)))
    assert problem().dimension == 3
    assert points.public_points(2, np.random.default_rng(0)).tolist() == [[0.0, 1.0, 0.5]] * 2


# -- rewards ---------------------------------------------------------------------------------------------------


@given(st.floats(), st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(lambda r: r[0] < r[1]))
def test_scaled_rewards_are_within_one_or_nan(reward: float, reward_range: tuple[float, float]) -> None:
    """Nothing raises, and (as warnings are errors here) nothing warns."""
    scaled = problem(reward_range=reward_range).scale_reward(np.array([reward]))[0]
    assert math.isnan(scaled) if math.isnan(reward) else -1.0 <= scaled <= 1.0


def test_rewards_are_scaled_clipped_and_scaled_back() -> None:
    p = problem(reward_range=[10, 30])
    scaled = p.scale_reward(np.array([10.0, 15.0, 30.0, -math.inf, 1e300, math.nan]))
    assert scaled == pytest.approx([-1.0, -0.5, 1.0, -1.0, 1.0, math.nan], nan_ok=True)
    assert p.unscale_reward(scaled) == pytest.approx([10.0, 15.0, 30.0, 10.0, 30.0, math.nan], nan_ok=True)


# -- plain data ------------------------------------------------------------------------------------------------

PROBLEMS = [
    problem(),
    problem(kernel=RBF([0.1, 0.2, 0.3]), reward_range=(-1, 5)),
    problem(kernel=Separable(Linear(2.0), Matern(1.5, 0.4).on("weight") * RBF().on("age"))),
    Problem(
        Catalogue([[1.0, 2.0], [3.0, 0.0], [5.0, 5.0]], ids=["a", "b", "c"], names=["film"]),
        Mixed([Ball([0.0, 0.0], names=["u", "v"]), Categories([1, 2, 3], "arm")]),
        Joint(RBF(0.5).on("film", "u", "v") * Categorical(0.3).on("arm")),
    ),
]


@pytest.mark.parametrize("original", PROBLEMS)
def test_plain_data_describes_a_problem_that_behaves_the_same(original: Problem) -> None:
    twin = Problem.from_spec(json.loads(json.dumps(original.spec())))
    points, again = (p.public_points(50, np.random.default_rng(0)) for p in (original, twin))
    assert np.array_equal(points, again)
    assert np.array_equal(original.k(points, points), twin.k(points, points))
    assert np.array_equal(original.k.diagonal(points), twin.k.diagonal(points))
    assert original.reward_range == twin.reward_range
    assert (original.actions.names, original.contexts.names) == (twin.actions.names, twin.contexts.names)
    assert twin.spec() == original.spec()


def test_a_problem_can_be_written_by_hand() -> None:
    spec = tomllib.loads("""
        [actions]
        type = "Box"
        low = [0.0]
        high = [10.0]
        names = ["dose"]
        [contexts]
        type = "mixed"
        parts = [
            { type = "box", low = [18, 40], high = [95, 140], names = ["age", "weight"] },
            { type = "categories", levels = ["none", "one"], name = "copies" },
        ]
        [kernel]
        type = "separable"
        actions = { type = "rbf", lengthscale = 0.2 }
        [kernel.contexts]
        type = "sum"
        kernels = [{ type = "linear" }, { type = "matern", smoothness = 1.5 }]
        weights = [1, 3]
        [reward]
        range = [0, 100]
    """)
    p = Problem.from_spec(spec)
    assert (p.actions.names, p.contexts.names) == (("dose",), ("age", "weight", "copies"))
    assert p.reward_range == (0.0, 100.0)
    assert p.kernel == Separable(RBF(0.2), Sum((Linear(), Matern(1.5)), weights=(1.0, 3.0)))


def test_what_a_file_leaves_out_has_a_default() -> None:
    p = Problem.from_spec({"actions": BOX, "contexts": DISC})
    assert p.kernel == Matern(2.5, 0.3)
    assert p.reward_range == (0.0, 1.0)


def test_arguments_of_from_spec_come_before_the_file() -> None:
    spec = {"actions": BOX, "contexts": DISC, "kernel": {"type": "rbf"}}
    p = Problem.from_spec(spec, kernel=Linear(), generator=lambda n, rng: np.zeros(n), play=lambda n, rng: np.ones(n))
    assert p.kernel == Linear()
    assert p.public_points(1, np.random.default_rng(0)).tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, r'the problem has no \[actions\] table: say what they are, for example type = "box"'),
        ({"actions": BOX}, r"the problem has no \[contexts\] table"),
        (None, "a problem must be a table with actions and contexts, got None"),
        (["actions", "contexts"], "a problem must be a table with actions and contexts"),
        (
            {"actions": "box", "contexts": DISC},
            r'domain must be a table with a "type" \(one of ball, box, .*got \'box\'',
        ),
        ({"actions": {"low": [0]}, "contexts": DISC}, r'domain must be a table with a "type"'),
        (
            {"actions": {"type": "cube"}, "contexts": DISC},
            "unknown domain type 'cube': choose one of ball, box, catalogue",
        ),
        (
            {"actions": BOX | {"hihg": [1]}, "contexts": DISC},
            "domain 'box' has no field 'hihg': it takes high, low, names",
        ),
        ({"actions": {"type": "box"}, "contexts": DISC}, "domain 'box' is incomplete: it needs low, high"),
        ({"actions": {"type": "box", "low": [0]}, "contexts": DISC}, "domain 'box' is incomplete: it needs high"),
        ({"actions": BOX | {"names": 3}, "contexts": DISC}, "domain 'box' has a field of the wrong kind: "),
        (
            {"actions": BOX | {"low": ["a"]}, "contexts": DISC},
            r"finite low < high in every coordinate, got low=\['a'\]",
        ),
        ({"actions": {"type": "mixed", "parts": [{"type": "x"}]}, "contexts": DISC}, "unknown domain type 'x'"),
        ({"actions": {"type": "mixed", "parts": []}, "contexts": DISC}, "Mixed takes a list of domains"),
        ({"actions": {"type": "matern"}, "contexts": DISC}, "unknown domain type 'matern'"),
        (
            {"actions": BOX, "contexts": DISC, "kernel": "rbf"},
            r'kernel must be a table with a "type" \(one of categorical',
        ),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "box"}},
            "unknown kernel type 'box': choose one of categ",
        ),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "rbf", "scale": 1}},
            "kernel 'rbf' has no field 'scale'",
        ),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "on"}},
            "kernel 'on' is incomplete: it needs kernel, columns",
        ),
        ({"actions": BOX, "contexts": DISC, "kernel": {"type": "product", "kernels": []}}, "takes kernels"),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "sum", "kernels": 3}},
            "field of the wrong kind|takes kernels",
        ),
        ({"actions": BOX, "contexts": DISC, "kernel": {"type": "rbf", "lengthscale": "wide"}}, "lengthscale must be"),
        (
            {"actions": BOX, "contexts": DISC, "reward": [0, 1]},
            r"reward must be a table, got \[0, 1\]: write range = \[",
        ),
        (
            {"actions": BOX, "contexts": DISC, "reward": {"range": [1, 0]}},
            r"must be finite and increasing, got \(1.0, 0.0\)",
        ),
        ({"actions": BOX, "contexts": BOX}, "must not share column names, both have x"),
    ],
)
def test_wrong_plain_data_is_refused_in_one_sentence(spec: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        Problem.from_spec(spec)
    assert "\n" not in str(caught.value)


def test_what_is_at_its_default_is_left_out() -> None:
    assert dump(Matern(2.5, 0.3)) == {"type": "matern"}
    assert dump(Matern(1.5, (0.2, 1.0))) == {"type": "matern", "smoothness": 1.5, "lengthscale": [0.2, 1.0]}
    assert dump(RBF() * Linear(2.0)) == {
        "type": "product",
        "kernels": [{"type": "rbf"}, {"type": "linear", "bias": 2.0}],
    }


@pytest.mark.parametrize("kernel", [np.dot, Custom(np.dot)], ids=["function", "custom"])
def test_a_kernel_of_ones_own_is_marked_in_the_file_and_passed_again(kernel: Any) -> None:
    spec = problem(kernel=kernel).spec()
    assert spec["kernel"] == {"type": "custom"}
    with pytest.raises(InputError, match="a kernel of somebody's own: pass it again as kernel="):
        Problem.from_spec(spec)
    assert Problem.from_spec(spec, kernel=kernel).kernel == Custom(np.dot)


@pytest.mark.parametrize("kernel", [Joint(Custom(np.dot)), Joint(Custom(np.dot) * RBF())], ids=["joint", "product"])
def test_a_kernel_that_hides_a_function_cannot_be_written_to_a_file(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="cannot be written to a file: use Tacit's own parts"):
        problem(kernel=kernel).spec()


def test_a_kernel_of_ones_own_can_be_loaded_from_a_registry_of_ones_own() -> None:
    registry: dict[str, type[Kernel]] = {"rbf": RBF, "joint": Joint}
    assert load({"type": "joint", "kernel": {"type": "RBF", "lengthscale": 1.5}}, registry, "kernel") == Joint(RBF(1.5))
