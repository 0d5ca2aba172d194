"""A short run of `tacit_lab.benchmarks.service_kills`: the service is killed under load."""

from __future__ import annotations

from tacit_lab.benchmarks.service_kills import measure


def test_nothing_acknowledged_is_lost_when_the_service_is_killed() -> None:
    found = measure("sqlite", 2)
    assert found.wrong == []
    assert found.decisions > 5
    assert found.rewards > 5


def test_a_service_that_acknowledges_too_early_is_found_out() -> None:
    found = measure("sqlite", 4, forget=True)
    assert any("reward" in each for each in found.wrong)
