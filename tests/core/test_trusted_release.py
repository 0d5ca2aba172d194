"""The way out: noise and choices come from OpenDP, after the charge, for the price that the budget
allows.

Deterministic unless a docstring states an error rate. Every test here is the guard of mutants in
`test_mutants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats
from scipy.special import log_ndtr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from helpers import as_shipped, sqlite
from tacit import Budget, BudgetError, InputError, Ledger, RequestConflictError
from tacit.core import (
    Encoding,
    PrivateSum,
    private_sum,
    release_choice,
    release_gaussian,
    selection,
)
from tacit.core.accounts import cost_of
from tacit.core.budget import UNITS, ZCDP, epsilon_of_rho
from tacit.core.database import _server, connect
from tacit.core.events import Event, Exponential, Gaussian, PermuteAndFlip, price
from tacit.core.noise import discrete_gaussian
from tacit.core.release import simulate_gaussian
from tacit.core.selection import sensitivity
from witness import GAUSSIAN, NOISY_MAX, Draw, no_other_randomness, watched

SHAPE = Encoding(size=9, horizon=1000)
BUDGET = Budget(epsilon=1.0, delta=1e-6)
PURE = Budget(epsilon=1.0)
SECRET = "31337.4242"


def some_sum(records: int = 40, seed: int = 0, encoding: Encoding = SHAPE) -> PrivateSum:
    total = private_sum(encoding, "record")
    rows = np.random.default_rng(seed).normal(size=(records, encoding.size))
    total.add(rows / np.linalg.norm(rows, axis=1, keepdims=True), records)
    return total


def some_weights(candidates: int = 12, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-(2**16), 2**16, size=(candidates, SHAPE.size))


def true_diameter2(theta: Any) -> int:
    """max |theta_x - theta_y|^2, pair by pair in Python's integers."""
    rows = [[int(v) for v in row] for row in theta]
    return max(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x in rows for y in rows)


def never() -> bytes:
    raise AssertionError("randomness was drawn where none may be drawn")


# -- where randomness comes from ------------------------------------------------------------------


def test_what_is_released_is_what_opendp_drew(tmp_path: Path) -> None:
    """All of it, from one draw on the exact sum, and no other generator is touched."""
    total = some_sum()
    ledger = Ledger.create(sqlite(tmp_path, "drew.db"), BUDGET)
    with no_other_randomness(), watched(GAUSSIAN) as draws:
        released = release_gaussian(total, BUDGET, ledger, "fit", {})
    assert len(draws) == 1, "one release is one draw"
    assert draws[0].argument == total._value().tolist()
    assert draws[0].scale == released.scale
    assert released.values.tolist() == list(draws[0].answer), (
        "something else than the draw is released"
    )
    assert ledger.stored("fit") == np.array(draws[0].answer, dtype="<i8").tobytes()


def test_every_coordinate_has_noise_of_its_own() -> None:
    """Each has its variance and no two go together. A false alarm has probability 2e-9 at most: 9
    coordinates with 2e-10 each, 36 pairs at 7 standard deviations of Fisher's z."""
    n = 400
    event = Gaussian(2**25, 2.0**25)
    zeros = np.zeros(SHAPE.size, dtype=np.int64)
    noise = np.array([discrete_gaussian(zeros, event) for _ in range(n)]) / event.scale
    low, high = stats.chi2.ppf([1e-10, 1 - 1e-10], n)
    squares = np.sum(noise**2, axis=0)
    assert (squares > low).all(), "a coordinate has too little noise"
    assert (squares < high).all(), "a coordinate has too much noise"
    together = np.asarray(np.corrcoef(noise.T))[np.triu_indices(SHAPE.size, 1)]
    assert np.max(np.abs(together)) < math.tanh(7 / math.sqrt(n - 3)), (
        "two coordinates share their noise"
    )


def test_noise_is_drawn_only_where_opendp_says_that_its_domain_holds_the_sum(
    tmp_path: Path,
) -> None:
    ledger = Ledger.create(sqlite(tmp_path, "member.db"), BUDGET)
    with watched(GAUSSIAN, member=False) as draws:
        with pytest.raises(InputError, match="64-bit integers"):
            release_gaussian(some_sum(), BUDGET, ledger, "fit", {})
        assert draws == []


