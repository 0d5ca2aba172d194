"""The command line. `main` turns every expected error into one sentence and exit code 2."""

from __future__ import annotations

import platform
from importlib.metadata import entry_points
from typing import Annotated, NoReturn

import typer

from tacit._version import __version__, version_of
from tacit.cli import db, keys, ledger, study
from tacit.cli.audit import audit
from tacit.cli.console import Json, emit, err, out
from tacit.cli.dashboard import dashboard
from tacit.cli.decide import decide
from tacit.cli.demo import demo
from tacit.cli.evaluate import evaluate
from tacit.cli.fit import fit
from tacit.cli.plan import plan
from tacit.cli.report import report
from tacit.cli.serve import serve
from tacit.errors import TacitError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Tacit learns which action is best for which context from data that must stay private."""


app.command()(demo)
app.command()(plan)
app.command()(fit)
app.command()(decide)
app.command()(evaluate)
app.command()(report)
app.command()(audit)
app.add_typer(study.app, name="study")
app.add_typer(ledger.app, name="ledger")
app.command()(serve)
app.command()(dashboard)
app.add_typer(keys.app, name="keys")
app.add_typer(db.app, name="db")

# Commands of other installed distributions, such as those of tacit-lab: an entry point is a
# function, or an app.
for _entry in sorted(entry_points(group="tacit.commands"), key=lambda entry: entry.name):
    try:
        _command = _entry.load()
    except Exception as _error:  # somebody else's mistake is no reason to be without `tacit fit`
        err.print(
            f"tacit: the command {_entry.name} of another distribution cannot be loaded "
            f"({type(_error).__name__}): update or uninstall it.",
            style="red",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        continue
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_entry.name)
    else:
        app.command(_entry.name)(_command)


@app.command()
def version(json: Json = False) -> None:
    """Print the versions of Tacit and of what the guarantee rests on."""
    versions = {name: version_of(name) for name in ("opendp", "numpy", "scipy", "sqlalchemy")}
    if json:
        emit({"tacit": __version__, "python": platform.python_version()} | versions)
    else:
        rest_on = ", ".join(f"{name} {number}" for name, number in versions.items())
        out.print(f"tacit {__version__} (Python {platform.python_version()}, {rest_on})")


def main() -> None:
    try:
        app()
    except TacitError as error:
        _fail(str(error))
    except Exception as error:
        # A server that is down, a database of another version: one sentence, and never the
        # statement's values.
        if not type(error).__module__.startswith("sqlalchemy."):
            raise
        _fail(
            f"the database does not answer ({type(error).__name__}): is it there, and a study of "
            "this version?"
        )


def _fail(sentence: str) -> NoReturn:
    err.print(f"tacit: {sentence}", style="red", highlight=False, markup=False, soft_wrap=True)
    raise SystemExit(2)
