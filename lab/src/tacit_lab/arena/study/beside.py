"""Real data in its own unit, and published figures beside ours."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from tacit_lab.arena.environments import DATA, TABLES
from tacit_lab.arena.promise import Promise
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import Interval, Key, interval, plus_minus
from tacit_lab.arena.study.content import Study
from tacit_lab.arena.study.markdown import count, level, table


def real(study: Study) -> list[str]:
    """Errors on real data, in the data's own unit, apart for each kind of promise."""
    selection = study.selection
    lines: list[str] = []
    for name in sorted((set(DATA) | set(TABLES)) & set(selection.cells.environments())):
        rounds = max(selection.cells.rounds(name))
        lines += [
            f"`{name}`, {rounds:,} rounds, decisions for people or rows that never played, "
            "error in the data's own unit:",
            "",
        ]
        for promise in Promise:
            lines += _by_error(selection, name, rounds, promise)
    return ["## Real data", "", *lines] if lines else []


def _by_error(selection: Selection, name: str, rounds: int, promise: Promise) -> list[str]:
    keys = [
        (learner, name, rounds, selection.level(learner))
        for learner in selection.promising(promise)
    ]
    errors = {
        key[0]: _scaled(selection, key, "error_rate") for key in keys if key in selection.cells.rows
    }
    best_first = sorted(errors, key=lambda learner: errors[learner].mean)
    rows = [[f"`{learner}`", plus_minus(errors[learner])] for learner in best_first]
    return table([promise.value, "error"], rows) if rows else []


def published(study: Study) -> list[str]:
    """Every published figure whose setting is in the table."""
    selection = study.selection
    spec = tomllib.loads(resources.files("tacit_lab.arena").joinpath("published.toml").read_text())
    lines: list[str] = []
    for figure in spec["figures"]:
        beside = [_beside(selection, figure, point) for point in figure["points"]]
        rows = [row for row in beside if row]
        if rows:
            lines += [
                f"{figure['source']}. {figure['setting']}. "
                f"Compared: {figure['what']}, with `{figure['learner']}`."
            ]
            lines += table(["eps", "theirs", "ours", "seeds"], rows)
    if not lines:
        return []
    missing = [f"- {entry['source']}: {entry['why']}" for entry in spec["missing"]]
    return ["## Published figures beside ours", "", *lines, "Not reproduced:", "", *missing, ""]


def _beside(selection: Selection, figure: dict[str, Any], point: dict[str, float]) -> list[str]:
    """One published point beside ours; nothing where its setting was not run."""
    key = (figure["learner"], figure["environment"], figure["rounds"], float(point["epsilon"]))
    if key not in selection.cells.rows:
        return []
    ours = _scaled(selection, key, figure["column"])
    return [level(key[3]), f"{point['value']:g}", plus_minus(ours), count(ours.seeds, "seed")]


def _scaled(selection: Selection, key: Key, column: str) -> Interval:
    return interval([row[column] * row["scale"] for row in selection.cells.rows[key].values()])
