"""`tacit keys`: who may use a service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, out, table
from tacit.cli.epoch_options import read_wait
from tacit.cli.options import StudyUrl

if TYPE_CHECKING:
    from tacit.service.keys import Key, Keys

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke the keys of a study's service.")


@app.command()
def create(
    url: StudyUrl,
    name: Annotated[str, typer.Option(help="Whose key it is, for people.")],
    scope: Annotated[
        list[str],
        typer.Option(help="decide, reward, read or operate; several by repeating the option."),
    ],
    expires: Annotated[
        str | None, typer.Option(help="After how long it is refused, such as 90d.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="The most requests a second.")] = None,
    json: Json = False,
) -> None:
    """Make a key and show it, once.

    | scope | what it allows |
    |---|---|
    | decide | decisions, and saying that they were shown |
    | reward | rewards |
    | read | public and released facts, policies, the ledger |
    | operate | advance and release, which SPEND; plans |

    From the first key on every request to the study needs one.

        tacit keys create sqlite:///study.db --name shop --scope decide --scope reward
    """
    seconds = None if expires is None else read_wait(expires).total_seconds()
    made = _keys(url).create(name, scope, expires=seconds, rate=rate)
    if json:
        emit({"key": made, "name": name, "scopes": scope})
        return
    out.print(made, soft_wrap=True, highlight=False)
    out.print("This is shown once: keep it where secrets are kept.")


@app.command("list")
def list_keys(url: StudyUrl, json: Json = False) -> None:
    """List the keys of a study, without their secrets.

    tacit keys list sqlite:///study.db
    """
    found = _keys(url).all()
    if json:
        emit({"keys": [_about(key) for key in found]})
        return
    rows = [
        [key.id, key.name, ", ".join(key.scopes), _when(key.expires), _when(key.revoked)]
        for key in found
    ]
    table("Keys", ["id", "name", "scopes", "expires", "revoked"], rows)


@app.command()
def revoke(
    url: StudyUrl,
    id: Annotated[str, typer.Argument(help="The id of a key, as tacit keys list shows it.")],
    json: Json = False,
) -> None:
    """Refuse a key from now on. Running services notice within a second.

    tacit keys revoke sqlite:///study.db 1f0c6a2b9d3e
    """
    _keys(url).revoke(id)
    if json:
        emit({"revoked": id})
    else:
        out.print(f"Key {id} is revoked.")


def _keys(url: str) -> Keys:
    from tacit.core.database import connect
    from tacit.service.keys import Keys

    return Keys(connect(url, create=False))


def _about(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "rate": key.rate,
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
    }


def _when(time: float | None) -> str:
    return "" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
