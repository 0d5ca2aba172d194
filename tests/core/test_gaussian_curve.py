"""Gaussian releases by their exact curve: the figures, the bounds, the lemma on discrete noise,
other accountants."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import BUDGET, SMALL, build_design, records, small_design, small_problem, sqlite
from tacit import (
    Budget,
    BudgetError,
    Ledger,
    Policy,
    refine,
    release_decision,
)
from tacit.core import Encoding, PrivateSum, release_gaussian
from tacit.core.budget import GAUSSIAN, UNITS, ZCDP, epsilon_of_rho
from tacit.core.curve import gaussian_delta, gaussian_epsilon, gaussian_rho
from tacit.core.events import ROUNDING_SCALE, Exponential, Gaussian, price
from tacit.core.noise import gaussian_scale
from tacit.errors import InputError

DIGITS = 60
DESIGN = small_design()


def exact_delta(epsilon: float, rho: float) -> Any:
    """The curve with 60 digits."""
    with mpmath.workdps(DIGITS):
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        ratio = mpmath.mpf(epsilon) / mu
        return mpmath.ncdf(mu / 2 - ratio) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(
            -mu / 2 - ratio
        )


# -- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 36.4), (0.3, 13.05), (1.0, 4.24), (3.0, 1.56)])
def test_one_pass_needs_no_more_noise_than_the_exact_curve(
    tmp_path: Path, epsilon: float, most: float
) -> None:
    budget = Budget(epsilon, 1e-6)
    design = build_design(small_problem(), horizon=500, budget=budget, **SMALL)
    ledger = Ledger.create(sqlite(tmp_path), budget)
    policy = design.statistic().add(*records(400)).release(ledger=ledger)
    (charge,) = ledger.charges()
    assert charge.parameters["scale"] / charge.parameters["sensitivity"] <= most
    assert policy.guarantee.epsilon <= epsilon
    assert policy.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert 0 <= ledger.remaining <= 2 / UNITS


def test_two_passes_add_up_to_the_same_budget(tmp_path: Path) -> None:
    first = small_design(passes=2, plain=False)
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    early = first.statistic().add(*records(400)).release(ledger=ledger)
    policy = refine(early).statistic().add(*records(400)).release(ledger=ledger)
    ratios = [
        charge.parameters["sensitivity"] / charge.parameters["scale"] for charge in ledger.charges()
    ]
    assert len(ratios) == 2
    assert gaussian_epsilon(sum(ratio**2 for ratio in ratios) / 2, BUDGET.delta) <= 1.0 + 1e-9
    assert policy.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    assert ledger.spent <= BUDGET.gaussian
    assert ledger.spent > BUDGET.zcdp


# -- mixed ledgers --------------------------------------------------------------------------------


def test_a_ledger_that_begins_with_a_decision_is_counted_in_zcdp(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    assert ledger.account().measure == GAUSSIAN
    statistic = DESIGN.statistic().add(*records(400))
    release_decision(statistic, {"age": 61, "weight": 74}, epsilon=0.01, ledger=ledger)
    assert ledger.account().measure == ZCDP
    assert ledger.account().cap == int(BUDGET.zcdp * UNITS)
    part = small_design(budget=Budget(1.0, 1e-6, share=0.5)).statistic().add(*records(400))
    part.release(ledger=ledger)
    assert ledger.charges()[1].cost == pytest.approx(BUDGET.zcdp / 2, rel=1e-6)
    with pytest.raises(BudgetError, match="does not cover"):
        statistic.release(ledger=ledger)


def test_a_ledger_that_begins_with_a_release_has_no_room_for_decisions(tmp_path: Path) -> None:
    """Whoever could look at an answer and then choose the rule would be promised too much."""
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    part = small_design(budget=Budget(1.0, 1e-6, share=0.1)).statistic().add(*records(400))
    part.release(ledger=ledger)
    spent = ledger.spent
    with pytest.raises(BudgetError, match="mixed=True"):
        release_decision(part, {"age": 61, "weight": 74}, epsilon=0.01, ledger=ledger)
    with pytest.raises(BudgetError, match="mixed=True"):
        ledger.require_room(Exponential(0.01))
    assert (ledger.spent, ledger.account().measure) == (spent, GAUSSIAN)


def test_a_mixed_ledger_keeps_the_prices_of_zcdp_from_the_start(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), BUDGET, mixed=True)
    statistic = DESIGN.statistic().add(*records(400))
    policy = statistic.release(ledger=ledger)
    (charge,) = ledger.charges()
    assert charge.parameters["scale"] / charge.parameters["sensitivity"] == pytest.approx(
        4.531, abs=1e-3
    )
    assert ledger.remaining <= 2 / UNITS
    assert policy.guarantee.epsilon < 1.0
    assert epsilon_of_rho(ledger.spent, 1e-6) <= 1.0


def test_two_passes_fit_into_a_mixed_ledger(tmp_path: Path) -> None:
    first = small_design(passes=2, plain=False)
    ledger = Ledger.create(sqlite(tmp_path), BUDGET, mixed=True)
    early = first.statistic().add(*records(400)).release(ledger=ledger)
    refine(early).statistic().add(*records(400)).release(ledger=ledger)
    assert ledger.spent == pytest.approx(BUDGET.zcdp, rel=1e-9)


def test_a_budget_in_rho_means_zcdp_whatever_it_pays_for(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), Budget(rho=0.5))
    DESIGN.statistic().add(*records(400)).release(ledger=ledger)
    release_decision(
        DESIGN.statistic().add(*records(400)), {"age": 61, "weight": 74}, epsilon=0.1, ledger=ledger
    )
    assert (ledger.account().measure, len(ledger.charges())) == (ZCDP, 2)


def test_single_decisions_have_no_price_on_the_curve_of_gaussian_noise() -> None:
    with pytest.raises(InputError, match="count in zCDP"):
        price(Exponential(1.0), GAUSSIAN)
    with pytest.raises(InputError, match="too small to be priced"):
        price(Gaussian(4, 2.5), GAUSSIAN)


def test_a_choice_of_the_rule_after_the_first_answer_would_promise_too_much() -> None:
    """One Gaussian release, then either rule for the rest, whichever promises less at what was
    seen: over delta.

    Each rule by itself stays below delta. So a proof for both has to fix the rule before the first
    answer.
    """
    epsilon = 1.0
    delta = 1e-6
    total = gaussian_rho(epsilon, delta)
    first = 0.3 * total
    mu = math.sqrt(2 * first)
    loss = np.linspace(-12 * mu, 12 * mu, 4001) + first
    weight = np.exp(-((loss - first) ** 2) / (2 * mu**2))
    weight /= weight.sum()

    def left(rho: float, allowed: float) -> float:
        """The smallest delta that zCDP alone promises."""
        orders = 1.0 + np.geomspace(1e-3, 1e3, 400)
        logs = (
            (orders - 1) * (orders * rho - allowed)
            + (orders - 1) * np.log1p(-1 / orders)
            - np.log(orders)
        )
        return float(np.exp(min(0.0, logs.min())))

    gaussian = [max(gaussian_delta(epsilon - seen, total - first), 0.0) for seen in loss]
    other = [left(Budget(epsilon, delta).zcdp - first, epsilon - seen) for seen in loss]
    assert weight @ np.array(gaussian) == pytest.approx(delta, rel=1e-3)
    assert weight @ np.maximum(gaussian, other) > 1.01 * delta


# -- the curve ------------------------------------------------------------------------------------


@given(epsilon=st.floats(1e-4, 60), rho=st.floats(1e-9, 60))
@settings(deadline=None)
def test_the_curve_is_never_below_the_exact_one_and_hardly_above(
    epsilon: float, rho: float
) -> None:
    exact = exact_delta(epsilon, rho)
    ours = gaussian_delta(epsilon, rho)
    assert ours >= exact
    mu = math.sqrt(2 * rho)
    near = 0.5 * math.erfc((epsilon / mu - mu / 2) / math.sqrt(2))
    assert ours <= exact + 3e-11 * near + 1e-306


@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-12, 1e-2))
@settings(deadline=None)
def test_epsilon_and_rho_are_inverse_and_never_generous(epsilon: float, delta: float) -> None:
    rho = gaussian_rho(epsilon, delta)
    assert gaussian_epsilon(rho, delta) <= epsilon
    assert gaussian_epsilon(rho * (1 + 1e-6), delta) > epsilon - 1e-9
    assert exact_delta(epsilon, rho) <= delta
    assert rho > Budget(epsilon, delta).zcdp


def test_the_ends_of_the_curve() -> None:
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_epsilon(math.inf, 1e-6) == math.inf
    assert gaussian_delta(1000.0, 1e-3) <= 1e-300
    assert gaussian_epsilon(1e-30, 1e-6) <= 1e-11


def test_a_delta_that_no_tail_can_reach_ends_in_a_refusal_and_not_in_an_endless_search() -> None:
    assert gaussian_epsilon(0.5, 1e-308) == math.inf
    assert gaussian_epsilon(1e308, 1e-6) == math.inf
    with pytest.raises(InputError, match="too small"):
        _ = Budget(epsilon=1.0, delta=1e-308).gaussian


@pytest.mark.parametrize("multipliers", [(4.2247,), (1.0,), (7.0, 5.5), (12.0, 9.0, 30.0)])
def test_an_independent_accountant_agrees_from_above(multipliers: tuple[float, ...]) -> None:
    """dp-accounting rounds privacy-loss distributions upwards: never below ours, and close."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant: Any = PLDAccountant(value_discretization_interval=1e-4)
    for multiplier in multipliers:
        accountant.compose(GaussianDpEvent(multiplier))
    theirs = accountant.get_epsilon(1e-6)
    ours = gaussian_epsilon(sum(1 / (2 * multiplier**2) for multiplier in multipliers), 1e-6)
    assert ours <= theirs
    assert theirs <= ours * (1 + 2e-3) + 2e-4


