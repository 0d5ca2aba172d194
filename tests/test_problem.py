"""The problem: what is wrong with it is said in one sentence, and plain data describes it fully."""

from __future__ import annotations

import json
import math
import pickle
import tomllib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import (
    RBF,
    Ball,
    Box,
    Catalogue,
    Categorical,
    Categories,
    InputError,
    Joint,
    Linear,
    Matern,
    Mixed,
    Problem,
    Simplex,
)
from tacit.kernels import Custom, Kernel, Pooled, Separable, Sum, sees_batches
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
        (
            {"reward_range": (math.nan, 1.0)},
            r"must be finite and increasing, got \(nan, 1.0\): pass",
        ),
        (
            {"reward_range": (0.0, math.inf)},
            r"must be finite and increasing, got \(0.0, inf\): pass",
        ),
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
        (
            {"contexts": pd.DataFrame({"age": [SECRET]})},
            "contexts must be a domain, got DataFrame: pass",
        ),
        (
            {"contexts": Box([0.0], [1.0], names=["dose"])},
            r"must not share column names, both have dose: pass names=\[",
        ),
        (
            {"actions": Box([0.0], [1.0]), "contexts": Box([0.0], [1.0], ["x0"])},
            r"both have x0: pass names=\[",
        ),
        (
            {"kernel": "matern"},
            r"kernel must be a kernel or a function k\(A, B\), got 'matern': pass for example "
            r"tacit.Matern\(2.5, 0.3\)",
        ),
        ({"kernel": {"type": "matern"}}, "kernel must be a kernel or a function"),
        ({"kernel": Matern}, "kernel must be a kernel or a function"),
        (
            {"kernel": RBF((0.1, 0.2))},
            "2 lengthscales do not fit 3 columns .*: give one number, or one per column",
        ),
        (
            {"kernel": Joint(RBF().on("height"))},
            "names column 'height', which is none of dose, age, weight",
        ),
        (
            {"actions": Categories(["A"], "arm"), "advantage": True},
            "advantage=True needs at least two actions that the kernel tells apart",
        ),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        problem(**changes)
    assert "\n" not in str(caught.value)
    assert str(SECRET) not in str(caught.value)


def test_without_a_kernel_contexts_are_pooled() -> None:
    k = problem(contexts=Box([0.0], [1.0], ["z"])).k
    assert isinstance(k, Separable)
    pooled = Pooled(Matern(2.5, 0.3), levels=(0,))
    assert (k.actions, k.contexts, k.at) == (Matern(2.5, 0.3), pooled, 1)


# -- the default kernel ---------------------------------------------------------------------------

