"""A budget that cannot be spent twice."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from helpers import sqlite
from tacit import Budget, BudgetError, InputError, Ledger, RequestConflictError, StateError
from tacit.core.budget import PURE, UNITS, ZCDP
from tacit.core.database import connect
from tacit.core.events import Event, Exponential, Gaussian, PermuteAndFlip, price
from tacit.core.ledger import cost_of


def never() -> bytes:
    raise AssertionError("randomness was drawn although nothing was paid for")


def test_a_charge_is_on_disk_before_anything_is_drawn(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    ledger = Ledger.create(url, Budget(epsilon=1.0))
    seen: list[float] = []

    def draw() -> bytes:
        seen.append(Ledger.open(url).spent)
        return b"noise"

    ledger.spend("a", PermuteAndFlip(0.25), {}, draw)
    assert seen == [0.25]


def test_the_same_request_replays_the_same_bytes_and_pays_once(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))
    assert ledger.spend("a", PermuteAndFlip(0.25), {"n": 1}, lambda: b"first") == b"first"
    assert ledger.spend("a", PermuteAndFlip(0.25), {"n": 1}, never) == b"first"
    assert ledger.spent == 0.25
    assert ledger.stored("a") == b"first"
    assert ledger.stored("b") is None


def test_a_crash_between_charge_and_store_is_repaired_by_a_retry_without_a_second_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))

    def crash() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.spend("a", PermuteAndFlip(0.5), {}, crash)
    assert ledger.spent == 0.5
    assert ledger.spend("a", PermuteAndFlip(0.5), {}, lambda: b"late") == b"late"
    assert ledger.spent == 0.5


@pytest.mark.parametrize(
    ("event", "about", "binding"),
    [
        (Exponential(0.1), {}, ""),
        (PermuteAndFlip(0.1), {"n": 2}, ""),
        (PermuteAndFlip(0.2), {}, ""),
        (PermuteAndFlip(0.1), {}, "another visitor"),
    ],
)
def test_another_request_under_the_same_id_is_an_error(
    tmp_path: Path, event: Event, about: dict[str, int], binding: str
) -> None:
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))
    ledger.spend("a", PermuteAndFlip(0.1), {}, lambda: b"x")
    with pytest.raises(RequestConflictError, match="other parameters"):
        ledger.spend("a", event, about, never, binding)
    assert ledger.spent == pytest.approx(0.1)


def test_a_refusal_says_spent_asked_and_left_and_draws_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))
    ledger.spend("a", PermuteAndFlip(0.75), {}, lambda: b"x")
    with pytest.raises(BudgetError, match=r"spent epsilon=0.75, asked epsilon=0.5, left epsilon=0.25 of 1;"):
        ledger.spend("b", PermuteAndFlip(0.5), {}, never)
    assert ledger.spent == 0.75
    assert [charge.request for charge in ledger.charges()] == ["a"]


def test_the_cap_is_a_constraint_of_the_database_itself(tmp_path: Path) -> None:
    Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))
    engine = connect(sqlite(tmp_path))
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(text("UPDATE tacit_account SET spent = cap + 1"))


@given(st.floats(1e-6, 100), st.sampled_from([PURE, ZCDP]), st.sampled_from([Exponential, PermuteAndFlip]))
def test_costs_round_up_by_less_than_a_unit(epsilon: float, measure: str, event: type[Exponential]) -> None:
    exact = price(event(epsilon), measure) * UNITS
    assert exact <= cost_of(event(epsilon), measure) < exact + 1


def test_each_event_has_its_price() -> None:
    assert price(Gaussian(sensitivity=2, scale=4.0), ZCDP) == Fraction(1, 8)
    assert price(Exponential(1.0), ZCDP) == Fraction(1, 8)
    assert price(PermuteAndFlip(1.0), ZCDP) == Fraction(1, 2)
    assert price(Exponential(0.5), PURE) == price(PermuteAndFlip(0.5), PURE) == Fraction(1, 2)
    with pytest.raises(InputError, match="cannot pay for Gaussian noise"):
        price(Gaussian(sensitivity=2, scale=4.0), PURE)


def spend_all(url: str, name: str, results: multiprocessing.Queue[str]) -> None:
    try:
        results.put(Ledger.open(url).spend(name, PermuteAndFlip(1.0), {}, lambda: name.encode()).decode())
    except BudgetError:
        results.put("refused")


@pytest.mark.parametrize("attempt", range(3))
def test_of_processes_that_race_for_the_last_of_the_budget_exactly_one_wins(tmp_path: Path, attempt: int) -> None:
    url = sqlite(tmp_path)
    Ledger.create(url, Budget(epsilon=1.0))
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    racers = [spawn.Process(target=spend_all, args=(url, f"racer-{i}", results)) for i in range(3)]
    for racer in racers:
        racer.start()
    answers = [results.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join()
    assert sorted(answers).count("refused") == 2
    assert Ledger.open(url).spent == 1.0


def test_a_ledger_is_made_once_and_its_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    Ledger.create(url, Budget(epsilon=1.0))
    assert (tmp_path / "study.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StateError, match=r"already holds a ledger"):
        Ledger.create(url, Budget(epsilon=5.0))
    assert Ledger.open(url).remaining == 1.0


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "sqlite:////no/such/folder/x.db"])
def test_a_database_that_cannot_keep_a_ledger_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        Ledger.create(url, Budget(epsilon=1.0))


def test_opening_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="holds no ledger"):
        Ledger.open(sqlite(tmp_path))
