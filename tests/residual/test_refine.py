"""Several passes over the same records: what they cost, what they promise, what they gain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tacit
from helpers import unit_problem
from tacit import (
    Budget,
    Design,
    DesignOptions,
    InputError,
    Ledger,
    Policy,
    StateError,
    Statistic,
    Study,
    refine,
)
from tacit._typing import Floats
from tacit.core import Cohort, simulate_gaussian
from tacit.core.budget import GAUSSIAN, UNITS, ZCDP
from tacit.decoder import LinearObservation, ReleaseParts, WhitenedObservation, decode
from tacit.decoder.context_law import ContextCounts, moments_given
from tacit.decoder.decoding import observations
from tacit.decoder.observations import (
    MOST_CORRELATED,
    combined,
    innovations,
    nested_variances,
    shared_noise,
)
from tacit.design import Release
from tacit.design.choices import pass_budgets
from tacit.kernels import Matern
from tacit.passes import release_on, release_passes, require_room, simulate_with
from tacit.residual.clipping import DEVIATIONS, REWARDS, WORTHWHILE, choose_clip, clipping

pytestmark = pytest.mark.usefixtures("coarse_tuning")

BUDGET = Budget(epsilon=1.0, delta=1e-5)
PROBLEM = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1.0, 1.0))
ROUNDS = 3000


def truth(points: Floats) -> Floats:
    """The best action is near the context."""
    return np.asarray(0.8 - 3.0 * (points[:, 0] - 0.2 - 0.6 * points[:, 1]) ** 2)


def records(seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    points = rng.random((ROUNDS, 2))
    return points, np.clip(truth(points) + 0.1 * rng.normal(size=ROUNDS), -1.0, 1.0)


def released_from(design: Design, seed: int = 0) -> Policy:
    statistic = design.statistic()
    statistic.add_points(*records(seed))
    return statistic.simulate_release(np.random.default_rng([seed, 100 + len(design.previous)]))


def error(policy: Policy) -> float:
    C = np.linspace(0, 1, 101)[:, None]
    return float(np.mean(0.8 - truth(np.hstack([policy.decide_points(C), C]))))


@pytest.fixture(scope="module")
def first() -> Design:
    return Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=2)


@pytest.fixture(scope="module")
def second(first: Design) -> Design:
    return refine(released_from(first))


# -- what it costs --------------------------------------------------------------------------------


@given(st.floats(0.01, 50.0), st.floats(1e-9, 1e-2), st.integers(1, 8))
def test_the_parts_are_the_whole_up_to_a_unit_each(
    epsilon: float, delta: float, passes: int
) -> None:
    whole = Budget(epsilon, delta)
    parts = pass_budgets(whole, passes)
    assert len(parts) == passes
    for measure in (GAUSSIAN, ZCDP):
        units = [round(budget.amount(measure) * UNITS) for budget in parts]
        total = round(whole.amount(measure) * UNITS)
        assert total - passes <= sum(units) <= total


def test_both_passes_fit_into_the_ledger_and_leave_nothing(first: Design, tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", BUDGET)
    statistic = first.statistic()
    statistic.add_points(*records())
    policy = statistic.release(ledger=ledger)
    again = refine(policy).statistic()
    again.add_points(*records())
    final = again.release(ledger=ledger)
    assert len(ledger.charges()) == 2
    assert 0 <= ledger.remaining < 3 / UNITS
    assert policy.guarantee.rho == first.budget.gaussian
    assert final.guarantee.rho == pytest.approx(BUDGET.gaussian)
    assert final.guarantee.epsilon == pytest.approx(1.0, abs=1e-6)
    assert (final.private, final.guarantee.delta) == (True, 1e-5)
    assert (final.facts["passes"], Budget(**final.facts["budget"])) == (2, BUDGET)
    assert all(
        isinstance(value, int | float | str | dict) for value in final.facts.values()
    )  # fit for people
    third = refine(policy).statistic()
    third.add_points(*records())
    with pytest.raises(tacit.BudgetError):
        third.release(ledger=ledger)


def test_a_policy_is_private_only_if_both_releases_were(second: Design, tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", BUDGET)
    statistic = second.statistic()
    statistic.add_points(*records())
    assert not statistic.release(ledger=ledger).private


# -- what records add -----------------------------------------------------------------------------


@given(
    arrays.arrays(np.float64, (8, 2), elements=st.floats(0, 1)),
    arrays.arrays(np.float64, 8, elements=st.floats(-1, 1)),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
)
def test_no_record_writes_a_row_longer_than_1(
    second: Design, points: Floats, y: Floats, weight: float, level: float
) -> None:
    assert second.residual is not None
    weights = np.full(second.rank, weight)
    residual = replace(second.residual, weights=weights, level=level)
    wild = replace(second, residual=residual, layout=replace(second.layout, mean_share=0.1))
    assert np.linalg.norm(wild.rows(points, y, np.ones(8)), axis=1).max() <= 1 + 1e-9


@given(st.tuples(*[st.floats(0, 1)] * 4), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1e3, 1e3))
def test_replacing_a_record_moves_the_second_sum_by_at_most_its_sensitivity(
    second: Design, places: tuple[float, ...], y: float, z: float, weight: float
) -> None:
    """Whatever the first pass said."""
    assert second.residual is not None
    residual = replace(second.residual, weights=np.full(second.rank, weight))
    wild = replace(second, residual=residual)
    sums = []
    for place, reward in ((places[:2], y), (places[2:], z)):
        statistic = wild.statistic()
        statistic.add_points(np.array([[0.3, 0.6], place]), np.array([0.1, reward]))
        sums.append(statistic._sum._value().astype(object))
    assert sum((sums[0] - sums[1]) ** 2) <= wild.encoding.sensitivity**2


def test_a_record_without_a_reward_adds_nothing_in_either_pass(
    first: Design, second: Design
) -> None:
    for design in (first, second):
        statistic = design.statistic()
        statistic.add_points(np.full((3, 2), 0.4), np.array([np.nan, np.nan, np.nan]))
        assert not statistic._sum._value().any()
        statistic.add_points(np.full((1, 2), 0.4), np.array([0.3]))
        assert statistic._sum._value().any()


def test_records_add_what_the_first_pass_got_wrong(first: Design) -> None:
    """A first policy that is right about everything leaves nothing to add."""
    policy = released_from(first)
    design = refine(policy)
    assert design.residual is not None
    points = np.random.default_rng(3).random((50, 2))
    mean = policy.posterior.mean(points)
    right = design.rows(points, mean, np.ones(50))[:, : design.rank]
    wrong = design.rows(points, mean + design.residual.residual_clip, np.ones(50))
    assert np.abs(right).max() < 1e-12
    assert np.linalg.norm(wrong[:, : design.rank], axis=1).max() > 0.5


def test_residuals_are_clipped_where_they_are_expected_to_end() -> None:
    left = clipping(DEVIATIONS)[0]
    few = choose_clip(0.1, 0.1)
    assert few.residual_clip == pytest.approx(DEVIATIONS * 0.2**0.5 / 10**0.5, rel=0.01)
    assert few.attenuation == left
    edge = WORTHWHILE / DEVIATIONS
    assert choose_clip(0.0, 0.99 * edge).residual_clip == pytest.approx(0.99 * WORTHWHILE)
    assert choose_clip(0.0, 1.01 * edge) == REWARDS


def test_clipping_leaves_what_a_normal_law_says() -> None:
    z = np.random.default_rng(0).normal(size=400_000)
    for deviations in (0.5, 1.5, 3.0):
        shift, square = clipping(deviations)
        moved = (
            np.clip(z + 0.01, -deviations, deviations).mean()
            - np.clip(z - 0.01, -deviations, deviations).mean()
        )
        assert shift == pytest.approx(moved / 0.02, abs=0.01)
        assert square == pytest.approx(np.mean(np.clip(z, -deviations, deviations) ** 2), abs=0.01)


# -- what comes of it -----------------------------------------------------------------------------


def test_two_passes_are_better_than_one_at_the_same_budget(first: Design) -> None:
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    seeds = range(3)
    two = np.mean(
        [error(released_from(refine(released_from(first, seed)), seed)) for seed in seeds]
    )
    one = np.mean([error(released_from(once, seed)) for seed in seeds])
    assert two < 0.7 * one


def flipped(seed: int) -> tuple[Floats, Floats]:
    """Coins that fall on 1 or -1: residuals are larger than rewards, so comparing would only add
    noise."""
    rng = np.random.default_rng(seed)
    points = rng.random((ROUNDS, 2))
    return points, np.where(rng.random(ROUNDS) < 0.5 + 0.5 * truth(points), 1.0, -1.0)


def test_noisy_rewards_are_added_once_more(first: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "records", flipped)
    design = refine(released_from(first))
    assert design.residual is not None
    assert design.residual.rewards
    assert (design.residual.residual_clip, design.residual.level) == (1.0, 0.0)
    attenuation, shift = design.residual.response.at(np.linspace(-1.0, 1.0, 5))
    assert (attenuation == 1.0).all()
    assert not shift.any()


@pytest.mark.slow
def test_by_adding_noisy_rewards_once_more_nothing_is_lost(
    first: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "records", flipped)
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    again = [refine(released_from(first, seed)) for seed in range(12)]
    one = np.mean([error(released_from(once, seed)) for seed in range(12)])
    two = np.mean([error(released_from(design, seed)) for seed, design in enumerate(again)])
    assert two < 1.15 * one


@pytest.mark.parametrize("passes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_intervals_of_several_passes_cover_the_truth(passes: int) -> None:
    """12 functions, 300 places each: 85 to 97 % of the truth is inside, though all passes saw the
    same noise. Intervals of 90 % are a little wide here; docs/coverage.md measures many more."""
    rng = np.random.default_rng(0)
    covered = []
    first = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=passes)
    for _ in range(12):
        U = rng.random((60, 2))
        a = rng.normal(size=60)
        points = rng.random((ROUNDS, 2))
        places = rng.random((300, 2))
        scale = 0.3 / np.std(PROBLEM.k(places, U) @ a)
        y = np.clip(scale * PROBLEM.k(points, U) @ a + 0.1 * rng.normal(size=ROUNDS), -1.0, 1.0)

        def collect(design: Design, points: Floats = points, y: Floats = y) -> Statistic:
            statistic = design.statistic()
            statistic.add_points(points, y)
            return statistic

        policy = release_passes(first, collect, simulate_with(rng))
        assert len(policy.releases) == passes
        low, high = policy.interval(places[:, :1], places[:, 1:])
        right = scale * PROBLEM.k(places, U) @ a
        covered.append(float(np.mean((low <= right) & (right <= high))))
    assert 0.85 <= np.mean(covered) <= 0.97


def test_counts_of_both_passes_are_pooled(first: Design, second: Design) -> None:
    """Each pass counts the same people; the law of both comes from the weighted mean of their
    counts."""
    statistic = second.statistic()
    statistic.add_points(*records())
    released = simulate_gaussian(statistic._sum, second.budget, np.random.default_rng(0))
    passes = [ReleaseParts.of(second.previous[0]), ReleaseParts.of(Release(second, released))]
    weights = [parts.block_noise("contexts") ** -2 for parts in passes]
    counts: list[Any] = [parts.sums.contexts for parts in passes]
    pooled = np.average(np.stack(counts), axis=0, weights=weights)
    expected = ContextCounts(pooled, sum(weights) ** -0.5, ROUNDS)
    for observed, design in zip(observations(passes), (first, second), strict=True):
        moments = moments_given(design, expected)
        assert observed.sampling == pytest.approx(ROUNDS * moments.square)


def test_what_two_releases_say_adds_up() -> None:
    """The posterior given both, from the rotated and from the stacked observations."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    B = rng.normal(size=(6, 6))
    z = rng.normal(size=6)
    w = rng.normal(size=6)
    both = WhitenedObservation(A, z) + WhitenedObservation(B, w)
    stacked = np.vstack([A, B])
    assert both.A.shape == (6, 6)
    assert pytest.approx(stacked.T @ stacked) == both.A.T @ both.A
    assert both.A.T @ both.z == pytest.approx(stacked.T @ np.concatenate([z, w]))


