"""A study of a million rounds in fifty epochs, written straight into a database: two small epochs
are released, and the second one is copied. For measuring pages, not for learning from."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.design import DesignOptions

GENES = {"G/G": 25.0, "A/G": 10.0, "A/A": 0.0}
REAL = 800  # rounds of each of the two epochs that are released
DAY = 86_400.0


def dosing_problem() -> tacit.Problem:
    return tacit.Problem(
        actions=tacit.Box.of(dose=(0, 100)),
        contexts=tacit.Mixed.of(age=(18, 95), weight=(40, 140), gene=list(GENES)),
    )


def play(study: Any, n: int, rng: np.random.Generator) -> None:
    """Patients whose best dose grows with their age and depends on a gene."""
    columns = study.problem.contexts.decode(study.problem.contexts.sample_points(n, rng))
    people = [{name: column[i] for name, column in columns.items()} for i in range(n)]
    decisions = study.ask_many(people)
    best = [20 + 0.5 * (one["age"] - 18) + GENES[one["gene"]] for one in people]
    rewards = [
        float(np.clip(1 - abs(each.action["dose"] - right) / 60 + 0.1 * rng.normal(), 0, 1))
        for each, right in zip(decisions, best, strict=True)
    ]
    study.tell_many(decisions, rewards)


def make_small_study(
    path: Path, sizes: list[int], asked: list[int], rank: int | None = None
) -> Any:
    """A real study: so many rounds of each epoch, and all but the last one released."""
    rng = np.random.default_rng(0)
    study: Any = tacit.Study.create(
        f"sqlite:///{path}",
        dosing_problem(),
        horizon=sum(sizes),
        budget=tacit.Budget(1.0, 1e-6),
        epochs=sizes,
        exploit=0.1,
        control=0.1,
        baseline={"dose": 50},
        options=DesignOptions(rank=rank),
    )
    for i, n in enumerate(asked):
        if n:
            play(study, n, rng)
        if i < len(asked) - 1:
            study.advance()
    return study


def make_large_study(path: Path, rounds: int, epochs: int, rank: int = 80) -> None:
    """`rounds` rounds in `epochs` released epochs; one more is open."""
    make_small_study(path, [REAL, REAL, REAL], [REAL, REAL, 0], rank)
    with closing(sqlite3.connect(path)) as database:
        _grow(database, rounds, epochs)
        database.commit()


def _grow(database: sqlite3.Connection, rounds: int, epochs: int) -> None:
    database.row_factory = sqlite3.Row
    size = rounds // epochs
    start = time.time() - epochs * DAY
    settings = json.loads(database.execute("SELECT settings FROM tacit_study").fetchone()[0])
    settings["sizes"] = [size] * (epochs + 1)
    database.execute("UPDATE tacit_study SET settings = ?", [json.dumps(settings)])
    kept = [dict(row) for row in database.execute("SELECT * FROM tacit_epochs ORDER BY number")]
    database.execute("DELETE FROM tacit_epochs")
    for number in range(1, epochs + 2):
        row = dict(kept[min(number, 2) - 1] if number <= epochs else kept[2])
        moved = {"number": number, "first": (number - 1) * size, "size": size, "early": 0}
        row |= moved | {"opened": start + (number - 1) * DAY}
        if number <= epochs:
            row |= {"closed": start + number * DAY - 60, "released": start + number * DAY - 30}
            row["policy"] = _renumbered(row["policy"], number)
        _insert(database, "tacit_epochs", [row])
    _accounts(database, size, epochs, start)
    _rounds(database, size, epochs, start)


def _renumbered(policy: str, number: int) -> str:
    about = json.loads(policy)
    epoch = about["facts"]["epoch"]
    epoch["number"] = number
    epoch["policy_epoch"] = number - 1 if number > 1 else None
    return json.dumps(about)


def _accounts(database: sqlite3.Connection, size: int, epochs: int, start: float) -> None:
    """A charge for each epoch, to a cohort of its own."""
    cohorts = [dict(row) for row in database.execute("SELECT * FROM tacit_cohorts")]
    everybody = [row for row in cohorts if not row["name"]]
    account = next(row for row in cohorts if row["name"] == "epoch 2")
    charge = dict(
        database.execute("SELECT * FROM tacit_charges WHERE request = 'epoch 2'").fetchone()
    )
    database.execute("DELETE FROM tacit_cohorts")
    database.execute("DELETE FROM tacit_charges")
    _insert(database, "tacit_cohorts", everybody)
    for number in range(1, epochs + 1):
        name = f"epoch {number}"
        span = {"first": (number - 1) * size, "last": number * size}
        _insert(database, "tacit_cohorts", [account | {"name": name} | span])
        parameters = json.loads(charge["parameters"]) | {"cohort": name, "records": size}
        told = {"number": number, "request": name, "parameters": json.dumps(parameters)}
        _insert(database, "tacit_charges", [charge | told | {"created": start + number * DAY}])


def _rounds(database: sqlite3.Connection, size: int, epochs: int, start: float) -> None:
    row = dict(database.execute("SELECT * FROM tacit_rounds WHERE number = 1").fetchone())
    database.execute("DELETE FROM tacit_rounds")
    for epoch in range(1, epochs + 1):
        asked = start + (epoch - 1) * DAY
        own = {"epoch": epoch, "counts_in": epoch, "asked": asked}
        _insert(
            database,
            "tacit_rounds",
            (
                row | own | {"number": (epoch - 1) * size + i + 1, "id": secrets.token_hex(12)}
                for i in range(size)
            ),
        )


def _insert(database: sqlite3.Connection, table: str, rows: Any) -> None:
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    names = ", ".join(f'"{name}"' for name in first)
    marks = ", ".join(f":{name}" for name in first)
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    database.execute(statement, first)
    database.executemany(statement, rows)
