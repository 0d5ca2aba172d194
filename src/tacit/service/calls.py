"""A call of the service: its address, what it takes and answers, and who may make it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.service.problems import MalformedError, TooLargeError

if TYPE_CHECKING:
    from tacit.service.service import Service

Answered = ASGIApp
Handler = Callable[["Service", Request, Any], Awaitable[Answered]]
JSON = "application/json"
_encode = msgspec.json.Encoder().encode


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

    def addresses(self, names: Iterable[str]) -> dict[tuple[str, str], dict[str, str]]:
        """Whole addresses that it has where these studies are served, with their parameters; none
        where it has other parameters, too."""
        if "{" not in self.path:
            return {(self.method, self.path): {}}
        paths = {name: self.path.replace("{study}", name) for name in names}
        return {(self.method, p): {"study": name} for name, p in paths.items() if "{" not in p}


class Addresses:
    """Brings requests to their endpoints: by the whole address where it is known beforehand, and
    otherwise by Starlette's router, which compares it with one pattern after the other."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        names: Iterable[str],
        more: Sequence[Route] = (),
        **options: Any,
    ) -> None:
        routes = [Route(e.call.path, e, methods=[e.call.method]) for e in endpoints]
        self._router = Router(routes=[*routes, *more], redirect_slashes=False, **options)
        self._known = {
            address: (endpoint, parameters)
            for endpoint in endpoints
            for address, parameters in endpoint.call.addresses(names).items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http":
            found = self._known.get((scope["method"], scope["path"]))
        if found is None:
            await self._router(scope, receive, send)
            return
        endpoint, parameters = found
        scope["path_params"] = parameters
        await endpoint(scope, receive, send)


class Endpoint:
    """Answers one call, as plain ASGI: who comes, what they bring, and what they get."""

    def __init__(self, call: Call, service: Service) -> None:
        self.call = call
        self._service = service
        self._decode = None if call.body is None else msgspec.json.Decoder(call.body).decode

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if self.call.scope is not None:
            self._service.admit(request, self.call.scope)
        body = None
        if self._decode is not None:
            content = await read_body(receive, self._service.most_bytes)
            body = self._decode(content) if content else self._empty()
        answered = await self.call.handler(self._service, request, body)
        await answered(scope, receive, send)

    def _empty(self) -> Any:
        if self.call.body_needed:
            raise MalformedError("the body must be JSON, and there is none.")
        return self.call.body()


async def read_body(receive: Receive, most: int) -> bytes:
    """The body of a request, unless it is longer than this."""
    message = await receive()
    content: bytes = message.get("body", b"")
    while message.get("more_body", False) and len(content) <= most:
        message = await receive()
        content += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise MalformedError("the body ended too early.")
    if len(content) > most:
        raise TooLargeError(f"a body has at most {most:,} bytes: send less at a time.")
    return content


class Json:
    """An answer in JSON. Starlette's own would cost as much as reading the request."""

    __slots__ = ("content", "headers", "status")

    def __init__(self, content: bytes, status: int, headers: dict[str, str] | None) -> None:
        self.content = content
        self.status = status
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = b"%d" % len(self.content)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        if self.headers:
            headers += [(k.lower().encode(), v.encode()) for k, v in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.content})


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answered:
    """A body as JSON."""
    return Json(_encode(body), status, headers)


def nothing(headers: dict[str, str] | None = None) -> Answered:
    """Done, and nothing to say."""
    return Response(status_code=204, headers=headers)
