"""How far Thompson draws are spread, by what they are expected to cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from tacit.epochs import Learned, Shares, learn_from
from tacit.epochs.spread import (
    MORE,
    MORE_LAST,
    PRICE,
    PRICE_LAST,
    SPREADS,
    UNKNOWN,
    choose_spread,
    expected_regrets,
    rounds_later,
)

PROBLEM = tacit.Problem(
    actions=tacit.Box.of(dose=(0.0, 1.0)),
    contexts=tacit.Box.of(age=(0.0, 1.0)),
    kernel=tacit.Separable(tacit.Matern(2.5, 0.4), tacit.Matern(2.5, 0.4)),
)


def learned_from(rounds: int, epsilon: float) -> tacit.Policy:
    """The best dose is the age; a simulated release."""
    rng = np.random.default_rng(0)
    design = tacit.Design.build(
        PROBLEM,
        horizon=rounds,
        budget=tacit.Budget(epsilon, 1e-6),
        rng=rng,
        options=tacit.DesignOptions(rank=40),
    )
    doses = rng.uniform(size=rounds)
    ages = rng.uniform(size=rounds)
    statistic = design.statistic()
    statistic.add({"dose": doses}, {"age": ages}, 1 - 2 * np.abs(doses - ages))
    return statistic.simulate_release(rng)


def linear(least: float, slope: float) -> Callable[[float], float]:
    return lambda spread: least + slope * spread


@given(st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0]))
def test_the_widest_spread_is_taken_whose_price_is_small(
    least: float, slope: float, later: float
) -> None:
    regret = linear(least, slope)
    chosen = choose_spread(regret, later)
    if later and least > UNKNOWN:
        assert chosen is None
        return
    assert chosen in SPREADS
    last = max(PRICE_LAST, least + MORE_LAST)
    price = max(PRICE, least + MORE * (1.0 + later)) if later else last
    assert regret(chosen) <= price or chosen == 0.0
    assert all(regret(wider) > price for wider in SPREADS if wider > chosen)


def test_draws_that_cost_nothing_are_spread_widest_and_dear_ones_not_at_all() -> None:
    assert choose_spread(linear(0.0, 0.0)) == max(SPREADS)
    assert choose_spread(linear(0.3, 10.0)) == 0.0
    assert choose_spread(linear(0.81, 0.0), later=1.0) is None
    assert choose_spread(linear(0.81, 0.0), later=0.0) is not None, "nobody would profit"


def test_where_much_is_known_regret_grows_with_the_spread() -> None:
    policy = learned_from(4000, 10.0)
    rng = np.random.default_rng(1)
    regret = expected_regrets(policy, Learned.of(policy.posterior, rng), rng)
    assert 0.0 <= regret(0.0) < 0.2
    assert regret(0.0) < regret(3.0)


def test_where_nothing_is_known_draws_are_not_played_and_arms_stay() -> None:
    shares = Shares(explore=0.1, exploit=0.2, control=0.05)
    known, as_asked = learn_from(learned_from(4000, 10.0), shares, np.random.default_rng(2))
    assert as_asked == shares
    assert known.committee.std() > 0.0
    _, exploring = learn_from(learned_from(30, 0.1), shares, np.random.default_rng(3), later=4.0)
    assert exploring.learn == 0.0
    assert (exploring.exploit, exploring.control) == (0.2, 0.05)
    assert exploring.explore == pytest.approx(0.75)


def test_a_spread_moves_draws_away_from_the_mean() -> None:
    known = Learned(np.zeros((2, 1)), np.array([1.0, 2.0]), np.array([[2.0, 2.0], [1.0, 0.0]]))
    assert np.allclose(known.spread(0.5).committee, [[1.5, 2.0], [1.0, 1.0]])
    assert np.allclose(known.spread(0.0).committee, known.weights)


def test_an_epoch_that_many_rounds_follow_may_cost_more() -> None:
    regret = linear(0.3, 0.2)
    assert choose_spread(regret, later=0.0) == 0.0
    assert choose_spread(regret, later=2.0) == 0.25
    assert choose_spread(regret, later=100.0) == choose_spread(regret, later=6.0) == 1.0
    assert rounds_later([500, 1500, 8000], 2) == pytest.approx(8000 / 1500)
    assert rounds_later([500, 1500, 8000], 3) == 0.0
