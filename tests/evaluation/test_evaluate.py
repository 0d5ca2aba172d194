"""`tacit.evaluate`: whom policies are evaluated on, what is charged, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from evaluated import NOW, learned, rounds, rule, truth
from helpers import BUDGET, silence, small_problem, sqlite
from mutation import Mutant, failure_under
from tacit import BudgetError, EvaluationOptions, EvaluationWarning, InputError, StateError
from tacit.core import release_gaussian
from tacit.evaluation import Evaluation

pytestmark = pytest.mark.usefixtures("coarse_fits")

OPTIONS = tacit.DesignOptions(rank=8, tau=10.0, public_points=1000)
OTHERS = EvaluationOptions(other_people=True)
POLICY = learned()
LOG = rounds(1500, seed=3)


def fit(log: Any, url: str, **given: Any) -> tacit.Policy:
    return tacit.fit(
        small_problem(), log, play="uniform", budget=BUDGET, ledger=url, options=OPTIONS, **given
    )


def evaluate(policies: Any, log: Any, url: Any, **given: Any) -> Evaluation:
    merged: dict[str, Any] = {"play": "uniform", "budget": BUDGET, "options": OTHERS} | given
    return tacit.evaluate(policies, log, ledger=url, **merged)


# -- one release ----------------------------------------------------------------------------------


def test_all_policies_share_one_release(tmp_path: Path) -> None:
    policies = {"learned": POLICY, "careful": POLICY.cautious(NOW), "now": NOW}
    with silence():
        found = evaluate(policies, LOG, sqlite(tmp_path))
    ledger = tacit.Ledger.open(sqlite(tmp_path))
    (charge,) = ledger.charges()
    assert charge.parameters["policies"] == "learned, careful, now"
    assert found.receipt == ledger.receipt(charge.request)
    assert found.private
    assert found.guarantee.epsilon <= 1.0 + 1e-9
    assert list(found.values) == list(policies)
    assert list(found.differences) == ["learned", "careful"]
    assert found.against == "now"
    apart = found.values["learned"].value - found.values["now"].value
    assert np.isclose(apart, found.differences["learned"].value)
    again = evaluate(policies, LOG, ledger)
    assert again == found
    with pytest.raises(BudgetError):
        evaluate(policies, LOG, ledger, against="learned")


def test_estimates_are_near_the_truth(tmp_path: Path) -> None:
    """Six half-widths of 95 %: a false alarm far below 1e-6."""
    plenty = tacit.Budget(20.0, 1e-6)
    found = evaluate(
        {"sixty": {"dose": 60.0}, "now": NOW},
        LOG,
        sqlite(tmp_path),
        budget=plenty,
        problem=small_problem(),
    )
    for name, dose in (("sixty", 60.0), ("now", 30.0)):
        value = found.values[name]
        assert abs(value.value - truth(lambda age, dose=dose: dose)) <= 3 * value.half_width + 0.02
        assert value.half_width < 0.1


def test_files_equal_a_table(tmp_path: Path) -> None:
    """To the last bit, apart from the noise: the same sums are released."""
    table = pa.table(LOG)
    pq.write_table(table.slice(0, 1024), tmp_path / "a.parquet")
    pq.write_table(table.slice(1024), tmp_path / "b.parquet")
    sums = []
    real = release_gaussian

    def spy(total: Any, *rest: Any) -> Any:
        sums.append(total._value().copy())
        return real(total, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.evaluation.private_scores.release_gaussian", spy)
        evaluate({"a": POLICY, "b": NOW}, LOG, sqlite(tmp_path, "1.db"))
        evaluate({"a": POLICY, "b": NOW}, str(tmp_path / "*.parquet"), sqlite(tmp_path, "2.db"))
    assert (sums[0] == sums[1]).all()


# -- on whom --------------------------------------------------------------------------------------


def test_those_held_out_are_evaluated_on_with_the_whole_budget(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    policy = fit(LOG, url, hold_out=0.3)
    with silence():
        found = evaluate({"learned": policy, "now": NOW}, LOG, url, options=None)
    assert found.facts["people"] == "people held out from learning"
    assert found.facts["records"] == len(LOG["dose"]) - policy.facts["records"]
    learn, held_out = tacit.Ledger.open(url).accounts()
    assert learn.remaining < 1000
    assert held_out.remaining < 1000
    with pytest.raises(InputError, match="not the rows that were split"):
        evaluate({"learned": policy, "now": NOW}, rounds(1400), url)


def test_one_call_learns_and_evaluates(tmp_path: Path) -> None:
    policy = fit(LOG, sqlite(tmp_path), hold_out=0.3, against=NOW)
    found = Evaluation.from_json(policy.facts["evaluation"])
    assert found.facts["people"] == "people held out from learning"
    assert list(found.differences) == ["learned"]
    assert "baseline (dose = 30)" in str(found)
    policy.save(tmp_path / "policy")
    page = policy.report(tmp_path / "page.html").read_text()
    assert "baseline (dose = 30)" in page
    assert tacit.Policy.load(tmp_path / "policy").facts["evaluation"] == found.to_json()
    with pytest.raises(InputError, match="hold_out"):
        fit(LOG, sqlite(tmp_path, "other.db"), against=NOW)
    with pytest.raises(InputError):
        fit(LOG, sqlite(tmp_path, "other.db"), hold_out=0.3, against={"price": 30})
    assert not (tmp_path / "other.db").exists()  # nothing was spent


def refused(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    half = tacit.Ledger.create(url, tacit.Budget(5.0, 1e-6))
    policy = tacit.fit(
        small_problem(), LOG, play="uniform", budget=BUDGET, ledger=half, options=OPTIONS
    )
    with pytest.raises(StateError, match="learned from the people"):
        evaluate({"blend": policy.blend(NOW), "now": NOW}, LOG, url)


def test_people_who_were_learned_from_are_refused(tmp_path: Path) -> None:
    refused(tmp_path)


def test_a_forgotten_refusal_would_be_seen(tmp_path: Path) -> None:
    mutant = Mutant(
        "nobody is refused",
        "tacit.evaluation.people.require_others",
        "",
        "return",
        refused,
    )
    failure_under(mutant, tmp_path)


def test_unknown_people_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(EvaluationWarning, match="cannot be known"):
        found = evaluate({"a": POLICY, "b": NOW}, LOG, sqlite(tmp_path), options=None)
    assert "not known" in found.facts["people"]


# -- users, subgroups -----------------------------------------------------------------------------


def test_a_user_counts_once(tmp_path: Path) -> None:
    """Many rounds of one user weigh as much as one: the first hundred rows are one user's."""
    n = 1500
    log: dict[str, Any] = dict(rounds(n, seed=3))
    log["who"] = [0 if i < 500 else i for i in range(n)]
    plenty = tacit.Budget(50.0, 1e-6)
    found = evaluate(
        {"a": {"dose": 50.0}, "random": "uniform"},
        log,
        sqlite(tmp_path),
        user="who",
        budget=plenty,
        problem=small_problem(),
    )
    assert found.guarantee.unit == "user"
    assert found.facts["records"] == 1001
    assert np.isclose(found.facts["usable"], 1001, atol=5)
    alone = np.append(np.mean(log["reward"][:500]), log["reward"][500:])
    assert np.isclose(found.values["random"].value, alone.mean(), atol=0.01)
    assert np.isclose(found.values["random"].sampling, alone.std() / 1001**0.5, rtol=0.1)


