"""Tables of the service, beside those of the study that it serves: keys, and long work."""

from __future__ import annotations

from sqlalchemy import Column, Engine, Float, Integer, Table, Text, inspect

from tacit.core.accounts import metadata
from tacit.core.database import retrying

keys_table = Table(
    "tacit_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),  # keyed, of the secret part
    Column("scopes", Text, nullable=False),
    Column("rate", Float),  # requests a second; as many as they like without
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("revoked", Float),
)
work_table = Table(
    "tacit_work",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),  # the caller's idempotency key
    Column("kind", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("state", Text, nullable=False),  # queued, running, done, failed
    Column("progress", Text, nullable=False),
    Column("beat", Integer, nullable=False),  # grows while somebody works on it
    Column("result", Text),
    Column("created", Float, nullable=False),
    Column("finished", Float),
)


def make_tables(engine: Engine) -> None:
    """Makes what is missing."""
    there = inspect(engine).get_table_names()
    wanted = [each for each in (keys_table, work_table) if each.name not in there]
    if wanted:
        retrying(lambda: metadata.create_all(engine, tables=wanted))
