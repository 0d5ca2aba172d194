"""A call of the service: its address, what it takes and answers, and who may make it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.service.problems import MalformedError

if TYPE_CHECKING:
    from tacit.service.service import Service

Handler = Callable[["Service", Request, Any], Awaitable[Response]]
JSON = "application/json"


@dataclass(frozen=True)
class Call:
    """One line of the interface. `scope` is that of the key that it needs; None where anybody may
    come. `answers` maps a status to the type of its body, or to None where there is none."""

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    scope: str | None
    answers: dict[int, Any]
    body: Any = None
    body_needed: bool = True
    media: str = JSON
    problems: tuple[int, ...] = ()
    headers: tuple[str, ...] = field(default=())  # that it looks at

    def route(self, service: Service) -> Route:
        """The same for Starlette."""
        decoder = None if self.body is None else msgspec.json.Decoder(self.body)
        handler = self.handler

        async def endpoint(request: Request) -> Response:
            if self.scope is not None:
                service.admit(request, self.scope)
            body = None
            if decoder is not None:
                content = await request.body()
                if content:
                    body = decoder.decode(content)
                elif self.body_needed:
                    raise MalformedError("the body must be JSON, and there is none.")
                else:
                    body = self.body()
            return await handler(service, request, body)

        return Route(self.path, endpoint, methods=[self.method])


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A body as JSON."""
    return Response(msgspec.json.encode(body), status_code=status, media_type=JSON, headers=headers)


def nothing(headers: dict[str, str] | None = None) -> Response:
    """Done, and nothing to say."""
    return Response(status_code=204, headers=headers)
