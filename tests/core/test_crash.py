"""Writers killed at random moments: nobody is answered twice, nothing that was answered is
forgotten.

A short run of benchmarks/crash.py. A broken ledger must be found out within 200 kills; it takes
about 20.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from databases import Urls

pytest_plugins = ["databases"]


def crash(*options: str, kills: int) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "tacit_lab.benchmarks.crash",
        "--json",
        "--kills",
        str(kills),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    assert done.returncode == (0 if all(result["holds"] for result in results) else 1)
    return results


def assert_sound(results: list[dict[str, Any]], kills: int) -> None:
    assert [result["what"] for result in results] == ["ledger", "study"]
    for result in results:
        assert result["kills"] == kills
        assert result["answers"] >= kills  # a writer is only killed once it has been answered
        assert (result["conflicts"], result["lost"], result["overspends"]) == (0, 0, 0)


def test_no_kill_fools_a_ledger_or_a_study_in_a_file() -> None:
    assert_sound(crash(kills=20), kills=20)


def test_no_kill_fools_a_ledger_or_a_study_on_a_server(postgres_urls: Urls) -> None:
    assert_sound(crash("--url", postgres_urls(), kills=15), kills=15)


@pytest.mark.parametrize(
    ("broken", "shows"),
    [
        ("own-draw", ["conflicts"]),
        ("bill-later", ["lost", "conflicts"]),
        ("two-payments", ["overspends"]),
    ],
)
def test_a_ledger_that_can_be_fooled_is_found_out(broken: str, shows: list[str]) -> None:
    (result,) = crash("--what", "ledger", "--ledger", broken, kills=200)
    assert sum(result[name] for name in shows) > 0
