"""What every database must keep: a ledger that cannot be fooled, and a study in which no round is
lost.

class TestLedgerOnMyDatabase(LedgerLaws):
    @pytest.fixture
    def urls(self) -> Urls:
        return a function that makes one more empty database
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from databases import (
    Urls,
    ask_in_forks,
    ask_until_closed,
    ask_until_full,
    create_ledger,
    make_study,
    open_cohort,
    race,
    read_balance,
    release_study,
    spend,
    try_to_create_study,
)
from tacit import (
    Budget,
    BudgetError,
    InputError,
    Ledger,
    RequestConflictError,
    StateError,
    Study,
)
from tacit.core import Cohort, as_ledger
from tacit.core.accounts import metadata
from tacit.core.budget import UNITS
from tacit.core.database import connect
from tacit.core.events import Event, Exponential, PermuteAndFlip

WHOLE = Budget(epsilon=1.0)
FIRST = Cohort("first", 0, 100)
SECOND = Cohort("second", 100, 300)
HERE = {"age": 61, "weight": 74}
SECRET = 31337.4242


def never() -> bytes:
    raise AssertionError("randomness was drawn although nothing was paid for")


def _shown(url: str) -> str:
    return make_url(url).render_as_string(hide_password=True)


def ledgers(urls: Urls, count: int) -> list[str]:
    """The databases of so many new ledgers."""
    made = [urls() for _ in range(count)]
    for url in made:
        Ledger.create(url, WHOLE)
    return made


class StorageLaws:
    @pytest.fixture
    def url(self, urls: Urls) -> str:
        return urls()


class LedgerLaws(StorageLaws):
    def test_a_charge_is_on_disk_before_anything_is_drawn(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        seen: list[float] = []

        def draw() -> bytes:
            seen.append(Ledger.open(url).spent)
            return b"noise"

        ledger.spend("a", PermuteAndFlip(0.25), {}, draw)
        assert seen == [0.25]

    def test_the_same_request_replays_the_same_bytes_and_pays_once(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        assert ledger.spend("a", PermuteAndFlip(0.25), {"n": 1}, lambda: b"first") == b"first"
        assert ledger.spend("a", PermuteAndFlip(0.25), {"n": 1}, never) == b"first"
        assert Ledger.open(url).spend("a", PermuteAndFlip(0.25), {"n": 1}, never) == b"first"
        assert ledger.spent == 0.25
        assert ledger.stored("a") == b"first"
        assert ledger.stored("b") is None

    def test_any_bytes_are_kept_as_they_are(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        for name, result in {
            "none": b"",
            "all": bytes(range(256)),
            "long": b"\x00\xff" * 50_000,
        }.items():
            assert ledger.spend(name, PermuteAndFlip(0.1), {}, result.__bytes__) == result
            assert Ledger.open(url).stored(name) == result

    def test_a_crash_between_charge_and_store_is_repaired_by_a_retry_without_a_second_charge(
        self, url: str
    ) -> None:
        ledger = Ledger.create(url, WHOLE)

        def crash() -> bytes:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger.spend("a", PermuteAndFlip(0.5), {}, crash)
        assert ledger.spent == 0.5
        assert [charge.answered for charge in ledger.charges()] == [False]
        assert ledger.spend("a", PermuteAndFlip(0.5), {}, lambda: b"late") == b"late"
        assert ledger.spent == 0.5

    def test_who_draws_second_returns_what_the_first_one_stored(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        other = Ledger.open(url)

        def overtaken() -> bytes:
            assert other.spend("a", PermuteAndFlip(0.5), {}, lambda: b"first") == b"first"
            return b"second"

        assert ledger.spend("a", PermuteAndFlip(0.5), {}, overtaken) == b"first"
        assert ledger.spent == 0.5

    @pytest.mark.parametrize(
        ("event", "about", "binding"),
        [
            (Exponential(0.1), {}, ""),
            (PermuteAndFlip(0.1), {"n": 2}, ""),
            (PermuteAndFlip(0.2), {}, ""),
            (PermuteAndFlip(0.1), {}, "another visitor"),
            (PermuteAndFlip(1e30), {}, ""),
        ],
    )
    def test_another_request_under_the_same_id_is_an_error(
        self, url: str, event: Event, about: dict[str, int], binding: str
    ) -> None:
        ledger = Ledger.create(url, WHOLE)
        ledger.spend("a", PermuteAndFlip(0.1), {}, lambda: b"x")
        with pytest.raises(RequestConflictError, match="other parameters"):
            ledger.spend("a", event, about, never, binding)
        assert ledger.spent == pytest.approx(0.1)

    def test_a_refusal_says_spent_asked_and_left_and_draws_nothing(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        ledger.spend("a", PermuteAndFlip(0.75), {}, lambda: b"x")
        with pytest.raises(
            BudgetError, match=r"spent epsilon=0.75, asked epsilon=0.5, left epsilon=0.25;"
        ):
            ledger.spend("b", PermuteAndFlip(0.5), {}, never)
        assert ledger.spent == 0.75
        assert [charge.request for charge in ledger.charges()] == ["a"]

    @pytest.mark.parametrize("epsilon", [2.0**22, 2.0**23, 1e10, 1e300])
    @pytest.mark.parametrize("budget", [WHOLE, Budget(rho=0.5)])
    def test_a_charge_beyond_64_bits_is_refused_like_any_other(
        self, url: str, budget: Budget, epsilon: float
    ) -> None:
        ledger = Ledger.create(url, budget)
        with pytest.raises(BudgetError, match="does not cover this"):
            ledger.spend("a", PermuteAndFlip(epsilon), {}, never)
        assert ledger.spent == 0.0

    def test_the_last_unit_can_be_spent_and_not_one_more(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        unit = PermuteAndFlip(1 / UNITS)
        ledger.spend("most", PermuteAndFlip(1 - 1 / UNITS), {}, lambda: b"")
        ledger.spend("last", unit, {}, lambda: b"")
        assert ledger.remaining == 0
        with pytest.raises(BudgetError):
            ledger.spend("one more", unit, {}, never)

    def test_the_cap_is_a_constraint_of_the_database_itself(self, url: str) -> None:
        Ledger.create(url, WHOLE)
        for wrong in (
            "UPDATE tacit_cohorts SET spent = cap + 1",
            "UPDATE tacit_charges SET cost = -1",
        ):
            with connect(url).begin() as connection:
                connection.execute(
                    text("INSERT INTO tacit_charges VALUES ('x', 1, 'x', '{}', '', 0, 0.0, NULL)")
                )
                with pytest.raises(IntegrityError):
                    connection.execute(text(wrong))
                connection.rollback()

    def test_a_ledger_is_made_once(self, url: str) -> None:
        Ledger.create(url, WHOLE)
        with pytest.raises(StateError, match=r"already holds a ledger"):
            Ledger.create(url, Budget(epsilon=5.0))
        assert Ledger.open(url).remaining == 1.0
        assert Ledger.at(url, Budget(epsilon=5.0)).remaining == 1.0

    def test_a_ledger_is_taken_as_it_is_and_a_url_is_opened_or_made(self, url: str) -> None:
        made = as_ledger(url, Budget(epsilon=1.0))
        made.spend("first", PermuteAndFlip(0.25), {}, lambda: b"")
        again = as_ledger(url, Budget(epsilon=5.0))  # an existing ledger keeps its own budget
        assert again.budget == Budget(epsilon=1.0)
        assert again.remaining == 0.75
        assert as_ledger(made, Budget(epsilon=5.0)) is made

    def test_a_ledger_that_is_new_says_so(
        self, url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with caplog.at_level("INFO", logger="tacit"):
            assert as_ledger(url, Budget(epsilon=1.0)).is_new
            assert caplog.messages == [
                f"a new budget was opened at {_shown(url)}: epsilon=1 (pure)"
            ]
            assert not as_ledger(url, Budget(epsilon=1.0)).is_new
            assert not Ledger.open(url).is_new
        assert len(caplog.messages) == 1
        assert capfd.readouterr() == ("", "")

    def test_a_part_of_a_budget_opens_a_ledger_and_makes_none(self, url: str) -> None:
        part = Budget(epsilon=1.0, share=0.5)
        with pytest.raises(InputError, match="a ledger keeps a whole budget"):
            as_ledger(url, part)
        Ledger.create(url, Budget(epsilon=1.0))
        assert as_ledger(url, part).remaining == 1.0

    def test_opening_what_is_not_there_is_an_error(self, url: str) -> None:
        with pytest.raises(StateError, match="holds no ledger"):
            Ledger.open(url)

    def test_a_ledger_whose_making_was_cut_short_is_made_by_the_next_who_tries(
        self, url: str
    ) -> None:
        metadata.create_all(connect(url))  # and then the process was killed
        with pytest.raises(StateError, match="holds no ledger"):
            Ledger.open(url)
        assert Ledger.at(url, WHOLE).remaining == 1.0

    @pytest.mark.parametrize("budget", [WHOLE, Budget(epsilon=1.0, delta=1e-6), Budget(rho=0.125)])
    def test_a_reopened_ledger_has_the_same_budget(self, url: str, budget: Budget) -> None:
        Ledger.create(url, budget)
        assert Ledger.open(url).budget == budget

    # -- cohorts ----------------------------------------------------------------------------------

    def test_every_cohort_may_spend_the_whole_budget_and_not_more(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        for cohort in (FIRST, SECOND):
            ledger.add_cohort(cohort)
            for part in (0.5, 0.5):
                name = f"{cohort.name}, {part}, {ledger.account(cohort).spent}"
                ledger.spend(name, PermuteAndFlip(part), {}, lambda: b"x", cohort=cohort)
            with pytest.raises(
                BudgetError,
                match=rf"of cohort '{cohort.name}' .* spent epsilon=1, .* left nothing",
            ):
                ledger.spend("one more", PermuteAndFlip(0.01), {}, never, cohort=cohort)
        assert ledger.spent == 1.0  # on any one person
        assert ledger.remaining == 0.0
        assert [charge.parameters["cohort"] for charge in ledger.charges()] == ["first"] * 2 + [
            "second"
        ] * 2
        assert [account.cohort for account in Ledger.open(url).accounts()] == [FIRST, SECOND]

    def test_cohorts_do_not_overlap(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        ledger.add_cohort(FIRST)
        ledger.add_cohort(FIRST)  # once more changes nothing
        ranges = [("other", 99, 101), ("other", 20, 30), ("other", 0, 500), ("first", 100, 200)]
        for wrong in (Cohort(*given) for given in ranges):
            with pytest.raises(StateError, match="overlaps with cohort 'first'"):
                ledger.add_cohort(wrong)
        assert len(ledger.accounts()) == 1

    def test_a_ledger_is_for_everybody_or_divided(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        with pytest.raises(StateError, match="has no cohort 'first'"):
            ledger.spend("a", PermuteAndFlip(0.1), {}, never, cohort=FIRST)
        ledger.add_cohort(FIRST)
        with pytest.raises(StateError, match="divided into cohorts"):
            ledger.spend("a", PermuteAndFlip(0.1), {}, never)
        with pytest.raises(StateError, match="has no cohort 'first' of records 0 to 200"):
            ledger.spend("a", PermuteAndFlip(0.1), {}, never, cohort=Cohort("first", 0, 200))
        with connect(url).begin() as connection, pytest.raises(IntegrityError):
            connection.execute(text("UPDATE tacit_cohorts SET spent = 1 WHERE name = ''"))
        assert ledger.spent == 0

    def test_a_ledger_that_was_spent_from_cannot_be_divided(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        ledger.spend("a", PermuteAndFlip(0.1), {}, lambda: b"x")
        with pytest.raises(StateError, match="cannot be divided"):
            ledger.add_cohort(FIRST)

    def test_somebody_who_was_counted_in_one_cohort_is_not_counted_in_another(
        self, url: str
    ) -> None:
        ledger = Ledger.create(url, WHOLE)
        for cohort in (FIRST, SECOND):
            ledger.add_cohort(cohort)
        people = [f"user {i}" for i in range(1200)]
        ledger.spend("a", PermuteAndFlip(0.1), {}, lambda: b"x", cohort=FIRST, members=people)
        ledger.spend("b", PermuteAndFlip(0.1), {}, lambda: b"x", cohort=FIRST, members=people)
        with pytest.raises(StateError, match="counted in another cohort"):
            ledger.spend(
                "c", PermuteAndFlip(0.1), {}, never, cohort=SECOND, members=["new", "user 1100"]
            )
        assert ledger.account(SECOND).spent == 0
        assert ledger.stored("c") is None
        ledger.spend("c", PermuteAndFlip(0.1), {}, lambda: b"x", cohort=SECOND, members=["new"])
        with connect(url).begin() as connection:
            kept = connection.execute(text("SELECT digest FROM tacit_members")).all()
        assert len(kept) == 1201
        assert not any("user" in row.digest for row in kept)

    def test_whoever_joins_between_a_crash_and_a_retry_is_written_down_too(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        for cohort in (FIRST, SECOND):
            ledger.add_cohort(cohort)

        def crash() -> bytes:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger.spend("a", PermuteAndFlip(0.5), {}, crash, cohort=FIRST, members=["one"])
        ledger.spend("a", PermuteAndFlip(0.5), {}, lambda: b"x", cohort=FIRST, members=["other"])
        with pytest.raises(StateError, match="counted in another cohort"):
            ledger.spend("b", PermuteAndFlip(0.5), {}, never, cohort=SECOND, members=["other"])

    @pytest.mark.parametrize("budget", [WHOLE, Budget(epsilon=1.0, delta=1e-6), Budget(rho=0.125)])
    def test_a_ledger_of_an_earlier_version_is_one_cohort_on_its_own_terms(
        self, url: str, budget: Budget
    ) -> None:
        cap = int((budget.epsilon if budget.pure else budget.zcdp) * UNITS)  # type: ignore[operator]
        terms = {"e": budget.epsilon, "d": budget.delta, "r": budget.rho}
        measure = "pure" if budget.pure else "zcdp"
        with connect(url).begin() as connection:
            connection.execute(
                text(
                    "CREATE TABLE tacit_account (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
                    "measure TEXT NOT NULL, "
                    "cap BIGINT NOT NULL, spent BIGINT NOT NULL, epsilon FLOAT, delta FLOAT NOT "
                    "NULL, rho FLOAT, "
                    "created FLOAT NOT NULL, CHECK (spent >= 0 AND spent <= cap))"
                )
            )
            row = {"cap": cap, "spent": cap // 2, "measure": measure} | terms
            values = "(1, 'old', :measure, :cap, :spent, :e, :d, :r, 0.0)"
            insert = f"INSERT INTO tacit_account VALUES {values}"
            connection.execute(text(insert), row)
        metadata.tables["tacit_charges"].create(connect(url))
        for _ in range(2):
            ledger = Ledger.open(url)
            account = ledger.account()
            assert ledger.budget == budget
            assert (account.measure, account.cap, account.spent) == (measure, cap, cap // 2)
        # What an earlier version would spend from is empty.
        with connect(url).begin() as connection:
            old = connection.execute(text("SELECT cap - spent FROM tacit_account")).scalar_one()
        assert old == 0
        ledger.spend("a", PermuteAndFlip(0.01), {}, lambda: b"x")
        assert ledger.account().spent > cap // 2

    # -- several processes ------------------------------------------------------------------------

    def test_of_processes_that_race_to_open_overlapping_cohorts_one_wins(self, urls: Urls) -> None:
        made = ledgers(urls, 3)
        heats = race(open_cohort, [[[url, f"racer {i}", 10 * i] for i in range(4)] for url in made])
        for url, answers in zip(made, heats, strict=True):
            assert sorted(answers) == [False, False, False, True]
            assert len(Ledger.open(url).accounts()) == 1

    def test_of_processes_that_race_for_the_last_of_the_budget_exactly_one_wins(
        self, urls: Urls
    ) -> None:
        made = ledgers(urls, 5)
        heats = race(spend, [[[url, f"racer-{i}", 1.0] for i in range(4)] for url in made])
        for url, answers in zip(made, heats, strict=True):
            assert answers.count("refused") == 3
            assert Ledger.open(url).spent == 1.0

    def test_of_processes_that_race_under_one_id_all_get_one_answer_and_one_pays(
        self, urls: Urls
    ) -> None:
        made = ledgers(urls, 5)
        for url, answers in zip(
            made, race(spend, [[[url, "same", 0.25]] * 4 for url in made]), strict=True
        ):
            assert len(set(answers)) == 1
            assert Ledger.open(url).stored("same") == bytes.fromhex(answers[0])
            assert Ledger.open(url).spent == 0.25

    def test_of_processes_that_race_to_make_a_ledger_one_makes_it_and_the_others_are_told_so(
        self, urls: Urls
    ) -> None:
        made = [urls() for _ in range(3)]
        heats = race(create_ledger, [[[url, i + 1] for i in range(4)] for url in made])
        for url, answers in zip(made, heats, strict=True):
            winner = [epsilon for epsilon in answers if epsilon]
            assert len(winner) == 1
            assert Ledger.open(url).remaining == winner[0]

    def test_reading_never_fails_while_others_write(self, url: str) -> None:
        Ledger.create(url, WHOLE)
        heat = [[url, f"writer-{i}", 0.001, 40] for i in range(2)]
        (answers,) = race(read_balance, [[*heat, [url, "", 0.0, 80], [url, "", 0.0, 80]]])
        assert all(answers)

    # -- what is private stays private ------------------------------------------------------------

    def test_an_error_of_the_database_does_not_show_what_was_being_written(self, url: str) -> None:
        ledger = Ledger.create(url, WHOLE)
        with connect(url).begin() as connection:
            connection.execute(text("DROP TABLE tacit_charges"))
        with pytest.raises(DBAPIError) as caught:
            ledger.spend("a", PermuteAndFlip(0.1), {}, never, binding=str(SECRET))
        assert str(SECRET) not in f"{caught.value} {caught.value!r}"


class StudyLaws(StorageLaws):
    def test_a_study_from_ask_to_decision(self, url: str) -> None:
        study = make_study(url)
        for _ in range(12):
            study.tell(study.ask(HERE).id, reward=0.8)
        policy = study.release()
        assert policy.private
        assert 0 <= policy.decide(HERE)["dose"] <= 100
        assert 0 <= study.ledger.remaining < 3 / UNITS

    def test_a_reopened_study_goes_on_and_is_released_once(self, url: str) -> None:
        study = make_study(url)
        waiting = study.ask(HERE)
        reopened = Study.open(url)
        assert reopened.design.fingerprint == study.design.fingerprint
        assert reopened.asked == 1
        reopened.tell(waiting.id, 0.3)
        with pytest.raises(StateError, match="told before"):
            study.tell(waiting.id, 0.3)
        first = study.release()
        again = Study.open(url).release()
        assert np.array_equal(first.posterior.weights, again.posterior.weights)
        assert len(study.ledger.charges()) == 2  # two passes
        with pytest.raises(StateError, match="closed"):
            reopened.ask(HERE)

    def test_rounds_come_back_to_the_last_bit(self, url: str) -> None:
        study = make_study(url)
        contexts = np.array([[18 + 77 / 3, 40.1], [95.0, np.nextafter(140, 0)], [-0.0, 5e-324]])
        rewards = [1 / 3, 0.1 + 0.2, 5e-324]
        ids = [decision.id for decision in study.ask_many(contexts)]
        study.tell_many(ids, rewards)
        ((points, y, _),) = Study.open(url)._store.rounds(3)
        problem = study.problem
        assert np.array_equal(
            points[:, 1:], problem.contexts.encode(problem.contexts.read(contexts).columns)
        )
        assert np.array_equal(y, problem.scale_reward(np.array(rewards)))

    def test_telling_many_is_all_or_nothing(self, url: str) -> None:
        study = make_study(url)
        known = study.ask(HERE).id
        with pytest.raises(StateError, match="no round"):
            study.tell_many([known, "nobody"], [0.5, 0.5])
        study.tell(known, 0.5)

    def test_asking_many_is_all_or_nothing(self, url: str) -> None:
        study = make_study(url, horizon=3)
        with pytest.raises(StateError, match="horizon is 3 rounds and 0 were asked"):
            study.ask_many({"age": [60.0] * 4, "weight": [70.0] * 4})
        assert study.asked == 0

    @pytest.mark.parametrize(
        "user", ["Zoë", "a\x00b", "\ud800", "x" * 10_000, 7, 7.5, None, float("nan"), b"\xff"]
    )
    def test_users_of_any_name_are_no_error(self, url: str, user: Any) -> None:
        study = make_study(url, unit="user")
        ids = [study.ask_many([[61, 74]], users=[user])[0].id for _ in range(2)]
        study.tell_many(ids, [1.0, 1.0])
        statistic = Study.open(url)._statistic(2, lambda *_: None)
        assert len(statistic._sum._index) == 1  # type: ignore[attr-defined]

    # -- several processes ------------------------------------------------------------------------

    def test_processes_that_ask_at_once_share_the_horizon_and_lose_no_round(self, url: str) -> None:
        horizon = 60
        study = make_study(url, horizon=horizon)
        (answers,) = race(ask_until_full, [[[url]] * 4])
        ids = [name for answer in answers for name in answer]
        assert len(ids) == len(set(ids)) == horizon
        assert study.asked == horizon
        with connect(url).begin() as connection:
            rows = connection.execute(
                text("SELECT number, id, told FROM tacit_rounds ORDER BY number")
            ).all()
        assert [row.number for row in rows] == list(range(1, horizon + 1))
        assert {row.id for row in rows} == set(ids)
        assert all(row.told for row in rows)

    def test_a_release_amid_questions_counts_every_round_that_was_asked(self, urls: Urls) -> None:
        made = [urls() for _ in range(3)]
        for url in made:
            make_study(url, horizon=1000).ask(HERE)
        heats = race(ask_until_closed, [[[url, 0], [url, 0], [url, 12]] for url in made])
        for url, answers in zip(made, heats, strict=True):
            assert Study.open(url).asked == 1 + sum(answers)
            with connect(url).begin() as connection:
                assert connection.execute(
                    text("SELECT closed FROM tacit_study")
                ).scalar_one() == 1 + sum(answers)

    def test_of_processes_that_race_to_make_a_study_one_makes_it_whole(self, urls: Urls) -> None:
        url = urls()
        (answers,) = race(try_to_create_study, [[[url, seed] for seed in range(3)]])
        winner = [fingerprint for fingerprint in answers if fingerprint]
        assert len(winner) == 1
        assert Study.open(url).design.fingerprint == winner[0]

    def test_a_study_that_was_open_before_a_fork_serves_parent_and_children(self, url: str) -> None:
        study = make_study(url)
        ((answers,),) = race(ask_in_forks, [[[url]]])
        assert [len(ids) for ids in answers] == [11, 10, 10, 10]
        assert len({name for ids in answers for name in ids}) == study.asked == 41

    def test_processes_that_release_at_once_return_one_policy(self, url: str) -> None:
        study = make_study(url)
        study.tell(study.ask(HERE).id, 0.5)
        (answers,) = race(release_study, [[[url]] * 3])
        assert len(set(map(json.dumps, answers))) == 1
        assert len(study.ledger.charges()) == 2  # two passes

    # -- what is private stays private ------------------------------------------------------------

    def test_an_error_of_the_database_shows_no_context_and_no_reward(self, url: str) -> None:
        study = make_study(url, unit="user")
        decision = study.ask(HERE, user="first")
        scaled = str(study.problem.scale_reward(np.array([0.31337]))[0])
        with connect(url).begin() as connection:
            connection.execute(text("ALTER TABLE tacit_rounds RENAME TO elsewhere"))
        for call in (
            lambda: study.ask(HERE, user=SECRET),
            lambda: study.tell(decision.id, 0.31337),
        ):
            with pytest.raises(DBAPIError) as caught:
                call()
            shown = f"{caught.value} {caught.value!r}"
            assert str(SECRET) not in shown
            assert scaled not in shown
