"""A desk: many callers, one transaction, and the same answer to the same request."""

from __future__ import annotations

import gc
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text

from databases import Urls, make_epoch_study, make_study, race
from desks import HERE, ask_after_fork, ask_at_a_desk, desk_at
from mutation import Mutant, failure_under
from tacit.core.database import connect
from tacit.errors import (
    DuplicateRewardError,
    RequestConflictError,
    StateError,
    TacitError,
    TooLateError,
    UnknownRoundError,
)
from tacit.study import EpochStudy, Study
from tacit.study.desk import Activate, Answer, Ask, Tell

pytest_plugins = ["databases"]
pytestmark = pytest.mark.usefixtures("coarse_fits")


@pytest.fixture(params=["sqlite", "postgres"])
def urls(request: pytest.FixtureRequest) -> Urls:
    found: Urls = request.getfixturevalue(f"{request.param}_urls")
    return found


@pytest.fixture
def url(urls: Urls) -> str:
    url = urls()
    make_epoch_study(url, [20, 30])
    return url


def numbers(url: str) -> list[int]:
    with connect(url).begin() as connection:
        rows = connection.execute(text("SELECT number FROM tacit_rounds ORDER BY number"))
        return [row.number for row in rows]


def test_a_group_is_answered_in_order_and_rounds_are_numbered_without_gaps(url: str) -> None:
    desk = desk_at(url)
    found = desk.serve([Ask(HERE, id="a"), Ask(HERE), Tell("x", 1.0), Ask(HERE, id="b")])
    assert isinstance(found[2], UnknownRoundError)
    ids = [answer.id for answer in found if isinstance(answer, Answer)]
    assert (ids[0], ids[2]) == ("a", "b")
    assert numbers(url) == [1, 2, 3]


def test_an_answer_is_the_same_for_ever_and_everywhere(url: str) -> None:
    (first,) = desk_at(url).serve([Ask(HERE, id="a")])
    assert isinstance(first, Answer)
    again = [*desk_at(url).serve([Ask(HERE, id="a")] * 2), *desk_at(url).serve([Ask(HERE, id="a")])]
    for each in again:
        assert isinstance(each, Answer)
        assert each.replayed
        assert vars(each) | {"replayed": False} == vars(first)
    assert numbers(url) == [1]


def test_a_study_of_one_release_is_served_alike(urls: Urls) -> None:
    url = urls()
    make_study(url, horizon=3)
    desk = desk_at(url)
    here = {"age": 61, "weight": 74}
    found = desk.serve([Ask(here, id=f"{i}") for i in range(4)])
    assert isinstance(found[3], StateError)
    assert "all 3 rounds" in str(found[3])
    assert desk.serve([Tell("0", 0.5), Tell("0", 0.5)]) == [None, None]
    Study.open(url)._store.close()
    (late, same, full) = desk.serve([Tell("1", 0.5), Tell("0", 0.5), Ask(here)])
    assert isinstance(late, TooLateError)
    assert same is None
    assert "closed" in str(full)
    (kept,) = desk.serve([Ask(here, id="0")])
    assert isinstance(kept, Answer)


def test_rewards_are_kept_to_the_last_bit_and_odd_ones_are_none(url: str) -> None:
    desk = desk_at(url)
    desk.serve([Ask(HERE, id=f"{i}") for i in range(5)])
    told = [1 / 3, 7.0, float("nan"), "much", None]
    assert desk.serve([Tell(f"{i}", value) for i, value in enumerate(told)]) == [None] * 5
    study: Any = Study.open(url)
    ((_, rows),) = study._epochs.rounds(0, 5)
    scaled = study.problem.scale_reward(np.array([1 / 3, 7.0]))
    assert [row.reward for row in rows] == [*scaled, None, None, None]
    assert desk.serve([Tell("2", None), Tell("0", 1 / 3)]) == [None, None]
    (other,) = desk.serve([Tell("2", 0.5)])
    assert isinstance(other, DuplicateRewardError)


def test_rounds_of_a_group_go_into_the_epoch_that_has_room(url: str) -> None:
    desk = desk_at(url)
    found = desk.serve([Ask(HERE) for _ in range(60)])
    epochs = [each.epoch if isinstance(each, Answer) else None for each in found]
    assert epochs == [1] * 20 + [2] * 30 + [None] * 10
    assert all(isinstance(each, StateError) for each in found[50:])
    assert numbers(url) == list(range(1, 51))


def test_a_law_that_is_not_played_any_more_is_drawn_again(url: str) -> None:
    desk = desk_at(url)
    desk.serve([Ask(HERE, id=f"{i}") for i in range(20)])
    Study.open(url).advance()
    answer, late = desk.serve([Ask(HERE), Tell("3", 0.5)])
    assert isinstance(answer, Answer)
    assert answer.law == 2
    assert isinstance(late, TooLateError)


def test_users_count_in_one_epoch_whichever_group_brings_them(urls: Urls) -> None:
    url = urls()
    make_epoch_study(url, [20, 30], unit="user")
    desk = desk_at(url)
    desk.serve([Ask(HERE, f"u{i % 10}") for i in range(20)])
    Study.open(url).advance()
    found = desk.serve([Ask(HERE, user, id) for user, id in [("u1", "a"), ("v", "b"), ("v", "c")]])
    assert [getattr(each, "epoch", "?") for each in found] == [None, 2, 2]
    assert desk.serve([Tell("a", 0.5), Tell("a", 0.7), Activate("a")]) == [None] * 3
    (again,) = desk.serve([Ask(HERE, "u1", "a")])
    assert vars(again) | {"replayed": False} == vars(found[0])
    (wrong,) = desk.serve([Ask(HERE, "u2", "a")])
    assert isinstance(wrong, RequestConflictError)


