"""Run by Alembic: migrations happen in the transaction of `upgrade`."""

from __future__ import annotations

from alembic import context

from tacit.core.accounts import metadata
from tacit.migrations.upgrade import VERSIONS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSIONS,
    transactional_ddl=False,  # the transaction is the caller's
    render_as_batch=True,
)
context.run_migrations()
