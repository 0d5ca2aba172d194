"""Budgets and their exchange rates, against Google's dp-accounting and against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import Budget
from tacit.core.budget import GAUSSIAN, ZCDP, epsilon_of_rho, rho_of_epsilon
from tacit.core.noise import gaussian_measurement, gaussian_scale
from tacit.errors import InputError


@given(rho=st.floats(1e-6, 10), delta=st.floats(1e-12, 0.1))
def test_conversion_is_never_worse_than_the_standard_one(rho: float, delta: float) -> None:
    standard = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert epsilon_of_rho(rho, delta) <= standard * (1 + 1e-9)


@given(rho=st.floats(1e-4, 3), delta=st.floats(1e-9, 1e-3))
def test_conversion_is_not_below_the_exact_gaussian_profile(rho: float, delta: float) -> None:
    """A claim below the true epsilon of a Gaussian with this rho would be a lie."""
    mu = math.sqrt(2 * rho)
    epsilon = epsilon_of_rho(rho, delta)

    def upper_tail(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2))

    profile = upper_tail(epsilon / mu - mu / 2) - math.exp(epsilon) * upper_tail(
        epsilon / mu + mu / 2
    )
    assert profile <= delta * (1 + 1e-9)


@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-12, 1e-2))
def test_the_two_conversions_are_inverse_and_never_generous(epsilon: float, delta: float) -> None:
    rho = rho_of_epsilon(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon
    assert epsilon_of_rho(rho * (1 + 1e-6), delta) > epsilon - 1e-9


def test_conversion_agrees_with_dp_accounting() -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.rdp import RdpAccountant

    for multiplier in (1.0, 4.5, 20.0):
        accountant: Any = RdpAccountant(orders=[1 + x / 50 for x in range(1, 20_000)])
        accountant.compose(GaussianDpEvent(multiplier))
        theirs = accountant.get_epsilon(1e-6)
        ours = epsilon_of_rho(1 / (2 * multiplier**2), 1e-6)
        assert ours == pytest.approx(theirs, rel=1e-3)
        assert ours <= theirs * (1 + 1e-6)


@given(
    rho=st.floats(1e-8, 1e3),
    bits=st.integers(1, 28),
    terms=st.sampled_from([(GAUSSIAN, 3), (ZCDP, 0)]),
)
def test_the_noise_scale_pays_exactly_for_its_rho(
    rho: float, bits: int, terms: tuple[str, int]
) -> None:
    sensitivity = 2 << bits
    measure, extra = terms
    scale = gaussian_scale(sensitivity, rho, measure)
    left = Fraction(scale) ** 2 - extra**2
    assert Fraction(sensitivity) ** 2 / (2 * left) <= Fraction(rho)
    assert scale <= math.hypot(sensitivity / math.sqrt(2 * rho), extra) * (1 + 1e-12)


def test_opendp_prices_the_noise_as_we_do() -> None:
    scale = gaussian_scale(2**25, 0.02)
    assert gaussian_measurement(10, scale).map(d_in=2**25) == pytest.approx(0.02, rel=1e-12)


def test_a_budget_counts_in_whole_units_and_never_above_itself() -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    assert (budget.zcdp * 2**40).is_integer()
    assert (budget.gaussian * 2**40).is_integer()
    assert budget.as_epsilon(1e-6) <= 1.0
    assert budget.as_epsilon(1e-6) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"epsilon": 0.0, "delta": 1e-6}, "positive"),
        ({"epsilon": -1.0}, "positive"),
        ({"epsilon": math.nan}, "positive"),
        ({"epsilon": math.inf}, "positive"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be in"),
        ({"epsilon": 1.0, "delta": -0.1}, "delta must be in"),
        ({"rho": 0.0}, "positive"),
        ({"rho": 1.0, "delta": 1e-6}, "takes no delta"),
        ({"rho": 1.0, "epsilon": 1.0}, "not both"),
        ({}, "either epsilon or rho"),
        ({"epsilon": 1.0, "share": 0.0}, "share must be above 0"),
        ({"epsilon": 1.0, "share": 1.5}, "at most 1"),
    ],
)
def test_a_wrong_budget_says_what_to_do(arguments: dict[str, float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Budget(**arguments)


def test_a_pure_budget_cannot_pay_for_gaussian_noise() -> None:
    with pytest.raises(InputError, match="add a delta"):
        _ = Budget(epsilon=1.0).zcdp
    with pytest.raises(InputError, match="add a delta"):
        _ = Budget(epsilon=1.0).gaussian
