"""Results as plain data, for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit_lab.arena.environments import ENVIRONMENTS
from tacit_lab.arena.environments.about import ABOUT
from tacit_lab.arena.job import Row
from tacit_lab.arena.names import known_learners
from tacit_lab.arena.promise import promise_of
from tacit_lab.arena.statistics import Cells

FAILED = ("learner", "environment", "rounds", "epsilon", "seed", "failure")


def results_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One entry per learner, environment, rounds and epsilon: the mean error rate over seeds and
    its 95 % interval."""
    cells = Cells(rows)
    found = []
    for key in sorted(cells.rows):
        learner, environment, rounds, epsilon = key
        error = cells.interval(key)
        found.append(
            {
                "learner": learner,
                "environment": environment,
                "rounds": rounds,
                "epsilon": finite(epsilon),
                "error_rate": error.mean,
                "ci": error.ends,
                "seeds": error.seeds,
            }
        )
    return found


def failures_json(failures: Sequence[Row]) -> list[dict[str, Any]]:
    return [{name: finite(row[name]) for name in FAILED} for row in failures]


def names_json() -> dict[str, Any]:
    """Every learner with what it protects and where it comes from; every environment."""
    learners = [
        {
            "learner": key,
            "name": kind.name,
            "source": kind.source,
            "protects": kind.protects,
            "trust": kind.trust,
            "promise": promise_of(kind).name.lower(),
            "refuted_by": kind.refuted_by,
            "counterpart": kind.counterpart,
        }
        for key, kind in known_learners().items()
    ]
    environments = [{"environment": name, "about": ABOUT.get(name, "")} for name in ENVIRONMENTS]
    return {"learners": learners, "environments": environments}


def finite(value: Any) -> Any:
    """JSON has no infinity: a learner without epsilon has null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
