"""`tacit db`: the schema of a study's database."""

from __future__ import annotations

import typer

from tacit.cli.console import Json, emit, out
from tacit.cli.options import StudyUrl

app = typer.Typer(no_args_is_help=True, help="Show and upgrade the schema of a database.")


@app.command()
def upgrade(url: StudyUrl, json: Json = False) -> None:
    """Move a study to the schema of this version. It spends nothing and changes no round.

    Stop what uses the study and back it up first; there is no way back. Run again, it does nothing.

        tacit db upgrade sqlite:///study.db
    """
    from tacit.migrations import upgrade

    before, after = upgrade(url)
    if json:
        emit({"before": before, "after": after})
    elif before == after:
        out.print(f"The study has schema {after} already.")
    else:
        out.print(f"The study was moved from schema {before} to {after}.")


@app.command()
def version(url: StudyUrl, json: Json = False) -> None:
    """Show the schema of a study, and the one that this version reads.

    tacit db version sqlite:///study.db
    """
    from tacit.core.database import connect
    from tacit.migrations import newest, schema_of

    found = schema_of(connect(url, create=False))
    if json:
        emit({"schema": found, "newest": newest()})
    else:
        out.print(f"The study has schema {found}; this version reads {newest()}.")
