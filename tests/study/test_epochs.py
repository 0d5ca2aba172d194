"""Studies in epochs: each person counts in one of them, and nothing that is public says more than
the releases do.

Deterministic unless a docstring states an error rate. At the end each rule is broken on purpose,
and the test that guards it must fail.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sqlalchemy import select

import tacit
from databases import (
    Urls,
    advance_study,
    ask_for_users,
    ask_while_advancing,
    make_epoch_study,
    race,
)
from helpers import BUDGET, sqlite
from mutation import Mutant, applied, failure_under
from tacit import (
    Budget,
    Cohort,
    DesignOptions,
    InputError,
    Ledger,
    Problem,
    StateError,
    Study,
)
from tacit._typing import Floats
from tacit.core.database import perform
from tacit.design import Design
from tacit.epochs import MODES, EpochPlay, Mixture, Shares, epoch_sizes
from tacit.epochs.sizes import LEAST_ROUNDS, MOST_EPOCHS
from tacit.errors import TooLateError
from tacit.play import Uniform
from tacit.study.epoch_store import EpochRow, EpochStore, NewEpoch
from tacit.study.epoch_study import EpochStudy
from tacit.study.store import Round, rounds_table
from witness import GAUSSIAN, watched

pytest_plugins = ["databases"]

pytestmark = pytest.mark.usefixtures("coarse_fits")
SIZES = [20, 30, 40]
DAY = 86_400.0
OPTIONS = DesignOptions(rank=20, tau=10.0, public_points=1000, seed=0)


class Now:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def begin(path: Path, name: str = "study.db", sizes: list[int] = SIZES, **given: Any) -> EpochStudy:
    study = make_epoch_study(sqlite(path, name), sizes, **given)
    assert isinstance(study, EpochStudy)
    return study


def reopened(path: Path, name: str = "study.db") -> EpochStudy:
    study = Study.open(sqlite(path, name))
    assert isinstance(study, EpochStudy)
    return study


def play(study: Study, n: int, users: Any = None, told: bool = True, seed: int = 0) -> list[Any]:
    """So many rounds, in which the best action is the context."""
    contexts = np.random.default_rng(seed).random((n, 1))
    decisions = study.ask_many(contexts, users=users)
    if told:
        rewards = [
            1.0 - abs(float(c[0]) - decision.action["x"])
            for c, decision in zip(contexts, decisions, strict=True)
        ]
        study.tell_many(decisions, rewards)
    return decisions


def people(n: int, start: int = 0) -> list[str]:
    return [f"person {i}" for i in range(start, start + n)]


def rows_of(study: EpochStudy) -> list[Any]:
    query = select(rounds_table).order_by(rounds_table.c.number)
    return list(perform(study._epochs.engine, lambda c: c.execute(query).all()))


def stored(study: EpochStudy) -> dict[str, bytes | None]:
    """What the ledger holds for each request."""
    ledger = study.ledger
    return {charge.request: ledger.stored(charge.request) for charge in ledger.charges()}


def answered(study: EpochStudy) -> dict[str, bytes]:
    return {request: found for request, found in stored(study).items() if found is not None}


def epochs_of_rounds(study: EpochStudy) -> dict[int, int]:
    """The epoch of each number, by the ranges of the epochs that were opened."""
    found: dict[int, int] = {}
    for epoch in study._epochs.epochs():
        for number in range(epoch.first + 1, epoch.end + 1):
            assert number not in found, "a number belongs to two epochs"
            found[number] = epoch.number
    return found


def epochs_of_users(study: EpochStudy) -> dict[str, set[int]]:
    """The epochs in which each user's rounds count."""
    ranges = epochs_of_rounds(study)
    found: dict[str, set[int]] = defaultdict(set)
    for row in rows_of(study):
        found[row.user].add(ranges.get(row.number, 0))
    return found


@pytest.fixture(autouse=True)
def _thompson_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """After few rounds a study would explore once more: these tests are about what it goes on to
    play."""
    monkeypatch.setattr("tacit.epochs.spread.UNKNOWN", 10.0)


@pytest.fixture(params=["sqlite_urls", "postgres_urls"])
def urls(request: pytest.FixtureRequest) -> Urls:
    made: Urls = request.getfixturevalue(request.param)
    return made


# -- numbers --------------------------------------------------------------------------------------


@given(st.integers(1, 10**6), st.integers(1, MOST_EPOCHS))
def test_epochs_hold_all_rounds_and_none_is_too_small(horizon: int, epochs: int) -> None:
    try:
        sizes = epoch_sizes(horizon, epochs)
    except InputError:
        assert epochs == 1 or horizon < 4 * LEAST_ROUNDS * epochs
        return
    assert len(sizes) == epochs
    assert sum(sizes) == horizon
    assert epochs == 1 or min(sizes) >= LEAST_ROUNDS


@given(st.lists(st.integers(-5, 200), min_size=1, max_size=8))
def test_sizes_are_taken_as_they_are_or_refused(sizes: list[int]) -> None:
    if min(sizes) < LEAST_ROUNDS:
        with pytest.raises(InputError, match="at least 10 rounds"):
            epoch_sizes(sum(sizes), sizes)
    else:
        assert epoch_sizes(sum(sizes), sizes) == sizes
        with pytest.raises(InputError, match="make them the same"):
            epoch_sizes(sum(sizes) + 1, sizes)


def blank(number: int, first: int, size: int) -> NewEpoch:
    return NewEpoch(number, first, size, 0, ({}, {}), ({}, {}))


