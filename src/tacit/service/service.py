"""The service: studies under their names, and the interface to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
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


class Service:
    """Several studies or policies, each under a name, as one ASGI application."""

    def __init__(self, served: Sequence[Served], *, most_bytes: int = MOST_BYTES) -> None:
        self.studies = {each.name: each for each in served}
        if len(self.studies) != len(served) or not served:
            raise InputError("a service serves studies under different names: write NAME=URL.")
        self.most_bytes = most_bytes
        self.metrics = Metrics()
        self.document = document(CALLS)
        self.exiting: Callable[[], bool] = lambda: False  # whether streams are to end
        self.planning = asyncio.Semaphore(1)  # one plan at a time
        endpoints = [Endpoint(call, self) for call in CALLS]
        addresses = Addresses(endpoints, self.studies, default=_unknown, lifespan=self._lifespan)
        self.app: ASGIApp = Guard(addresses, self.metrics)

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        for study in self.studies.values():
            study.start()
        try:
            yield
        finally:
            for study in self.studies.values():
                await asyncio.to_thread(study.stop)

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
            assert refusal is not None
            raise refusal
        return found


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404)
