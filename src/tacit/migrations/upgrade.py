"""Which schema a database has, and how it is moved to the newest one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect, select, update

from tacit.core.database import connect, perform
from tacit.errors import InputError, MissingExtraError, StateError
from tacit.study.store import SCHEMA, study_table

HERE = Path(__file__).parent
VERSIONS = "tacit_schema_version"  # the table in which Alembic keeps where a database stands
OLDEST = 4


def newest() -> int:
    """The schema that this version of Tacit reads and writes."""
    return SCHEMA


def schema_of(engine: Engine) -> int:
    """The schema of the study in a database."""
    if not inspect(engine).has_table(study_table.name):
        raise StateError("this database holds no study: there is nothing to upgrade.")
    query = select(study_table.c.schema)
    found = perform(engine, lambda connection: connection.execute(query).scalar_one_or_none())
    if found is None:
        raise StateError("this database holds no study: there is nothing to upgrade.")
    return int(found)


def upgrade(url: str) -> tuple[int, int]:
    """Moves a study to the newest schema, in one transaction: where it stood, and where it stands.

    Nothing is spent and no round is changed. Services and programs that use it are to be stopped.
    """
    engine = connect(url, create=False)
    before = schema_of(engine)
    if before > SCHEMA:
        raise InputError(
            f"this study has schema {before}, which is newer than {SCHEMA}: use the version of "
            "Tacit that wrote it."
        )
    if before < OLDEST:
        raise InputError(
            f"this study has schema {before}; upgrades begin with {OLDEST}: use the version of "
            "Tacit that wrote it."
        )
    if before < SCHEMA:
        perform(engine, lambda connection: _move(connection, before), queue=study_table)
        engine.dispose()
    return before, schema_of(engine)


def _move(connection: Connection, before: int) -> None:
    config = _config()
    from alembic import command

    config.attributes["connection"] = connection
    command.stamp(config, _revision(before))
    command.upgrade(config, _revision(SCHEMA))
    connection.execute(update(study_table).values(schema=SCHEMA))


def _config() -> Any:
    try:
        from alembic.config import Config
    except ImportError:
        raise MissingExtraError.of("upgrades of databases", "Alembic", "serve") from None
    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.set_main_option("path_separator", "os")
    return config


def _revision(schema: int) -> str:
    return f"{schema:04d}"
