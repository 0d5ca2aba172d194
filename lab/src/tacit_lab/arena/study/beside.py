"""Real data in its own unit, and published figures beside ours."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from tacit_lab.arena.environments import DATA
from tacit_lab.arena.job import Row
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import Interval, Key, interval, plus_minus
from tacit_lab.arena.study.markdown import count, level, table


def real(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """Errors on real people, in the data's own unit."""
    lines: list[str] = []
    for name in sorted(set(DATA) & set(selection.cells.environments())):
        rounds = max(selection.cells.rounds(name))
        keys = [key for key in selection.cells.rows if key[1:3] == (name, rounds)]
        keys = [key for key in keys if key[3] == selection.level(key[0])]
        errors = {key[0]: _scaled(selection, key, "error_rate") for key in keys}
        best_first = sorted(errors, key=lambda learner: errors[learner].mean)
        rows = [[f"`{learner}`", plus_minus(errors[learner])] for learner in best_first]
        lines += [
            f"`{name}`, {rounds:,} people, decisions for people who never played, "
            "error in the data's own unit:"
        ]
        lines += table(["learner", "error"], rows)
    return ["## Real data", "", *lines] if lines else []


def published(selection: Selection, failures: Sequence[Row]) -> list[str]:
    """Every published figure whose setting is in the table."""
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
