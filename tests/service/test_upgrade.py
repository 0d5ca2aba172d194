"""A database of an earlier schema is refused with a hint, upgraded, and goes on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import inspect, text
from typer.testing import CliRunner

from databases import Urls, make_epoch_study
from helpers import TESTS
from tacit.cli import app
from tacit.core.accounts import metadata
from tacit.core.database import connect
from tacit.errors import InputError, StateError
from tacit.migrations import newest, schema_of, upgrade
from tacit.study import Study
from tacit.study.desk import Ask, Desk, Tell

pytest_plugins = ["databases"]
pytestmark = pytest.mark.usefixtures("coarse_fits")
STORED = TESTS / "stored"  # dumps of databases that earlier versions wrote


def restored(tmp_path: Path, name: str) -> str:
    path = tmp_path / f"{name}.db"
    connection = sqlite3.connect(path)
    connection.executescript((STORED / f"{name}.sql").read_text())
    connection.close()
    return f"sqlite:///{path}"


def kept(url: str, columns: dict[str, list[str]]) -> dict[str, list[Any]]:
    with connect(url).begin() as connection:
        return {
            table: sorted(
                map(repr, connection.execute(text(f"SELECT {', '.join(names)} FROM {table}")))
            )
            for table, names in columns.items()
        }


def columns_of(url: str) -> dict[str, list[str]]:
    found = inspect(connect(url))
    return {
        table: [f'"{column["name"]}"' for column in found.get_columns(table)]
        for table in found.get_table_names()
        # The service makes its own tables where they are missing.
        if table not in ("tacit_study", "tacit_keys", "tacit_work")
    }


@pytest.mark.parametrize("name", ["schema4_one", "schema4_epochs"])
def test_a_stored_study_is_upgraded_and_keeps_everything(tmp_path: Path, name: str) -> None:
    url = restored(tmp_path, name)
    columns = columns_of(url)
    before = kept(url, columns)
    with pytest.raises(InputError, match="tacit db upgrade"):
        Study.open(url)
    assert upgrade(url) == (4, newest())
    assert upgrade(url) == (newest(), newest())
    assert kept(url, columns) == before
    study: Any = Study.open(url)
    context = {"c": 0.75} if name.endswith("epochs") else {"age": 61, "weight": 74}
    user = "user 20" if name.endswith("epochs") else None
    asked = study.asked
    (answer,) = Desk(study).serve([Ask(context, user, "new")])
    assert Desk(study).serve([Tell("new", 0.5)]) == [None]
    assert getattr(answer, "id", None) == "new"
    assert study.asked == asked + 1


def test_an_upgraded_study_is_released_as_it_would_have_been(tmp_path: Path) -> None:
    url = restored(tmp_path, "schema4_epochs")
    upgrade(url)
    study: Any = Study.open(url)
    policy = study.policy_of(1)
    assert len(study.ledger.charges()) == 2
    back = study.ask({"c": 0.5}, user="user 3")
    assert back.epoch is None  # counted in the first epoch
    assert study.advance(early=True).finished
    assert np.array_equal(policy.posterior.weights, study.policy_of(1).posterior.weights)
    assert len(study.ledger.charges()) == 3


def test_an_upgraded_schema_is_that_of_a_new_study(tmp_path: Path, sqlite_urls: Urls) -> None:
    old = restored(tmp_path, "schema4_epochs")
    upgrade(old)
    new = sqlite_urls()
    make_epoch_study(new, [10, 10])
    fresh = columns_of(new)
    moved = columns_of(old)
    assert {table: sorted(names) for table, names in fresh.items()} == {
        table: sorted(moved[table]) for table in fresh
    }


def test_a_postgres_study_is_upgraded_too(postgres_urls: Urls) -> None:
    url = postgres_urls()
    make_epoch_study(url, [10, 10])
    with connect(url).begin() as connection:
        connection.execute(text("ALTER TABLE tacit_rounds DROP COLUMN body, DROP COLUMN counts_in"))
        for name in ("action", "epoch", "mode", "propensity", "density", "asked", "body"):
            connection.execute(text(f"ALTER TABLE tacit_uncounted_rounds DROP COLUMN {name}"))
        connection.execute(text("DROP TABLE tacit_deferred_rounds"))
        connection.execute(text("UPDATE tacit_study SET schema = 4"))
    assert upgrade(url) == (4, newest())
    study = Study.open(url)
    study.tell(study.ask({"c": 0.5}), 0.5)


def test_what_cannot_be_upgraded_is_said(tmp_path: Path, sqlite_urls: Urls) -> None:
    url = sqlite_urls()
    with pytest.raises(StateError, match="no file"):
        upgrade(url)
    make_epoch_study(url, [10, 10])
    for schema, said in ((3, "upgrades begin with 4"), (99, "newer than")):
        with connect(url).begin() as connection:
            connection.execute(text(f"UPDATE tacit_study SET schema = {schema}"))
        with pytest.raises(InputError, match=said):
            upgrade(url)
    empty = sqlite_urls()
    metadata.create_all(connect(empty))
    with pytest.raises(StateError, match="nothing to upgrade"):
        schema_of(connect(empty))


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    url = restored(tmp_path, "schema4_one")
    run = CliRunner()
    assert json.loads(run.invoke(app, ["db", "version", url, "--json"]).stdout)["schema"] == 4
    done = run.invoke(app, ["db", "upgrade", url, "--json"])
    assert json.loads(done.stdout) == {"before": 4, "after": newest()}
    assert "already" in run.invoke(app, ["db", "upgrade", url]).stdout