def test_subgroups_are_told_apart(tmp_path: Path) -> None:
    options = EvaluationOptions(other_people=True, by={"age": [50]})
    plenty = tacit.Budget(50.0, 1e-6)
    found = evaluate(
        {"a": {"dose": 55.0}, "b": {"dose": 70.0}},
        rounds(4000),
        sqlite(tmp_path),
        options=options,
        budget=plenty,
        problem=small_problem(),
    )
    young, old = found.subgroups.values()
    assert list(found.subgroups) == ["below 50", "50 and above"]
    assert np.isclose(young.usable + old.usable, found.facts["usable"], atol=5)
    # The right dose is 90 - age / 2: 73 for the young, 54 for the old.
    assert young.differences["a"].high < 0 < old.differences["a"].low
    assert young.values["a"].level == 0.975
    assert "Bonferroni" in found.facts["comparisons"]
    assert "among age below 50" in str(found)


# -- the result -----------------------------------------------------------------------------------


def test_an_evaluation_is_saved_and_loaded(tmp_path: Path) -> None:
    options = EvaluationOptions(other_people=True, by={"age": [50]})
    found = evaluate({"a": POLICY, "b": NOW}, LOG, sqlite(tmp_path), options=options)
    assert Evaluation.load(found.save(tmp_path / "found.json")) == found
    (tmp_path / "bad.json").write_text('{"schema": "evaluation-1"}')
    with pytest.raises(InputError, match="edited by hand"):
        Evaluation.load(tmp_path / "bad.json")
    with pytest.raises(InputError, match="JSON"):
        Evaluation.load(tmp_path / "none.json")


def test_what_is_asked_is_checked(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, "dict of names"),
        ({"a": POLICY}, {"against": "b"}, "against must name"),
        ({"a": NOW}, {}, "problem=..."),
        ({"a": POLICY}, {"play": None}, "must be said"),
        ({"a": POLICY, "b": {"dose": np.nan}}, {}, "complete"),
        ({"a": POLICY, "b": lambda contexts: {"dose": [None]}}, {}, "no complete"),
        ({"a": POLICY}, {"run": tacit.RunOptions(engine="ray")}, "this process"),
    ]
    for policies, given, said in wrong:
        with pytest.raises(InputError, match=said):
            evaluate(policies, LOG, url, **given)
    assert tacit.Ledger.at(url, BUDGET).charges() == []


def test_a_rule_may_be_a_function(tmp_path: Path) -> None:
    small = {name: column[:200] for name, column in LOG.items()}
    found = evaluate({"rule": rule, "learned": POLICY}, small, sqlite(tmp_path))
    assert found.facts["policies"]["rule"] == "the function rule"