def opened(url: str, sizes: list[int]) -> EpochStore:
    """The tables alone, without laws and designs."""
    store = EpochStore(tacit.core.database.connect(url))
    store.create({}, {"sizes": sizes}, BUDGET, blank(1, 0, sizes[0]))
    return store


steps = st.one_of(
    st.tuples(st.just("ask"), st.lists(st.integers(0, 6), min_size=1, max_size=9)),
    st.tuples(st.sampled_from(["close", "early", "release"]), st.none()),
)


@settings(max_examples=20)
@given(st.lists(steps, min_size=4, max_size=25), st.booleans())
def test_every_number_and_every_user_belongs_to_exactly_one_epoch(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], named: bool
) -> None:
    """Whatever order rounds are asked and epochs are closed and released in: what a round was told
    about its epoch stays true."""
    store = opened(sqlite(tmp_path_factory.mktemp("numbers")), [10, 11, 12])
    told: list[tuple[str, int | None]] = []
    for step, users in steps:
        last = store.epochs()[-1]
        if step == "ask":
            rounds = [
                Round(np.zeros(1), np.zeros(1), "explore", 1.0, True, str(u) if named else None)
                for u in users
            ]
            with suppress(StateError):
                told += store.ask(last.number, rounds) or []
        elif step in ("close", "early"):
            asked = store.asked()
            if asked >= last.end or (step == "early" and asked > last.first):
                store.close(last.number, asked)
        elif last.closed is not None:
            following = None
            if last.number < 3:
                following = blank(last.number + 1, last.end, [10, 11, 12][last.number])
            store.release(last.number, ({}, b""), following)
    epochs = store.epochs()
    assert epochs[0].first == 0
    assert [epoch.first for epoch in epochs[1:]] == [epoch.end for epoch in epochs[:-1]]
    query = select(rounds_table).order_by(rounds_table.c.number)
    rows = perform(store.engine, lambda c: c.execute(query).all())
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    after = epochs[-1].number + 1  # of rounds that came while the last one waits
    ranges = {n: e.number for e in epochs for n in range(e.first + 1, e.end + 1)}
    counted = {row.id: ranges.get(row.number, after) for row in rows}
    assert counted == {id: epoch for id, epoch in told if epoch is not None}
    by_user: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        by_user[row.user].add(counted[row.id])
    assert not named or all(len(found) == 1 for found in by_user.values())


# -- one epoch for each record --------------------------------------------------------------------


def sum_of_rounds(study: EpochStudy, epoch: EpochRow, design: Design) -> list[int]:
    """The exact sum of the rounds of an epoch, by their numbers in the table of rounds."""
    rows = [row for row in rows_of(study) if epoch.first < row.number <= epoch.end]
    points = np.array([np.frombuffer(row.action + row.context, dtype="<f8") for row in rows])
    rewards = np.array([np.nan if row.reward is None else row.reward for row in rows])
    users = [row.user for row in rows] if design.unit == "user" else None
    cohort = Cohort(f"epoch {epoch.number}", epoch.first, epoch.end)
    statistic = replace(design, cohort=None).statistic(cohort=cohort)
    statistic.add_points(points, rewards, users, first=epoch.first)
    return [int(value) for value in statistic._sum._value()]


def test_every_release_is_of_the_rounds_of_its_own_epoch_alone(tmp_path: Path) -> None:
    """The sums that OpenDP is given, in integers: two passes over the first epoch, then one pass
    over each of the others. A few rounds of the next epoch are asked before each release."""
    study = begin(tmp_path)
    draws: list[list[int]] = []
    for size in SIZES:
        play(study, size - (3 if len(draws) else 0), seed=size)
        if len(draws) < 3:
            play(study, 3, seed=7)  # of the next epoch
        with watched(GAUSSIAN) as seen:
            study.advance()
        draws += [draw.argument for draw in seen]
    assert len(draws) == 4, "as many draws as passes"
    epochs = study._epochs.epochs()
    expected = []
    for epoch in epochs:
        design = study._releases.design(epoch)
        expected.append(sum_of_rounds(study, epoch, design))
        kept = study._epochs.design_of_pass(epoch.number, 2)
        if kept is not None:
            second = Design.restore(design.problem, *kept)
            expected.append(sum_of_rounds(study, epoch, second))
    assert draws == expected, "a release is not of the rounds of its epoch"


def test_a_round_of_one_epoch_is_refused_by_the_statistic_of_another(tmp_path: Path) -> None:
    study = begin(tmp_path)
    play(study, 20)
    study.advance()
    play(study, 30, seed=1)
    design = study.design
    second = Cohort("epoch 2", 20, 50)
    assert design.cohort == second
    points = np.full((5, 2), 0.5)
    statistic = design.statistic(cohort=second)
    for first in (0, 15, 19, 46, 50):
        with pytest.raises(InputError, match="not all of cohort 'epoch 2'"):
            statistic.add_points(points, np.zeros(5), first=first)
    assert statistic.records == 0
    statistic.add_points(points, np.zeros(5), first=20)
    with pytest.raises(StateError, match="counted already"):
        statistic.add_points(points, np.zeros(5), first=24)
    for cohort in (None, Cohort("epoch 1", 0, 20)):  # nor is its design lent to other people
        with pytest.raises(InputError, match="cohort"):
            design.statistic(cohort=cohort)
    for cohort in (Cohort("more", 19, 60), Cohort("epoch 1", 50, 90), Cohort("all", 0, 90)):
        with pytest.raises(StateError, match="overlaps"):
            study.ledger.add_cohort(cohort)
    with pytest.raises(StateError, match="no cohort 'epoch 2'"):
        statistic.release(ledger=study.ledger)  # not closed, so its account is not open
    with pytest.raises(StateError, match="divided into cohorts"):
        replace(design, cohort=None).statistic().add([[0.5]], [[0.5]], [0.5]).release(
            ledger=study.ledger
        )


