"""`tacit dashboard`: the pages of a study for one person on one machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Timer
from typing import Annotated

import typer

from tacit.cli.console import Json, emit, err
from tacit.cli.serve import _in_folder, made_dashboard
from tacit.errors import InputError, MissingExtraError


def dashboard(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]URL...",
            envvar="TACIT_STUDIES",
            help="Databases of studies, as for tacit serve.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="A released policy: a folder, or NAME=FOLDER."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="All studies (*.db) of this folder; new ones are kept there."),
    ] = None,
    port: Annotated[int, typer.Option(help="The port on this machine.")] = 8071,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
    json: Json = False,
) -> None:
    """Look at studies in a browser, on this machine only, until it is interrupted.

    Everything on the pages is public or released: looking costs no budget. What spends is asked
    for twice. It is what tacit serve shows at /, for one person:

        tacit dashboard sqlite:///study.db

        tacit dashboard --policy out/dosing

        tacit dashboard --folder studies/      # and create new ones by a form

    A study that has keys asks for one here, too.
    """
    try:
        from tacit.service.running import Listening, make_service, run
    except ImportError as error:
        raise MissingExtraError.of("dashboards", error.name or "more packages", "serve") from None

    named = [*(studies or []), *_in_folder(folder)]
    if not named and not policy and folder is None:
        raise InputError(
            "there is nothing to look at: name a study, as in tacit dashboard sqlite:///study.db, "
            "or a --folder for new ones."
        )
    listening = Listening(port=port)
    pages = made_dashboard(folder, None, frozenset(), False)
    service = make_service(named, policy or [], listening, pages)
    address = f"http://127.0.0.1:{port}/"
    if json:
        emit({"address": address, "studies": sorted(service.studies)})
    else:
        err.print(f"The dashboard is at {address} (end it with Ctrl-C)")
    if browser:
        opening = Timer(1.0, webbrowser.open, [address])
        opening.daemon = True
        opening.start()
    run(service, listening)
