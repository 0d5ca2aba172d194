"""Which turns of a load count: those on free cores, whatever was measured in them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tacit_lab.loads.stolen import STEAL, free_turns, processor_times, stolen_share


def readings(shares: list[float]) -> list[list[int]]:
    """Two for each turn, of 100 ticks between them."""
    found = []
    for share in shares:
        stolen = round(100 * share)
        found += [[0] * (STEAL + 1), [100 - stolen, *[0] * (STEAL - 1), stolen]]
    return found


def test_turns_with_stolen_time_are_taken_again() -> None:
    times = iter(readings([0.3, 0.01, 0.0, 0.5, 0.02]))
    numbers = iter(range(9))
    turns = free_turns(lambda: next(numbers), 3, 0.02, 9, lambda: next(times))
    assert sorted(turns.measured) == [1, 2, 4]
    assert (turns.left_out, turns.stolen) == (2, 0.02)


def test_where_no_turn_is_free_the_least_stolen_count_and_it_is_said() -> None:
    times = iter(readings([0.3, 0.2, 0.5, 0.4]))
    numbers = iter(range(4))
    turns = free_turns(lambda: next(numbers), 2, 0.02, 4, lambda: next(times))
    assert turns.measured == [1, 0]
    assert (turns.left_out, turns.stolen) == (2, 0.3)


def test_what_was_measured_does_not_choose_the_turns() -> None:
    chosen = []
    for values in ([9.0, 1.0, 2.0], [0.1, 100.0, 50.0]):
        times = iter(readings([0.3, 0.01, 0.0]))
        turns = free_turns(partial(next, iter(values)), 2, 0.02, 3, partial(next, times))
        chosen.append([values.index(each) for each in turns.measured])
    assert chosen[0] == chosen[1] == [2, 1]


def test_times_of_the_processors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_text("cpu  10 1 2 80 3 0 1 3 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    assert processor_times(path) == [10, 1, 2, 80, 3, 0, 1, 3]
    assert processor_times(tmp_path / "absent") == [0] * (STEAL + 1)
    assert stolen_share([0] * 8, processor_times(path)) == pytest.approx(0.03)