def test_a_choice_is_drawn_only_where_opendp_says_that_its_domain_holds_the_scores(
    tmp_path: Path,
) -> None:
    ledger = Ledger.create(sqlite(tmp_path, "member.db"), PURE)
    with watched(NOISY_MAX, member=False) as draws:
        with pytest.raises(InputError, match="64-bit integers"):
            release_choice(some_sum(), some_weights(), 0.1, ledger, "who", {})
        assert draws == []


def test_noise_whose_price_opendp_disputes_is_not_drawn() -> None:
    event = Gaussian(2**25, 2.0**27)
    with watched(GAUSSIAN, price_times=1.1) as draws:
        with pytest.raises(InputError, match="disagree"):
            discrete_gaussian(np.zeros(3, dtype=np.int64), event)
        assert draws == []


def test_a_simulation_says_that_it_is_not_private() -> None:
    simulated = simulate_gaussian(some_sum(), BUDGET, np.random.default_rng(0))
    assert not simulated.guarantee.private
    assert str(simulated.guarantee).startswith("NOT PRIVATE")


# -- the charge comes first -----------------------------------------------------------------------


def test_a_release_is_charged_on_disk_before_its_noise_is_drawn(tmp_path: Path) -> None:
    url = sqlite(tmp_path, "first.db")
    ledger = Ledger.create(url, BUDGET)
    seen: list[Any] = []
    with watched(GAUSSIAN, before=lambda: seen.append(charged(url))):
        release_gaussian(some_sum(), BUDGET, ledger, "fit", {})
    assert seen == [[("fit", False, True)]], "noise was drawn before its charge was on disk"


def test_a_choice_is_charged_on_disk_before_it_is_drawn(tmp_path: Path) -> None:
    for budget in (PURE, BUDGET):
        url = sqlite(tmp_path, f"first-{budget.measure}.db")
        ledger = Ledger.create(url, budget)
        seen: list[Any] = []

        def look(url: str = url, seen: list[Any] = seen) -> None:
            seen.append(charged(url))

        with watched(NOISY_MAX, before=look):
            release_choice(some_sum(), some_weights(), 0.1, ledger, "who", {})
        assert seen == [[("who", False, True)]], "a choice was drawn before its charge was on disk"


def charged(url: str) -> list[tuple[str, bool, bool]]:
    """What another process would see of the ledger now: requests, whether they have an answer,
    whether they cost."""
    ledger = Ledger.open(url)
    return [
        (charge.request, charge.answered, ledger.spent >= charge.cost > 0)
        for charge in ledger.charges()
    ]


def test_a_repeated_request_is_answered_from_the_ledger(tmp_path: Path) -> None:
    """It draws nothing and costs nothing; who was overtaken while drawing returns what the other
    one stored."""
    ledger = Ledger.create(sqlite(tmp_path, "again.db"), PURE)
    event = PermuteAndFlip(0.25)
    assert ledger.spend("a", event, {}, lambda: b"first") == b"first"
    assert ledger.spend("a", event, {}, never) == b"first"
    assert ledger.spent == 0.25

    def overtaken() -> bytes:
        ledger.spend("b", event, {}, lambda: b"quick")
        return b"slow"

    assert ledger.spend("b", event, {}, overtaken) == b"quick", "two answers to one request"
    assert ledger.stored("b") == b"quick"
    assert ledger.spent == 0.5


def test_a_request_is_refused_under_other_terms(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path, "other.db"), PURE)
    ledger.spend("a", PermuteAndFlip(0.1), {"n": 1}, lambda: b"x", "visitor")
    others: list[tuple[Event, dict[str, Any], str]] = [
        (PermuteAndFlip(0.05), {"n": 1}, "visitor"),
        (PermuteAndFlip(0.1), {"n": 2}, "visitor"),
        (PermuteAndFlip(0.1), {"n": 1}, "somebody else"),
    ]
    for event, about, binding in others:
        with pytest.raises(RequestConflictError):
            ledger.spend("a", event, about, never, binding)


def test_a_release_of_more_records_is_another_request(tmp_path: Path) -> None:
    """Otherwise the same id would be answered with a policy of the first records."""
    ledger = Ledger.create(sqlite(tmp_path, "records.db"), BUDGET)
    release_gaussian(some_sum(40), BUDGET, ledger, "fit", {})
    with pytest.raises(RequestConflictError):
        release_gaussian(some_sum(41), BUDGET, ledger, "fit", {})


# -- what it costs --------------------------------------------------------------------------------