# -- several processes ----------------------------------------------------------------------------


def test_processes_that_ask_under_the_same_ids_get_the_same_answers(url: str) -> None:
    (answers,) = race(ask_at_a_desk, [[[url, str(i), True] for i in range(3)]])
    assert answers[0] == answers[1] == answers[2]
    assert numbers(url) == list(range(1, 25))


def test_processes_share_the_horizon_exactly(url: str) -> None:
    (answers,) = race(ask_at_a_desk, [[[url, str(i), False] for i in range(3)]])
    found = [each for answer in answers for each in answer]
    assert len(found) == 50  # all that there are
    assert len({id for id, _, _ in found}) == 50
    assert sorted(epoch for _, _, epoch in found) == [1] * 20 + [2] * 30
    assert numbers(url) == list(range(1, 51))


# -- connections that are kept --------------------------------------------------------------------


def test_connections_are_kept(url: str) -> None:
    study = Study.open(url)
    engine = study._epochs.engine if isinstance(study, EpochStudy) else study._store.engine
    opened: list[Any] = []
    event.listen(engine, "connect", lambda *each: opened.append(each))
    for _ in range(5):
        study.ask(HERE)
    assert opened == []


def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    """What is written to the old one would be lost."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_epoch_study(url, [20, 30])
    study = Study.open(url)
    study.ask(HERE)
    with sqlite3.connect(tmp_path / "study.db") as old:
        with sqlite3.connect(tmp_path / "backup.db") as copy:
            old.backup(copy)
        copy.close()
    old.close()
    study.ask(HERE)
    study.ask(HERE)
    for name in ("study.db-wal", "study.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    os.replace(tmp_path / "backup.db", tmp_path / "study.db")
    study.ask(HERE)
    assert Study.open(url).asked == 2
    assert study.asked == 2


def test_connections_are_closed_with_what_used_them(url: str) -> None:
    for _ in range(3):
        study = Study.open(url)
        study.ask(HERE)
        del study
    gc.collect()
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        held = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        assert held.count(os.path.realpath(path)) == 0


def test_a_desk_that_was_open_before_a_fork_serves_parent_and_children(url: str) -> None:
    ((found,),) = race(ask_after_fork, [[[url]]])
    assert found == [20, 0, 0, 0]
    assert numbers(url) == list(range(1, 22))


def test_an_error_of_the_database_shows_no_value(url: str) -> None:
    desk = desk_at(url)
    with connect(url).begin() as connection:
        connection.execute(text("ALTER TABLE tacit_rounds RENAME TO elsewhere"))
    with pytest.raises(Exception, match=r"tacit_rounds|no such table") as caught:
        desk.serve([Ask({"c": 0.31337}, id="secret-id")])
    assert not isinstance(caught.value, TacitError)
    assert "31337" not in f"{caught.value!r} {caught.value}"
    assert "secret-id" not in f"{caught.value!r} {caught.value}"


# -- every rule, broken on purpose ----------------------------------------------------------------


def another_body(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_epoch_study(url, [20, 30])
    desk_at(url).serve([Ask(HERE, id="a")])
    (found,) = desk_at(url).serve([Ask({"c": 0.25}, id="a")])
    assert isinstance(found, RequestConflictError)


def told_otherwise(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_epoch_study(url, [20, 30])
    test_rewards_are_kept_to_the_last_bit_and_odd_ones_are_none(url)


def told_too_late(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_epoch_study(url, [20, 30])
    test_a_law_that_is_not_played_any_more_is_drawn_again(url)


def no_room(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_epoch_study(url, [20, 30])
    test_rounds_of_a_group_go_into_the_epoch_that_has_room(url)


GROUP = "tacit.study.group.Group"
MUTANTS = [
    Mutant(
        "another request gets the answer of the first",
        f"{GROUP}._kept",
        "if row.body != self.bodies[i]:",
        "if False:",
        another_body,
    ),
    Mutant(
        "another reward replaces the first",
        f"{GROUP}._tell",
        "before = told.get(call.id, row.reward if row.told else MISSING)",
        "before = MISSING",
        told_otherwise,
    ),
    Mutant(
        "rewards of closed epochs are taken",
        f"{GROUP}._tell",
        "elif row.number <= closed:",
        "elif False:",
        told_too_late,
    ),
    Mutant(
        "a law that is over is played",
        "tacit.study.epoch_store.EpochStore.place",
        "if epochs[-1].number != law:",
        "if False:",
        told_too_late,
    ),
    Mutant(
        "rounds beyond the horizon are taken",
        "tacit.study.epoch_store._epoch_of",
        "number <= last.end + sizes[following - 1]",
        "True",
        no_room,
    ),
    Mutant(
        "connections to a file that was replaced are used",
        "tacit.core.database._identity",
        "return found.st_dev, found.st_ino",
        "return 0, 0",
        test_a_file_that_was_replaced_is_opened_anew,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_rule_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    failure_under(mutant, tmp_path)