# -- returning users ------------------------------------------------------------------------------


def test_a_returning_user_is_decided_and_counted_once(tmp_path: Path) -> None:
    study = begin(tmp_path, unit="user")
    play(study, 20, people(20))
    rest = play(study, 4, ["anna", "person 3", "PERSON 3 ", "anna"])  # while the first one waits
    assert [decision.epoch for decision in rest] == [2, None, None, 2]
    study.advance()
    again = reopened(tmp_path)
    back = again.ask_many([[0.5]] * 4, users=["person 0", "anna", "new", b"person 19"])
    assert [decision.epoch for decision in back] == [None, 2, 2, None]
    assert all(0.0 <= decision.action["x"] <= 1.0 for decision in back)
    assert again.asked == 24
    play(again, 26, people(26, start=100))
    again.advance()
    play(again, 40, people(40, start=200))
    more = again.ask_many([[0.5]] * 3, users=["person 7", "anna", "person 100"])  # all is full
    assert [decision.epoch for decision in more] == [None, None, None]
    with pytest.raises(StateError, match="were asked"):
        again.ask({"c": 0.5}, user="somebody new")
    assert again.advance().finished, "a user of two epochs makes a release impossible"
    assert all(len(found) == 1 for found in epochs_of_users(again).values())
    assert again.ledger.spent <= BUDGET.gaussian


def test_rounds_of_returning_users_leave_nothing_behind(tmp_path: Path) -> None:
    study = begin(tmp_path, unit="user")
    play(study, 20, people(20))
    study.advance()
    (back,) = play(study, 1, ["person 0"], told=False)
    before = rows_of(study)
    study.tell(back, 0.7)
    study.tell(back, 0.1)  # nor is it remembered that one came
    assert rows_of(study) == before
    assert back.id not in {row.id for row in before}


def test_a_user_who_is_asked_for_around_a_boundary_counts_in_one_epoch(urls: Urls) -> None:
    """Four processes ask for the same people while the first epoch becomes full, two of them
    through spellings of their own."""
    url = urls()
    study = make_epoch_study(url, [12, 30], unit="user")
    assert isinstance(study, EpochStudy)
    play(study, 8, people(8))
    names = ["anna", "bert", "carl", "person 1", "anna", "dora", "bert", "emil", "anna"]
    spelled = [name.upper() + " " for name in reversed(names)]
    heats = race(
        ask_for_users, [[[url, names], [url, spelled], [url, names[::-1]], [url, spelled[::-1]]]]
    )
    told = [answer for racer in heats[0] for answer in racer]
    found = epochs_of_users(study)
    rows = {row.id: row for row in rows_of(study)}
    for user, id, epoch in told:
        assert (epoch is None) == (id not in rows)
        assert epoch in {None, *_counted_in(study, user)}
    assert {len(epochs) for epochs in found.values()} == {1}
    missing = 12 - study.asked
    if missing > 0:
        play(study, missing, people(missing, start=500))
    assert study.advance().advanced
    play(study, 42 - study.asked, people(42 - study.asked, start=900))
    assert study.advance().finished


def _counted_in(study: EpochStudy, user: str) -> set[int]:
    """The one epoch of a user; those that come while the first one waits are of the second."""
    numbers = [row.number for row in rows_of(study) if row.user == user.strip().lower()]
    return {1 if number <= 12 else 2 for number in numbers}


def test_one_who_comes_while_an_epoch_is_closed_early_stays_in_one_epoch(tmp_path: Path) -> None:
    """Between the look at how many rounds there are and the closing another process asks for the
    same user: that round was told that it counts in the first epoch, and it does."""
    study = begin(tmp_path, unit="user")
    play(study, 12, people(12))
    other = reopened(tmp_path)
    close = EpochStore.close
    asked: list[Any] = []

    def late(self: EpochStore, *arguments: Any, **options: Any) -> Any:
        if not asked:
            asked.extend(play(other, 1, ["person 3"]))
        return close(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochStore, "close", late)
        assert study.advance(early=True).advanced
    assert [decision.epoch for decision in asked] == [1]
    assert epochs_of_users(study)["person 3"] == {1}
    play(study, 30, people(30, start=100))
    assert study.advance().advanced


# -- releases -------------------------------------------------------------------------------------


def test_every_epoch_spends_the_whole_budget_once(tmp_path: Path) -> None:
    study = begin(tmp_path)
    for number, size in enumerate(SIZES, start=1):
        play(study, size, seed=number)
        assert study.advance().advanced
        policy = study.policy
        assert policy.private
        assert policy.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
        assert policy.guarantee.epsilon <= 1.0 + 1e-12
        assert "each person counts in one epoch" in str(policy.guarantee)
    accounts = study.ledger.accounts()
    assert [account.cohort for account in accounts] == [
        Cohort("epoch 1", 0, 20),
        Cohort("epoch 2", 20, 50),
        Cohort("epoch 3", 50, 90),
    ]
    for account in accounts:
        assert 0 <= account.remaining <= 4
    assert study.ledger.spent == max(account.spent for account in accounts) / 2**40
    assert study.ledger.spent <= BUDGET.gaussian
    assert list(stored(study)) == ["epoch 1/pass 1", "epoch 1", "epoch 2", "epoch 3"]


