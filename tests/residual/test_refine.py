"""Two passes at the same records: what they cost, what they promise, and that the second is the
better one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tacit.design.earlier import REACH, WHOLE, WORTHWHILE, clipping, reach_for

import tacit
from tacit import (
    Budget,
    Design,
    DesignOptions,
    InputError,
    Ledger,
    Policy,
    StateError,
    Study,
    refine,
)
from tacit._typing import Floats
from tacit.core import simulate_gaussian
from tacit.core.budget import GAUSSIAN, UNITS, ZCDP
from tacit.decoder import Read, Seen, _laws
from tacit.design import Earlier
from tacit.kernels import Matern

BUDGET = Budget(epsilon=1.0, delta=1e-5)
PROBLEM = tacit.Problem(
    actions=tacit.Box([0.0], [1.0], names=["x"]),
    contexts=tacit.Box([0.0], [1.0], names=["c"]),
    kernel=Matern(2.5, 0.3),
    reward_range=(-1.0, 1.0),
)
ROUNDS = 3000


def truth(points: Floats) -> Floats:
    """The best action is near the context."""
    return np.asarray(0.8 - 3.0 * (points[:, 0] - 0.2 - 0.6 * points[:, 1]) ** 2)


def records(seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    points = rng.random((ROUNDS, 2))
    return points, np.clip(truth(points) + 0.1 * rng.normal(size=ROUNDS), -1.0, 1.0)


def looked(design: Design, seed: int = 0) -> Policy:
    statistic = design.statistic()
    statistic.add_points(*records(seed))
    return statistic.simulate_release(
        np.random.default_rng([seed, 100 + (design.earlier is not None)])
    )


def error(policy: Policy) -> float:
    C = np.linspace(0, 1, 101)[:, None]
    return float(np.mean(0.8 - truth(np.hstack([policy.decide_points(C), C]))))


@pytest.fixture(scope="module")
def first() -> Design:
    return Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=2)


@pytest.fixture(scope="module")
def second(first: Design) -> Design:
    return refine(looked(first))


# -- what it costs --------------------------------------------------------------------------------


@given(st.floats(0.01, 50.0), st.floats(1e-9, 1e-2))
def test_the_two_parts_are_the_whole_up_to_two_units(epsilon: float, delta: float) -> None:
    whole = Budget(epsilon, delta)
    part = tacit.design.choices.first_part(whole)
    rest = replace(whole, share=whole.share - part.share)
    for measure in (GAUSSIAN, ZCDP):
        units = [round(budget.amount(measure) * UNITS) for budget in (part, rest, whole)]
        assert units[2] - 2 <= units[0] + units[1] <= units[2]


def test_both_looks_fit_into_the_ledger_and_leave_nothing(first: Design, tmp_path: Path) -> None:
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
    assert second.earlier is not None
    earlier = replace(second.earlier, weights=np.full(second.rank, weight), level=level)
    wild = replace(second, earlier=earlier, layout=replace(second.layout, level_share=0.1))
    assert np.linalg.norm(wild.rows(points, y, np.ones(8)), axis=1).max() <= 1 + 1e-9


@given(st.tuples(*[st.floats(0, 1)] * 4), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1e3, 1e3))
def test_replacing_a_record_moves_the_second_sum_by_at_most_its_sensitivity(
    second: Design, places: tuple[float, ...], y: float, z: float, weight: float
) -> None:
    """Whatever the first pass said."""
    assert second.earlier is not None
    wild = replace(second, earlier=replace(second.earlier, weights=np.full(second.rank, weight)))
    sums = []
    for place, reward in ((places[:2], y), (places[2:], z)):
        statistic = wild.statistic()
        statistic.add_points(np.array([[0.3, 0.6], place]), np.array([0.1, reward]))
        sums.append(statistic._sum._value().astype(object))
    assert sum((sums[0] - sums[1]) ** 2) <= wild.encoding.sensitivity**2


def test_a_record_without_a_reward_adds_nothing_in_either_look(
    first: Design, second: Design
) -> None:
    for design in (first, second):
        statistic = design.statistic()
        statistic.add_points(np.full((3, 2), 0.4), np.array([np.nan, np.nan, np.nan]))
        assert not statistic._sum._value().any()
        statistic.add_points(np.full((1, 2), 0.4), np.array([0.3]))
        assert statistic._sum._value().any()


def test_records_tell_what_the_first_look_got_wrong(first: Design) -> None:
    """A first policy that is right about everything leaves nothing to tell."""
    policy = looked(first)
    design = refine(policy)
    assert design.earlier is not None
    points = np.random.default_rng(3).random((50, 2))
    right = design.rows(points, policy._mean(points), np.ones(50))[:, : design.rank]
    wrong = design.rows(points, policy._mean(points) + design.earlier.reach, np.ones(50))[
        :, : design.rank
    ]
    assert np.abs(right).max() < 1e-12
    assert np.linalg.norm(wrong, axis=1).max() > 0.5


def test_residuals_are_clipped_where_they_are_expected_to_end() -> None:
    left = clipping(REACH)[0]
    assert reach_for(0.1, 0.1) == pytest.approx((REACH * 0.2**0.5 / 10**0.5, left), rel=0.01)
    assert reach_for(0.0, 0.99 * WORTHWHILE / REACH) == pytest.approx((0.99 * WORTHWHILE, left))
    assert reach_for(0.0, 1.01 * WORTHWHILE / REACH) == WHOLE
    assert reach_for(0.0, 1.01 * WORTHWHILE / REACH, level=0.5) == pytest.approx(
        (1.01 * WORTHWHILE, left)
    )


def test_clipping_leaves_what_a_normal_law_says() -> None:
    z = np.random.default_rng(0).normal(size=400_000)
    for deviations in (0.5, 1.5, 3.0):
        gain, square = clipping(deviations)
        moved = (
            np.clip(z + 0.01, -deviations, deviations).mean()
            - np.clip(z - 0.01, -deviations, deviations).mean()
        )
        assert gain == pytest.approx(moved / 0.02, abs=0.01)
        assert square == pytest.approx(np.mean(np.clip(z, -deviations, deviations) ** 2), abs=0.01)


# -- what comes of it -----------------------------------------------------------------------------


def test_the_second_look_is_better_than_one_look_at_the_same_budget(first: Design) -> None:
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    seeds = range(6)
    two = np.mean([error(looked(refine(looked(first, seed)), seed)) for seed in seeds])
    one = np.mean([error(looked(once, seed)) for seed in seeds])
    assert two < 0.7 * one


def test_noisy_rewards_are_told_once_more_and_nothing_is_lost(
    first: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coins that fall on 1 or -1: residuals are larger than rewards, so comparing would only add
    noise."""

    def flipped(seed: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        points = rng.random((ROUNDS, 2))
        return points, np.where(rng.random(ROUNDS) < 0.5 + 0.5 * truth(points), 1.0, -1.0)

    monkeypatch.setitem(globals(), "records", flipped)
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    again = [refine(looked(first, seed)) for seed in range(12)]
    for design in again:
        assert design.earlier is not None
        assert (design.earlier.reach, design.earlier.gain) == WHOLE
        assert not design.earlier.weights.any()
    one = np.mean([error(looked(once, seed)) for seed in range(12)])
    two = np.mean([error(looked(design, seed)) for seed, design in enumerate(again)])
    assert two < 1.15 * one


def test_intervals_of_two_looks_cover_the_truth() -> None:
    """12 functions, 300 places each: 85 to 95 % of the truth is inside, though both passes saw the
    same noise."""
    rng = np.random.default_rng(0)
    covered = []
    first = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=2)
    for _ in range(12):
        U = rng.random((60, 2))
        a = rng.normal(size=60)
        points = rng.random((ROUNDS, 2))
        places = rng.random((300, 2))
        scale = 0.3 / np.std(PROBLEM.k(places, U) @ a)
        y = np.clip(scale * PROBLEM.k(points, U) @ a + 0.1 * rng.normal(size=ROUNDS), -1.0, 1.0)

        def release(design: Design, points: Floats = points, y: Floats = y) -> Policy:
            statistic = design.statistic()
            statistic.add_points(points, y)
            return statistic.simulate_release(rng)

        low, high = release(refine(release(first))).interval(places[:, :1], places[:, 1:])
        right = scale * PROBLEM.k(places, U) @ a
        covered.append(float(np.mean((low <= right) & (right <= high))))
    assert 0.85 <= np.mean(covered) <= 0.95