SCALE = Matern(2.5, 0.3)
TWO = Matern(2.5, 0.37)  # for two columns, three, and four
THREE = Matern(2.5, 0.42)
FOUR = Matern(2.5, 0.45)
LABELS = Categorical(0.15)
GENES = ["G/G", "A/G", "A/A"]
PATIENTS = Mixed.of(age=(18, 95), gene=GENES, weight=(40, 140), site=["north", "south"])
STEPS = Categories(["none", "mild", "severe"], "pain", ordered=True)
FILMS = Catalogue([[1.0, 2.0], [3.0, 0.0], [5.0, 5.0]], names=["film"])
DEFAULTS: dict[str, tuple[Any, Any, Kernel]] = {
    "ordered labels": (
        STEPS,
        Mixed.of(age=(18, 95), level=Categories([1, 2], ordered=True)),
        Separable(SCALE, Pooled(TWO, levels=(0, 0))),
    ),
    "items with features": (
        FILMS,
        Box([0.0], [1.0], ["z"]),
        Separable(TWO, Pooled(SCALE, levels=(0,))),
    ),
    "items with many features": (
        Catalogue(np.eye(5).tolist(), names=["film"]),
        Box([0.0], [1.0], ["z"]),
        Separable(Pooled(Matern(2.5, 0.49), (0.1, 0.9, 0.0), (0,) * 5), Pooled(SCALE, levels=(0,))),
    ),
    "labels": (
        Categories(GENES, "a"),
        Categories(GENES, "c"),
        Separable(LABELS, Pooled(LABELS, levels=(3,))),
    ),
    "labels of contexts": (
        ACTIONS,
        PATIENTS,
        Separable(
            SCALE,
            Pooled(FOUR.on("age", "weight") * LABELS.on("gene", "site"), levels=(0, 3, 0, 2)),
        ),
    ),
    "labels of actions": (
        Mixed.of(dose=(0, 100), drug=["a", "b"], pain=STEPS),
        FILMS,
        Separable(THREE.on("dose", "pain") * LABELS.on("drug"), Pooled(TWO, levels=(0, 0))),
    ),
    "labels beside items": (
        ACTIONS,
        Mixed([FILMS, Categories(GENES, "gene")]),
        Separable(SCALE, Pooled(THREE.on("film") * LABELS.on("gene"), levels=(0, 0, 3))),
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("advantage", [False, True])
def test_the_default_kernel_takes_labels_without_an_order_for_labels(
    name: str, advantage: bool
) -> None:
    actions, contexts, expected = DEFAULTS[name]
    original = Problem(actions, contexts, advantage=advantage)
    assert original.kernel == expected
    assert sees_batches(original.k)  # many records at once
    twin = Problem.from_spec(json.loads(json.dumps(original.spec())))
    assert twin.kernel == expected
    points = original.public_points(40, np.random.default_rng(0))
    given = Problem(actions, contexts, expected, advantage=advantage)
    for other in (twin, given, pickle.loads(pickle.dumps(original))):
        assert np.array_equal(other.k(points, points), original.k(points, points))
    plain = {key: value for key, value in original.spec().items() if key != "kernel"}
    assert Problem.from_spec(plain).kernel == expected


def test_all_labels_are_equally_far_apart_unless_they_are_ordered() -> None:
    for ordered in (False, True):
        p = problem(contexts=Categories(GENES, "gene", ordered))
        points = np.column_stack([np.full(3, 0.5), [0.0, 0.5, 1.0]])
        K = p.k(points, points)
        assert np.isclose(K[0, 1], K[0, 2], rtol=1e-12) == (not ordered)


def test_a_kernel_that_is_given_reads_labels_as_before() -> None:
    k = problem(contexts=PATIENTS, kernel=Matern(2.5, 0.3)).k
    assert isinstance(k, Separable)
    assert (k.actions, k.contexts) == (SCALE, SCALE)


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "contexts", "names"),
    [
        (Box([0], [1]), Box([0, 0], [1, 1]), ("c0", "c1")),
        (Box([0], [1]), Ball([0.0, 0.0]), ("c0", "c1")),
        (Ball([0.0, 0.0]), Simplex(2), ("c0", "c1")),
        (Box([0], [1]), Mixed([Box([0], [1]), Categories([1, 2])]), ("c0", "category")),
        (
            Categories([1, 2]),
            Mixed([Box([0], [1]), Categories([1, 2])]),
            ("x0", "context_category"),
        ),
        (Catalogue([1.0, 2.0]), Catalogue([1.0, 2.0]), ("context_item",)),
        (Box([0], [1], ["dose"]), Box([0, 0], [1, 1]), ("x0", "x1")),
        (Box([0], [1]), Box([0], [1], ["age"]), ("age",)),
    ],
)
def test_default_names_of_contexts_do_not_clash_with_those_of_actions(
    actions: Any, contexts: Any, names: tuple[str, ...]
) -> None:
    p = Problem(actions, contexts)
    assert (p.actions.names, p.contexts.names) == (actions.names, names)
    assert type(p.contexts) is type(contexts)
    assert Problem.from_spec(json.loads(json.dumps(p.spec()))).spec() == p.spec()
    plain = [
        {key: value for key, value in dump(d).items() if key != "names"}
        for d in (actions, contexts)
    ]
    if "parts" not in plain[1] and actions.unnamed and contexts.unnamed:
        assert (
            Problem.from_spec({"actions": plain[0], "contexts": plain[1]}).contexts.names == names
        )