def observation_of(
    square: float, noise: float, rng: np.random.Generator, rewards: bool = False
) -> LinearObservation:
    """Four influences and the sum of what records add, with a mean square, beside privacy noise."""
    root = np.random.default_rng(0).normal(size=(5, 5))
    sampling = root @ root.T
    shared = square * sampling
    N = shared + noise * np.eye(5)
    G = rng.normal(size=(5, 5))
    b = rng.normal(size=5)
    return LinearObservation(b, G, N, sampling, shared, square, square, rewards)


@given(st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_innovations_are_the_joint_observation_whitened_block_by_block(
    count: int, seed: int, rewards: bool
) -> None:
    """For any number of passes A'A and A'z are those of the stacked observation with the whole
    covariance; whether the second one adds rewards once more or residuals."""
    rng = np.random.default_rng(seed)
    squares = rng.random(count) + 0.05
    if rewards:
        squares[:2] = squares[0]
    passes = [
        observation_of(float(square), 0.3, rng, i == 0 or (rewards and i == 1))
        for i, square in enumerate(squares)
    ]
    N = np.block([[_covariance(passes, i, j) for j in range(count)] for i in range(count)])
    G = np.vstack([each.G for each in passes])
    b = np.concatenate([each.b for each in passes])
    seen = combined(innovations(passes))
    assert pytest.approx(G.T @ np.linalg.solve(N, G), rel=1e-6, abs=1e-6) == seen.A.T @ seen.A
    assert seen.A.T @ seen.z == pytest.approx(G.T @ np.linalg.solve(N, b), rel=1e-6, abs=1e-6)


def _covariance(passes: list[LinearObservation], i: int, j: int) -> Floats:
    if i == j:
        return passes[i].N
    if i > j:
        return _covariance(passes, j, i).T
    variances = nested_variances(passes)
    return shared_noise(passes[i], passes[j], min(variances[i], variances[j]))


@given(st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=8), st.integers(1, 3))
def test_whatever_mean_squares_are_estimated_innovations_have_a_covariance(
    squares: list[float], rewards: int
) -> None:
    """Also where residuals seem to grow from one pass to another, and privacy noise is too small to
    make up for it: a policy that was paid for can be decoded. The first passes may add rewards."""
    rng = np.random.default_rng(0)
    passes = [
        observation_of(square, 1e-8, rng, rewards=i < rewards) for i, square in enumerate(squares)
    ]
    for each in innovations(passes):
        assert np.linalg.eigvalsh(each.N).min() > 0


