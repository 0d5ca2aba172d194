"""A release after single decisions: it spends what is left, or a stated part, and says so."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from helpers import SMALL, create_study, small_problem, sqlite
from tacit import Budget, BudgetError, InputError, RequestConflictError, StateError, Study
from tacit.core.budget import UNITS, epsilon_of_rho
from tacit.core.events import Exponential

pytestmark = pytest.mark.usefixtures("coarse_fits")

HERE = {"age": 61, "weight": 74}
BUDGET = Budget(epsilon=1.0, delta=1e-7)
HALF = Budget(epsilon=0.5, delta=1e-7)


def make(path: Path, budget: Budget = BUDGET, **given: Any) -> Study:
    study = create_study(sqlite(path), small_problem(), horizon=50, budget=budget, **SMALL | given)
    whose = ["anna", "bert"] * 5 if given.get("unit") == "user" else None
    decisions = study.ask_many([[61.0, 74.0]] * 10, users=whose)
    study.tell_many(decisions, [0.5] * 10)
    return study


def same(policy: tacit.Policy, other: tacit.Policy) -> bool:
    return (
        np.array_equal(policy.posterior.weights, other.posterior.weights)
        and policy.guarantee == other.guarantee
        and policy.facts == other.facts
    )


def crash(*_: Any, **__: Any) -> Any:
    raise SystemExit(9)


@pytest.mark.parametrize("given", [{}, {"passes": 1, "unit": "user"}, {"passes": 3}])
def test_after_a_decision_a_release_spends_what_is_left(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    study = make(tmp_path, **given)
    study.release_decision(HERE, epsilon=0.3)
    left = study.ledger.remaining
    assert study.state.release_budget == (
        f"epsilon={epsilon_of_rho(left, 1e-7):.4g} at delta=1e-07 (rho={left:g})"
    )
    policy = study.release()
    assert 0 <= study.ledger.remaining < 8 / UNITS
    assert policy.facts["budget"] == asdict(Budget(rho=left))
    assert policy.guarantee.rho == pytest.approx(left)
    assert policy.guarantee.delta == 1e-7
    assert policy.guarantee.epsilon < 1.0
    assert policy.private
    # the whole, decisions and release, is what the ledger was given
    assert study.state.spent_text.startswith("epsilon=1 at delta=1e-07")
    assert study.state.left_text == "nothing"
    spent = study.ledger.spent
    again = Study.open(sqlite(tmp_path))
    assert same(policy, again.release())
    assert again.state == study.state
    assert again.ledger.spent == spent


def test_without_decisions_a_release_spends_what_was_planned(tmp_path: Path) -> None:
    study = make(tmp_path)
    assert study.state.release_budget == "epsilon=1, delta=1e-07"
    policy = study.release()
    assert policy.facts["budget"] == asdict(BUDGET)
    assert policy.guarantee.epsilon == pytest.approx(1.0, abs=1e-5)


def test_a_release_spends_a_stated_part(tmp_path: Path) -> None:
    tacit.Ledger.create(sqlite(tmp_path), BUDGET, mixed=True)
    study = make(tmp_path, HALF)
    part = Budget(epsilon=0.3, delta=1e-7)
    policy = study.release(part)
    assert study.ledger.spent == pytest.approx(part.zcdp)
    assert policy.facts["budget"] == asdict(part)
    assert policy.guarantee.epsilon <= 0.3
    assert study.state.release_budget == "epsilon=0.3, delta=1e-07"
    assert same(policy, study.release())
    assert same(policy, Study.open(sqlite(tmp_path)).release(part))
    with pytest.raises(RequestConflictError, match=r"was begun with epsilon=0\.3"):
        study.release(HALF)
    study.release_decision(HERE, epsilon=0.1)  # from the rest


def test_a_stated_budget_that_does_not_fit_leaves_the_study_open(tmp_path: Path) -> None:
    study = make(tmp_path)
    study.release_decision(HERE, epsilon=0.3)
    charged = study.ledger.spent
    with pytest.raises(BudgetError, match=r"asked epsilon=1 .*left epsilon=0\.65"):
        study.release(BUDGET)
    with pytest.raises(InputError, match="pure"):
        study.release(Budget(epsilon=0.1))
    with pytest.raises(InputError, match=r"must be a tacit\.Budget, got 0\.5"):
        study.release(0.5)  # type: ignore[arg-type]
    assert study.ledger.spent == charged
    assert not study.state.closed
    study.tell(study.ask(HERE), 0.5)
    study.release(HALF)


def test_a_pure_budget_pays_for_decisions_alone(tmp_path: Path) -> None:
    study = make(tmp_path, Budget(epsilon=1.0))
    study.release_decision(HERE, epsilon=0.25)
    assert study.state.left_text == "epsilon=0.75"
    for budget in (None, HALF):
        with pytest.raises(InputError, match="cannot pay for Gaussian noise"):
            study.release(budget)
    assert not study.state.closed
    study.release_decision(HERE, epsilon=0.75)


def test_where_nothing_is_left_a_release_is_refused_and_says_so(tmp_path: Path) -> None:
    study = make(tmp_path)
    everything = 8 * study.ledger.budget.zcdp
    study.release_decision(HERE, epsilon=everything**0.5)
    with pytest.raises(BudgetError, match="left nothing"):
        study.release()
    assert not study.state.closed


def test_a_release_of_the_rest_goes_on_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the closing, and between the passes: what it spends was written down."""
    study = make(tmp_path)
    study.release_decision(HERE, epsilon=0.3)
    left = study.ledger.remaining
    for where in ("tacit.study.study.release_passes", "tacit.study.study.refine"):
        with monkeypatch.context() as patch:
            patch.setattr(where, crash)
            with pytest.raises(SystemExit):
                study.release()
    assert 0 < study.ledger.remaining < left
    again = Study.open(sqlite(tmp_path))
    assert again.state.release_budget == study.state.release_budget
    with pytest.raises(RequestConflictError, match="call release"):
        again.release(HALF)
    policy = again.release()
    assert policy.facts["budget"] == asdict(Budget(rho=left))
    assert same(policy, study.release())
    assert len(again.ledger.charges()) == 3


