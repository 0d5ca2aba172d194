"""The arms of a comparison: what rounds add is bounded, and intervals of what is read hold.

Statistical tests have fixed seeds; each states how likely a right mechanism would fail it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from helpers import BUDGET, sqlite
from mutation import Mutant, failure_under
from tacit._typing import Floats
from tacit.core import Cohort, Encoding, Ledger, private_sum, release_event
from tacit.design.layout import ARM_ENTRIES, Layout
from tacit.errors import InputError
from tacit.evaluation.arms import (
    ARMS,
    NO_ARM,
    Arm,
    ArmSums,
    Comparison,
    arm_entries,
    arm_sum,
    arm_sums,
    arms_of,
    mean_errors,
    read_arms,
    release_arms,
)
from tacit.evaluation.estimates import Estimate
from tacit.planning import ValidationPlan

UNITS = ("record", "user")
STUDIES = 2000


def entries(rewards: Any, arm: int = 0, unit: str = "record") -> Floats:
    rewards = np.asarray(rewards, dtype=np.float64)
    return arm_entries(rewards, np.full(len(rewards), arm), unit)


# -- what rounds add ------------------------------------------------------------------------------


def test_no_round_adds_more_than_its_bound() -> None:
    """Every reward, of every arm, and those that did not come; the ends use the whole of it."""
    rewards = np.array([*np.linspace(-1.0, 1.0, 4001), np.nan, np.inf, -np.inf, 1e3, -3.0])
    for unit in UNITS:
        for arm in (0, 1, NO_ARM):
            lengths = np.linalg.norm(entries(rewards, arm, unit), axis=1)
            assert lengths.max() <= 1.0 + 1e-12, "a round of an arm adds more than its bound"
            assert arm == NO_ARM or lengths.max() >= 1.0 - 1e-12, "a part is never used"


def test_rows_with_arms_fit_into_the_ball_before_the_core_looks() -> None:
    """Beside all other blocks at their longest."""
    layout = Layout(3, mean_share=0.02, square_share=0.01).for_arms()
    ones = np.ones(5)
    q = np.eye(3)[[0, 1, 2, 0, 1]]
    y = np.array([1.0, -1.0, 1.0, -1.0, 0.0])
    points = np.full((5, 2), 0.5)
    rows = layout.with_arms(layout.rows(q, ones, y, points, ones, ones), entries(y))
    assert rows.shape == (5, layout.size)
    lengths = np.sum(rows**2, axis=1)
    assert lengths.max() <= 1.0 + 1e-12, "a row with arms is longer than 1"
    assert lengths.max() >= 1.0 - 1e-12
    split = layout.split(rows.sum(axis=0)).arms
    assert split is not None
    assert split == pytest.approx(entries(y).sum(axis=0))


def test_a_layout_without_arms_is_what_it_was() -> None:
    layout = Layout(3, mean_share=0.02)
    assert layout.size == 4
    assert layout.split(np.ones(4)).arms is None
    assert layout.block_noise("arms", 1.0) == 0.0


MUTANTS = [
    Mutant(
        "squares of rewards are added in full beside them",
        "tacit.evaluation.arms.arm_entries",
        "spread = 1.0 - y**2",
        "spread = y**2",
        test_no_round_adds_more_than_its_bound,
    ),
    Mutant(
        "rewards are not clipped",
        "tacit.evaluation.arms.arm_entries",
        "np.clip(np.where(came, rewards, 0.0), -1.0, 1.0)",
        "np.where(came, rewards, 0.0)",
        test_no_round_adds_more_than_its_bound,
    ),
    Mutant(
        "the entries of arms come on top of the other blocks",
        "tacit.design.layout.Layout.influence_share",
        "self.arm_share,",
        "",
        test_rows_with_arms_fit_into_the_ball_before_the_core_looks,
    ),
    Mutant(
        "the entries of arms have no share",
        "tacit.design.layout.Layout._weights",
        "math.sqrt(self.arm_share)",
        "1.0",
        test_rows_with_arms_fit_into_the_ball_before_the_core_looks,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_bound_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    failure_under(mutant, tmp_path)


def test_the_core_shrinks_an_entry_above_its_bound() -> None:
    """Whatever a caller hands over: the sum that is released moves by no more than the bound."""
    cohort = Cohort("epoch 3", 0, 10)
    total = arm_sum(10, "record", cohort)
    total.add(np.full((10, ARM_ENTRIES), 5.0), records=10, first=0)
    bound = total.encoding.bound
    assert np.linalg.norm(total._value().astype(float)) <= 10 * bound


def test_a_sum_of_something_else_is_not_released_as_arms(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    other = private_sum(Encoding(size=3, horizon=10), "record", Cohort("epoch 3", 0, 10))
    with pytest.raises(InputError, match="release_arms takes"):
        release_arms(other, BUDGET, ledger, "x", {})
    everybody = private_sum(Encoding(size=ARM_ENTRIES, horizon=10), "record")
    with pytest.raises(InputError, match="release_arms takes"):
        release_arms(everybody, BUDGET, ledger, "x", {})
    assert ledger.spent == 0


# -- what is read ---------------------------------------------------------------------------------


@given(
    st.lists(st.one_of(st.floats(-1.0, 1.0), st.none()), min_size=2, max_size=40),
    st.sampled_from(UNITS),
)
def test_without_noise_the_sums_are_the_number_the_mean_and_the_spread(
    told: list[float | None], unit: str
) -> None:
    rewards = np.array([np.nan if y is None else y for y in told])
    sums = arm_sums(entries(rewards, 0, unit).sum(axis=0)[:3], 0.0, len(told), unit)
    came = rewards[np.isfinite(rewards)]
    assert sums.came == pytest.approx(len(came), abs=1e-9)
    assert sums.total == pytest.approx(came.sum(), abs=1e-9)
    assert sums.spread == pytest.approx(np.sum(1.0 - came**2), abs=1e-9)
    if len(came):
        assert mean_errors(sums).value == pytest.approx(came.mean(), abs=1e-9)


def test_values_are_in_the_units_of_the_user_and_a_difference_has_both_errors() -> None:
    y = np.array([0.5, -0.5, 0.5, -0.5] * 250)
    sums = entries(y, 0).sum(axis=0) + entries(y + 0.2, 1).sum(axis=0)
    found = read_arms(sums, 1e-9, [Arm(1000, 1000)] * 2, "record", (10.0, 20.0))
    assert found.policy_value is not None
    assert found.baseline_value is not None
    assert found.gain is not None
    assert found.policy_value.value == pytest.approx(15.0)
    assert found.baseline_value.value == pytest.approx(16.0)
    assert found.gain.value == pytest.approx(-1.0)
    assert found.policy_value.sampling == pytest.approx(5 * 0.5 / math.sqrt(1000), rel=0.01)
    assert found.gain.sampling == pytest.approx(math.sqrt(2) * found.policy_value.sampling)


def test_a_shift_of_both_arms_widens_values_and_leaves_their_difference() -> None:
    y = np.array([0.5, -0.5] * 500)
    sums = entries(y, 0, "user").sum(axis=0) + entries(y + 0.2, 1, "user").sum(axis=0)
    arms = [Arm(1000, 500)] * 2
    plain = read_arms(sums, 1.0, arms, "user", (0.0, 1.0))
    moved = read_arms(sums, 1.0, arms, "user", (0.0, 1.0), shift=0.1)
    assert moved.gain == plain.gain
    assert moved.policy_value is not None
    assert plain.policy_value is not None
    found = moved.policy_value.noise**2 - plain.policy_value.noise**2
    assert found == pytest.approx(0.05**2)


def test_an_arm_without_rounds_has_no_value() -> None:
    found = read_arms(np.zeros(6), 8.0, [Arm(0, 0), Arm(50, 50)], "record", (0.0, 1.0))
    assert found.policy_value is None
    assert found.baseline_value is not None
    assert found.gain is None


def test_a_comparison_is_restored_and_earlier_versions_have_none() -> None:
    found = Comparison(Estimate(0.5, 0.1, 0.2), None, None)
    assert Comparison.restore(found.facts()) == found
    assert Comparison.restore({}) == Comparison()


@given(st.floats(-50.0, 8.0), st.floats(-30.0, 30.0), st.floats(-1.0, 1.0))
def test_where_the_count_drowns_in_noise_the_interval_holds_every_reward(
    came: float, total: float, truth: float
) -> None:
    errors = mean_errors(ArmSums(came, total, 0.0, 8.0))
    half = 1.96 * math.hypot(errors.sampling, errors.noise)
    assert errors.value - half <= truth <= errors.value + half


def test_arms_are_counted_in_rounds_and_in_users() -> None:
    arms = np.array([0, 0, 1, NO_ARM, 1, 0])
    assert arms_of(arms) == (Arm(3, 3), Arm(2, 2))
    assert arms_of(arms, ["a", "a", "b", "c", "a", "d"]) == (Arm(3, 2), Arm(2, 2))
    assert len(ARMS) == 2


# -- intervals that hold --------------------------------------------------------------------------


def sigma(epsilon: float, rounds: int) -> float:
    encoding = Encoding(size=ARM_ENTRIES, horizon=rounds)
    return release_event(encoding, tacit.Budget(epsilon, 1e-6)).scale / encoding.bound


def released(y: Floats, came: Any, unit: str, noise: float, rng: np.random.Generator) -> Any:
    """Sums of many arms, one row of rewards each, with simulated noise."""
    y = np.where(came, y, np.nan)
    studies, rounds = y.shape
    own = arm_entries(y.ravel(), np.zeros(y.size, dtype=np.intp), unit)[:, :3]
    sums = own.reshape(studies, rounds, 3).sum(axis=1)
    drawn = sums + noise * rng.normal(size=sums.shape)
    return arm_sums(drawn.T, noise, rounds, unit)


LAWS: dict[str, tuple[Any, float]] = {
    "half": (lambda rng, shape: np.where(rng.random(shape) < 0.5, 1.0, -1.0), 0.0),
    "rare": (lambda rng, shape: np.where(rng.random(shape) < 0.02, 1.0, -1.0), -0.96),
    "uniform": (lambda rng, shape: rng.uniform(-0.4, 0.8, shape), 0.2),
}


def coverage(law: str, epsilon: float, unit: str, forget: str = "") -> float:
    draw, truth = LAWS[law]
    rng = np.random.default_rng(1)
    shape = (STUDIES, 400)
    noise = sigma(epsilon, 400)
    errors = mean_errors(released(draw(rng, shape), rng.random(shape) < 0.9, unit, noise, rng))
    kept = {name: 0.0 if name == forget else getattr(errors, name) for name in errors._fields}
    half = 1.96 * np.hypot(kept["sampling"], kept["noise"])
    return float(np.mean(np.abs(errors.value - truth) <= half))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("epsilon", "unit"), [(0.3, "record"), (3.0, "record"), (1.0, "user")])
def test_intervals_hold_the_mean(law: str, epsilon: float, unit: str) -> None:
    """400 rounds an arm, of which a tenth has no reward. With a coverage of 0.945 to 0.965 a study
    of 2,000 fails with a probability below 1e-6; seeds are fixed."""
    assert 0.92 <= coverage(law, epsilon, unit) <= 0.985


def test_an_interval_without_one_of_its_errors_would_be_seen() -> None:
    assert coverage("half", 0.3, "record", forget="noise") < 0.9
    assert coverage("half", 3.0, "record", forget="sampling") < 0.9


# -- half-widths and power ------------------------------------------------------------------------


def test_a_validation_epoch_is_as_sharp_as_promised(tmp_path: Path) -> None:
    """1,000 rounds an arm, rewards of standard deviation 0.5 in half ranges, epsilon 1, through the
    trusted core: a half-width of at most 0.055, of which 0.044 is sampling."""
    rng = np.random.default_rng(2)
    rewards = np.where(rng.random(2000) < 0.5, 0.5, -0.5)
    arms = np.arange(2000) % 2
    cohort = Cohort("epoch 2", 100, 2100)
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    ledger.add_cohort(cohort)
    total = arm_sum(2000, "record", cohort)
    total.add(arm_entries(rewards, arms, "record"), records=2000, first=100)
    found = release_arms(total, BUDGET, ledger, "epoch 2", {})
    compared = read_arms(
        found.values / 2**found.bits, found.scale / 2**found.bits, arms_of(arms), "record", (-1, 1)
    )
    assert compared.gain is not None
    assert 0.044 <= compared.gain.half_width <= 0.055
    assert ledger.account(cohort).remaining <= 4
    planned = ValidationPlan(BUDGET, (-1.0, 1.0), 0.5, 0.0).half_width(2000)
    assert compared.gain.half_width == pytest.approx(planned, rel=0.1)


def test_a_plan_detects_a_gain_as_often_as_it_says() -> None:
    """Simulated comparisons of the planned size detect the planned gain in 0.8 of 2,000 studies, up
    to 0.1, which a right plan misses with a probability below 1e-6."""
    plan = ValidationPlan(BUDGET, (0.0, 1.0), 0.5, 0.5)
    rounds = plan.rounds_for(0.12, 0.8)
    assert plan.power(rounds, 0.12) >= 0.8 > plan.power(rounds - 1, 0.12)
    rng = np.random.default_rng(3)
    noise = sigma(1.0, rounds)
    read = []
    for share in (0.56, 0.44):
        shape = (STUDIES, rounds // 2)
        y = np.where(rng.random(shape) < share, 1.0, -1.0)
        read.append(mean_errors(released(y, np.ones(shape, bool), "record", noise, rng)))
    std = np.sqrt(sum(each.sampling**2 + each.noise**2 for each in read))
    detected = read[0].value - read[1].value > 1.96 * std
    assert 0.7 <= detected.mean() <= 0.9


def test_a_plan_grows_with_what_is_asked_of_it() -> None:
    plan = ValidationPlan(BUDGET, (0.0, 1.0), 0.2)
    assert plan.rounds_for(0.02) > plan.rounds_for(0.05) > plan.rounds_for(0.2)
    assert plan.rounds_for(0.05, 0.95) > plan.rounds_for(0.05, 0.8)
    assert ValidationPlan(BUDGET, (0.0, 1.0)).rounds_for(0.05) > plan.rounds_for(0.05)
    private = ValidationPlan(tacit.Budget(0.1, 1e-6), (0.0, 1.0), 0.2)
    assert private.rounds_for(0.05) > plan.rounds_for(0.05)
    uneven = ValidationPlan(BUDGET, (0.0, 1.0), 0.2, split=0.9)
    assert uneven.rounds_for(0.05) > plan.rounds_for(0.05)
    users = ValidationPlan(BUDGET, (0.0, 1.0), 0.2, unit="user")
    assert users.rounds_for(0.05) > plan.rounds_for(0.05)
    assert "detects a gain of 0.05" in plan.explain(0.05, rounds=500)
    assert plan.to_json(0.05, 0.8, 500)["power_of_rounds"] == plan.power(500, 0.05)


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ({"reward_std": 0.7}, "reward_std must be from 0 to half"),
        ({"reward_mean": 2.0}, "reward_mean must be in the range"),
        ({"split": 1.0}, "split is the share"),
        ({"unit": "patient"}, "unit must be"),
        ({"budget": tacit.Budget(1.0)}, "needs a delta"),
    ],
)
def test_a_plan_says_what_is_wrong(mistake: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ValidationPlan(**{"budget": BUDGET} | mistake)
    plan = ValidationPlan(BUDGET)
    for gain in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="must be positive"):
            plan.rounds_for(gain)
    with pytest.raises(InputError, match="power must be between"):
        plan.rounds_for(0.1, 1.0)
    with pytest.raises(InputError, match="is not detected within"):
        plan.rounds_for(1e-12)