def exact_delta(epsilon: float, mu: float) -> float:
    """The smallest delta of the Gaussian mechanism with this ratio of sensitivity to noise (Balle
    and Wang, 2018)."""
    return math.exp(log_ndtr(mu / 2 - epsilon / mu)) - math.exp(
        epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    )


def test_the_noise_keeps_what_the_budget_promises(tmp_path: Path) -> None:
    """By the exact curve of the Gaussian mechanism, with the distance that opposite records can
    move the sum."""
    for epsilon in (0.1, 0.3, 1.0, 3.0):
        budget = Budget(epsilon=epsilon, delta=1e-6)
        ledger = Ledger.create(sqlite(tmp_path, f"noise-{epsilon}.db"), budget)
        with watched(GAUSSIAN) as draws:
            release_gaussian(some_sum(), budget, ledger, "fit", {})
        mu = 2 * SHAPE.bound / draws[0].scale
        assert exact_delta(epsilon, mu) <= 1e-6, "less noise than the budget pays for"
        with pytest.raises(BudgetError):
            release_gaussian(some_sum(), budget, ledger, "again", {})


def test_rho_is_never_converted_to_less_epsilon_than_it_is() -> None:
    """A Gaussian mechanism with mu^2 = 2 rho is rho-zCDP: no valid conversion is below its exact
    epsilon."""
    for rho in (1e-4, 0.01, 0.2, 2.0):
        for delta in (1e-9, 1e-6, 1e-3):
            epsilon = epsilon_of_rho(rho, delta)
            assert exact_delta(epsilon, math.sqrt(2 * rho)) <= delta, "epsilon is understated"


def test_choices_cost_what_their_composition_needs(tmp_path: Path) -> None:
    """An exponential choice is epsilon^2 / 8 in rho, permute-and-flip epsilon^2 / 2, both epsilon
    in a pure ledger."""
    for budget, event, least in (
        (Budget(rho=1.0), Exponential(1.0), 1 / 8),
        (Budget(rho=1.0), PermuteAndFlip(1.0), 1 / 2),
        (PURE, Exponential(0.5), 1 / 2),
        (PURE, PermuteAndFlip(0.5), 1 / 2),
    ):
        ledger = Ledger.create(
            sqlite(tmp_path, f"{budget.measure}-{type(event).__name__}.db"), budget
        )
        ledger.spend("a", event, {}, lambda: b"x")
        assert ledger.spent >= least, "a choice is charged less than it costs"
        ledger.spend("b", event, {}, lambda: b"x")
        assert ledger.spent >= 2 * least, "the second choice is charged less than the first"


def test_costs_are_rounded_up_and_budgets_down(tmp_path: Path) -> None:
    for epsilon in np.random.default_rng(0).uniform(1e-3, 1.0, size=50).tolist():
        for event in (Exponential(epsilon), PermuteAndFlip(epsilon)):
            assert cost_of(event, ZCDP) >= price(event, ZCDP) * UNITS, "a cost is rounded down"
        assert Fraction(Budget(rho=epsilon).zcdp) <= Fraction(epsilon), "a budget is rounded up"
    for budget in (Budget(epsilon=0.1), Budget(rho=0.1)):
        ledger = Ledger.create(sqlite(tmp_path, f"rounded-{budget.measure}.db"), budget)
        assert Fraction(ledger.remaining) <= Fraction(0.1), "a ledger holds more than its budget"


def test_a_budget_cannot_be_passed(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path, "cap.db"), PURE)
    for request in ("a", "b"):
        ledger.spend(request, PermuteAndFlip(0.375), {}, lambda: b"x")
    with pytest.raises(BudgetError):
        ledger.spend("c", PermuteAndFlip(0.375), {}, never)
    assert ledger.spent == 0.75
    assert ledger.remaining == 0.25


# -- choices --------------------------------------------------------------------------------------


def choice(
    tmp_path: Path, budget: Budget, total: PrivateSum, theta: Any, epsilon: float
) -> tuple[int, str, Draw]:
    """One choice: its index, the kind of its charge, and how OpenDP drew it."""
    ledger = Ledger.create(sqlite(tmp_path, f"choice-{budget.measure}-{len(theta)}.db"), budget)
    with no_other_randomness(), watched(NOISY_MAX) as draws:
        chosen = release_choice(total, theta, epsilon, ledger, "who", {})
    assert len(draws) == 1, "one choice is one draw"
    return chosen, ledger.charges()[0].kind, draws[0]


def constant(index: int) -> Callable[[int], int]:
    return lambda length: index


