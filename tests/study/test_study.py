"""A study on a database: asked, told, killed, reopened, released once."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from helpers import BUDGET, TESTS, create_study, small_problem, sqlite
from tacit import InputError, StateError, Study
from tacit.core.budget import UNITS
from tacit.core.events import Gaussian
from tacit.progress import silent

pytestmark = pytest.mark.usefixtures("coarse_fits")

HERE = {"age": 61, "weight": 74}
SMALL: dict[str, Any] = {"rank": 15, "tau": 10.0, "public_points": 2000, "rng": 0}


def make(path: Path, horizon: int = 50) -> Study:
    return create_study(sqlite(path), small_problem(), horizon=horizon, budget=BUDGET, **SMALL)


def test_a_study_from_ask_to_decision(tmp_path: Path) -> None:
    study = make(tmp_path)
    for _ in range(20):
        decision = study.ask(HERE)
        assert 0 <= decision.action["dose"] <= 100
        assert decision.propensity == pytest.approx(1 / 100)
        study.tell(decision.id, reward=0.8)
    policy = study.release()
    assert policy.private
    assert 0 <= policy.decide(HERE)["dose"] <= 100
    assert 0 <= study.ledger.remaining < 3 / UNITS


def test_releasing_again_returns_the_same_policy_and_charges_nothing(tmp_path: Path) -> None:
    study = make(tmp_path)
    study.tell(study.ask(HERE).id, 0.5)
    first = study.release()
    again = Study.open(sqlite(tmp_path)).release()
    assert np.array_equal(first.posterior.weights, again.posterior.weights)
    assert len(study.ledger.charges()) == 2  # two passes


def test_a_reopened_study_is_as_it_was_left(tmp_path: Path) -> None:
    study = make(tmp_path)
    waiting = study.ask(HERE)
    reopened = Study.open(sqlite(tmp_path))
    assert reopened.design.fingerprint == study.design.fingerprint
    assert reopened.asked == 1
    reopened.tell(waiting.id, 0.3)
    with pytest.raises(StateError, match="told before"):
        study.tell(waiting.id, 0.3)


def test_rewards_may_come_late_and_out_of_order_or_never(tmp_path: Path) -> None:
    def weights(path: Path, order: list[int]) -> list[int]:
        study = make(path)
        study._rng = np.random.default_rng(0)
        decisions = study.ask_many(
            {"age": [30.0, 50.0, 70.0, 90.0], "weight": [60.0, 70.0, 80.0, 90.0]}
        )
        for i in order:
            study.tell(decisions[i].id, i / 3)
        statistic = study._statistic(study._store.close(), silent)
        assert statistic.records == 4
        return list(statistic._sum._value())

    for name in "abc":
        (tmp_path / name).mkdir()
    complete = weights(tmp_path / "a", [0, 1, 2, 3])
    assert complete == weights(tmp_path / "b", [3, 1, 0, 2])
    assert complete != weights(tmp_path / "c", [3, 1, 0])


def test_nothing_public_depends_on_how_many_rewards_came(tmp_path: Path) -> None:
    shown = []
    for name, told in (("a", 0), ("b", 7)):
        (tmp_path / name).mkdir()
        study = make(tmp_path / name)
        decisions = [study.ask(HERE) for _ in range(10)]
        for decision in decisions[:told]:
            study.tell(decision.id, float("nan"))
        policy = study.release()
        charge = study.ledger.charges()[0]
        facts = {
            key: policy.facts[key] for key in ("records", "rank", "horizon", "budget", "unit")
        }  # set beforehand
        shown.append(
            (repr(study), policy.guarantee, facts, charge.kind, charge.parameters, charge.cost)
        )
    assert shown[0] == shown[1]


def test_the_state_says_what_is_public_and_nothing_of_rewards(tmp_path: Path) -> None:
    """Whether none, some or all rewards came, and whatever they are, before and after a release."""
    shown = []
    for name, rewards in (("none", []), ("some", [0.9, None]), ("all", [0.1, 2.0, 0.3, 0.4])):
        (tmp_path / name).mkdir()
        study = make(tmp_path / name)
        decisions = study.ask_many([[61.0, 74.0]] * 4)
        study.tell_many(decisions[: len(rewards)], rewards)  # type: ignore[arg-type]
        before = (study.state, repr(study))
        study.release()
        shown.append((*before, study.state, repr(study)))
    assert shown[0] == shown[1] == shown[2]
    state, text, after, text_after = shown[0]
    assert (state.asked, state.horizon, state.unit, state.passes) == (4, 50, "record", 2)
    assert (state.spent, state.closed, state.released, state.stage) == (0.0, False, False, "open")
    assert state.budget == state.release_budget == "epsilon=1, delta=1e-06"
    assert text == "Study(open, 4 of 50 rounds asked, epsilon=1, delta=1e-06)"
    assert (after.closed, after.released) == (True, True)
    assert after.spent == pytest.approx(state.remaining)
    assert text_after == "Study(released, 4 of 50 rounds asked, epsilon=1, delta=1e-06)"


def test_a_study_whose_release_was_stopped_is_closed_and_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    study = make(tmp_path)
    study.tell(study.ask(HERE), 0.5)
    with monkeypatch.context() as patch:
        patch.setattr("tacit.study.study.refine", stop)
        with pytest.raises(KeyboardInterrupt):
            study.release()
    assert (study.state.closed, study.state.released) == (True, False)
    assert 0 < study.state.spent < study.state.spent + study.state.remaining
    study.release()
    assert study.state.released


def test_a_decision_is_told_by_itself_or_by_its_id(tmp_path: Path) -> None:
    study = make(tmp_path)
    one, two, three, four = study.ask_many([[61.0, 74.0]] * 4)
    study.tell(one, 0.5)
    study.tell(two.id, 0.5)
    study.tell_many([three, four.id], [0.5, 0.5])
    for decision in (one, two, three, four):
        with pytest.raises(StateError, match="told before"):
            study.tell(decision, 0.5)
    with pytest.raises(InputError, match="different decisions"):
        study.tell_many([one, one.id], [0.5, 0.5])
    with pytest.raises(InputError, match="got a dict"):
        study.tell(one.action, 0.5)  # type: ignore[arg-type]


def test_a_study_keeps_the_ledger_that_is_there(tmp_path: Path) -> None:
    """Counted in zCDP, with more than the release spends: the rest is for single decisions."""
    url = sqlite(tmp_path)
    tacit.Ledger.create(url, tacit.Budget(epsilon=2.0, delta=1e-6), mixed=True)
    study = make(tmp_path)
    study.tell(study.ask(HERE), 0.5)
    study.release_decision(HERE, epsilon=0.1)
    assert study.state.budget == "epsilon=2, delta=1e-06"
    assert study.state.release_budget == "epsilon=1, delta=1e-06"
    assert study.release().guarantee.epsilon <= 1.0
    study.release_decision(HERE, epsilon=0.1)
    assert study.ledger.remaining > 0


def test_a_ledger_that_cannot_pay_for_the_release_gets_no_study(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    tacit.Ledger.create(url, tacit.Budget(epsilon=0.5, delta=1e-6))
    with pytest.raises(tacit.BudgetError, match="does not cover"):
        make(tmp_path)
    with pytest.raises(StateError, match="holds no study"):
        Study.open(url)


def test_a_ledger_that_has_the_requests_of_a_release_gets_no_study(tmp_path: Path) -> None:
    ledger = tacit.Ledger.create(sqlite(tmp_path), tacit.Budget(epsilon=9.0, delta=1e-6))
    ledger.spend("release/pass 1", Gaussian(10, 1000.0), {}, lambda: b"")
    with pytest.raises(StateError, match="has a request 'release/pass 1' already"):
        make(tmp_path)


def test_no_round_is_asked_beyond_the_horizon_or_after_the_release(tmp_path: Path) -> None:
    study = make(tmp_path, horizon=3)
    with pytest.raises(StateError, match="horizon is 3 rounds and 0 were asked"):
        study.ask_many({"age": [60.0] * 4, "weight": [70.0] * 4})
    for _ in range(3):
        study.ask(HERE)
    with pytest.raises(StateError, match="horizon is 3"):
        study.ask(HERE)
    study.release()
    with pytest.raises(StateError, match="closed"):
        study.ask(HERE)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -1e300, "text", None])
def test_odd_private_values_are_no_error(tmp_path: Path, reward: Any) -> None:
    study = make(tmp_path)
    study.tell(study.ask({"age": float("nan"), "weight": float("inf")}).id, reward)
    study.tell(study.ask(HERE).id, reward)
    assert study.release().private


def test_unknown_ids_and_empty_studies_are_errors(tmp_path: Path) -> None:
    study = make(tmp_path)
    with pytest.raises(StateError, match="no round 'nobody'"):
        study.tell("nobody", 1.0)
    with pytest.raises(StateError, match="nothing to release"):
        study.release()
    with pytest.raises(StateError, match="already holds a study"):
        make(tmp_path)
    with pytest.raises(InputError, match="no column 'weight'"):
        study.ask({"age": 3})


def test_users_of_a_study_that_protects_rounds_are_refused(tmp_path: Path) -> None:
    study = make(tmp_path)
    with pytest.raises(InputError, match="protects single rounds, which have no users"):
        study.ask(HERE, user="anna")
    with pytest.raises(InputError, match="protects single rounds"):
        study.ask_many([[61.0, 74.0]], users=["anna"])
    assert study.asked == 0


def test_a_study_without_rounds_is_charged_for_nothing(tmp_path: Path) -> None:
    study = make(tmp_path)
    with pytest.raises(StateError, match="nothing to release"):
        study.release()
    with pytest.raises(StateError, match="no records to release"):
        study.release_decision(HERE, epsilon=0.1)
    assert study.ledger.spent == 0
    assert not study.state.closed


def test_telling_many_is_all_or_nothing(tmp_path: Path) -> None:
    study = make(tmp_path)
    known = study.ask(HERE).id
    with pytest.raises(StateError, match="no round"):
        study.tell_many([known, "nobody"], [0.5, 0.5])
    study.tell(known, 0.5)


def test_a_catalogue_is_asked_by_item(tmp_path: Path) -> None:
    problem = tacit.Problem(
        actions=tacit.Catalogue([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ids=["a", "b", "c"]),
        contexts=tacit.Box([0.0], [1.0], names=["age"]),
    )
    study = create_study(sqlite(tmp_path), problem, horizon=30, budget=BUDGET, **SMALL)
    decision = study.ask({"age": 0.5})
    assert decision.action["item"] in {"a", "b", "c"}
    assert decision.propensity == pytest.approx(1 / 3)
    study.tell(decision.id, 1.0)
    assert study.release().decide({"age": 0.5})["item"] in {"a", "b", "c"}


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from tacit import Study
study = Study.open(sys.argv[1])
while True:
    decision = study.ask({"age": 61, "weight": 74})
    print("asked", decision.id, flush=True)
    study.tell(decision.id, 0.5)
    print("told", decision.id, flush=True)
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    study = make(tmp_path, horizon=100_000)
    asked: set[str] = set()
    told: set[str] = set()
    for attempt in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, sqlite(tmp_path), str(TESTS)],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(0.05 + 0.1 * attempt)
            writer.kill()
            lines = [first, *writer.stdout.read().splitlines()]
        for line in lines:
            words = line.split()
            if len(words) == 2:
                (asked if words[0] == "asked" else told).add(words[1])
    assert asked
    assert told
    assert study.asked >= len(asked)
    for name in (
        asked - told
    ):  # its reward may have been written just before the kill; the round itself must be there
        with contextlib.suppress(StateError):
            study.tell(name, 0.5)
        told.add(name)
    for name in told:
        with pytest.raises(StateError, match="told before"):
            study.tell(name, 0.5)


def test_two_processes_share_a_study(tmp_path: Path) -> None:
    study = make(tmp_path)
    other = Study.open(sqlite(tmp_path))
    ids = {d.id for pair in ((study.ask(HERE), other.ask(HERE)) for _ in range(5)) for d in pair}
    assert len(ids) == 10
    assert study.asked == other.asked == 10


@pytest.mark.parametrize("request_id", ["release", "release/pass 1"])
def test_a_decision_cannot_take_the_name_of_the_release(tmp_path: Path, request_id: str) -> None:
    """The study would look released, and could never be."""
    tacit.Ledger.create(sqlite(tmp_path), tacit.Budget(epsilon=3.0, delta=1e-6), mixed=True)
    study = make(tmp_path)
    study.tell(study.ask(HERE), 0.5)
    with pytest.raises(InputError, match="the study's own release"):
        study.release_decision(HERE, epsilon=0.1, request=request_id)
    assert not study.ledger.charges()
    assert not study.state.released
    study.release()
    assert study.state.released


def test_while_a_release_is_under_way_no_decision_takes_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise pass 1 is spent, pass 2 does not fit any more, and there is never a policy."""
    tacit.Ledger.create(sqlite(tmp_path), tacit.Budget(epsilon=3.0, delta=1e-6), mixed=True)
    study = make(tmp_path)
    study.tell(study.ask(HERE), 0.5)

    def crash(*arguments: Any, **named: Any) -> Any:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr("tacit.study.study.refine", crash)
        with pytest.raises(SystemExit):
            study.release()
    with pytest.raises(StateError, match="begun and is not finished"):
        study.release_decision(HERE, epsilon=0.1)
    study.release()
    study.release_decision(HERE, epsilon=0.1)