def test_a_second_release_of_an_epoch_charges_nothing_and_is_the_same(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20, 30])
    play(study, 20)
    study.advance()
    first = study.policy
    before = stored(study)
    epoch = study._epochs.epochs()[0]
    with watched(GAUSSIAN) as draws:
        again = study._releases.released(epoch, tacit.progress.silent)
        other = reopened(tmp_path)._releases.released(epoch, tacit.progress.silent)
    assert draws == []
    for policy in (again, other, reopened(tmp_path).policy):
        assert np.array_equal(policy.posterior.weights, first.posterior.weights)
        assert policy.guarantee == first.guarantee
    assert stored(study) == before
    play(study, 5, told=False)
    assert not study.advance().advanced
    assert stored(study) == before


def test_with_other_rewards_a_second_release_still_answers_with_the_first(tmp_path: Path) -> None:
    """Even if somebody changes the rounds of a closed epoch in the database."""
    study = begin(tmp_path)
    play(study, 20)
    study.advance()
    first = study.policy.posterior.weights
    with study._epochs.engine.begin() as connection:
        connection.execute(rounds_table.update().values(reward=-1.0))
    epoch = study._epochs.epochs()[0]
    again = study._releases.released(epoch, tacit.progress.silent)
    assert np.array_equal(again.posterior.weights, first)


def test_processes_that_advance_at_once_make_one_release(urls: Urls) -> None:
    url = urls()
    study = make_epoch_study(url, [20, 30])
    assert isinstance(study, EpochStudy)
    play(study, 20)
    answers = race(advance_study, [[[url]] * 3])[0]
    assert [list(answer[:2]) for answer in answers] == [[True, 2]] * 3
    assert all(answer[2] == answers[0][2] for answer in answers)
    assert list(stored(study)) == ["epoch 1/pass 1", "epoch 1"]
    assert len(answered(study)) == 2
    assert [epoch.number for epoch in study._epochs.epochs()] == [1, 2]
    assert study.ledger.accounts()[0].remaining <= 4


def test_rounds_asked_while_others_close_early_keep_their_epoch(urls: Urls) -> None:
    url = urls()
    study = make_epoch_study(url, [60, 60])
    assert isinstance(study, EpochStudy)
    play(study, 10)
    heats = race(ask_while_advancing, [[[url, 40], [url, 0], [url, 40]]])
    told = dict(answer for racer in heats[0] for answer in racer)
    ranges = epochs_of_rounds(study)
    found = {row.id: ranges[row.number] for row in rows_of(study) if row.id in told}
    assert found == told
    assert sorted(stored(study)) == ["epoch 1", "epoch 1/pass 1"]


def test_who_comes_late_to_an_epoch_does_not_release_the_next(tmp_path: Path) -> None:
    """While a process is about to close an epoch another closes and releases it, and opens the
    next. That one is not closed, and must not be released."""
    study = begin(tmp_path)
    play(study, 20)
    other = reopened(tmp_path)
    close = EpochStore.close
    rest: list[Any] = []

    def late(self: EpochStore, *arguments: Any, **options: Any) -> Any:
        if not rest:
            rest.append(True)
            assert other.advance().advanced
            play(other, 5, seed=3)
        return close(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochStore, "close", late)
        study.advance()
    assert sorted(stored(study)) == ["epoch 1", "epoch 1/pass 1"], "an open epoch was released"
    assert [epoch.released is None for epoch in study._epochs.epochs()] == [False, True]
    play(study, 25, seed=4)
    assert study.advance().advanced


class Killed(BaseException):
    """In place of a signal that ends the process."""


def kill(*_: Any, **__: Any) -> Any:
    raise Killed


PLACES = [
    "tacit.study.epoch_release.Ledger.add_cohort",
    "tacit.study.epoch_release.release_passes",
    "tacit.core.ledger.Ledger._charge",
    "tacit.core.release.discrete_gaussian",
    "tacit.core.ledger.Ledger._store",
    "tacit.study.epoch_release.refine",
    "tacit.study.epoch_store.EpochStore.keep_design_of_pass",
    "tacit.study.epoch_release.epoch_facts",
    "tacit.study.epoch_release.learn_from",
    "tacit.study.epoch_release.next_epoch",
    "tacit.study.epoch_store.EpochStore.release",
]