def test_names_that_were_given_are_never_changed() -> None:
    for contexts in (
        Box([0], [1], ["x0"]),
        Mixed.of(x0=(0, 1)),
        Mixed([Ball([0.0], names=["x0"]), Categories([1, 2])]),
    ):
        with pytest.raises(InputError, match="both have x0"):
            Problem(Box([0], [1]), contexts)

    class OwnBox(Box):
        """Nobody knows what a stranger's domain does with its names."""

    with pytest.raises(InputError, match="both have x0"):
        Problem(Box([0], [1]), OwnBox([0], [1]))


# -- tables ---------------------------------------------------------------------------------------

ROWS = {"gene": ["A/A", "G/G"], "dose": [31.4159, 5.0], "age": [20, 64], "reward": [0.5, 0.1]}
DTYPES: dict[str, Any] = {"gene": str, "dose": float, "age": "int64", "reward": np.float32}
RANGES = {"dose": (0, 100), "age": (18, 95)}
LEVELS = {"gene": GENES}
TABLES: dict[str, Any] = {
    "pandas": pd.DataFrame(ROWS),
    "pandas without rows": pd.DataFrame(ROWS)[:0],
    "pandas objects": pd.DataFrame(ROWS, dtype=object),
    "polars": pl.DataFrame(ROWS),
    "polars lazy": pl.LazyFrame(ROWS),
    "polars schema": pl.DataFrame(ROWS).schema,
    "Arrow": pa.table(ROWS),
    "Arrow schema": pa.table(ROWS).schema,
    "columns": ROWS,
    "arrays": {name: np.array(column) for name, column in ROWS.items()},
    "dtypes": DTYPES,
    "other dtypes": {
        "gene": pd.CategoricalDtype(),
        "dose": pl.Float64,
        "age": pa.int8(),
        "reward": np.dtype("f4"),
    },
    "structured": np.zeros(
        2, dtype=[("gene", "U3"), ("dose", "f8"), ("age", "i4"), ("reward", "f4")]
    ),
}


def from_table(table: Any = DTYPES, **changes: Any) -> Problem:
    return Problem.from_table(
        table, **{"action": "dose", "ranges": RANGES, "levels": LEVELS} | changes
    )


@pytest.mark.parametrize("name", TABLES)
def test_a_table_lends_its_names_and_nothing_of_its_rows(name: str) -> None:
    p = from_table(TABLES[name], reward_range=(0, 2))
    expected = Problem(
        Box.of(dose=(0, 100)), Mixed.of(gene=GENES, age=(18, 95)), reward_range=(0, 2)
    )
    assert p.spec() == expected.spec()
    assert p.unused_columns(TABLES[name]) == ("reward",)


def test_no_row_of_a_table_is_looked_at() -> None:
    class Closed:
        """A frame that raises as soon as somebody asks for more than its columns and dtypes."""

        columns = tuple(ROWS)
        dtypes = (np.dtype(object),) * len(ROWS)

        def __getattr__(self, name: str) -> Any:
            if name in ("dtype", "collect_schema", "schema", "names"):
                raise AttributeError(name)
            raise AssertionError(f"somebody asked for {name}")

    assert from_table(Closed()).contexts.names == ("gene", "age")


