"""What every domain promises."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.stats import ks_2samp

from tacit import domains
from tacit._typing import Floats
from tacit.domains import Domain
from tacit.spec import dump, load
from tacit.tables import Columns

CLOSE = 1e-9
SAMPLES = 10_000
CANDIDATES = 1024
DISCREPANCY = 0.02  # of the candidates themselves, in any direction

inherited = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.function_scoped_fixture],
)

ODD: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    1.7e308,
    -1.7e308,
    5e-324,
    0.0,
    -0.0,
    0.5,
    10**400,
    -(10**400),
    2**63,
    True,
    None,
    "",
    "0.25",
    "text",
    "nan",
    "1e999",
    b"0.25",
    b"\xff",
    1 + 2j,
    Decimal("0.25"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    [],
    [0.5],
    {},
    object(),
    datetime.date(2024, 1, 1),
    np.float32(0.25),
    np.datetime64("NaT", "ns"),
    np.complex64(1j),
]

odd_cells = st.one_of(
    st.sampled_from(ODD),
    st.floats(),
    st.integers(),
    st.text(max_size=5),
    st.decimals(),
    st.floats(0.0, 1.0),
)


class Rude:
    """A cell that raises whatever is done with it."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    __hash__ = __str__ = __repr__ = __float__  # type: ignore[assignment]


def encoded(domain: Domain, values: Any) -> Floats:
    return domain.encode(domain.read(values).columns)