def test_a_choice_is_drawn_by_the_mechanism_that_is_charged(tmp_path: Path) -> None:
    """OpenDP makes the exponential mechanism for zCDP and permute-and-flip for pure epsilon."""
    theta = some_weights()
    total = some_sum()
    drawn_by = {
        "exponential": dp.zero_concentrated_divergence(),
        "permuteandflip": dp.max_divergence(),
    }
    for budget in (PURE, BUDGET):
        chosen, kind, draw = choice(tmp_path, budget, total, theta, 0.1)
        assert draw.measure == drawn_by[kind], "another mechanism is drawn than is charged"
        assert draw.argument == (theta @ total._value()).tolist()
        assert chosen == draw.answer, "another choice is returned than was drawn"
    ledger = Ledger.create(sqlite(tmp_path, "told.db"), PURE)
    for i in range(3):  # whichever candidate is best, two of them are not
        with watched(NOISY_MAX, answer=constant(i)):
            chosen = release_choice(total, theta, 0.1, ledger, f"visitor {i}", {})
        assert chosen == i, "another choice is returned than was drawn"


def test_the_noise_of_a_choice_covers_every_pair_of_candidates(tmp_path: Path) -> None:
    """Scores of two candidates move apart by at most 2C |theta_x - theta_y|, and the scale is that
    over epsilon."""
    for candidates in (2, 12):
        theta = some_weights(candidates, seed=candidates)
        _, _, draw = choice(tmp_path, BUDGET, some_sum(), theta, 0.1)
        assert draw.scale >= 2 * SHAPE.bound * math.sqrt(true_diameter2(theta)) / 0.1 * (1 - 1e-12)


def test_the_sensitivity_of_scores_is_at_least_what_any_pair_can_move() -> None:
    """Exactly, in integers, for few candidates and for too many to look at every pair."""
    for pairwise in (1024, 4):
        with mock.patch.object(selection, "PAIRWISE", pairwise):
            for seed in range(20):
                theta = some_weights(9, seed) // 4 ** (seed % 8)
                theta[0] += 2**15 * (seed % 2)
                least = true_diameter2(theta) * SHAPE.bound**2
                assert sensitivity(theta, SHAPE) ** 2 >= least, "two scores can move farther apart"


# -- the database ---------------------------------------------------------------------------------


def test_every_connection_waits_until_a_commit_is_on_disk(tmp_path: Path) -> None:
    """SQLite's synchronous is FULL (2) or EXTRA (3): anything less may lose a commit in a power
    cut."""
    url = sqlite(tmp_path, "durable.db")
    with as_shipped():  # from the first connection on: they are kept
        for engine in (
            connect(url),
            connect(url, create=False),
            Ledger.at(url, PURE)._engine,
            Ledger.open(url)._engine,
        ):
            with engine.connect() as connection:
                level = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
                assert level >= 2, "a commit returns before it is on disk"


def test_a_server_that_commits_asynchronously_is_told_not_to() -> None:
    """PostgreSQL's synchronous_commit is switched on, and the switch committed, before a connection
    is used."""
    engine = _server(make_url("postgresql+psycopg://nobody@nowhere/study"))
    connection = mock.MagicMock()
    ours = [
        listener
        for listener in engine.pool.dispatch.connect
        if listener.__module__.startswith("tacit")
    ]
    for listener in ours:
        listener(connection, None)
    said = " ".join(str(call.args[0]) for call in connection.cursor().execute.call_args_list)
    assert "set_config('synchronous_commit', 'on'" in said
    assert connection.commit.called


def test_the_file_of_a_ledger_is_for_its_owner_alone(tmp_path: Path) -> None:
    Ledger.create(sqlite(tmp_path, "owner.db"), PURE)
    assert (tmp_path / "owner.db").stat().st_mode & 0o077 == 0, "others may read the ledger's file"


def test_an_error_of_the_database_hides_what_was_written(tmp_path: Path) -> None:
    url = sqlite(tmp_path, "hidden.db")
    ledger = Ledger.create(url, PURE)
    with connect(url).begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER broken BEFORE INSERT ON tacit_charges BEGIN SELECT RAISE(ABORT, "
            "'broken'); END"
        )
    with pytest.raises(DBAPIError) as caught:
        ledger.spend("a", PermuteAndFlip(0.1), {}, never, binding=SECRET)
    assert "INSERT INTO tacit_charges" in str(caught.value)
    assert SECRET not in f"{caught.value} {caught.value!r}", "an error shows what was being written"
