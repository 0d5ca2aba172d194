"""The process of the studio: jobs come as lines of JSON and go as lines of JSON.

    python -m tacit.dashboard.drawing

A job may hold a database's URL with its password, so it never comes as an argument.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tacit.dashboard.making import make_study
from tacit.dashboard.plans import planned
from tacit.dashboard.portraits import portrait_for
from tacit.errors import TacitError
from tacit.progress import Progress

NICER = 10  # decisions come first
EVERY = 0.2  # seconds between two words of progress
KINDS: dict[str, Callable[[dict[str, Any], Progress], dict[str, Any]]] = {
    "portrait": portrait_for,
    "plan": planned,
    "create": make_study,
}


class Teller:
    """Says how far a job is, now and then."""

    def __init__(self, id: str) -> None:
        self._id = id
        self._said = 0.0
        self._what = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Public: designs and landmarks, never rewards."""
        now = time.monotonic()
        if what == self._what and now - self._said < EVERY:
            return
        self._said = now
        self._what = what
        say({"id": self._id, "progress": f"{what}: {done:,} of {total:,}" if total else what})


def say(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def do(job: dict[str, Any]) -> None:
    """Does one job and says what came of it."""
    try:
        say({"id": job["id"], "result": KINDS[job["kind"]](job, Teller(job["id"]))})
    except TacitError as error:
        say({"id": job["id"], "problem": str(error)})
    except Exception as error:  # told by its kind alone
        say({"id": job["id"], "problem": f"this could not be computed ({type(error).__name__})."})


def main() -> None:
    os.nice(NICER)
    for line in sys.stdin:
        do(json.loads(line))


if __name__ == "__main__":
    main()