def records(domain: Domain, columns: Columns) -> list[dict[str, Any]]:
    return [
        dict(zip(domain.names, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]


def is_member(domain: Domain, points: Floats) -> bool:
    """Inside the unit box, and where projection puts it anyway."""
    inside = bool((points >= 0).all() and (points <= 1).all())
    return inside and np.allclose(domain.project_points(points), points, rtol=0, atol=CLOSE)


def same_columns(left: Columns, right: Columns) -> bool:
    """Numbers up to rounding, labels exactly."""
    return list(left) == list(right) and all(_same(left[name], right[name]) for name in left)


def _same(left: Any, right: Any) -> bool:
    if left.dtype.kind == "f":
        return np.allclose(
            left, right, rtol=CLOSE, atol=CLOSE * max(1.0, float(np.abs(left).max()))
        )
    return bool((left == right).all())


def looks_uniform(domain: Domain, points: Floats) -> bool:
    """Whether points follow the law of the candidates, judged by Kolmogorov's distance in many
    directions.

    By Dvoretzky, Kiefer and Wolfowitz n right points are refused with probability at most 2 exp(-2
    n t^2) in each direction; t is chosen such that it is 1e-7 in all of them together.
    """
    candidates = domain.candidate_points(4096)
    views = [_views(domain, points), _views(domain, candidates)]
    t = math.sqrt(math.log(2 * views[0].shape[1] / 1e-7) / (2 * len(points)))
    return all(
        ks_2samp(a, b, method="asymp").statistic <= t + DISCREPANCY
        for a, b in zip(views[0].T, views[1].T, strict=True)
    )


def _views(domain: Domain, points: Floats) -> Floats:
    """Each coordinate, some random directions, and the distance from the middle; rounded, so that
    ties are ties."""
    directions = np.random.default_rng(0).normal(size=(domain.dimension, 4))
    distance = np.linalg.norm(points - domain.candidate_points(4096).mean(axis=0), axis=1)
    return np.column_stack([points, points @ directions, distance]).round(9)


def looks_spread(domain: Domain, candidates: Floats) -> bool:
    """Whether a random member has a candidate about as near as among as many random members, or
    nearer."""
    rng = np.random.default_rng(1)
    members = domain.sample_points(4000, rng)
    others = domain.sample_points(len(candidates), rng)
    near, nearest = (
        float(cKDTree(points).query(members)[0].mean()) for points in (candidates, others)
    )
    return near <= 1.1 * nearest + CLOSE


class DomainLaws:
    """Supply a `domain` fixture."""

    @pytest.fixture
    def domain(self) -> Domain:
        raise NotImplementedError("supply the domain that must keep the laws")

    @pytest.fixture
    def members(self, domain: Domain) -> Floats:
        return domain.sample_points(500, np.random.default_rng(0))

    # -- names ------------------------------------------------------------------------------------

    def test_names_are_different_texts_and_name_the_columns(
        self, domain: Domain, members: Floats
    ) -> None:
        assert isinstance(domain.names, tuple)
        assert all(isinstance(name, str) and name for name in domain.names)
        assert len(set(domain.names)) == len(domain.names)
        assert tuple(domain.decode(members)) == domain.names

    # -- members ----------------------------------------------------------------------------------

    def test_samples_are_members(self, domain: Domain, members: Floats) -> None:
        assert members.shape == (500, domain.dimension)
        assert members.dtype == np.float64
        assert is_member(domain, members)

    def test_samples_come_from_the_generator_alone(self, domain: Domain, members: Floats) -> None:
        assert np.array_equal(domain.sample_points(500, np.random.default_rng(0)), members)
        assert not np.array_equal(domain.sample_points(500, np.random.default_rng(1)), members)

    def test_projecting_a_sample_changes_nothing(self, domain: Domain) -> None:
        rows = domain.sample(100, np.random.default_rng(3))
        again = domain.project(rows)
        assert again.shape == rows.shape
        assert same_columns(domain.read(again).columns, domain.read(rows).columns)

    def test_decoding_what_was_encoded_gives_it_back(self, domain: Domain, members: Floats) -> None:
        columns = domain.decode(members)
        assert same_columns(domain.decode(domain.encode(columns)), columns)

    def test_encoding_what_was_decoded_gives_it_back(self, domain: Domain, members: Floats) -> None:
        assert np.allclose(domain.encode(domain.decode(members)), members, rtol=0, atol=CLOSE)

    def test_samples_are_uniform(self, domain: Domain) -> None:
        """False-alarm rate 1e-7 for any seed; see `looks_uniform`."""
        assert looks_uniform(domain, domain.sample_points(SAMPLES, np.random.default_rng(5)))

    def test_a_uniform_cube_becomes_uniform_points(self, domain: Domain) -> None:
        """False-alarm rate 1e-7 for any seed; see `looks_uniform`."""
        cube = np.random.default_rng(6).random((SAMPLES, domain.cube_dimension))
        assert looks_uniform(domain, domain.from_cube(cube))

    def test_density_is_positive(self, domain: Domain) -> None:
        assert 0 < domain.uniform_density < math.inf

    # -- projection -------------------------------------------------------------------------------

    @pytest.mark.parametrize("size", [0.3, 3.0, 1e3, 1e9])
    def test_projection_gives_the_nearest_member(
        self, domain: Domain, members: Floats, size: float
    ) -> None:
        far = 0.5 + size * np.random.default_rng(7).normal(size=(50, domain.dimension))
        projected = domain.project_points(far)
        assert is_member(domain, projected)
        # |x - P x| <= |x - m| for every member m, written so that huge x do not swallow the
        # difference.
        gain = 2 * (far @ members.T) - np.sum(members**2, axis=1)
        own = 2 * np.sum(far * projected, axis=1) - np.sum(projected**2, axis=1)
        assert (own[:, None] >= gain - 1e-12 * size - 1e-12 * np.abs(gain)).all()

    @inherited
    @given(data=st.data())
    def test_projection_is_total_and_idempotent_in_unit_coordinates(
        self, domain: Domain, data: st.DataObject
    ) -> None:
        rows = st.lists(st.floats(), min_size=domain.dimension, max_size=domain.dimension)
        points = np.array(data.draw(st.lists(rows, min_size=1, max_size=4)))
        once = domain.project_points(points.copy())
        known = ~np.isnan(points).any(axis=1)
        assert np.array_equal(np.isnan(once).any(axis=1), ~known)
        assert is_member(domain, once[known])

    @inherited
    @given(data=st.data())
    def test_whatever_is_read_becomes_a_member_or_nan(
        self, domain: Domain, data: st.DataObject
    ) -> None:
        """Nothing raises, and (as warnings are errors here) nothing warns."""
        row = st.fixed_dictionaries(dict.fromkeys(domain.names, odd_cells))
        points = encoded(domain, data.draw(st.lists(row, min_size=1, max_size=5)))
        known = np.isfinite(points).all(axis=1)
        assert not np.isinf(points).any()
        assert is_member(domain, points[known])
        again = domain.encode(domain.decode(points[known]))
        assert np.allclose(again, points[known], rtol=0, atol=CLOSE)

    def test_odd_cells_of_every_kind_are_read_without_an_error(self, domain: Domain) -> None:
        for cell in (*ODD, Rude()):
            points = encoded(domain, [dict.fromkeys(domain.names, cell)])
            known = np.isfinite(points).all(axis=1)
            assert is_member(domain, points[known])
            assert domain.project([dict.fromkeys(domain.names, cell)]).shape[0] == 1

    @pytest.mark.parametrize(
        "dtype", [np.float16, np.float32, np.int8, np.uint64, bool, complex, "U8", "S4", "M8[s]"]
    )
    def test_columns_of_any_dtype_are_read_without_an_error(
        self, domain: Domain, dtype: Any
    ) -> None:
        points = encoded(domain, {name: np.array([0, 1, 1]).astype(dtype) for name in domain.names})
        assert is_member(domain, points[np.isfinite(points).all(axis=1)])

    def test_a_row_with_a_gap_is_nan_and_stays_nan(self, domain: Domain, members: Floats) -> None:
        for name in domain.names:
            rows = records(domain, domain.decode(members[:2]))
            points = encoded(domain, [rows[0] | {name: None}, rows[1]])
            assert np.isnan(points[0]).any()
            assert np.isnan(domain.project_points(points)[0]).any()
            assert np.allclose(points[1], members[1], rtol=0, atol=CLOSE)

    @inherited
    @given(data=st.data())
    def test_every_row_is_read_by_itself(self, domain: Domain, data: st.DataObject) -> None:
        """One record must not change what another one says: the privacy bound is per record."""
        known = records(domain, domain.decode(domain.sample_points(2, np.random.default_rng(9))))
        odd = data.draw(st.fixed_dictionaries(dict.fromkeys(domain.names, odd_cells)))
        alone = encoded(domain, known)
        columns = {name: [row[name] for row in known] for name in domain.names}
        assert np.array_equal(encoded(domain, [*known, odd])[:2], alone)
        assert np.array_equal(
            encoded(domain, {k: [*v, odd[k]] for k, v in columns.items()})[:2], alone
        )
        assert np.array_equal(
            encoded(domain, [[*row.values()] for row in (*known, odd)])[:2], alone
        )

    # -- candidates -------------------------------------------------------------------------------

    @pytest.mark.parametrize("n", [1, 2, 7, 64, 1000])
    def test_candidates_are_members(self, domain: Domain, n: int) -> None:
        candidates = domain.candidate_points(n)
        assert len(candidates) >= 1
        assert is_member(domain, candidates)
        assert len(domain.candidates(n)) == len(candidates)

    def test_candidates_are_always_the_same_and_all_differ(self, domain: Domain) -> None:
        candidates = domain.candidate_points(CANDIDATES)
        assert np.array_equal(candidates, domain.candidate_points(CANDIDATES))
        assert len(np.unique(candidates.round(12), axis=0)) == len(candidates)

    def test_candidates_are_about_as_many_as_asked_or_all(self, domain: Domain) -> None:
        n = len(domain.candidate_points(CANDIDATES))
        assert n / 2 <= CANDIDATES <= 2 * n or n == len(domain.candidate_points(2 * CANDIDATES))

    def test_candidates_are_spread(self, domain: Domain) -> None:
        assert looks_spread(domain, domain.candidate_points(CANDIDATES))

    # -- plain data -------------------------------------------------------------------------------

    def test_spec_describes_the_same_domain(self, domain: Domain, members: Floats) -> None:
        twin = load(json.loads(json.dumps(dump(domain))), domains.REGISTRY, "domain")
        assert type(twin) is type(domain)
        assert (twin.names, twin.dimension, twin.uniform_density) == (
            domain.names,
            domain.dimension,
            domain.uniform_density,
        )
        assert np.array_equal(twin.sample_points(500, np.random.default_rng(0)), members)
        assert np.array_equal(twin.candidate_points(64), domain.candidate_points(64))
        columns = domain.decode(members)
        assert same_columns(twin.decode(members), columns)
        assert np.array_equal(twin.encode(columns), domain.encode(columns))
        assert dump(twin) == dump(domain)
