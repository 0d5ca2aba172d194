"""An epoch that is closed early ends with its last round, whoever asks meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import BUDGET, create_study, small_problem, sqlite
from tacit.study import EpochStudy
from tacit.study.epoch_store import EpochStore

pytestmark = pytest.mark.usefixtures("coarse_fits")

HERE = [61.0, 74.0]


@pytest.fixture
def study(tmp_path: Path) -> EpochStudy:
    options = {"rank": 8, "tau": 10.0, "public_points": 500, "rng": 0}
    made = create_study(
        sqlite(tmp_path),
        small_problem(),
        horizon=40,
        budget=BUDGET,
        unit="user",
        epochs=[20, 20],
        **options,
    )
    assert isinstance(made, EpochStudy)
    return made


def test_a_round_asked_while_an_epoch_is_closed_early_counts_in_it(
    study: EpochStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a user of the epoch would count in the next one, too."""
    study.ask_many([HERE] * 12, users=range(12))
    close = EpochStore.close
    late: list[Any] = []

    def overtaken(store: EpochStore, number: int, asked: int) -> bool:
        if not late:
            late.append(study.ask(HERE, user=0))
        return close(store, number, asked)

    monkeypatch.setattr(EpochStore, "close", overtaken)
    assert study.advance(early=True).advanced
    assert late[0].epoch == 1
    assert [epoch.size for epoch in study.history] == [13, 20]


def test_rounds_that_an_early_end_leaves_out_are_gone(study: EpochStudy) -> None:
    study.ask_many([HERE] * 12, users=range(12))
    study.advance(early=True)
    assert study.horizon == 32
    assert study.ask(HERE, user=0).epoch is None
    assert study.ask(HERE, user=20).epoch == 2
