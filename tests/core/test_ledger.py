"""A budget that cannot be spent twice: the laws on SQLite, and what an event costs anywhere."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from databases import Urls
from helpers import BUDGET, records, small_design, small_problem, sqlite
from laws.storage import LedgerLaws, StudyLaws
from tacit import Budget, InputError, Ledger
from tacit.contexts import release_marginals
from tacit.core import database
from tacit.core.accounts import NOTHING, Account, cost_of
from tacit.core.budget import PURE, UNITS, ZCDP, epsilon_of_rho
from tacit.core.events import Exponential, Gaussian, PermuteAndFlip, price

pytestmark = pytest.mark.usefixtures("coarse_fits")

pytest_plugins = ["databases"]


class TestLedgerOnSqlite(LedgerLaws):
    @pytest.fixture
    def urls(self, sqlite_urls: Urls) -> Urls:
        return sqlite_urls


class TestStudyOnSqlite(StudyLaws):
    @pytest.fixture
    def urls(self, sqlite_urls: Urls) -> Urls:
        return sqlite_urls


@given(
    st.floats(1e-6, 100),
    st.sampled_from([PURE, ZCDP]),
    st.sampled_from([Exponential, PermuteAndFlip]),
)
def test_costs_round_up_by_less_than_a_unit(
    epsilon: float, measure: str, event: type[Exponential]
) -> None:
    exact = price(event(epsilon), measure) * UNITS
    assert exact <= cost_of(event(epsilon), measure) < exact + 1


def test_each_event_has_its_price() -> None:
    assert price(Gaussian(sensitivity=2, scale=4.0), ZCDP) == Fraction(1, 8)
    assert price(Exponential(1.0), ZCDP) == Fraction(1, 8)
    assert price(PermuteAndFlip(1.0), ZCDP) == Fraction(1, 2)
    assert price(Exponential(0.5), PURE) == price(PermuteAndFlip(0.5), PURE) == Fraction(1, 2)
    with pytest.raises(InputError, match="cannot pay for Gaussian noise"):
        price(Gaussian(sensitivity=2, scale=4.0), PURE)


def test_amounts_are_said_in_the_words_of_the_budget(tmp_path: Path) -> None:
    """As epsilon at its delta, with the rho that adds up; what rounding leaves is nothing."""
    stated = Budget(epsilon=1.0, delta=1e-5)
    ledger = Ledger.create(sqlite(tmp_path, "mixed.db"), stated, mixed=True)
    assert "spent nothing, left epsilon=1 at delta=1e-05 (rho=" in repr(ledger)
    ledger.spend("one", Exponential(0.3), {}, lambda: b"")
    left = epsilon_of_rho(ledger.remaining, 1e-5)
    assert f"left epsilon={left:.4g} at delta=1e-05 (rho={ledger.remaining:.4g})" in repr(ledger)
    for leftover in (0, NOTHING):
        account = Account(None, ZCDP, 10**6, 10**6 - leftover)
        assert account.texts(stated)[1] == "nothing"
    assert Account(None, ZCDP, 10**6, 10**6 - NOTHING - 1).texts(Budget(rho=1.0))[1] != "nothing"
    assert Account(None, PURE, UNITS, UNITS // 4).texts(Budget(epsilon=1.0)) == [
        "epsilon=0.25",
        "epsilon=0.75",
    ]


def test_the_file_of_a_ledger_is_for_its_owner_alone(tmp_path: Path) -> None:
    Ledger.create(sqlite(tmp_path), Budget(epsilon=1.0))
    assert (tmp_path / "study.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite://", "sqlite:///:memory:", "sqlite:////no/such/folder/x.db"]
)
def test_a_database_that_cannot_keep_a_ledger_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        Ledger.create(url, Budget(epsilon=1.0))


def test_a_busy_file_is_waited_for_even_where_sqlite_itself_does_not_wait(tmp_path: Path) -> None:
    """As when several processes make one new file ready: SQLite then refuses at once, whatever its
    timeout."""
    file = tmp_path / "busy.db"
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    hasty = sqlite3.connect(file, isolation_level=None, timeout=0)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        hasty.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, lambda: holder.execute("COMMIT"))
    release.start()
    database.retrying(lambda: hasty.execute("BEGIN IMMEDIATE"))
    release.join()
    with pytest.raises(sqlite3.OperationalError, match="syntax"):  # no other error is tried again
        database.retrying(lambda: hasty.execute("BEGIN AND END"))
    holder.close()
    hasty.close()


@pytest.mark.parametrize("ledger", [None, 3, Path("study.db"), Budget(epsilon=1.0)])
def test_what_is_no_ledger_is_one_sentence_wherever_one_is_asked_for(ledger: Any) -> None:
    statistic = small_design(rank=4, public_points=100).statistic().add(*records(10))
    age = tacit.Box.of(age=(18, 95))
    log = {"dose": [1.0], "age": [30.0], "weight": [60.0], "reward": [0.5]}
    asked: list[Callable[[], Any]] = [
        lambda: statistic.release(ledger=ledger),
        lambda: tacit.release_decision(statistic, [30.0, 60.0], epsilon=0.1, ledger=ledger),
        lambda: release_marginals({"age": [30.0]}, age, budget=BUDGET, ledger=ledger),
        lambda: tacit.fit(
            small_problem(),
            log,
            play="uniform",
            budget=BUDGET,
            ledger=ledger,
            options=tacit.DesignOptions(rank=2, public_points=50),
        ),
    ]
    for ask in asked:
        with pytest.raises(InputError, match=r"ledger must be a Ledger or the URL of one, got \w+"):
            ask()