def test_a_later_pass_shares_what_both_have_of_the_first() -> None:
    """Where residuals become smaller, E[y1 y3] is the mean square of the third pass, as if there
    were no second one. Where they seem to grow, it is no more than the second one's."""
    unit = np.eye(2)

    def passes(*squares: float) -> list[LinearObservation]:
        return [
            LinearObservation(
                np.ones(2), unit, 2 * unit, unit, square * unit, square, square, i == 0
            )
            for i, square in enumerate(squares)
        ]

    shrinking = passes(0.5, 0.2, 0.1)
    assert nested_variances(shrinking) == [0.5, 0.2, 0.1]
    assert shared_noise(shrinking[0], shrinking[2], 0.1) == pytest.approx(0.1 * unit)
    growing = nested_variances(passes(0.5, 0.1, 0.3))
    assert growing[:2] == [0.5, 0.1]
    assert growing[2] == pytest.approx(MOST_CORRELATED**2 * 0.1)


def test_rewards_that_are_added_once_more_share_all_but_the_privacy_noise() -> None:
    """Two releases of one sum: the sampling noise is the same, up to what keeps the covariance
    positive."""
    rng = np.random.default_rng(0)
    first = observation_of(0.3, 0.5, rng, rewards=True)
    again = observation_of(0.3, 0.5, rng, rewards=True)
    shared = shared_noise(first, again, again.variance)
    assert shared == pytest.approx(MOST_CORRELATED * first.shared)


