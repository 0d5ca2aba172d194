"""The benchmark of plans of studies in epochs: its functions, its figures and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit_lab.benchmarks import planned_epochs
from tacit_lab.benchmarks.planned_epochs import (
    ARENA,
    FURTHER,
    HEADER,
    SETTINGS,
    SIGNAL,
    Figures,
    Result,
    Setting,
    cells,
    function_of,
    measure,
    read,
)

SMALL = Setting("rbf", 1, 1, 400, 3.0, 2, 4, rank=12)


@pytest.mark.parametrize("setting", [SETTINGS[0], FURTHER[-1], ARENA[0]])
def test_all_pairs_are_the_same_function(setting: Setting) -> None:
    rng = np.random.default_rng(0)
    menu = rng.random((3, setting.actions))
    contexts = rng.random((5, setting.contexts))
    function = function_of(setting, 0)
    row_by_row = function.at(np.tile(menu, (5, 1)), np.repeat(contexts, 3, axis=0))
    assert function.surface(menu, contexts) == pytest.approx(row_by_row.reshape(5, 3))
    assert function_of(setting, 1).surface(menu, contexts) == pytest.approx(
        -row_by_row.reshape(5, 3)
    )


def test_functions_of_the_prior_have_its_deviation() -> None:
    w = np.array([[0.4]])
    found = [function_of(SETTINGS[0], 2 * i).at(w, w)[0] for i in range(300)]
    # the standard error of a standard deviation of 300 values is 4 %
    assert np.std(found) == pytest.approx(SIGNAL, rel=0.2)


def test_a_setting_is_measured_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.planning.epochs.WORLDS", 8)
    result = measure(SMALL)
    assert 0.0 < result.measured.regret < 1.2
    assert len(cells(result)) == len(HEADER)
    store = tmp_path / "store"
    monkeypatch.setattr(planned_epochs, "measure", lambda setting: replace(result, setting=setting))
    assert planned_epochs.found_in([SMALL], {}, store) == [result]
    assert read(store) == {SMALL: result}


def test_a_plan_that_is_far_off_does_not_hold() -> None:
    figures = Figures(0.01, 0.2, 0.3)
    sure = Figures(0.0005, 0.01, 0.01)
    assert Result(SMALL, figures, figures, sure).holds
    assert not Result(SMALL, figures, replace(figures, error=0.02), sure).holds
    assert not Result(SMALL, figures, replace(figures, reward=0.1), sure).holds
