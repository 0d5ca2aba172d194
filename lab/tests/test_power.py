"""The benchmark of validation epochs, with few of them: it is to run, and to see what is broken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer import Exit

from tacit_lab.benchmarks import power


def test_planned_and_measured_power_agree_on_every_setting() -> None:
    """300 simulated epochs each: the standard error is at most 0.03, so that a right plan is off by
    more than 0.15 with a probability below 1e-6."""
    rng = np.random.default_rng(0)
    for setting in power.SETTINGS[3:]:
        found = power.power_of(setting, 300, rng)
        assert abs(found.planned - found.measured) < 0.15, setting.name


def test_what_does_not_hold_is_seen() -> None:
    fine = power.Coverage("clicks", 1000, 1.0, 0.95, 0.95, 0.95, 0.1)
    planned = power.Power("clicks", 1.0, 0.05, 1000, 0.8, 0.78)
    assert power.broken([planned], [fine], 2000) == []
    assert power.broken([replace(planned, measured=0.6)], [fine], 2000)
    assert power.broken([planned], [replace(fine, gain=0.9)], 2000)
    assert power.broken([planned], [replace(fine, policy=0.999)], 2000)
    careful = replace(fine, law=power.USERS, gain=0.999)
    assert power.broken([planned], [careful], 2000) == []


def test_tables_are_printed_and_put_into_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(power, "PLACES", ("catalogue",))
    monkeypatch.setattr(power, "ROUNDS", (300,))
    monkeypatch.setattr(power, "POPULATION", 2000)
    monkeypatch.setattr(power, "SETTINGS", power.SETTINGS[3:4])
    page = tmp_path / "page.md"
    page.write_text("<!-- power -->\n<!-- end -->\n<!-- arm-coverage -->\n<!-- end -->\n")
    with pytest.raises(Exit) as done:
        power.main(studies=30, seed=1, as_json=False, page=page)
    assert done.value.exit_code in (0, 1)
    assert "| rare rewards, 2 % | 300 |" in page.read_text()
    assert "planned power" in page.read_text()
    capsys.readouterr()
    power.main(studies=10, seed=1, as_json=True, page=None)
    found = json.loads(capsys.readouterr().out)
    assert len(found["coverage"]) == 3 * 5
    assert len(found["power"]) == 1
