"""The studio: one job after the other, the last question of a slider, and a process that dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tacit.dashboard.studio import FAILED, MOST_WAITING, Studio
from tacit.service.problems import UnavailableError

NOTHING = {"kind": "plan"}  # without what a plan needs


@pytest.fixture
def studio() -> Iterator[Studio]:
    made = Studio()
    yield made
    made.stop()


def test_jobs_fail_by_themselves_and_after_a_death_others_are_done(studio: Studio) -> None:
    first = studio.job("first", NOTHING)
    again = studio.job("first", NOTHING)
    assert again is first
    assert first.over.wait(60)
    assert first.problem == "this could not be computed (KeyError)."  # told by its kind alone
    assert studio.job("first", NOTHING) is not first  # what failed is tried again
    process = studio._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    doing = studio.job("doing", NOTHING)
    waiting = studio.job("waiting", NOTHING)
    os.kill(process.pid, signal.SIGKILL)
    assert waiting.over.wait(60)
    assert waiting.problem == first.problem  # by another process
    assert doing.done
    assert studio._process is not process


def test_of_the_questions_of_a_slider_the_last_one_is_answered(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Studio, "_start", lambda _: None)
    monkeypatch.setattr(Studio, "_send", lambda *_: None)
    doing = studio.job("doing", NOTHING, "ann")
    old = studio.job("old", NOTHING, "ann")
    other = studio.job("other", NOTHING, "bob")
    new = studio.job("new", NOTHING, "ann")
    assert old.done
    assert [each.done for each in (doing, other, new)] == [False] * 3
    assert studio.find(new.id) is new
    assert studio.find(old.id) is None
    assert studio.job("old", NOTHING) is not old
    for i in range(MOST_WAITING - len(studio._waiting)):
        studio.job(f"many {i}", NOTHING)
    with pytest.raises(UnavailableError, match="try again"):
        studio.job("one more", NOTHING)
    studio._take({"id": doing.id, "result": {"x": 1}})
    assert doing.result == {"x": 1}
    assert FAILED not in (other.problem, new.problem)