def test_releases_of_other_people_are_independent_observations(first: Design) -> None:
    """Two groups of people make the policy surer than one group that is read twice as if it were
    two: the decoder is told whose records they are."""
    statistic = first.statistic()
    statistic.add_points(*records(0))
    one = simulate_gaussian(statistic._sum, first.budget, np.random.default_rng(0))
    statistic = first.statistic()
    statistic.add_points(*records(1))
    other = simulate_gaussian(statistic._sum, first.budget, np.random.default_rng(1))
    points = np.random.default_rng(2).random((200, 2))
    alone = decode([Release(first, one, "a")])
    apart = decode([Release(first, one, "a"), Release(first, other, "b")])
    same = decode([Release(first, one, "a"), Release(first, other, "a")])
    surer = [float(np.mean(found.variance(points))) for found in (apart, same, alone)]
    assert surer[0] < surer[1] < surer[2]


def test_a_later_pass_is_over_the_same_people(first: Design) -> None:
    """The mean reward of others would be read as the mean of what the first pass got wrong."""
    mine = Cohort("mine", 0, ROUNDS)
    statistic = first.statistic(cohort=mine)
    statistic.add_points(*records(), first=0)
    following = refine(statistic.simulate_release(np.random.default_rng(0)))
    for other in (None, Cohort("other", ROUNDS, 2 * ROUNDS)):
        with pytest.raises(InputError, match=r"another pass over the records of cohort 'mine'"):
            following.statistic(cohort=other)
    again = following.statistic(cohort=mine)
    again.add_points(*records(), first=0)
    assert again.simulate_release(np.random.default_rng(1)).facts["passes"] == 2


