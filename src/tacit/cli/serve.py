"""`tacit serve`: decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err
from tacit.errors import MissingExtraError


def serve(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]URL...",
            envvar="TACIT_STUDIES",  # where a password must not stand in a list of processes
            help="Databases of studies. Without a name, that of the file or database is taken.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="A released policy: a folder, or NAME=FOLDER."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8070,
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="A file, for TLS.")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option("--tls-key", help="The file of its private key.")
    ] = None,
    most_bytes: Annotated[
        int, typer.Option("--max-body", help="The largest body of a request, in bytes.")
    ] = 1 << 20,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A trusted proxy ends TLS in front of it.")
    ] = False,
    json: Json = False,
) -> None:
    """Serve studies and released policies over HTTP, until it is interrupted.

    A decision that counts is on disk before it is answered, and so is a reward. What it serves is
    described at /openapi.json.

        tacit serve sqlite:///study.db

        tacit serve shop=sqlite:///shop.db clinic=postgresql+psycopg://host/clinic

        tacit serve --policy out/dosing

    Without keys it listens on this machine only. With keys every request says who it is from:

        tacit keys create sqlite:///study.db --name shop --scope decide --scope reward

        tacit serve sqlite:///study.db --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem
    """
    try:
        from tacit.service.running import Listening, make_service, run
    except ImportError as error:
        raise MissingExtraError.of("services", error.name or "more packages", "serve") from None

    listening = Listening(host, port, certificate, private_key, most_bytes, behind_proxy)
    service = make_service(studies or [], policy or [], listening)
    scheme = "http" if certificate is None else "https"
    address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    if json:
        emit({"address": address, "studies": sorted(service.studies)})
    else:
        names = ", ".join(sorted(service.studies))
        err.print(f"Serving {names} at {address} (interface: {address}/openapi.json)")
    run(service, listening)
