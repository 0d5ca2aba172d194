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
from tacit.progress import silent

HERE = {"age": 61, "weight": 74}
SMALL: dict[str, Any] = {"rank": 15, "tau": 10.0, "public_points": 2000, "rng": 0}


def make(path: Path, horizon: int = 50) -> Study:
    return create_study(sqlite(path), small_problem(), horizon=horizon, budget=BUDGET, **SMALL)


def test_a_study_from_ask_to_decision(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    for _ in range(20):
        decision = bandit.ask(HERE)
        assert 0 <= decision.action["dose"] <= 100
        assert decision.propensity == pytest.approx(1 / 100)
        bandit.tell(decision.id, reward=0.8)
    policy = bandit.release()
    assert policy.private
    assert 0 <= policy.decide(HERE)["dose"] <= 100
    assert 0 <= bandit.ledger.remaining < 3 / UNITS


def test_releasing_again_returns_the_same_policy_and_charges_nothing(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    bandit.tell(bandit.ask(HERE).id, 0.5)
    first = bandit.release()
    again = Study.open(sqlite(tmp_path)).release()
    assert np.array_equal(first.posterior.weights, again.posterior.weights)
    assert len(bandit.ledger.charges()) == 2  # two passes


def test_a_reopened_study_is_as_it_was_left(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    waiting = bandit.ask(HERE)
    reopened = Study.open(sqlite(tmp_path))
    assert reopened.design.fingerprint == bandit.design.fingerprint
    assert reopened.asked == 1
    reopened.tell(waiting.id, 0.3)
    with pytest.raises(StateError, match="told before"):
        bandit.tell(waiting.id, 0.3)


def test_rewards_may_come_late_and_out_of_order_or_never(tmp_path: Path) -> None:
    def weights(path: Path, order: list[int]) -> list[int]:
        bandit = make(path)
        bandit._rng = np.random.default_rng(0)
        decisions = bandit.ask_many(
            {"age": [30.0, 50.0, 70.0, 90.0], "weight": [60.0, 70.0, 80.0, 90.0]}
        )
        for i in order:
            bandit.tell(decisions[i].id, i / 3)
        statistic = bandit._statistic(bandit._store.close(), silent)
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
        bandit = make(tmp_path / name)
        decisions = [bandit.ask(HERE) for _ in range(10)]
        for decision in decisions[:told]:
            bandit.tell(decision.id, float("nan"))
        policy = bandit.release()
        charge = bandit.ledger.charges()[0]
        facts = {
            key: policy.facts[key] for key in ("records", "rank", "horizon", "budget", "unit")
        }  # set beforehand
        shown.append(
            (repr(bandit), policy.guarantee, facts, charge.kind, charge.parameters, charge.cost)
        )
    assert shown[0] == shown[1]


def test_no_round_is_asked_beyond_the_horizon_or_after_the_release(tmp_path: Path) -> None:
    bandit = make(tmp_path, horizon=3)
    with pytest.raises(StateError, match="horizon is 3 rounds and 0 were asked"):
        bandit.ask_many({"age": [60.0] * 4, "weight": [70.0] * 4})
    for _ in range(3):
        bandit.ask(HERE)
    with pytest.raises(StateError, match="horizon is 3"):
        bandit.ask(HERE)
    bandit.release()
    with pytest.raises(StateError, match="closed"):
        bandit.ask(HERE)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -1e300, "text", None])
def test_odd_private_values_are_no_error(tmp_path: Path, reward: Any) -> None:
    bandit = make(tmp_path)
    bandit.tell(bandit.ask({"age": float("nan"), "weight": float("inf")}).id, reward)
    bandit.tell(bandit.ask(HERE).id, reward)
    assert bandit.release().private


def test_unknown_ids_and_empty_studies_are_errors(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    with pytest.raises(StateError, match="no round 'nobody'"):
        bandit.tell("nobody", 1.0)
    with pytest.raises(StateError, match="nothing to release"):
        bandit.release()
    with pytest.raises(StateError, match="already holds a study"):
        make(tmp_path)
    with pytest.raises(InputError, match="no column 'weight'"):
        bandit.ask({"age": 3})


def test_telling_many_is_all_or_nothing(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    known = bandit.ask(HERE).id
    with pytest.raises(StateError, match="no round"):
        bandit.tell_many([known, "nobody"], [0.5, 0.5])
    bandit.tell(known, 0.5)


def test_a_catalogue_is_asked_by_item(tmp_path: Path) -> None:
    problem = tacit.Problem(
        actions=tacit.Catalogue([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ids=["a", "b", "c"]),
        contexts=tacit.Box([0.0], [1.0], names=["age"]),
    )
    bandit = create_study(sqlite(tmp_path), problem, horizon=30, budget=BUDGET, **SMALL)
    decision = bandit.ask({"age": 0.5})
    assert decision.action["item"] in {"a", "b", "c"}
    assert decision.propensity == pytest.approx(1 / 3)
    bandit.tell(decision.id, 1.0)
    assert bandit.release().decide({"age": 0.5})["item"] in {"a", "b", "c"}


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from tacit import Study
bandit = Study.open(sys.argv[1])
while True:
    decision = bandit.ask({"age": 61, "weight": 74})
    print("asked", decision.id, flush=True)
    bandit.tell(decision.id, 0.5)
    print("told", decision.id, flush=True)
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    bandit = make(tmp_path, horizon=100_000)
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
    assert bandit.asked >= len(asked)
    for name in (
        asked - told
    ):  # its reward may have been written just before the kill; the round itself must be there
        with contextlib.suppress(StateError):
            bandit.tell(name, 0.5)
        told.add(name)
    for name in told:
        with pytest.raises(StateError, match="told before"):
            bandit.tell(name, 0.5)


def test_two_processes_share_a_study(tmp_path: Path) -> None:
    bandit = make(tmp_path)
    other = Study.open(sqlite(tmp_path))
    ids = {d.id for pair in ((bandit.ask(HERE), other.ask(HERE)) for _ in range(5)) for d in pair}
    assert len(ids) == 10
    assert bandit.asked == other.asked == 10