def test_a_later_pass_over_everybody_is_not_one_over_a_cohort(second: Design) -> None:
    with pytest.raises(InputError, match=r"records of everybody, got cohort 'mine'"):
        second.statistic(cohort=Cohort("mine", 0, ROUNDS))


def test_releases_on_other_landmarks_are_not_decoded_together(first: Design) -> None:
    other = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=2, passes=2)
    releases = [*released_from(first).releases, *released_from(other).releases]
    with pytest.raises(InputError, match="same landmarks"):
        decode(releases)
    with pytest.raises(InputError, match="nothing to decode"):
        decode([])


def test_the_second_design_follows_from_the_first_and_its_policy(first: Design) -> None:
    policy = released_from(first)
    assert refine(policy).fingerprint == refine(policy).fingerprint
    assert refine(released_from(first, 5)).fingerprint != refine(policy).fingerprint


def test_both_designs_have_one_law_of_public_points(first: Design, second: Design) -> None:
    """E[phi phi'] is computed once, for both passes: their influences have the same directions."""
    assert first.moment is not None
    _, V = np.linalg.eigh(first.moment)
    for design in (first, second):
        along = V.T @ design.whitening @ V
        assert np.allclose(along, np.diag(np.diag(along)), atol=1e-9 * np.abs(along).max())


def test_a_second_design_survives_a_file(second: Design) -> None:
    again = Design.restore(PROBLEM, second.facts(), second.arrays())
    points, y = records()
    assert again.fingerprint == second.fingerprint
    assert np.array_equal(
        again.rows(points, y, np.ones(ROUNDS)), second.rows(points, y, np.ones(ROUNDS))
    )
    assert released_from(again).guarantee == released_from(second).guarantee
    assert again.residual is not None
    assert [len(r.design.previous) for r in again.previous] == [0]


def test_the_first_design_keeps_what_is_left(first: Design) -> None:
    again = Design.restore(PROBLEM, first.facts(), first.arrays())
    assert again.total_budget == BUDGET
    assert again.remaining_budget == first.remaining_budget
    assert again.layout.square_share == first.layout.square_share


# -- what cannot be -------------------------------------------------------------------------------


def test_another_pass_needs_one_before_it(first: Design, tmp_path: Path) -> None:
    loaded = Policy.load(released_from(first).save(tmp_path / "policy"))
    with pytest.raises(StateError, match="follows a release"):
        refine(loaded)
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    with pytest.raises(InputError, match="nothing is left"):
        refine(released_from(once))
    twice = refine(released_from(first))
    with pytest.raises(InputError, match="nothing is left"):
        refine(released_from(twice))
    options = DesignOptions(plain=True)
    plain = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, options=options)
    assert plain.passes_left == 0
    with pytest.raises(InputError, match="plain"):
        refine(released_from(plain))


def test_passes_are_a_small_number() -> None:
    for passes in (0, 9, 1.5):
        with pytest.raises(InputError, match="passes must be 1 to 8"):
            Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=passes)  # type: ignore[arg-type]
    pure = Design.build(PROBLEM, horizon=ROUNDS, budget=Budget(1.0), rng=1)
    assert (pure.passes_left, pure.remaining_budget) == (0, None)


def test_three_passes_spend_the_budget_and_no_more(tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", BUDGET)
    design = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=3)

    def collect(design: Design) -> Statistic:
        statistic = design.statistic()
        statistic.add_points(*records())
        return statistic

    require_room(ledger, design, "three")
    policy = release_passes(design, collect, release_on(ledger, "three"))
    assert [charge.request for charge in ledger.charges()] == [
        "three/pass 1",
        "three/pass 2",
        "three",
    ]
    assert 0 <= ledger.remaining < 4 / UNITS
    assert policy.guarantee.epsilon == pytest.approx(1.0, abs=1e-6)
    assert (policy.facts["passes"], Budget(**policy.facts["budget"])) == (3, BUDGET)
    again = release_passes(design, collect, release_on(ledger, "three"))  # free, and the same
    assert np.array_equal(again.posterior.weights, policy.posterior.weights)
    restored = Design.restore(
        PROBLEM, policy.releases[2].design.facts(), policy.releases[2].design.arrays()
    )
    assert [len(release.design.previous) for release in restored.previous] == [0, 1]
    assert restored.fingerprint == policy.releases[2].design.fingerprint
    with pytest.raises(tacit.BudgetError):
        require_room(ledger, design, "once more")
    with pytest.raises(tacit.RequestConflictError, match="fewer passes"):
        require_room(ledger, replace(design, passes_left=4), "three")


