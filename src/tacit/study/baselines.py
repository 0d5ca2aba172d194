"""Baselines of studies in epochs, as they are kept in a database."""

from __future__ import annotations

import json
from typing import Any

from tacit.errors import InputError
from tacit.play import Fixed, PlayLaw, as_baseline
from tacit.play.base import NotWritable
from tacit.play.laws import load_law
from tacit.problem import Problem


def baseline_facts(baseline: PlayLaw | None) -> dict[str, Any] | None:
    """A baseline as plain data. A function of somebody's own, or a policy, is named only."""
    if baseline is None:
        return None
    try:
        spec = baseline.spec()
        load_law(json.loads(json.dumps(spec)))
    except (NotWritable, InputError, TypeError):
        return {"name": baseline.description}
    return {"name": baseline.description, "spec": spec}


def named_baseline(baseline: PlayLaw | None) -> str | None:
    """A baseline in words: "dose=30" for an action."""
    if isinstance(baseline, Fixed) and isinstance(baseline.action, dict):
        return ", ".join(f"{name}={_plain(v)}" for name, v in baseline.action.items())
    return None if baseline is None else baseline.description


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def restored_baseline(kept: dict[str, Any] | None, given: Any, problem: Problem) -> PlayLaw | None:
    """The baseline that was kept, or the one that is given where only its name was."""
    if kept is None:
        return None
    if "spec" in kept:
        return load_law(kept["spec"]).on(problem.actions)
    if given is None:
        raise InputError(
            f"this study has a baseline ({kept['name']}) that no database holds: open it in Python "
            "with Study.open(url, baseline=...)."
        )
    return as_baseline(given).on(problem.actions)