@pytest.mark.parametrize("where", ["release_passes", "refine"])
def test_a_decision_that_comes_in_between_costs_accuracy_and_not_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """One that was begun before the study was closed, and is charged after it."""
    study = make(tmp_path)
    study.release_decision(HERE, epsilon=0.1)
    with monkeypatch.context() as patch:
        patch.setattr(f"tacit.study.study.{where}", crash)
        with pytest.raises(SystemExit):
            study.release()
    epsilon = 0.385 if where == "release_passes" else 0.2
    study.ledger.spend("late", Exponential(epsilon), {}, lambda: b"")
    left = study.ledger.remaining
    before = 0.0 if where == "release_passes" else study._spending.begun().budget.zcdp
    policy = study.release()
    assert policy.guarantee.rho == pytest.approx(left + before)
    assert study.state.release_budget.endswith(f"(rho={left + before:g})")
    assert study.state.passes == study.state.planned_passes == 2
    assert 0 <= study.ledger.remaining < 8 / UNITS
    assert same(policy, Study.open(sqlite(tmp_path)).release())


@pytest.mark.parametrize("passes", [2, 3])
def test_a_decision_that_takes_all_of_the_rest_leaves_the_policy_of_the_passes_before(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    passes: int,
) -> None:
    """One that was begun before the study was closed, and is charged after the first pass."""
    study = make(tmp_path, passes=passes)
    study.release_decision(HERE, epsilon=0.1)
    with monkeypatch.context() as patch:
        patch.setattr("tacit.study.study.refine", crash)
        with pytest.raises(SystemExit):
            study.release()
    epsilon = (8 * study.ledger.remaining * (1 - 1e-9)) ** 0.5
    study.ledger.spend("late", Exponential(epsilon), {}, lambda: b"")
    charges = len(study.ledger.charges())
    with caplog.at_level("WARNING", logger="tacit"):
        policy = study.release()
    assert f"released in 1 of {passes} passes" in caplog.text
    assert (policy.facts["passes"], policy.facts["planned_passes"]) == (1, passes)
    first = study._spending.begun().budget
    assert policy.guarantee.rho == pytest.approx(first.zcdp)
    assert (policy.private, policy.guarantee.delta) == (True, 1e-7)
    state = study.state
    assert (state.stage, state.passes, state.planned_passes) == ("released", 1, passes)
    assert f"rho={first.zcdp:g}" in state.release_budget
    assert study.receipt == policy.receipt == study.ledger.receipt("release/pass 1")
    again = Study.open(sqlite(tmp_path))
    assert same(policy, again.release())
    assert again.state == state
    assert len(again.ledger.charges()) == charges
    with pytest.raises(BudgetError, match="left nothing"):
        again.release_decision(HERE, epsilon=0.1)
    policy.save(tmp_path / "policy")
    assert tacit.Policy.load(tmp_path / "policy").facts["planned_passes"] == passes


def test_the_plan_of_the_rest_is_worse_than_that_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.planning.forecast.LEAST", 40)  # quick
    study = make(tmp_path)
    whole = study.plan().forecast
    study.release_decision(HERE, epsilon=0.35)
    rest = study.plan()
    assert rest.horizon == 10
    assert rest.budget == Budget(rho=study.ledger.remaining)
    assert rest.forecast.rounds == whole.rounds == 10
    assert rest.forecast.noise > whole.noise
    assert study.plan(HALF).forecast.epsilon == 0.5
    study.release()
    assert study.plan().budget == rest.budget
    empty = create_study(
        sqlite(tmp_path, "empty.db"), small_problem(), horizon=50, budget=BUDGET, **SMALL
    )
    with pytest.raises(StateError, match="no rounds to plan with yet"):
        empty.plan()
