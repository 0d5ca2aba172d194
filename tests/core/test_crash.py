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

from databases import Urls, kill_writers, race

pytest_plugins = ["databases"]


def crash(
    what: str, kills: int, *, url: str | None = None, kind: str = "sound", each: int = 20
) -> dict[str, Any]:
    """What was seen, on a new database after `each` kills."""
    ((result,),) = race(kill_writers, [[[url, what, kills, kind, each]]])
    return dict(result)


def assert_sound(result: dict[str, Any], kills: int) -> None:
    assert result["kills"] == kills
    assert result["answers"] >= kills  # a writer is only killed once it has been answered
    assert (result["conflicts"], result["lost"], result["overspends"]) == (0, 0, 0)


@pytest.mark.parametrize(("what", "kills"), [("ledger", 20), ("study", 12), ("epochs", 6)])
def test_no_kill_fools_a_ledger_or_a_study_in_a_file(what: str, kills: int) -> None:
    assert_sound(crash(what, kills), kills)


@pytest.mark.parametrize(("what", "kills"), [("ledger", 15), ("study", 8), ("epochs", 4)])
def test_no_kill_fools_a_ledger_or_a_study_on_a_server(
    what: str, kills: int, postgres_urls: Urls
) -> None:
    assert_sound(crash(what, kills, url=postgres_urls()), kills)


@pytest.mark.parametrize(
    ("broken", "shows"),
    [("own-draw", ["conflicts"]), ("bill-later", ["lost", "conflicts"])],
)
def test_a_ledger_that_can_be_fooled_is_found_out(broken: str, shows: list[str]) -> None:
    result = crash("ledger", 200, kind=broken, each=5)
    assert sum(result[name] for name in shows) > 0


def test_a_study_in_epochs_that_forgets_who_was_there_is_found_out() -> None:
    """Forty people and more than twelve rounds of each epoch: three kills or so let somebody come
    back."""
    result = crash("epochs", 40, kind="forgetful", each=8)
    assert result["conflicts"] > 0


def test_the_command_fails_where_a_ledger_is_fooled() -> None:
    options = ["--json", "--kills", "200", "--what", "ledger", "--ledger", "two-payments"]
    command = [sys.executable, "-m", "tacit_lab.benchmarks.crash", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["holds"] is False
    assert result["overspends"] > 0