def test_who_is_charged_for_by_another_process_meanwhile_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes release at once: one looks up what is due, the other pays for it, and then the
    first finds no room. It must look again."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", BUDGET)
    design = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    statistic = design.statistic()
    statistic.add_points(*records())
    require = Ledger.require_room

    def late(self: Ledger, *events: Any, **options: Any) -> None:
        if not self.charges():
            statistic.release(ledger=self, request="both")
        require(self, *events, **options)

    monkeypatch.setattr(Ledger, "require_room", late)
    require_room(ledger, design, "both")
    with pytest.raises(tacit.BudgetError):
        require_room(ledger, design, "another")


# -- studies --------------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study.create(
        f"sqlite:///{tmp_path}/study.db",
        PROBLEM,
        horizon=300,
        budget=BUDGET,
        options=DesignOptions(seed=1),
    )
    points, _ = records()
    asked = study.ask_many(points[:300, 1:])
    played = np.array([[d.action["x"], c] for d, c in zip(asked, points[:300, 1], strict=True)])
    study.tell_many([d.id for d in asked], truth(played).tolist())
    return study


def test_a_study_reads_its_rounds_twice_and_pays_once(study: Study, tmp_path: Path) -> None:
    policy = study.release()
    assert policy.guarantee.epsilon == pytest.approx(1.0, abs=1e-6)
    again = Study.open(f"sqlite:///{tmp_path}/study.db").release()
    assert np.array_equal(again.posterior.weights, policy.posterior.weights)
    assert [charge.request for charge in study.ledger.charges()] == ["release/pass 1", "release"]


def test_a_study_that_stops_between_its_passes_goes_on(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> Design:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tacit.study.study.refine", stop)
        with pytest.raises(KeyboardInterrupt):
            study.release()
    assert len(study.ledger.charges()) == 1
    policy = Study.open(f"sqlite:///{tmp_path}/study.db").release()
    assert policy.guarantee.epsilon == pytest.approx(1.0, abs=1e-6)
    assert len(study.ledger.charges()) == 2


def test_everybody_uses_the_second_design_that_was_written_down_first(
    study: Study, tmp_path: Path
) -> None:
    policy = study.release()
    kept = study._store.design_of_pass(2)
    other = refine(policy_of(study))
    assert kept is not None
    found = study._store.keep_design_of_pass(2, other.facts(), other.arrays())
    assert found[0] == kept[0] != other.facts()
    assert np.array_equal(study.release().posterior.weights, policy.posterior.weights)


def policy_of(study: Study) -> Policy:
    statistic = study._statistic(study.asked, lambda *_: None, study.design)
    return statistic.simulate_release(np.random.default_rng(0))


def test_one_pass_is_still_to_be_had(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    study = Study.create(
        url, PROBLEM, horizon=10, budget=BUDGET, passes=1, options=DesignOptions(seed=1)
    )
    study.tell(study.ask({"c": 0.5}).id, reward=0.5)
    assert study.release().guarantee.delta == 1e-5
    assert [charge.request for charge in study.ledger.charges()] == ["release"]


def directions(design: Design) -> int:
    """In which a design measures the reward function."""
    return int(np.linalg.matrix_rank(design.whitening))


def second_of_nothing() -> tuple[Design, Design]:
    """Two designs of passes over records whose rewards are noise."""
    options = DesignOptions(rank=60, public_points=4096)
    first = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=0, passes=2, options=options)
    statistic = first.statistic()
    points, _ = records()
    statistic.add_points(points, np.random.default_rng(1).choice([-1.0, 1.0], ROUNDS))
    return first, refine(statistic.simulate_release(np.random.default_rng(2)))


def test_a_pass_that_learns_nothing_does_not_narrow_the_next_one() -> None:
    """The next one has more of the budget, and measures no fewer directions."""
    first, second = second_of_nothing()
    assert directions(second) >= directions(first) > 5


def test_a_design_that_expects_nothing_measures_nearly_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit.residual.refine.SIGNAL", 1e-3)
    first, second = second_of_nothing()
    assert directions(second) < directions(first)