def test_counts_of_both_looks_are_pooled(first: Design, second: Design) -> None:
    """Each pass counts the same people; the law of both comes from the weighted mean of their
    counts."""
    assert second.earlier is not None
    statistic = second.statistic()
    statistic.add_points(*records())
    released = simulate_gaussian(statistic._sum, second.budget, np.random.default_rng(0))
    reads = [Read.of(first, second.earlier.released), Read.of(second, released)]
    counts = [read.counts for read in reads]
    weights = [read.count_noise**-2 for read in reads]
    pooled = np.average(np.stack(counts), axis=0, weights=weights)  # type: ignore[arg-type]
    for law, design in zip(_laws(reads), (first, second), strict=True):
        assert law.energy == pytest.approx(
            design.moments_given(pooled, sum(weights) ** -0.5, released.records).energy
        )


def test_what_two_releases_say_adds_up() -> None:
    """The posterior given both, from the rotated and from the stacked observations."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    B = rng.normal(size=(6, 6))
    z = rng.normal(size=6)
    w = rng.normal(size=6)
    both = Seen(A, z) + Seen(B, w)
    stacked = np.vstack([A, B])
    assert both.A.shape == (6, 6)
    assert pytest.approx(stacked.T @ stacked) == both.A.T @ both.A
    assert both.A.T @ both.z == pytest.approx(stacked.T @ np.concatenate([z, w]))


def test_the_second_design_follows_from_the_first_and_its_policy(first: Design) -> None:
    policy = looked(first)
    assert refine(policy).fingerprint == refine(policy).fingerprint
    assert refine(looked(first, 5)).fingerprint != refine(policy).fingerprint


def test_both_designs_have_one_law_of_public_points(first: Design, second: Design) -> None:
    """E[phi phi'] is computed once: the second whitening is as good as one made afresh."""
    afresh = Design.build(
        PROBLEM,
        horizon=ROUNDS,
        budget=second.budget,
        rng=9,
        passes=1,
        options=DesignOptions(landmarks=first.features.U, tau=second.tau),
    )
    assert second.influence(records()[0]) == pytest.approx(afresh.influence(records()[0]), abs=1e-3)


def test_a_second_design_survives_a_file(second: Design) -> None:
    again = Design.restore(PROBLEM, second.facts(), second.arrays())
    points, y = records()
    assert again.fingerprint == second.fingerprint
    assert np.array_equal(
        again.rows(points, y, np.ones(ROUNDS)), second.rows(points, y, np.ones(ROUNDS))
    )
    assert looked(again).guarantee == looked(second).guarantee
    assert isinstance(again.earlier, Earlier)


def test_the_first_design_keeps_what_is_left(first: Design) -> None:
    again = Design.restore(PROBLEM, first.facts(), first.arrays())
    assert (again.rest, again.whole, again.layout.energy_share) == (
        first.rest,
        BUDGET,
        first.layout.energy_share,
    )


# -- what cannot be -------------------------------------------------------------------------------


def test_a_second_look_needs_a_first_one(first: Design, tmp_path: Path) -> None:
    loaded = Policy.load(looked(first).save(tmp_path / "policy"))
    with pytest.raises(StateError, match="follows a release"):
        refine(loaded)
    other = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=2, passes=2)
    with pytest.raises(StateError, match="follows a release"):
        refine(looked(first))
    once = Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=1)
    with pytest.raises(InputError, match="nothing is left"):
        refine(looked(once))
    twice = refine(looked(first))
    with pytest.raises(InputError, match="no third one"):
        refine(twice, looked(twice))
    plain = Design.build(
        PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=2, options=DesignOptions(plain=True)
    )
    with pytest.raises(InputError, match="plain"):
        refine(looked(plain))


def test_there_are_one_or_two_looks() -> None:
    with pytest.raises(InputError, match="passes must be 1 or 2"):
        Design.build(PROBLEM, horizon=ROUNDS, budget=BUDGET, rng=1, passes=3)
    assert Design.build(PROBLEM, horizon=ROUNDS, budget=Budget(1.0), rng=1, passes=2).whole is None


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


def test_a_study_has_two_passes_and_pays_once(study: Study, tmp_path: Path) -> None:
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
    assert kept is not None
    other = refine(simulated(study))
    again = study._store.keep_design_of_pass(2, other.facts(), other.arrays())
    assert again[0] == kept[0] != other.facts()
    assert np.array_equal(study.release().posterior.weights, policy.posterior.weights)


def simulated(study: Study) -> Policy:
    return study._statistic(study.asked).simulate_release(np.random.default_rng(0))


def test_a_study_may_have_one_pass(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    study = Study.create(
        url, PROBLEM, horizon=10, budget=BUDGET, passes=1, options=DesignOptions(seed=1)
    )
    study.tell(study.ask({"c": 0.5}).id, reward=0.5)
    assert study.release().guarantee.delta == 1e-5
    assert [charge.request for charge in study.ledger.charges()] == ["release"]
