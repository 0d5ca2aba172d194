"""One decision at a time: charged, replayed, exact, and no more sensitive than it says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tacit
from helpers import BUDGET, create_study, records, small_design, small_problem, sqlite
from tacit import (
    Budget,
    BudgetError,
    InputError,
    Ledger,
    RequestConflictError,
    Statistic,
    Study,
    release_decision,
)
from tacit.core import Encoding, integer_weights, selection
from tacit.core.budget import UNITS
from tacit.core.selection import PAIRWISE, THETA_BITS, sensitivity

pytestmark = pytest.mark.usefixtures("coarse_fits")
HERE = {"age": 61, "weight": 74}
THERE = {"age": 30, "weight": 74}
DESIGN = small_design()
SMALL: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 1000, "rng": 0}


@pytest.fixture(scope="module")
def filled() -> Statistic:
    return DESIGN.statistic().add(*records(500))


@pytest.fixture
def pure(tmp_path: Path) -> Ledger:
    return Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))


# -- the price ------------------------------------------------------------------------------------


def test_each_decision_is_charged_and_refused_when_the_budget_is_spent(
    filled: Statistic, pure: Ledger
) -> None:
    for spent in (0.25, 0.5, 0.75, 1.0):
        assert 0 <= release_decision(filled, HERE, epsilon=0.25, ledger=pure)["dose"] <= 100
        assert pure.spent == spent
    with pytest.raises(BudgetError, match="left nothing"):
        release_decision(filled, HERE, epsilon=0.25, ledger=pure)
    assert {charge.kind for charge in pure.charges()} == {"permuteandflip"}


@pytest.mark.parametrize("budget", [BUDGET, Budget(rho=0.01)])
def test_under_any_other_budget_a_decision_costs_an_eighth_of_epsilon_squared(
    filled: Statistic, tmp_path: Path, budget: Budget
) -> None:
    ledger = Ledger.create(sqlite(tmp_path), budget)
    for i in range(3):
        release_decision(filled, HERE, epsilon=0.1, ledger=ledger)
        unit = math.ceil(0.1**2 / 8 * UNITS)
        assert round(ledger.spent * UNITS) == pytest.approx((i + 1) * unit, abs=i + 1)
        assert ledger.spent >= (i + 1) * 0.1**2 / 8
    assert {charge.kind for charge in ledger.charges()} == {"exponential"}
    with pytest.raises(BudgetError, match=r"asked .*rho=0\.125"):
        release_decision(filled, HERE, epsilon=1.0, ledger=ledger)


def test_the_same_request_replays_the_same_action_free_of_charge(
    filled: Statistic, pure: Ledger
) -> None:
    first = release_decision(filled, HERE, epsilon=0.1, ledger=pure, request="visitor 1")
    spent = pure.spent
    for _ in range(20):  # a fresh draw among 1024 would show
        assert (
            release_decision(filled, HERE, epsilon=0.1, ledger=pure, request="visitor 1") == first
        )
    assert pure.spent == spent


def test_without_a_request_every_decision_is_a_new_one(filled: Statistic, pure: Ledger) -> None:
    """Ten draws at a tiny epsilon all agree by chance with probability below 1e-20."""
    actions = {release_decision(filled, HERE, epsilon=0.01, ledger=pure)["dose"] for _ in range(10)}
    assert len(actions) > 1
    assert len(pure.charges()) == 10


@pytest.mark.parametrize(
    "change",
    [
        {"context": THERE},
        {"epsilon": 0.2},
        {"candidates": 100},
        {"statistic": small_design(seed=1).statistic().add(*records(500))},
        {
            "statistic": replace(DESIGN, unit="user")
            .statistic()
            .add(*records(500), users=np.arange(500))
        },
    ],
    ids=["context", "epsilon", "candidates", "design", "unit"],
)
def test_the_same_request_for_something_else_is_an_error(
    filled: Statistic, pure: Ledger, change: Any
) -> None:
    call: dict[str, Any] = {
        "statistic": filled,
        "context": HERE,
        "epsilon": 0.1,
        "ledger": pure,
        "request": "visitor",
    }
    release_decision(**call)
    spent = pure.spent
    with pytest.raises(RequestConflictError, match="other parameters"):
        release_decision(**call | change)
    assert pure.spent == spent


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, "0.1", None, 1e-300])
def test_an_epsilon_that_is_none_is_an_error_and_costs_nothing(
    filled: Statistic, pure: Ledger, epsilon: Any
) -> None:
    with pytest.raises(InputError, match="epsilon must be"):
        release_decision(filled, HERE, epsilon=epsilon, ledger=pure)
    assert pure.spent == 0


def test_a_question_that_is_none_is_an_error_and_costs_nothing(
    filled: Statistic, pure: Ledger
) -> None:
    with pytest.raises(InputError, match="one context, got 2"):
        release_decision(filled, [[61, 74], [30, 74]], epsilon=0.1, ledger=pure)
    with pytest.raises(InputError, match="no column 'weight'"):
        release_decision(filled, {"age": 61}, epsilon=0.1, ledger=pure)
    with pytest.raises(InputError, match="candidates must be at least 1"):
        release_decision(filled, HERE, epsilon=0.1, ledger=pure, candidates=0)
    assert pure.spent == 0


def test_a_horizon_too_large_for_exact_scores_is_said_plainly(pure: Ledger) -> None:
    design = small_design(horizon=2**34, rank=8)
    with pytest.raises(InputError, match="leaves no room for exact scores"):
        release_decision(design.statistic().add(*records(5)), HERE, epsilon=0.1, ledger=pure)
    assert pure.spent == 0


def test_answers_look_like_questions(filled: Statistic, pure: Ledger) -> None:
    assert set(release_decision(filled, HERE, epsilon=0.01, ledger=pure)) == {"dose"}
    assert release_decision(filled, np.array([61.0, 74.0]), epsilon=0.01, ledger=pure).shape == (1,)
    assert release_decision(filled, [[61.0, 74.0]], epsilon=0.01, ledger=pure).shape == (1, 1)
    assert release_decision(filled, HERE, epsilon=0.01, ledger=pure, candidates=1) == {"dose": 0.0}


# -- through a study ------------------------------------------------------------------------------


def test_a_study_decides_once_while_it_goes_on(tmp_path: Path) -> None:
    study = create_study(
        sqlite(tmp_path), small_problem(), horizon=50, budget=Budget(epsilon=1.0), **SMALL
    )
    study.tell(study.ask(HERE).id, 0.7)
    first = study.release_decision(HERE, epsilon=0.4, request="visitor 1")
    assert 0 <= first["dose"] <= 100
    study.tell(study.ask(HERE).id, 0.1)  # more rounds do not change what was answered
    assert study.release_decision(HERE, epsilon=0.4, request="visitor 1") == first
    assert (
        Study.open(sqlite(tmp_path)).release_decision(HERE, epsilon=0.4, request="visitor 1")
        == first
    )
    assert study.ledger.spent == pytest.approx(0.4)
    with pytest.raises(RequestConflictError):
        study.release_decision(THERE, epsilon=0.4, request="visitor 1")
    study.release_decision(THERE, epsilon=0.5)
    with pytest.raises(BudgetError, match=r"left epsilon=0\.1"):
        study.release_decision(HERE, epsilon=0.4)
    with pytest.raises(InputError, match="one context"):
        study.release_decision([[61, 74], [30, 74]], epsilon=0.1)
    assert study.asked == 2


def test_decisions_and_a_release_share_one_budget(tmp_path: Path) -> None:
    study = create_study(sqlite(tmp_path), small_problem(), horizon=50, budget=BUDGET, **SMALL)
    study.tell(study.ask(HERE).id, 0.7)
    study.release_decision(HERE, epsilon=0.01)
    with pytest.raises(BudgetError):
        study.release(BUDGET)


@pytest.mark.parametrize("budget", [Budget(epsilon=5.0), BUDGET])
def test_items_of_a_catalogue_are_decided_by_name(tmp_path: Path, budget: Budget) -> None:
    actions = tacit.Catalogue([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ids=["a", "b", "c"])
    problem = tacit.Problem(actions, tacit.Box([0.0], [1.0], names=["age"]))
    study = create_study(sqlite(tmp_path), problem, horizon=30, budget=budget, **SMALL)
    decision = study.ask({"age": 0.5})
    study.tell(decision.id, 1.0)
    assert study.release_decision({"age": 0.5}, epsilon=0.1)["item"] in {"a", "b", "c"}


# -- exact scores ---------------------------------------------------------------------------------


@pytest.fixture
def choices(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, int]]:
    """Scores and sensitivity of every choice that is made."""
    seen: list[tuple[np.ndarray, int]] = []
    choose = selection.noisy_max

    def witnessed(scores: np.ndarray, event: Any, delta: int) -> int:
        seen.append((scores.copy(), delta))
        return choose(scores, event, delta)

    monkeypatch.setattr(selection, "noisy_max", witnessed)
    return seen


def exact_scores(theta: np.ndarray, b: np.ndarray) -> list[int]:
    return [sum(int(t) * int(v) for t, v in zip(row, b, strict=True)) for row in theta]


@pytest.mark.parametrize("unit", ["record", "user"])
def test_scores_are_exact_integers(
    pure: Ledger, choices: list[tuple[np.ndarray, int]], unit: str
) -> None:
    design = replace(DESIGN, unit=unit)
    users = np.arange(900) // 3 if unit == "user" else None
    statistic = design.statistic().add(*records(900), users=users)
    release_decision(statistic, HERE, epsilon=0.1, ledger=pure, candidates=200)
    menu = design.problem.actions.candidate_points(200)
    here = design.problem.context_points(design.problem.contexts.read(HERE))
    theta = integer_weights(
        design.influence(np.hstack([menu, np.repeat(here, 200, axis=0)])), design.encoding
    )
    ((scores, delta),) = choices
    assert scores.dtype == np.int64
    assert [int(score) for score in scores] == exact_scores(theta, statistic._sum._value())
    assert delta == sensitivity(theta, design.encoding)


@given(
    horizon=st.sampled_from([1, 1000, 2**17, 2**25, 2**29]),
    q=st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=5),
    signs=st.lists(st.sampled_from([-1, 1]), min_size=3, max_size=3),
)
@example(horizon=2**29, q=[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], signs=[1, 1, 1])
def test_no_score_leaves_64_bits_even_at_the_largest_sum(
    horizon: int, q: list[list[float]], signs: list[int]
) -> None:
    encoding = Encoding(size=3, horizon=horizon)
    theta = integer_weights(np.array(q), encoding)
    b = np.array(
        [sign * horizon * encoding.bound for sign in signs]
    )  # more than any sum of `horizon` records
    assert [int(score) for score in theta @ b] == exact_scores(theta, b)


def test_a_candidate_without_a_number_weighs_nothing() -> None:
    theta = integer_weights(
        np.array([[np.nan, 1.0], [np.inf, 0.0], [0.3, -0.4]]), Encoding(size=2, horizon=10)
    )
    assert not theta[:2].any()
    assert theta[2].any()


# -- sensitivity ----------------------------------------------------------------------------------

TINY = Encoding(size=3, horizon=100, bits=8)
WEIGHT = st.one_of(st.integers(-(2**19), 2**19), st.integers(-3, 3))


@st.composite
def candidates(draw: st.DrawFn, most: int = 8) -> np.ndarray:
    row = st.lists(WEIGHT, min_size=3, max_size=3)
    theta = np.array(draw(st.lists(row, min_size=1, max_size=most)), dtype=np.int64)
    norms2 = (theta * theta).sum(axis=1)
    return (
        theta[norms2 < 4**THETA_BITS]
        if (norms2 < 4**THETA_BITS).any()
        else np.zeros((1, 3), dtype=np.int64)
    )


@st.composite
def contributions(draw: st.DrawFn, encoding: Encoding = TINY) -> np.ndarray:
    """One record's integers, or one user's: anything in the ball."""
    row = draw(
        st.lists(st.integers(-encoding.bound * 2, encoding.bound * 2), min_size=3, max_size=3)
    )
    return np.asarray(encoding.shrink(np.array([row], dtype=np.int64))[0])


def spread(theta: np.ndarray, step: np.ndarray) -> int:
    """max over pairs of (theta_x - theta_y)' step, in Python's integers."""
    moves = exact_scores(theta, step)
    return max(moves) - min(moves)


def along_the_diameter(theta: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """Steps of at most this length along the differences of candidates: what moves scores apart the
    most."""
    for x, y in itertools.combinations(range(min(len(theta), 40)), 2):
        difference = [int(a) - int(b) for a, b in zip(theta[x], theta[y], strict=True)]
        norm = math.isqrt(sum(value**2 for value in difference)) + 1
        yield np.array(
            [int(math.copysign(abs(value) * length // norm, value)) for value in difference]
        )


@settings(max_examples=200)
@given(theta=candidates(), one=contributions(), other=contributions())
def test_replacing_a_record_moves_two_scores_apart_by_at_most_twice_the_sensitivity(
    theta: np.ndarray, one: np.ndarray, other: np.ndarray
) -> None:
    delta = sensitivity(theta, TINY)
    assert spread(theta, one - other) <= 2 * delta
    for step in along_the_diameter(theta, TINY.sensitivity):
        assert spread(theta, step) <= 2 * delta


@given(theta=candidates())
def test_the_sensitivity_is_at_most_what_the_candidates_own_norms_give(theta: np.ndarray) -> None:
    """2 C max |theta|, rounded up."""
    norm2 = max(sum(int(value) ** 2 for value in row) for row in theta)
    assert sensitivity(theta, TINY) <= max(1, math.isqrt(max(0, 4 * TINY.bound**2 * norm2 - 1)) + 1)


def test_the_sensitivity_is_the_smallest_integer_that_will_do() -> None:
    """Two candidates: it is C |theta_x - theta_y|, rounded up; one less is broken by a step along
    their difference."""
    theta = np.array([[300_000, 0, 0], [0, 400_000, 0]])
    delta = sensitivity(theta, TINY)
    assert delta == 500_000 * TINY.bound
    step = np.array([2 * TINY.bound * 3 // 5, -2 * TINY.bound * 4 // 5, 0])
    assert spread(theta, step) > 0.99 * 2 * delta
    assert sensitivity(theta + 7, TINY) == delta  # only differences count


def test_half_the_sensitivity_would_be_found_out() -> None:
    """The mutant: the radius in place of the diameter."""
    rng = np.random.default_rng(0)
    theta = rng.integers(-1000, 1000, size=(20, 3))
    delta = sensitivity(theta, TINY) // 2
    assert (
        max(spread(theta, step) for step in along_the_diameter(theta, TINY.sensitivity)) > 2 * delta
    )


@pytest.mark.parametrize("n", [PAIRWISE, PAIRWISE + 1, 4 * PAIRWISE])
@pytest.mark.parametrize("centre", [0, 300_000])
def test_with_more_candidates_than_are_paired_it_still_bounds_every_difference(
    n: int, centre: int
) -> None:
    rng = np.random.default_rng(n)
    theta = rng.integers(-200_000, 200_000, size=(n, 3)) + centre
    delta = sensitivity(theta, TINY)
    norms = np.linalg.norm(theta - theta.mean(axis=0), axis=1)
    far = theta[np.argsort(-norms)[:40]]  # pairs of the farthest
    for step in along_the_diameter(far, TINY.sensitivity):
        moves = theta @ step  # exact: all of it is below 2^32
        assert int(moves.max()) - int(moves.min()) <= 2 * delta
    own = max(sum(int(value) ** 2 for value in row) for row in theta)
    assert delta <= math.isqrt(4 * TINY.bound**2 * own) + 1
    assert delta <= 2 * TINY.bound * norms.max() * 1.001 + TINY.bound * 4


@pytest.mark.parametrize("unit", ["record", "user"])
@pytest.mark.parametrize("n", [50, 1500])
def test_the_scores_of_neighbouring_studies_move_apart_by_at_most_twice_the_sensitivity(
    tmp_path: Path, choices: list[tuple[np.ndarray, int]], unit: str, n: int
) -> None:
    """End to end, through the design's own weights: one record, or one user, goes from the best to
    the worst."""
    design = replace(DESIGN, unit=unit)
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=100.0))
    doses, contexts, rewards = records(200)
    doses[:30] = [50.0]
    contexts[:30] = [61.0, 74.0]
    moved = slice(0, 1) if unit == "record" else slice(0, 30)
    users = np.r_[np.zeros(30), np.arange(170) + 1] if unit == "user" else None
    for reward in (0.0, 1.0):
        rewards[moved] = reward
        statistic = design.statistic().add(doses, contexts, rewards, users=users)
        release_decision(statistic, HERE, epsilon=0.1, ledger=ledger, candidates=n)
    (a, delta), (b, same) = choices
    assert delta == same
    steps = [int(x) - int(y) for x, y in zip(a, b, strict=True)]
    apart = max(steps) - min(steps)
    assert apart <= 2 * delta
    assert apart > delta / 2  # and it is not far from that: the bound is not an idle one


# -- quality --------------------------------------------------------------------------------------


def test_with_plenty_of_data_the_action_is_near_the_best_and_with_shuffled_rewards_it_is_not(
    tmp_path: Path, choices: list[tuple[np.ndarray, int]]
) -> None:
    """The right dose is 90 - age / 2, a reward falls from 1 to 0 within 50 of it.

    Permute-and-flip falls short of the best score by more than t with probability at most n
    exp(-epsilon t / 2 Delta), so a choice outside of what is judged here has probability below 12 *
    1e-8.
    """
    design = small_design(horizon=3000, rank=40)
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=1e6))
    doses, contexts, rewards = records(3000)
    shuffled = np.random.default_rng(5).permutation(rewards)
    menu = design.problem.actions.candidates(512)[:, 0]
    epsilon = 1e4
    ages = (20, 35, 50, 65, 80, 95)
    regrets: dict[str, list[np.ndarray]] = {"right": [], "shuffled": []}
    for name, y in (("right", rewards), ("shuffled", shuffled)):
        statistic = design.statistic().add(doses, contexts, y)
        for age in ages:
            action = release_decision(
                statistic,
                {"age": age, "weight": 80},
                epsilon=epsilon,
                ledger=ledger,
                candidates=len(menu),
            )
            scores, delta = choices[-1]
            possible = scores >= scores.max() - 2 * delta / epsilon * math.log(len(menu) / 1e-8)
            assert action["dose"] in menu[possible]
            regrets[name].append(np.minimum(1.0, np.abs(menu[possible] - (90 - age / 2)) / 50))
    assert np.mean([regret.max() for regret in regrets["right"]]) < 0.1
    assert np.mean([regret.min() for regret in regrets["shuffled"]]) > 0.3