# -- discrete noise -------------------------------------------------------------------------------


def discrete_law(centre: tuple[int, ...], scale: float, reach: int) -> Any:
    """The discrete Gaussian on a box of integers, exactly normalised, with 60 digits."""
    variance = mpmath.mpf(scale) ** 2
    integers = range(-reach, reach + 1)
    one = [[mpmath.exp(-((z - c) ** 2) / (2 * variance)) for z in integers] for c in centre]
    total = mpmath.fsum(one[0])
    return {
        point: mpmath.fprod(row[z + reach] for row, z in zip(one, point, strict=True))
        / total ** len(centre)
        for point in itertools.product(integers, repeat=len(centre))
    }


def divergence(p: Any, q: Any, epsilon: float) -> Any:
    """sup over events of P(E) - e^eps Q(E)"""
    growth = mpmath.exp(epsilon)
    return mpmath.fsum(max(p[point] - growth * q[point], 0) for point in p)


@pytest.mark.parametrize(
    ("shift", "scale", "reach"), [((4,), 4.5, 60), ((2, 1), 4.0, 30), ((3, 2), 6.0, 42)]
)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_discrete_noise_keeps_the_curve_of_continuous_noise(
    shift: tuple[int, ...], scale: float, reach: int, epsilon: float
) -> None:
    """The lemma of gaussian.md, by summing the law itself in one and two dimensions."""
    with mpmath.workdps(DIGITS):
        origin = (0,) * len(shift)
        p = discrete_law(shift, scale, reach)
        q = discrete_law(origin, scale, reach)
        ours = float(max(divergence(p, q, epsilon), divergence(q, p, epsilon)))
    length2 = sum(step**2 for step in shift)
    promised = gaussian_delta(epsilon, length2 / (2 * (scale**2 - ROUNDING_SCALE**2)))
    assert ours <= promised
    assert ours > 0.05 * promised


