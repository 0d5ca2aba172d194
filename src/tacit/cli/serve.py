"""`tacit serve`: decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.console import Json, emit, err
from tacit.errors import MissingExtraError

if TYPE_CHECKING:
    from tacit.dashboard import Dashboard


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
    root_path: Annotated[
        str, typer.Option(help="The address below which that proxy serves it, such as /tacit.")
    ] = "",
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", help="Whether to show the dashboard at /.")
    ] = True,
    folder: Annotated[
        Path | None,
        typer.Option(help="Serve all studies (*.db) of this folder; the dashboard adds others."),
    ] = None,
    user_header: Annotated[
        str | None,
        typer.Option(help="By which the proxy says who looks at pages: X-Forwarded-User."),
    ] = None,
    operator: Annotated[
        list[str] | None,
        typer.Option(help="Who of these may operate; several by repeating the option."),
    ] = None,
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

    The dashboard is at / and needs the same keys (docs/dashboard.md). Behind a proxy that signs
    people in it takes the proxy's word:

        tacit serve sqlite:///study.db --behind-proxy --user-header X-Forwarded-User --operator ann
    """
    try:
        from tacit.service.running import Listening, make_service, run
    except ImportError as error:
        raise MissingExtraError.of("services", error.name or "more packages", "serve") from None

    listening = Listening(host, port, certificate, private_key, most_bytes, behind_proxy, root_path)
    named = [*(studies or []), *_in_folder(folder)]
    shown = None
    if pages:
        people = frozenset(operator or [])
        shown = made_dashboard(folder, user_header, people, behind_proxy)
    service = make_service(named, policy or [], listening, shown)
    scheme = "http" if certificate is None else "https"
    address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    if json:
        emit({"address": address, "studies": sorted(service.studies)})
    else:
        names = ", ".join(sorted(service.studies))
        what = names or f"the studies that will be in {folder}"
        err.print(f"Serving {what} at {address} (interface: {address}/openapi.json)")
    run(service, listening)


def _in_folder(folder: Path | None) -> list[str]:
    """The studies of a folder, under the names of their files."""
    if folder is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    return [f"{path.stem}=sqlite:///{path}" for path in sorted(folder.glob("*.db"))]


def made_dashboard(
    folder: Path | None, user_header: str | None, operators: frozenset[str], behind_proxy: bool
) -> Dashboard:
    """Pages for a service."""
    try:
        from tacit.dashboard import Dashboard, DashboardOptions
    except ImportError as error:
        raise MissingExtraError.of("dashboards", error.name or "more packages", "serve") from None
    return Dashboard(DashboardOptions(folder, user_header, operators, behind_proxy))