def test_an_advance_that_is_killed_anywhere_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at every step, one after the other, by a new process each time: what was answered
    stays answered, and every pass is charged once."""
    begin(tmp_path, sizes=[20, 30])
    for epoch, size in enumerate([20, 30], start=1):
        play(reopened(tmp_path), size, seed=epoch)
        known: dict[str, bytes] = answered(reopened(tmp_path))
        for place in PLACES:
            study = reopened(tmp_path)
            with monkeypatch.context() as patch:
                patch.setattr(place, kill)
                with suppress(Killed):
                    study.advance()
            now = answered(reopened(tmp_path))
            assert {request: now[request] for request in known} == known
            known = now
            if study._epochs.epochs()[epoch - 1].released is not None:
                break
        study = reopened(tmp_path)
        if not study.finished and study._epochs.epochs()[epoch - 1].released is None:
            study.advance()
        after = answered(study)
        assert {request: after[request] for request in known} == known
    assert list(stored(study)) == ["epoch 1/pass 1", "epoch 1", "epoch 2"]
    assert [account.remaining <= 4 for account in study.ledger.accounts()] == [True, True]
    assert [epoch.released is not None for epoch in study._epochs.epochs()] == [True, True]
    assert study.finished


# -- rewards, when and whether --------------------------------------------------------------------


def test_a_reward_that_comes_too_late_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20, 30])
    early = play(study, 20, told=False)
    study.tell(early[0], 0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.study.epoch_release.release_passes", kill)
        with suppress(Killed):
            study.advance()  # closed, and not released yet
    rows = rows_of(study)
    for decision in (early[0], early[5]):  # whether one came is not told either
        with pytest.raises(TooLateError, match="came too late and changes nothing"):
            study.tell(decision, 0.9)
    late = play(study, 1, told=False)  # of the next epoch
    with pytest.raises(TooLateError):
        study.tell_many([late[0], early[3]], [0.1, 0.9])  # all or none
    assert rows_of(study)[:20] == rows
    assert rows_of(study)[20].reward is None
    study.advance()
    weights = study.policy.posterior.weights
    with pytest.raises(TooLateError):
        study.tell(early[5], 0.9)
    assert rows_of(study)[:20] == rows
    assert np.array_equal(reopened(tmp_path).policy.posterior.weights, weights)
    study.tell(late[0], 0.1)
    with pytest.raises(StateError, match="told before"):
        study.tell(late[0], 0.1)
    with pytest.raises(StateError, match="no round"):
        study.tell("another", 0.1)


def public(study: EpochStudy) -> list[Any]:
    """All that anybody may see of a study before it is released."""
    return [study.state, str(study.state), study.history, repr(study), study.asked, study.ledger]


def told_nothing(path: Path, name: str, told: Callable[[int], float | None]) -> list[str]:
    """A study of which all coins and clocks are fixed, with these rewards; all that it said."""
    study = begin(path, name, wait=timedelta(days=1))
    now = Now()
    study._epochs.clock = now
    study._rng = np.random.default_rng(3)
    with study._epochs.engine.begin() as connection:
        connection.execute(tacit.study.epoch_store.epochs_table.update().values(opened=0.0))
    said: list[Any] = []
    for size in (7, 13):
        decisions = study.ask_many(np.full((size, 1), 0.5))
        said += [(decision.action, decision.propensity, decision.epoch) for decision in decisions]
        for i, decision in enumerate(decisions):
            reward = told(i)
            if reward is not None:
                study.tell(decision, reward)
        said += [*public(study), study.advance(), str(study.advance())]
    now.seconds += DAY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.study.epoch_release.release_passes", kill)
        with suppress(Killed):
            study.advance()
    said += public(study)
    for id in (decisions[0], "nobody"):
        with pytest.raises(StateError) as refused:
            study.tell(id, 0.5)
        said.append(str(refused.value).replace(decisions[0].id, "an id"))
    return [repr(each) for each in said]


def test_nothing_public_depends_on_which_rewards_came(tmp_path: Path) -> None:
    """All of them, none, one in three, or values that are none: the same states, histories, texts
    and errors."""
    whole = told_nothing(tmp_path, "all.db", lambda i: 0.5)
    none = told_nothing(tmp_path, "none.db", lambda i: None)
    some = told_nothing(tmp_path, "some.db", lambda i: 1e300 if i % 3 == 0 else None)
    odd = told_nothing(tmp_path, "odd.db", lambda i: float("nan"))
    assert whole == none == some == odd


def test_an_epoch_is_not_closed_before_its_rewards_were_waited_for(tmp_path: Path) -> None:
    now = Now()
    study = begin(tmp_path, sizes=[20, 30], wait=timedelta(days=7))
    study._epochs.clock = now
    play(study, 19, told=False)
    assert "19 of 20 rounds" in study.advance().missing
    assert "7 days" in study.advance(early=True).missing
    now.seconds += 3 * DAY
    last = play(study, 1, told=False)
    now.seconds += 6.9 * DAY
    # The next epoch's: they have their own seven days, and do not delay this one's.
    more = play(study, 5, told=False)
    assert [decision.epoch for decision in more] == [2] * 5
    for early in (False, True):
        done = study.advance(early=early)
        assert (done.advanced, done.epoch) == (False, 1)
        assert "hours more" in done.missing
    assert study._epochs.epochs()[0].closed is None
    study.tell(last[0], 0.5)
    now.seconds += 0.1 * DAY
    assert study.advance().advanced
    with pytest.raises(TooLateError):
        study.tell(last[0], 0.7)
    study.tell(more[0], 0.5)


def test_rounds_of_a_waiting_epoch_are_of_the_next_and_are_played_by_the_old_law(
    tmp_path: Path,
) -> None:
    """And the next design is made for the mixture of both laws."""
    study = begin(tmp_path)
    play(study, 20)
    more = play(study, 12, seed=1)
    assert {decision.mode for decision in more} == {"explore"}
    assert {(decision.epoch, decision.propensity) for decision in more} == {(2, 1.0)}
    study.advance()
    epoch = study._epochs.epochs()[1]
    assert (epoch.first, epoch.size, epoch.early) == (20, 30, 12)
    law = study.design.problem.play
    assert isinstance(law, Mixture)
    assert law.probabilities == (12 / 30, 18 / 30)
    assert (
        law.spec()
        == Mixture((study._releases.law(1), study._releases.law(2)), (12 / 30, 18 / 30)).spec()
    )
    later = play(study, 18, seed=2)
    assert "learn" in {decision.mode for decision in later}
    assert [row.epoch for row in rows_of(study)] == [1] * 32 + [2] * 18
    # Beyond the epoch after it nothing can be asked, whoever comes.
    play(study, 40, told=False)
    with pytest.raises(StateError, match="call advance"):
        play(study, 1)
    study.advance()
    assert study.design.problem.play.spec()["probabilities"] == [1.0, 0.0]  # type: ignore[union-attr]


def test_a_law_that_is_not_played_any_more_is_drawn_again(tmp_path: Path) -> None:
    """Between the draw and the transaction another process opens the next epoch."""
    study = begin(tmp_path)
    play(study, 20)
    other = reopened(tmp_path)
    draw = EpochPlay.draw_modes
    drawn: list[EpochPlay] = []

    def late(self: EpochPlay, C: Floats, rng: Any) -> Any:
        if not drawn:
            drawn.append(self)
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(EpochPlay, "draw_modes", draw)
                other.advance()
        drawn.append(self)
        return draw(self, C, rng)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochPlay, "draw_modes", late)
        decision = study.ask({"c": 0.5})
    assert decision.epoch == 2
    assert drawn[-1].learned is not None
    assert rows_of(study)[-1].epoch == 2


# -- early, longer, exported ----------------------------------------------------------------------


def test_an_epoch_can_be_closed_early(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20, 30])
    assert study.advance(early=True).missing == "no round was asked yet"
    play(study, 13)
    assert study.advance(early=True).epoch == 2
    assert study.ledger.accounts()[0].cohort == Cohort("epoch 1", 0, 13)
    assert [(epoch.first, epoch.size) for epoch in study._epochs.epochs()] == [(0, 13), (13, 30)]
    assert study.history[0].asked == study.history[0].size == 13
    play(study, 30, seed=1)
    assert study.advance().finished
    assert study.ledger.accounts()[1].cohort == Cohort("epoch 2", 13, 43)


def test_a_study_can_be_extended_by_further_epochs(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20])
    play(study, 20)
    study.advance()
    with pytest.raises(StateError, match="extend"):
        study.advance()
    with pytest.raises(StateError, match="extend"):
        play(study, 1)
    before = stored(study)
    study.extend(rounds=40, epochs=[15, 25])
    assert stored(study) == before
    again = reopened(tmp_path)
    assert again.sizes == [20, 15, 25]
    for size in (15, 25):
        decisions = play(again, size, seed=size)
        assert {decision.epoch for decision in decisions} == {2 if size == 15 else 3}
        again.advance()
    assert again.finished
    assert list(stored(again))[2:] == ["epoch 2", "epoch 3"]
    assert again.ledger.spent <= BUDGET.gaussian


def test_the_same_request_extends_a_study_once(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20])
    for request in ("one", "one", "two", None, None):
        study.extend(rounds=15, request=request)
    assert reopened(tmp_path).sizes == [20] + 4 * [15]


def test_an_extension_that_is_killed_is_taken_up_by_advance(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20])
    play(study, 20)
    study.advance()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.study.epoch_release.next_epoch", kill)
        with suppress(Killed):
            study.extend(rounds=30)
    study = reopened(tmp_path)
    decisions = play(study, 4)
    assert {decision.epoch for decision in decisions} == {2}
    assert study.advance().epoch == 2
    assert list(stored(study)) == ["epoch 1/pass 1", "epoch 1"]
    play(study, 26)
    assert study.advance().finished


def test_an_export_is_for_its_owner_alone(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[20, 30], unit="user")
    with pytest.raises(StateError, match="nothing to export"):
        study.export(tmp_path / "rounds.parquet")
    play(study, 20, people(20))
    study.advance()
    play(study, 29, people(29, start=100))
    play(study, 1, ["person 3"])  # counts nowhere
    study.ask({"c": None}, user="nobody knows")
    study.advance()
    before = os.umask(0)
    try:
        path = study.export(tmp_path / "rounds.parquet")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    table = pq.read_table(path)
    assert table.column_names == ["c", "x", "reward", "propensity", "mode", "epoch", "user"]
    assert table["epoch"].to_pylist() == [1] * 20 + [2] * 30
    assert Counter(table["user"].to_pylist())["person 3"] == 1
    assert table["c"].to_pylist()[-1] is None
    assert table["reward"].to_pylist()[-1] is None
    for row in table.to_pylist():
        assert (row["propensity"] == np.inf) == (row["mode"] != "explore")
    with pytest.raises(InputError, match="exists already"):
        study.export(path)


# -- play laws ------------------------------------------------------------------------------------


def labelled(path: Path, **given: Any) -> EpochStudy:
    """A study with four treatments, whose second epoch is open."""
    problem = Problem(
        actions=tacit.Categories(["A", "B", "C", "D"], "arm"),
        contexts=tacit.Box([0.0], [1.0], ["c"]),
    )
    study = Study.create(
        sqlite(path),
        problem,
        horizon=3000,
        budget=Budget(20.0, 1e-6),
        epochs=[1500, 1500],
        options=OPTIONS,
        **given,
    )
    assert isinstance(study, EpochStudy)
    contexts = np.random.default_rng(0).random((1500, 1))
    decisions = study.ask_many(contexts)
    right = ["ABCD"[min(int(4 * c), 3)] for c in contexts[:, 0]]
    rewards = [
        float(decision.action["arm"] == best)
        for decision, best in zip(decisions, right, strict=True)
    ]
    study.tell_many(decisions, rewards)
    study.advance()
    return study


@pytest.fixture(scope="module")
def treatments(tmp_path_factory: pytest.TempPathFactory) -> EpochStudy:
    path = tmp_path_factory.mktemp("treatments")
    return labelled(path, explore=0.1, exploit=0.2, control=0.15, baseline={"arm": "D"})


def test_propensities_are_how_often_actions_are_played(treatments: EpochStudy) -> None:
    """Chi-square at three contexts, 20 000 draws each from a fixed seed. A law that is right is
    called wrong with probability 1e-7 at each, and one whose shares are 0.03 off passes with
    probability below 1e-6: its chi-square is 90 or more on average."""
    law = treatments._releases.law(2)
    menu = treatments.problem.actions.candidate_points(256)
    rng = np.random.default_rng(11)
    wrong = replace(law, shares=Shares(explore=0.22, exploit=0.11, control=0.15))
    seen_wrong = 0
    for c in ([0.13], [0.49], [0.8]):
        context = np.array(c)
        p = np.array([law.propensity(context, x).value for x in menu])
        assert not any(law.propensity(context, x).density for x in menu)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert p.min() >= 0.1 / 4 - 1e-12
        actions, modes = law.draw_modes(np.tile(context, (20_000, 1)), rng)
        counts = np.array([np.sum(np.all(np.abs(actions - x) < 1e-9, axis=1)) for x in menu])
        assert counts.sum() == 20_000
        assert stats.chisquare(counts, 20_000 * p).pvalue > 1e-7
        shares = np.bincount(modes, minlength=len(MODES))
        assert stats.chisquare(shares, 20_000 * law.shares.probabilities).pvalue > 1e-7
        q = np.array([wrong.propensity(context, x).value for x in menu])
        seen_wrong += bool(stats.chisquare(counts, 20_000 * q / q.sum()).pvalue < 1e-7)
        logged = law.propensities(np.tile(context, (len(menu), 1)), menu, np.zeros(len(menu), int))
        assert [each.value for each in logged] == pytest.approx(p.tolist())
    assert seen_wrong == 3, "a wrong law was not told from the right one"


def test_what_is_logged_is_the_propensity_of_what_was_played(treatments: EpochStudy) -> None:
    contexts = np.random.default_rng(5).random((60, 1))
    decisions = treatments.ask_many(contexts)
    law = reopened_law(treatments)
    for c, decision in zip(contexts, decisions, strict=True):
        point = treatments.problem.actions.encode({"arm": np.array([decision.action["arm"]])})
        assert decision.propensity == pytest.approx(law.propensity(c, point[0]).value)
        assert not decision.density
        assert decision.mode != "control" or decision.action["arm"] == "D"


def reopened_law(study: EpochStudy) -> EpochPlay:
    """The law as another process reads it."""
    return EpochPlay.restore(study.problem, *study._epochs.law(2), study._baseline)


def test_on_continuous_actions_atoms_and_density_are_told_apart(tmp_path: Path) -> None:
    study = begin(tmp_path, sizes=[40, 400], explore=0.2, exploit=0.1, budget=Budget(5.0, 1e-6))
    play(study, 40)
    study.advance()
    law = study._releases.law(2)
    rng = np.random.default_rng(0)
    contexts = rng.random((300, 1))
    actions, modes = law.draw_modes(contexts, rng)
    found = law.propensities(contexts, actions, modes)
    for i, each in enumerate(found):
        assert each.density == (MODES[modes[i]] == "explore")
        assert each.value == 0.2 if each.density else each.value >= 0.7 / 64 - 1e-12
    # In one context the atoms are all that is not explored. A member of the committee is not met
    # in 700 draws with probability below 64 exp(-0.7 * 700 / 64) = 0.03; the seed is fixed.
    here = np.tile([[0.3]], (700, 1))
    actions, modes = law.draw_modes(here, rng)
    atoms = np.unique(np.round(actions[modes != 0], 5), axis=0)
    masses = [law.propensity(here[0], x) for x in actions[modes != 0]]
    by_atom = {
        round(float(x[0]), 5): mass.value
        for x, mass in zip(actions[modes != 0], masses, strict=True)
    }
    assert len(by_atom) == len(atoms)
    assert sum(by_atom.values()) == pytest.approx(0.8, abs=1e-9)


def test_a_visitor_who_cannot_be_read_is_decided_in_silence_as_by_a_policy(tmp_path: Path) -> None:
    """As for the middle of the range, whatever plays: the posterior, or a rule."""
    rule = lambda contexts, rng: {"x": contexts["c"]}  # noqa: E731
    study = begin(tmp_path, explore=0.0, exploit=0.6, control=0.4, baseline=rule)
    play(study, 20)
    study.advance()
    odd = [{"c": None}, {"c": "text"}, {"c": float("nan")}, {}] * 5
    decisions = study.ask_many(odd)
    middle = study.policy.decide({"c": [0.5]})["x"][0]
    for decision in decisions:
        expected = 0.5 if decision.mode == "control" else middle
        assert decision.action["x"] == pytest.approx(expected)
        assert not decision.density
        assert decision.propensity in (0.4, 0.6, 1.0)
    play(study, 10)
    assert study.advance().advanced


def test_a_baseline_with_coins_of_its_own_is_refused(tmp_path: Path) -> None:
    """Its actions would be as good as fixed, and their propensities wrong."""
    for baseline in (Uniform(), [Uniform()], tacit.Box([0.0], [1.0], ["x"])):
        with pytest.raises(InputError, match="baseline"):
            begin(tmp_path, control=0.2, baseline=baseline)
    study = begin(tmp_path, control=0.5, baseline=lambda contexts, rng: {"x": contexts["c"]})
    decisions = study.ask_many([[0.25]] * 20)
    played = {decision.action["x"] for decision in decisions if decision.mode == "control"}
    assert played == {0.25}


def test_a_ledger_that_cannot_pay_for_an_epoch_is_refused_at_once(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    Ledger.create(url, Budget(0.3, 1e-6))
    with pytest.raises(tacit.BudgetError, match=r"asked epsilon"):
        make_epoch_study(url, SIZES)
    url = sqlite(tmp_path, "pure.db")
    Ledger.create(url, Budget(1.0))
    with pytest.raises(tacit.TacitError, match="Gaussian"):
        make_epoch_study(url, SIZES)
    url = sqlite(tmp_path, "more.db")
    Ledger.create(url, Budget(3.0, 1e-6))
    study = make_epoch_study(url, SIZES)
    play(study, 20)
    study.advance()
    assert study.policy.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)


# -- every rule, broken on purpose ----------------------------------------------------------------

STORE = "tacit.study.epoch_store"
# What the study itself would get wrong, and the trusted core refuses.
REFUSED = [
    (
        "tacit.study.epoch_release.EpochReleases.released",
        "epoch = __import__('dataclasses').replace(epoch, first=0, size=epoch.end)",
        "overlaps",
    ),
    (
        "tacit.study.epoch_release.joint_points",
        "rows = [*rows, rows[0]]",
        "do not fit",
    ),
    (
        "tacit.study.epoch_release.EpochReleases.released",
        "self.store.rounds = lambda first, last, read=self.store.rounds: read(0, last - first)",
        "not all of cohort 'epoch 2'",
    ),
]
MUTANTS = [
    Mutant(
        "a returning user counts again",
        f"{STORE}._counted_in",
        "return int(found)",
        "return epoch",
        test_a_returning_user_is_decided_and_counted_once,
    ),
    Mutant(
        "who comes while an epoch waits is not written down",
        f"{STORE}._counted_in",
        "if epoch is not None:",
        "if False:",
        test_a_returning_user_is_decided_and_counted_once,
    ),
    Mutant(
        "rewards of closed epochs are taken",
        f"{STORE}.EpochStore.tell",
        "current = untold & (rounds_table.c.number > closed)",
        "current = untold",
        test_a_reward_that_comes_too_late_is_refused_and_changes_nothing,
    ),
    Mutant(
        "an epoch reads the last round of the one before",
        f"{STORE}.EpochStore.rounds",
        "(rounds_table.c.number > start) & (rounds_table.c.number <= stop)",
        "rounds_table.c.number.between(max(start, 1), stop - (start > 0))",
        test_every_release_is_of_the_rounds_of_its_own_epoch_alone,
    ),
    Mutant(
        "rewards are not waited for",
        "tacit.study.epoch_study.EpochStudy.wait",
        'self._settings["wait"]',
        "0",
        test_an_epoch_is_not_closed_before_its_rewards_were_waited_for,
    ),
    Mutant(
        "rounds are written down under a law that is not played any more",
        f"{STORE}.EpochStore.place",
        "if epochs[-1].number != law:",
        "if False:",
        test_a_law_that_is_not_played_any_more_is_drawn_again,
    ),
    Mutant(
        "every release has a request of its own",
        "tacit.study.epoch_release.EpochReleases.released",
        "request_of(epoch.number)",
        "__import__('os').urandom(4).hex()",
        test_every_epoch_spends_the_whole_budget_once,
    ),
    Mutant(
        "the next design takes all rounds for played by the new law",
        "tacit.study.epoch_release._mixed",
        "if not early:",
        "if True:",
        test_rounds_of_a_waiting_epoch_are_of_the_next_and_are_played_by_the_old_law,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_rule_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    failure_under(mutant, tmp_path)


@pytest.mark.parametrize(("target", "mistake", "refusal"), REFUSED)
def test_the_core_refuses_a_study_that_counts_somebody_twice(
    tmp_path: Path, target: str, mistake: str, refusal: str
) -> None:
    """The second epoch reads rounds of the first, under their own numbers or as its own."""
    study = begin(tmp_path)
    play(study, 20)
    study.advance()
    play(study, 30, seed=1)
    before = stored(study)
    mutant = Mutant("", target, "", mistake, test_every_epoch_spends_the_whole_budget_once)
    with applied(mutant), pytest.raises(tacit.TacitError, match=refusal):
        study.advance()
    assert stored(study) == before


def test_the_ledger_refuses_a_release_with_a_returning_user(tmp_path: Path) -> None:
    """The digest in the study's own table is gone; the ledger has its own."""
    study = begin(tmp_path, unit="user")
    play(study, 20, people(20))
    study.advance()
    with study._epochs.engine.begin() as connection:
        connection.execute(tacit.study.epoch_store._users.delete())
    (back,) = play(study, 1, ["person 7"])
    assert back.epoch == 2
    play(study, 29, people(29, start=100))
    before = stored(study)
    with pytest.raises(StateError, match="counted in another cohort"):
        study.advance()
    assert stored(study) == before