def test_without_the_rounding_scale_discrete_noise_would_break_the_curve() -> None:
    """Noise of so small a scale is not continuous noise of the same scale: somewhere its delta is
    larger."""
    with mpmath.workdps(DIGITS):
        p = discrete_law((1,), 0.6, 40)
        q = discrete_law((0,), 0.6, 40)
        worse = [
            float(divergence(p, q, epsilon)) - gaussian_delta(epsilon, 1 / (2 * 0.6**2))
            for epsilon in np.linspace(0.0, 4.0, 81).tolist()
        ]
    assert max(worse) > 1e-3


@pytest.mark.parametrize("x", [0.0, 0.25, 0.5, 0.9])
def test_the_normaliser_of_the_second_step_hardly_depends_on_where_it_is(x: float) -> None:
    """sum over z of exp(-(z - x)^2 / 2 r^2) = r sqrt(2 pi) (1 +- eta), eta = 2 sum over k of exp(-2
    pi^2 r^2 k^2)."""
    with mpmath.workdps(120):
        r = mpmath.mpf(ROUNDING_SCALE)
        total = mpmath.fsum(
            mpmath.exp(-((z - mpmath.mpf(x)) ** 2) / (2 * r**2)) for z in range(-80, 81)
        )
        eta = 2 * mpmath.fsum(mpmath.exp(-2 * mpmath.pi**2 * r**2 * k**2) for k in range(1, 4))
        away = abs(total / (r * mpmath.sqrt(2 * mpmath.pi)) - 1)
        assert away <= eta * (1 + mpmath.mpf(10) ** -20)
        assert eta < mpmath.mpf(10) ** -76