def test_columns_are_chosen_and_ordered_by_who_names_them() -> None:
    assert from_table(contexts=["age", "gene"]).contexts.names == ("age", "gene")
    assert from_table(contexts=["age"]).contexts == Box.of(age=(18, 95))
    both = from_table(action=["dose", "gene"])
    assert (both.actions.names, both.contexts.names) == (("dose", "gene"), ("age",))
    arms = from_table(
        action="gene", levels={"gene": Categories(GENES, ordered=True)}, kernel=RBF(0.5)
    )
    assert isinstance(arms.actions, Categories)
    assert (arms.actions.name, arms.actions.ordered, arms.kernel) == ("gene", True, RBF(0.5))
    # Among levels a tuple is labels too.
    assert from_table(levels={"gene": (0, 1)}).contexts.names == ("gene", "age")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"ranges": RANGES | {"gene": (0, 1)}, "levels": None},
            "'gene' holds text and cannot have a range: declare",
        ),
        (
            {"ranges": RANGES | {"gone": (0, 1)}},
            "the table has no column 'gone': it has gene, dose, age, reward",
        ),
        ({"levels": {"gone": GENES}}, "the table has no column 'gone'"),
        (
            {"levels": LEVELS | {"age": [1, 2]}},
            "column 'age' has a range and levels: declare one of them",
        ),
        (
            {"levels": {"reward": GENES}},
            "'reward' holds numbers and none of its declared levels can occur in it",
        ),
        (
            {"levels": {"gene": pd.Series(GENES)}},
            "'gene' must be an interval, labels or a domain, got Series",
        ),
        (
            {"levels": {"gene": Box([0], [1])}},
            "levels of 'gene' must be a list of labels or Categories, got Box",
        ),
        (
            {"action": "reward"},
            "'reward' has neither a range nor levels: declare .* not learned from rows",
        ),
        ({"contexts": ["age", "reward"]}, "'reward' has neither a range nor levels"),
        (
            {"contexts": "age"},
            r"contexts must be a list of column names, got 'age': write \['age'\]",
        ),
        ({"contexts": []}, "contexts names no column: declare a range or levels"),
        ({"action": []}, "action names no column"),
        ({"contexts": ["dose"]}, "must not share column names, both have dose"),
        ({"ranges": [0, 1]}, "ranges must be a mapping of column names, got list"),
        ({"ranges": {"dose": (1, 0)}}, "range of 'dose' must be finite and increasing"),
        ({"table": 3}, "a table must be a frame, a schema, or a mapping .*, got int"),
        (
            {"table": pd.DataFrame([[1, 2, 3]], columns=["dose", "dose", "age"])},
            "two columns named 'dose'",
        ),
    ],
)
def test_what_a_table_cannot_hold_is_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        from_table(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (np.dtype("U3"), "text"),
        ("string[pyarrow]", "text"),
        (pa.large_string(), "text"),
        (pl.String, "text"),
        (np.dtype("M8[s]"), "times"),
        (pa.timestamp("us"), "times"),
        (pl.Duration("us"), "times"),
        (pa.struct([("a", pa.int8())]), "lists"),
        (pl.Struct({"a": pl.Int8}), "lists"),
        (pl.List(pl.Int8), "lists"),
        (pd.IntervalDtype("int64"), "lists"),
        (pa.dictionary(pa.int8(), pa.string()), "labels"),
        (pl.Categorical, "labels"),
        (pd.CategoricalDtype(), "labels"),
    ],
    ids=str,
)
def test_a_range_needs_a_column_that_may_hold_numbers(dtype: Any, kind: str) -> None:
    with pytest.raises(InputError, match=f"column 'age' holds {kind} and cannot have a range"):
        from_table(DTYPES | {"age": dtype})


@pytest.mark.parametrize(
    "dtype", [float, "Int64", "double", pa.decimal128(5), pl.UInt8, bool, object, pd.Int8Dtype()]
)
def test_a_range_takes_every_column_that_may_hold_numbers(dtype: Any) -> None:
    assert from_table(DTYPES | {"age": dtype}).contexts.names == ("gene", "age")


def test_floats_may_be_labels_since_whole_numbers_with_a_gap_come_as_floats() -> None:
    assert from_table(DTYPES | {"gene": float}, levels={"gene": [0, 1, 2]}).contexts.names == (
        "gene",
        "age",
    )


def test_joint_points_are_the_action_and_then_the_context() -> None:
    points = problem(
        play=lambda contexts, rng: 0.0 * contexts["age"],
        generator=lambda n, rng: np.tile([95.0, 90.0], (n, 1)),
    )
    assert problem().dimension == 3
    assert points.public_points(2, np.random.default_rng(0)).tolist() == [[0.0, 1.0, 0.5]] * 2


