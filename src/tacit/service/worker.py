"""A process that does long work, so that decisions do not wait for it:

    python -m tacit.service.worker < JOB

The job is JSON on standard input, not an argument: a URL may hold a password.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import msgspec

from tacit.core import Budget, Ledger
from tacit.core.database import connect
from tacit.core.ledger import measured_in
from tacit.errors import BudgetError, StateError, TacitError
from tacit.problem import Problem
from tacit.service.problems import UnavailableError, as_tacit, problem_of
from tacit.service.work import DONE, FAILED, Work, Works
from tacit.study import EpochStudy, Study

BEAT_SECONDS = 1.0
AGAIN_SECONDS = 0.3  # after which a database that was away is tried again,
PATIENCE_SECONDS = 600.0  # for so long
NICER = 10  # decisions come first
T = TypeVar("T")


class Beating:
    """Lets the beat of a piece of work grow until it is stopped."""

    def __init__(self, works: Works, work: Work, beat: int) -> None:
        self._works = works
        self._work = work
        self._beat = beat
        self._text = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def progress(self, what: str, done: int, total: int) -> None:
        """Public: rounds and designs, never rewards."""
        self._text = f"{what}: {done:,} of {total:,}" if total else what

    def _run(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            try:
                if not self._works.beat(self._work.id, self._beat, self._text):
                    os._exit(0)  # somebody else has taken it up
            except Exception:  # the database is away: the next beat tries again
                continue
            self._beat += 1

    def stop(self) -> None:
        self._over.set()
        self._thread.join(timeout=10)


def perform_work(url: str, id: str, beat: int) -> None:
    """Does one piece of work, unless another process does."""
    works = Works(connect(url, create=False))
    work = works.get(id)
    if not works.claim(id, beat):
        return
    beating = Beating(works, work, beat + 1)
    state, result = patiently(lambda: outcome(url, work, beating.progress))
    beating.stop()
    patiently(lambda: works.finish(id, state, result))


def patiently(attempt: Callable[[], T]) -> T:
    """The same once the database answers again. What was done of it is not done twice."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except Exception as error:
            away = isinstance(as_tacit(error), UnavailableError)
            if not away or time.monotonic() > until:
                raise  # and another process takes it up
        time.sleep(AGAIN_SECONDS)


def outcome(url: str, work: Work, progress: Any) -> tuple[str, dict[str, Any]]:
    """How work ended, and what came of it. SPENDS."""
    try:
        given = work.parameters
        if work.kind == "extend":  # which adds rounds once, however often it is begun
            given = given | {"request": work.id}
        return DONE, done(Study.open(url), work.kind, given, progress)
    except Exception as error:
        if isinstance(as_tacit(error), UnavailableError):
            raise
        result = msgspec.to_builtins(problem_of(error))
        if isinstance(error, BudgetError):
            result["charges"] = charged(url)
        return FAILED, result


def charged(url: str) -> list[str]:
    """What the budget of a study was spent on, in words."""
    ledger = Ledger.open(url)
    unit = measured_in(ledger.budget)
    return [f"{each.request}: {unit}={each.cost:.4g}" for each in ledger.charges()]


def done(study: Study, kind: str, parameters: dict[str, Any], progress: Any) -> dict[str, Any]:
    """What came of it, as plain data. SPENDS."""
    if kind == "advance":
        return asdict(study.advance(progress=progress, **parameters))
    if kind == "release":
        policy = study.release(progress=progress)
        return {"released": True, "guarantee": str(policy.guarantee)}
    if kind == "validate" and isinstance(study, EpochStudy):
        return {"epoch": study.validate(progress=progress, **parameters)}
    if kind == "extend" and isinstance(study, EpochStudy):
        study.extend(progress=progress, **parameters)
        return {"epochs": len(study.sizes), "horizon": study.horizon}
    raise StateError(f"this study has no work of the kind {kind!r}.")


def planned(request: dict[str, Any]) -> dict[str, Any]:
    """A plan, or the problem with it. Free."""
    from tacit.planning import plan

    try:
        budget = Budget(request["epsilon"], request["delta"])
        problem = Problem.from_spec(request["problem"])
        made = plan(problem, horizon=request["rounds"], budget=budget)
        return {"forecast": made.forecast.to_json(), "explanation": made.explain()}
    except TacitError as error:
        return {"problem": msgspec.to_builtins(problem_of(error))}


def main() -> None:
    os.nice(NICER)
    job = json.load(sys.stdin)
    if "plan" in job:
        sys.stdout.write(json.dumps(planned(job["plan"])))
    else:
        perform_work(job["url"], job["id"], job["beat"])


if __name__ == "__main__":
    main()