def test_two_steps_give_the_discrete_law() -> None:
    """Continuous noise of scale s, then rounding at random with scale r, is discrete noise: by
    quadrature.

    The integrand and its derivatives vanish at both ends, so the sum over a fine grid is exact to
    rounding.
    """
    s = 4.0
    r = float(ROUNDING_SCALE)
    sigma = math.hypot(s, r)
    x = np.arange(-60.0, 60.0, 0.01)
    z = np.arange(-100, 101)
    second = np.exp(-((z[None, :] - x[:, None]) ** 2) / (2 * r**2))
    second /= second.sum(axis=1, keepdims=True)
    density = np.exp(-(x**2) / (2 * s**2)) / (s * math.sqrt(2 * math.pi))
    found = 0.01 * density @ second
    exact = np.exp(-(z**2) / (2 * sigma**2))
    exact /= exact.sum()
    assert np.allclose(found[60:141], exact[60:141], rtol=1e-10, atol=0.0)


def test_the_scale_of_a_real_release_is_far_above_the_rounding() -> None:
    scale = gaussian_scale(2**25, gaussian_rho(10.0, 1e-5))
    assert (ROUNDING_SCALE / scale) ** 2 < 1e-13


def test_a_policy_states_the_epsilon_of_the_exact_curve() -> None:
    policy: Policy = (
        DESIGN.statistic().add(*records(200)).simulate_release(np.random.default_rng(0))
    )
    promise = policy.guarantee
    assert promise.epsilon == gaussian_epsilon(promise.rho, promise.delta)


def test_a_policy_of_a_mixed_ledger_states_no_less_than_its_noise_has(tmp_path: Path) -> None:
    """With few bits the noise is small enough for the difference between the two prices to show."""
    ledger = Ledger.create(sqlite(tmp_path), Budget(rho=0.5))
    total = PrivateSum(Encoding(size=2, horizon=10, bits=3))
    released = release_gaussian(total, Budget(rho=0.5), ledger, "few bits", {})
    mu2 = total.encoding.sensitivity**2 / (released.scale**2 - ROUNDING_SCALE**2)
    assert released.guarantee.rho >= mu2 / 2
    assert released.guarantee.epsilon > gaussian_epsilon(0.5, 1e-6)