# -- rewards --------------------------------------------------------------------------------------


@given(
    st.floats(),
    st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(lambda r: r[0] < r[1]),
)
def test_scaled_rewards_are_within_one_or_nan(
    reward: float, reward_range: tuple[float, float]
) -> None:
    """Nothing raises, and (as warnings are errors here) nothing warns."""
    scaled = problem(reward_range=reward_range).scale_reward(np.array([reward]))[0]
    assert math.isnan(scaled) if math.isnan(reward) else -1.0 <= scaled <= 1.0


def test_rewards_are_scaled_clipped_and_scaled_back() -> None:
    p = problem(reward_range=[10, 30])
    scaled = p.scale_reward(np.array([10.0, 15.0, 30.0, -math.inf, 1e300, math.nan]))
    assert scaled == pytest.approx([-1.0, -0.5, 1.0, -1.0, 1.0, math.nan], nan_ok=True)
    assert p.unscale_reward(scaled) == pytest.approx(
        [10.0, 15.0, 30.0, 10.0, 30.0, math.nan], nan_ok=True
    )


# -- plain data -----------------------------------------------------------------------------------

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
    assert (original.actions.names, original.contexts.names) == (
        twin.actions.names,
        twin.contexts.names,
    )
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
    assert p.kernel == Problem(p.actions, p.contexts).kernel
    assert p.reward_range == (0.0, 1.0)


def test_arguments_of_from_spec_come_before_the_file() -> None:
    spec = {"actions": BOX, "contexts": DISC, "kernel": {"type": "rbf"}}
    p = Problem.from_spec(
        spec,
        kernel=Linear(),
        generator=lambda n, rng: np.zeros(n),
        play=lambda contexts, rng: np.ones(len(contexts["y"])),
    )
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
            "domain 'box' has no field 'hihg': it takes high, low, missing, names",
        ),
        (
            {"actions": {"type": "box"}, "contexts": DISC},
            "domain 'box' is incomplete: it needs low, high",
        ),
        (
            {"actions": {"type": "box", "low": [0]}, "contexts": DISC},
            "domain 'box' is incomplete: it needs high",
        ),
        (
            {"actions": BOX | {"names": 3}, "contexts": DISC},
            "domain 'box' has a field of the wrong kind: ",
        ),
        (
            {"actions": BOX | {"low": ["a"]}, "contexts": DISC},
            r"finite low < high in every coordinate, got low=\['a'\]",
        ),
        (
            {"actions": {"type": "mixed", "parts": [{"type": "x"}]}, "contexts": DISC},
            "unknown domain type 'x'",
        ),
        (
            {"actions": {"type": "mixed", "parts": []}, "contexts": DISC},
            "Mixed takes a list of domains",
        ),
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
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "product", "kernels": []}},
            "takes kernels",
        ),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "sum", "kernels": 3}},
            "field of the wrong kind|takes kernels",
        ),
        (
            {"actions": BOX, "contexts": DISC, "kernel": {"type": "rbf", "lengthscale": "wide"}},
            "lengthscale must be",
        ),
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
    assert dump(Matern(1.5, (0.2, 1.0))) == {
        "type": "matern",
        "smoothness": 1.5,
        "lengthscale": [0.2, 1.0],
    }
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


@pytest.mark.parametrize(
    "kernel", [Joint(Custom(np.dot)), Joint(Custom(np.dot) * RBF())], ids=["joint", "product"]
)
def test_a_kernel_that_hides_a_function_cannot_be_written_to_a_file(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="cannot be written to a file: use Tacit's own parts"):
        problem(kernel=kernel).spec()


def test_a_kernel_of_ones_own_can_be_loaded_from_a_registry_of_ones_own() -> None:
    registry: dict[str, type[Kernel]] = {"rbf": RBF, "joint": Joint}
    assert load(
        {"type": "joint", "kernel": {"type": "RBF", "lengthscale": 1.5}}, registry, "kernel"
    ) == Joint(RBF(1.5))
