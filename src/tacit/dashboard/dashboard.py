"""The dashboard as part of a service: its pages, and the studio that draws for them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.dashboard import (
    creating,
    following,
    ledger_page,
    operating,
    planning,
    signing_in,
    studies_page,
    study_page,
    trying,
)
from tacit.dashboard.options import DashboardOptions
from tacit.dashboard.pages import Page, guard
from tacit.dashboard.rendering import static, warm
from tacit.dashboard.studio import Studio

if TYPE_CHECKING:
    from tacit.service.service import Service

PAGES: list[Page] = [
    *studies_page.PAGES,
    *signing_in.PAGES,
    *study_page.PAGES,
    *ledger_page.PAGES,
    *trying.PAGES,
    *operating.PAGES,
    *creating.PAGES,
    *following.PAGES,
    *planning.PAGES,
]
TYPES = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}
FOR_LONG = "public, max-age=31536000, immutable"  # their addresses hold a digest


class Dashboard:
    """Pages at `/` of a service."""

    def __init__(self, options: DashboardOptions | None = None) -> None:
        self.options = options or DashboardOptions()
        self.studio = Studio()
        self.service: Service = None  # type: ignore[assignment]  # until it is mounted
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def may_grow(self) -> bool:
        """Whether studies may be created here."""
        return self.options.folder is not None

    def routes(self, service: Service) -> list[Route]:
        """The pages, for the service that they are about."""
        self.service = service
        fixed = [Route(f"/static/{name}", _fixed(name), methods=["GET"]) for name in TYPES]
        return [*(page.route(self) for page in PAGES), *fixed]

    def start(self) -> None:
        """Looks once at everything, so that nobody waits for the first look."""
        warm()
        for served in list(self.service.studies.values()):
            with suppress(Exception):  # whoever asks will be told
                study_page.view_of(served)
        study_page.begin_portraits(self)

    def stop(self) -> None:
        self.studio.stop()


def _fixed(name: str) -> Any:
    async def answer(request: Request) -> Response:
        content, _ = static(name)
        response = Response(content, media_type=TYPES[name])
        response.headers["Cache-Control"] = FOR_LONG
        guard(response)
        return response

    return answer
