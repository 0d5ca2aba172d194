"""Domains keep the laws of `laws.domains`, and what is special about each."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, chisquare, kstest

from helpers import BUDGET, SMALL, create_study, sqlite
from laws import DomainLaws
from laws.domains import looks_spread, looks_uniform
from tacit import Ball, Box, Catalogue, Categories, InputError, Mixed, Problem, Simplex
from tacit._typing import Floats
from tacit.domains import Domain, sees_batches
from tacit.spec import dump

ALARM = 1e-6  # each statistical test refuses the right thing with at most this probability
N = 20_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class TestBox(DomainLaws):
    @pytest.fixture(
        params=[
            Box([0.0], [100.0], names=["dose"]),
            Box([-1.0, 40.0, 1e6], [1.0, 41.0, 2e6]),
            Box([0.0] * 6, [1e-3] * 6),
            Box.of({"body weight": (40, 140)}, age=(18, 95)),
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def test_every_coordinate_is_uniform(self, domain: Domain) -> None:
        for column in domain.sample_points(N, rng()).T:
            assert kstest(column, "uniform").pvalue > ALARM
            assert kstest(column**1.1, "uniform").pvalue < ALARM

    def test_density_integrates_to_one(self, domain: Domain) -> None:
        box = cast(Box, domain)
        assert domain.uniform_density * np.prod(np.subtract(box.high, box.low)) == pytest.approx(
            1.0
        )


class TestBall(DomainLaws):
    @pytest.fixture(
        params=[
            Ball([3.0]),
            Ball([0.0, 0.0], names=["u", "v"]),
            Ball([1.0, -2.0, 5.0], 10.0),
            Ball([0.0] * 5, 0.1),
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def radius(self, domain: Domain, values: Floats) -> Floats:
        ball = cast(Ball, domain)
        return np.asarray(np.linalg.norm(values - np.asarray(ball.centre), axis=1) / ball.radius)

    def test_the_dth_power_of_the_radius_is_uniform(self, domain: Domain) -> None:
        r = self.radius(domain, domain.sample(N, rng()))
        assert kstest(r**domain.dimension, "uniform").pvalue > ALARM
        assert kstest(r ** (1.1 * domain.dimension), "uniform").pvalue < ALARM

    def test_no_direction_is_preferred(self, domain: Domain) -> None:
        offset = domain.sample(N, rng()) - np.asarray(cast(Ball, domain).centre)
        d = domain.dimension
        # The square of one coordinate of a uniform direction is Beta(1/2, (d-1)/2).
        square = (offset / np.linalg.norm(offset, axis=1, keepdims=True)) ** 2
        for column in square.T if d > 1 else ():
            assert kstest(column, beta(0.5, (d - 1) / 2).cdf).pvalue > ALARM
            assert kstest(column, beta(0.5, d / 2).cdf).pvalue < ALARM
        signs = np.count_nonzero(offset > 0, axis=0)
        # P(|Binomial(N, 1/2) - N/2| > 5.5 sigma) < 1e-6 in each of at most five coordinates,
        # together 2e-7.
        assert (np.abs(signs - N / 2) < 5.5 * math.sqrt(N) / 2).all()

    def test_density_integrates_to_one(self, domain: Domain) -> None:
        """Monte Carlo over the enclosing cube, five standard deviations (6e-7)."""
        r = cast(Ball, domain).radius
        d = domain.dimension
        share = np.mean(np.linalg.norm(rng().uniform(-1, 1, size=(N, d)), axis=1) <= 1)
        error = math.sqrt(share * (1 - share) / N) / share
        assert domain.uniform_density * (2 * r) ** d * share == pytest.approx(
            1.0, rel=5 * error + 1e-12
        )

    def test_a_sampler_that_forgets_the_root_is_refused(self, domain: Domain) -> None:
        points = domain.sample_points(N, rng())
        r = 2 * np.linalg.norm(points - 0.5, axis=1, keepdims=True)
        wrong = 0.5 + (points - 0.5) / r * r**domain.dimension
        assert looks_uniform(domain, wrong) == (domain.dimension == 1)

    @pytest.mark.parametrize("far", [1e9, 1e200, 1e308, math.inf])
    def test_what_is_far_away_goes_to_the_boundary_in_its_direction(self, far: float) -> None:
        assert Ball([0.0, 0.0]).project([[far, 0.0], [0.0, -far], [far, far]]) == pytest.approx(
            np.array([[1.0, 0.0], [0.0, -1.0], [math.sqrt(0.5), math.sqrt(0.5)]])
        )

    def test_a_ball_of_many_dimensions_has_a_density(self) -> None:
        assert 0 < Ball([0.0] * 400, 10.0).uniform_density < math.inf


class TestSimplex(DomainLaws):
    @pytest.fixture(
        params=[Simplex(2), Simplex(3, names=["tv", "radio", "web"]), Simplex(4), Simplex(7)]
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def test_every_share_follows_its_beta_law(self, domain: Domain) -> None:
        k = domain.dimension
        for share in domain.sample(N, rng()).T:
            assert kstest(share, beta(1, k - 1).cdf).pvalue > ALARM
            assert kstest(share, beta(1, 1.1 * (k - 1)).cdf).pvalue < ALARM

    def test_uniform_shares_that_are_merely_rescaled_are_refused(self, domain: Domain) -> None:
        wrong = rng().random((N, domain.dimension))
        assert not looks_uniform(domain, wrong / wrong.sum(axis=1, keepdims=True))

    def test_density_integrates_to_one(self, domain: Domain) -> None:
        """The area is sqrt(k) times the volume under the first k - 1 shares; Monte Carlo, five
        deviations (6e-7)."""
        k = domain.dimension
        if k > 4:
            pytest.skip("too small a volume for Monte Carlo")
        share = np.mean(rng().random((N, k - 1)).sum(axis=1) <= 1)
        error = math.sqrt(share * (1 - share) / N) / share
        assert domain.uniform_density * math.sqrt(k) * share == pytest.approx(
            1.0, rel=5 * error + 1e-12
        )

    @given(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3))
    def test_shares_add_up_to_one_and_adding_a_constant_changes_nothing(
        self, row: list[float]
    ) -> None:
        share = Simplex(3).project([row])
        assert share.sum() == pytest.approx(1.0)
        assert (share >= 0).all()
        shift = max(row)
        assert Simplex(3).project([[x - shift for x in row]]) == pytest.approx(share)

    @pytest.mark.parametrize("far", [2.0, 2e6, 1e300, math.inf])
    def test_one_part_that_is_far_ahead_gets_everything(self, far: float) -> None:
        rows = Simplex(3).project([[far, far / 2 if far < math.inf else 5.0, -far]])
        assert rows == pytest.approx(np.array([[1.0, 0.0, 0.0]]))


class FiniteLaws(DomainLaws):
    def test_every_label_is_drawn_equally_often(self, domain: Domain) -> None:
        labels, counts = np.unique(domain.sample(N, rng()).astype(str), return_counts=True)
        assert len(labels) == len(domain.candidate_points(1))
        assert chisquare(counts).pvalue > ALARM
        assert (
            chisquare(counts * np.linspace(0.8, 1.2, len(counts)) / 1.0, sum_check=False).pvalue
            < ALARM
        )

    def test_probabilities_add_up_to_one(self, domain: Domain) -> None:
        assert domain.uniform_density * len(domain.candidate_points(1)) == pytest.approx(1.0)

    def test_candidates_are_all_of_them_whatever_number_is_asked(self, domain: Domain) -> None:
        assert np.array_equal(domain.candidate_points(1), domain.candidate_points(10_000))


class TestCatalogue(FiniteLaws):
    @pytest.fixture(
        params=[
            Catalogue(
                [[1.0, 200.0], [2.0, 100.0], [3.0, 400.0], [3.0, 100.0]], ids=["a", "b", "c", "d"]
            ),
            Catalogue(rng().normal(size=(40, 3)), names=["film"]),
            Catalogue([5.0, 6.0, 9.0], ids=[101, 102, 2**60 + 1]),
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def test_a_feature_that_never_varies_sits_in_the_middle(self) -> None:
        assert Catalogue([[1.0, 7.0], [2.0, 7.0]]).candidate_points(2).tolist() == [
            [0.0, 0.5],
            [1.0, 0.5],
        ]

    def test_items_with_the_same_features_are_one_item_to_the_model(self) -> None:
        twins = Catalogue([[1.0], [1.0], [2.0]], ids=["first", "second", "third"])
        assert twins.project(["second"]).tolist() == ["first"]

    def test_features_may_be_a_data_frame(self) -> None:
        frame = pd.DataFrame({"price": [1.0, 3.0], "size": [2, 4]})
        assert Catalogue(frame).candidate_points(2).tolist() == [[0.0, 0.0], [1.0, 1.0]]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ({"features": []}, "at least one item"),
            ({"features": [[]]}, "at least one item"),
            ({"features": [[1.0], [math.nan]]}, "finite"),
            ({"features": [[1.0], ["red"]]}, "finite"),
            ({"features": [[1.0], [1.0, 2.0]]}, "as many features"),
            ({"features": [[[1.0]]]}, "as many features"),
            ({"features": 5}, "at least one item"),
            ({"features": [[-1.7e308], [1.7e308]]}, "rescale"),
            ({"features": [[1.0], [2.0]], "ids": ["a"]}, "one id per item, got 1 ids for 2 items"),
            ({"features": [[1.0], [2.0]], "ids": ["a", "a"]}, "must all differ"),
            ({"features": [[1.0], [2.0]], "ids": ["a", None]}, "must not be None or NaN"),
            ({"features": [[1.0], [2.0]], "ids": 7}, "must be a list"),
            ({"features": [[1.0], [2.0]], "names": "film"}, r"write \['film'\]"),
            ({"features": [[1.0], [2.0]], "names": ["a", "b"]}, r"1 different name\(s\)"),
        ],
    )
    def test_a_wrong_catalogue_is_refused(self, arguments: dict[str, Any], says: str) -> None:
        with pytest.raises(InputError, match=says):
            Catalogue(**arguments)


class TestCategories(FiniteLaws):
    @pytest.fixture(
        params=[
            Categories(["none", "one", "two"], "copies"),
            Categories([True, False]),
            Categories(list(range(10, 40))),
            Categories([0.1, 0.25, "other"]),
            Categories(["none", "mild", "severe"], "pain", ordered=True),
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    @pytest.mark.parametrize(
        "column", [[1.0, 2.0], np.array([1, 2], np.int8), np.array([1.0, 2.0], np.float32)]
    )
    def test_labels_that_are_numbers_match_by_value(self, column: Any) -> None:
        domain = Categories([1, 2, 3])
        assert domain.project(column).tolist() == [1, 2]
        assert domain.project(pd.DataFrame({"category": column})).tolist() == [1, 2]

    def test_decimals_match_the_numbers_that_they_are(self) -> None:
        assert (
            Categories([1, 0.1, 2**60 + 1])
            .encode({"category": np.array([Decimal("1.00"), Decimal("0.1")])})
            .tolist()
        )
        points = Categories([1, 0.1, 2**60 + 1]).encode(
            {
                "category": np.array(
                    [Decimal("1.00"), Decimal("0.1"), Decimal(2**60 + 1), Decimal(2**60)]
                )
            }
        )
        # A column with a gap comes as floats, in which 2**60 + 1 is 2**60.
        assert points.tolist() == [[0.0], [0.5], [1.0], [1.0]]

    def test_a_file_of_text_finds_labels_that_are_numbers(self) -> None:
        assert Categories([1, 2, 3]).project(["1", "3"]).tolist() == [1, 3]

    @pytest.mark.parametrize(
        "levels", [[1, "1"], ["1", "01"], [2**60, 2**60 + 1], [b"x", "x"], ["True", True]]
    )
    def test_labels_that_a_promoted_column_confuses_are_refused(self, levels: list[Any]) -> None:
        """One odd cell turns a column of numbers to text, or to floats: all other cells must still
        mean the same."""
        with pytest.raises(InputError, match="also as numbers"):
            Categories(levels)

    @pytest.mark.parametrize("label", [1, 1.0, "1", True, b"1", Decimal(1), np.int8(1)], ids=repr)
    @pytest.mark.parametrize(
        "cell", [1, 1.0, "1", " 1.0", b"1", True, 1 + 0j, np.float32(1), Decimal("1.00")], ids=repr
    )
    def test_a_label_is_found_however_its_number_is_written(self, label: Any, cell: Any) -> None:
        assert Categories([0, label]).encode(
            {"category": np.array([cell], dtype=object)}
        ).tolist() == [[1.0]]

    @pytest.mark.parametrize("cell", [[1], (1,), {1}, {1: 1}, np.array([1, 1]), range(1)], ids=repr)
    def test_a_cell_that_is_a_list_is_no_label(self, cell: Any) -> None:
        column = np.fromiter([cell], dtype=object, count=1)
        assert np.isnan(Categories([1, "[1]", "(1,)", "{1}"]).encode({"category": column})).all()

    def test_a_missing_value_is_not_the_label_that_prints_the_same(self) -> None:
        domain = Categories(["None", "nan", "x"])
        assert np.isnan(
            domain.encode({"category": np.array([None, math.nan, "y"], dtype=object)})
        ).all()

    def test_an_unknown_label_in_one_row_does_not_change_the_others(self) -> None:
        points = Categories([1, 2, 3]).encode(
            Categories([1, 2, 3]).read([{"category": 2}, {"category": "x"}]).columns
        )
        assert points[0] == 0.5
        assert np.isnan(points[1])

    @pytest.mark.parametrize(
        "levels",
        [
            [],
            (),
            range(0),
            "ab",
            3,
            None,
            ["a", "a"],
            [1, 1.0],
            [1, True],
            [None, "a"],
            [math.nan, 1],
        ],
    )
    def test_wrong_levels_are_refused(self, levels: Any) -> None:
        with pytest.raises(
            InputError,
            match=r"at least one level|must be a list|must all differ|must not be None or NaN",
        ):
            Categories(levels)


class TestMixed(DomainLaws):
    @pytest.fixture(
        params=[
            Mixed(
                [
                    Box([18, 40], [95, 140], names=["age", "weight"]),
                    Categories(["none", "one", "two"], "copies"),
                ]
            ),
            Mixed([Box([0.0], [1.0]), Categories(["a", "b", "c", "d"])]),
            Mixed(
                [
                    Ball([0.0, 0.0], names=["u", "v"]),
                    Box([0.0], [1.0]),
                    Simplex(3, names=["p", "q", "r"]),
                ]
            ),
            Mixed(
                [
                    Catalogue(rng().normal(size=(6, 2)), names=["film"]),
                    Ball([2.0]),
                    Categories([1, 2]),
                ]
            ),
            Mixed([Categories(list(range(20)), "i"), Categories(list(range(20)), "j")]),
            Mixed.of(age=(18, 95), gene=["G/G", "A/G", "A/A"], weight=(40, 140), height=(140, 200)),
        ],
    )
    def domain(self, request: pytest.FixtureRequest) -> Domain:
        return cast(Domain, request.param)

    def test_every_label_meets_all_of_the_box(self) -> None:
        domain = Mixed([Box([0.0], [1.0]), Categories(["a", "b", "c", "d"])])
        for name in "abcd":
            x = np.array([row[0] for row in domain.candidates(256) if row[1] == name], dtype=float)
            assert len(x) == 64
            assert np.allclose(np.sort(x), np.linspace(0, 1, 64))

    def test_parts_do_not_follow_each_other(self) -> None:
        domain = Mixed(
            [Box([0.0], [1.0]), Ball([0.0, 0.0], names=["u", "v"]), Ball([0.0], names=["w"])]
        )
        x, u, v, w = domain.candidate_points(1024).T
        around = (u - 0.5) ** 2 + (v - 0.5) ** 2
        assert np.abs(np.corrcoef([x, around, u, v, w]) - np.eye(5)).max() < 0.05

    def test_bunched_candidates_are_refused(self, domain: Domain) -> None:
        candidates = domain.candidate_points(1024)
        assert not looks_spread(domain, candidates[candidates[:, 0] < 0.4])

    def test_a_finite_product_lists_all_of_its_members(self) -> None:
        domain = Mixed([Categories(list(range(20)), "i"), Categories(list(range(20)), "j")])
        assert sorted(map(tuple, domain.candidates(7).tolist())) == [
            (i, j) for i in range(20) for j in range(20)
        ]

    def test_too_many_combinations_are_sampled_evenly(self) -> None:
        domain = Mixed([Categories(list(range(8)), f"c{i}") for i in range(10)])
        candidates = domain.candidates(64)
        assert candidates.shape == (64, 10)
        assert all((np.unique(column, return_counts=True)[1] == 8).all() for column in candidates.T)

    def test_every_item_comes_with_several_points_of_the_rest(self) -> None:
        domain = Mixed([Catalogue(rng().normal(size=(300, 2))), Box([0.0], [9.0], names=["price"])])
        _, counts = np.unique(domain.candidates(256)[:, 0].astype(int), return_counts=True)
        assert len(counts) == 300
        assert (counts >= 8).all()

    def test_a_mixed_inside_a_mixed_is_unpacked(self) -> None:
        inner = Mixed([Catalogue([[1.0, 2.0], [3.0, 4.0]]), Box([0.0], [1.0])])
        outer = Mixed([inner, Categories(["a", "b"])])
        assert [type(part) for part in outer.parts] == [Catalogue, Box, Categories]
        assert outer.names == ("item", "x0", "category")

    def test_density_is_the_product(self) -> None:
        assert Mixed([Box([0.0], [4.0]), Categories([1, 2, 3])]).uniform_density == pytest.approx(
            1 / 12
        )

    def test_it_can_be_refined_if_any_part_can(self) -> None:
        assert Mixed([Box([0.0], [1.0]), Ball([0.0], names=["b"])]).continuous
        assert Mixed([Box([0.0], [1.0]), Categories([1, 2])]).continuous
        assert not Mixed([Categories([1, 2], "a"), Categories([1, 2], "b")]).continuous

    @pytest.mark.parametrize(
        "parts", [[], None, Box([0.0], [1.0]), ["box"], [Box([0.0], [1.0]), Box([0.0], [1.0])]]
    )
    def test_wrong_parts_are_refused(self, parts: Any) -> None:
        with pytest.raises(InputError, match=r"list of domains|different names"):
            Mixed(parts)


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        (Box, ([0.0, 1.0], [1.0]), "as many lows as highs"),
        (Box, ([], []), "as many lows as highs"),
        (Box, ([[0.0]], [[1.0]]), "as many lows as highs"),
        (Box, ([1.0], [1.0]), r"low < high in every coordinate, got low=\[1.0\]"),
        (Box, ([0.0], [math.inf]), "finite"),
        (Box, ([math.nan], [1.0]), "finite"),
        (Box, (["a"], [1.0]), "finite"),
        (Box, (None, [1.0]), "finite"),
        (Box, ([-1.7e308], [1.7e308]), "finite"),
        (Box, ([0.0], [1.0], "x"), r"list of 1 name\(s\), got 'x'"),
        (Box, ([0.0], [1.0], ["x", "y"]), r"1 different name\(s\)"),
        (Box, ([0.0, 0.0], [1.0, 1.0], ["x", "x"]), r"2 different name\(s\)"),
        (Box, ([0.0, 0.0], [1.0, 1.0], ["1", 1]), r"2 different name\(s\)"),
        (Ball, ([],), "finite vector"),
        (Ball, ([math.inf],), "finite vector"),
        (Ball, (["here"],), "finite vector"),
        (Ball, ([0.0], 0.0), "radius of a Ball must be positive"),
        (Ball, ([0.0], math.inf), "radius of a Ball must be positive"),
        (Ball, ([0.0], "wide"), "radius of a Ball must be positive"),
        (Simplex, (1,), "at least 2 parts, got 1"),
        (Simplex, (2.5,), "at least 2 parts, got 2.5"),
        (Simplex, (3, ["a"]), r"3 different name\(s\)"),
    ],
)
def test_a_wrong_domain_is_refused(kind: Any, arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        kind(*arguments)


def test_names_may_be_an_index_of_pandas() -> None:
    assert Box([0.0, 0.0], [1.0, 1.0], names=pd.Index(["a", "b"])).names == ("a", "b")


def test_a_box_is_read_in_its_own_units() -> None:
    box = Box([0.0, 100.0], [10.0, 200.0], names=["a", "b"])
    assert box.encode(
        {"a": np.array([5.0, -1.0, 11.0]), "b": np.array([125, 100, 999])}
    ).tolist() == [
        [0.5, 0.25],
        [0.0, 0.0],
        [1.0, 1.0],
    ]
    assert box.project([[5.0, 1e308], [-math.inf, 150.0]]).tolist() == [[5.0, 200.0], [0.0, 150.0]]


def test_a_wrong_sampler_of_a_box_is_refused() -> None:
    box = Box([0.0, 0.0], [1.0, 1.0])
    assert not looks_uniform(box, rng().beta(1.2, 1.2, size=(N, 2)))
    assert not looks_uniform(box, np.repeat(rng().random((N, 1)), 2, axis=1))


def test_candidates_of_one_coordinate_include_both_ends() -> None:
    assert Box([2.0], [4.0]).candidates(5).ravel().tolist() == [2.0, 2.5, 3.0, 3.5, 4.0]


# -- domains by names -----------------------------------------------------------------------------

column_names = st.text(min_size=1, max_size=5)
intervals = st.tuples(st.integers(-1000, 999), st.integers(1, 1000)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
label_lists = st.lists(st.integers(0, 50), min_size=2, max_size=5, unique=True)


@given(st.dictionaries(column_names, intervals, min_size=1, max_size=5))
def test_a_box_by_names_is_the_box_of_these_names_and_ranges(
    ranges: dict[str, tuple[int, int]],
) -> None:
    lows = [low for low, _ in ranges.values()]
    highs = [high for _, high in ranges.values()]
    assert Box.of(ranges) == Box.of(**ranges) == Box(lows, highs, list(ranges))


@given(st.dictionaries(column_names, st.one_of(intervals, label_lists), min_size=1, max_size=6))
def test_a_mixed_domain_by_names_has_these_columns_in_this_order(columns: dict[str, Any]) -> None:
    domain = Mixed.of(columns)
    assert domain.names == tuple(columns)
    assert domain.dimension == len(columns)
    kinds = [type(part) for part in domain.parts for _ in part.names]
    assert kinds == [Box if isinstance(value, tuple) else Categories for value in columns.values()]
    boxes = [isinstance(part, Box) for part in domain.parts]
    # Boxes side by side are one Box.
    assert not any(here and there for here, there in itertools.pairwise(boxes))
    ends = {
        name: value if isinstance(value, tuple) else (value[0], value[-1])
        for name, value in columns.items()
    }
    corners = domain.decode(np.array([[0.0] * len(columns), [1.0] * len(columns)]))
    assert {name: tuple(column.tolist()) for name, column in corners.items()} == ends


def test_a_tuple_of_two_numbers_is_an_interval_and_a_list_is_labels() -> None:
    domain = Mixed.of(share=(0, 1), flag=[0, 1], step=range(3), arm=("a", "b"), size=(1, 2, 3))
    share, *labels = domain.parts
    assert share == Box([0.0], [1.0], ["share"])
    assert [cast(Categories, part).levels for part in labels] == [
        (0, 1),
        (0, 1, 2),
        ("a", "b"),
        (1, 2, 3),
    ]
    assert not any(cast(Categories, part).ordered for part in labels)


def test_a_domain_of_one_column_takes_the_name_that_it_is_given() -> None:
    disc = Ball([0.0, 0.0], names=["u", "v"])
    domain = Mixed.of(
        pain=Categories(["none", "severe"], ordered=True), place=disc, film=Catalogue([1.0, 2.0])
    )
    assert domain.names == ("pain", "u", "v", "film")
    assert cast(Categories, domain.parts[0]).ordered
    assert Mixed.of(arm=Categories([1, 2], "arm")).names == ("arm",)


def test_keywords_that_a_method_might_use_itself_are_names_too() -> None:
    assert Box.of(cls=(0, 1), ranges=(0, 1), self=(0, 1)).names == ("cls", "ranges", "self")
    assert Mixed.of(cls=(0, 1), columns=[1, 2]).names == ("cls", "columns")


SECRET = "31.4159"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Box.of(), r"at least one column: write Box.of\(dose=\(0, 100\)\)"),
        (lambda: Box.of(cast(Any, [(0, 1)])), "keyword arguments or one mapping, got list: write"),
        (
            lambda: Box.of(cast(Any, {3: (0, 1)})),
            "the name of a column must be a text, got 3: write",
        ),
        (lambda: Box.of({"a": (0, 1)}, a=(0, 1)), "'a' is given twice: name it once"),
        (
            lambda: Box.of(a=(1, 0)),
            r"'a' must be finite and increasing, got \(1, 0\): write \(low, high\)",
        ),
        (lambda: Box.of(a=(0, math.inf)), "'a' must be finite and increasing"),
        (lambda: Box.of(a=(0, 10**400)), "'a' must be finite and increasing"),
        (
            lambda: Box.of(a=(0, True)),
            r"range of 'a' must be two numbers, got tuple: write \(low, high\)",
        ),
        (lambda: Box.of(a=("0", "1")), "must be two numbers, got tuple"),
        (lambda: Box.of(a=[SECRET] * 3), "must be two numbers, got list"),
        (lambda: Box.of(a=pd.Series([SECRET])), "must be two numbers, got Series"),
        (lambda: Mixed.of(), "at least one column: write Mixed.of"),
        (lambda: Mixed.of(a=(1, 0)), "'a' must be finite and increasing"),
        (
            lambda: Mixed.of(a=[]),
            "'a' is read as labels, and Categories need at least one level",
        ),
        (lambda: Mixed.of(a=[]), "a tuple of two numbers is an interval, a list is labels"),
        (
            lambda: Mixed.of(a=[1, "1"]),
            "'a' is read as labels, and the labels of Categories must all differ",
        ),
        (
            lambda: Mixed.of(a="xy"),
            "'a' must be an interval, labels or a domain, got str: a tuple of two numbers is",
        ),
        (
            lambda: Mixed.of(a={"x", "y"}),
            "got set: a tuple of two numbers is an interval, a list is labels",
        ),
        (lambda: Mixed.of(a=pd.Series([SECRET])), "got Series: a tuple"),
        (
            lambda: Mixed.of(a=Categories([1, 2], "b")),
            "'a' is given as a domain named 'b': leave out the domain's own",
        ),
        (lambda: Categories([1, 2], ordered="yes"), "ordered must be True or False, got 'yes'"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_declaration_is_refused_in_one_sentence(make: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_an_order_changes_no_coordinate() -> None:
    levels = ["none", "mild", "severe"]
    plain = Categories(levels)
    ordered = Categories(levels, ordered=True)
    assert np.array_equal(plain.candidate_points(0), ordered.candidate_points(0))
    assert (dump(plain), dump(ordered)) == (
        {"type": "categories", "levels": levels},
        {"type": "categories", "levels": levels, "ordered": True},
    )
    assert sees_batches(ordered)


# -- how many, and how likely ---------------------------------------------------------------------

EVERY: dict[str, Domain] = {
    "box": Box([0.0, 10.0], [2.0, 14.0], ["a", "b"]),
    "interval": Box([0.0], [4.0]),
    "ball": Ball([1.0, -1.0], 3.0),
    "simplex": Simplex(3),
    "catalogue": Catalogue([1.0, 2.0, 4.0]),
    "categories": Categories(["a", "b", "c", "d"]),
    "mixed": Mixed.of(x=(0, 2), arm=["a", "b", "c"], y=(0, 5)),
}


@pytest.mark.parametrize("name", EVERY)
def test_no_points_are_an_empty_answer_and_fewer_are_refused(name: str) -> None:
    domain = EVERY[name]
    assert domain.sample_points(0, rng()).shape == (0, domain.dimension)
    assert len(domain.sample(0, rng())) == 0
    assert len(domain.sample(cast(int, np.int64(3)), rng())) == 3
    for wrong in (-1, 2.5, "3", None, True, math.nan):
        for ask in (domain.sample_points, domain.sample):
            with pytest.raises(InputError, match="whole number of at least 0, got"):
                ask(cast(Any, wrong), rng())
    with pytest.raises(InputError, match=r"rng must be a generator, got int: pass numpy"):
        domain.sample(3, cast(Any, 7))


@pytest.mark.parametrize("name", ["box", "interval", "ball", "simplex"])
def test_no_candidates_are_an_empty_answer(name: str) -> None:
    domain = EVERY[name]
    assert domain.candidate_points(0).shape == (0, domain.dimension)
    with pytest.raises(InputError, match="whole number of at least 0"):
        domain.candidates(-2)


CORNERS: dict[str, tuple[list[Any], float]] = {
    # A small set in the domain, by the largest distance of each coordinate from a member, and its
    # volume in the user's units; labels must agree.
    "box": ([0.2, 0.4], 0.4 * 0.8),
    "interval": ([0.2], 0.4),
    "ball": ([0.3, 0.3], 0.36),
    "catalogue": ([0.1], 1.0),
    "categories": ([0.1], 1.0),
    "mixed": ([0.2, 0.1, 0.5], 0.4 * 1.0),
    # Two shares within 0.05 of their values: the area above that square is sqrt(3) times its own.
    "simplex": ([0.05, 0.05, 1.0], 0.01 * math.sqrt(3)),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_uniform_density_is_the_share_of_draws_in_a_small_set(name: str) -> None:
    """Monte Carlo, five standard deviations (6e-7)."""
    domain = EVERY[name]
    near, volume = CORNERS[name]
    centre = domain.project_points(np.full((1, domain.dimension), 0.45))
    middle = {key: value[0] for key, value in domain.decode(centre).items()}
    drawn = domain.decode(domain.sample_points(100_000, rng()))
    inside = np.ones(100_000, dtype=bool)
    for width, (key, column) in zip(near, drawn.items(), strict=True):
        if column.dtype.kind == "f":
            inside &= np.abs(column - middle[key]) < width
        else:
            inside &= column == middle[key]
    share = inside.mean()
    error = math.sqrt(share * (1 - share) / 100_000)
    assert share == pytest.approx(domain.uniform_density * volume, abs=5 * error)


@pytest.mark.parametrize("name", EVERY)
def test_a_decision_of_a_study_has_the_uniform_density_as_its_propensity(
    name: str, tmp_path: Path
) -> None:
    actions = EVERY[name]
    problem = Problem(actions, Box.of(c=(0, 1)))
    study = create_study(sqlite(tmp_path), problem, horizon=3, budget=BUDGET, **SMALL)
    assert study.ask({"c": 0.5}).propensity == actions.uniform_density
