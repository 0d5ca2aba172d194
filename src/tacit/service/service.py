"""The service: studies under their names, and the interface to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.errors import InputError
from tacit.service import decisions, ofrep, operations, probes, studies
from tacit.service.calls import Addresses, Call, Endpoint
from tacit.service.guard import Guard
from tacit.service.metrics import Metrics
from tacit.service.openapi import document
from tacit.service.problems import ForbiddenError, NotFoundError, UnauthorizedError
from tacit.service.served import Served

CALLS: list[Call] = [
    *decisions.CALLS,
    *studies.CALLS,
    *operations.CALLS,
    *ofrep.CALLS,
    *probes.CALLS,
]


MOST_BYTES = 1 << 20  # of the body of a request


class Pages(Protocol):
    """What else answers beside the interface: the dashboard."""

    @property
    def may_grow(self) -> bool: ...  # whether studies may be added

    def routes(self, service: Service) -> list[Route]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Service:
    """Several studies or policies, each under a name, as one ASGI application."""

    def __init__(
        self, served: Sequence[Served], *, most_bytes: int = MOST_BYTES, pages: Pages | None = None
    ) -> None:
        self.studies = {each.name: each for each in served}
        may_be_empty = pages is not None and pages.may_grow
        if len(self.studies) != len(served) or not (served or may_be_empty):
            raise InputError("a service serves studies under different names: write NAME=URL.")
        self._pages = pages
        self.most_bytes = most_bytes
        self.metrics = Metrics()
        self.document = document(CALLS)
        self.exiting: Callable[[], bool] = lambda: False  # whether streams are to end
        self.planning = asyncio.Semaphore(1)  # one plan at a time
        endpoints = [Endpoint(call, self) for call in CALLS]
        more = [] if pages is None else pages.routes(self)
        addresses = Addresses(
            endpoints, self.studies, more, default=_unknown, lifespan=self._lifespan
        )
        self.app: ASGIApp = Guard(addresses, self.metrics)

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        for study in self.studies.values():
            study.start()
        if self._pages is not None:
            self._pages.start()
        try:
            yield
        finally:
            if self._pages is not None:
                await asyncio.to_thread(self._pages.stop)
            for study in self.studies.values():
                await asyncio.to_thread(study.stop)

    def add(self, served: Served) -> None:
        """Serves one more study, from now on. To be called on the event loop."""
        if served.name in self.studies:
            raise InputError(f"there is a study {served.name} already: choose another name.")
        served.start()
        self.studies[served.name] = served

    def study(self, request: Request) -> Served:
        """The study that a request names."""
        name = request.path_params["study"]
        if name not in self.studies:
            raise NotFoundError("there is no study of this name here.")
        return self.studies[name]

    def admit(self, request: Request, scope: str) -> None:
        """Fails unless the caller's key is good for this. A study that does not exist is as closed
        to strangers as one that does."""
        name = request.path_params.get("study")
        if name in self.studies:
            self.studies[name].door.admit(request, scope)
        else:
            self.admitted(request, scope)

    def admitted(self, request: Request, scope: str) -> list[Served]:
        """The studies that the caller may come to, one at least."""
        found: list[Served] = []
        refusal: Exception | None = None
        for study in self.studies.values():
            try:
                study.door.admit(request, scope)
                found.append(study)
            except UnauthorizedError as error:
                refusal = refusal or error
            except ForbiddenError as error:
                refusal = error
        if not found:
            raise refusal or NotFoundError("there is no study here yet.")
        return found


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404)
