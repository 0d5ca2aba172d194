"""The outermost layer, as plain ASGI: limits what comes in, and makes every error an answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.problems import TooLargeError, response_of

if TYPE_CHECKING:
    from tacit.service.metrics import Metrics

MOST_BYTES = 1 << 20
DECISIONS = ("/decisions", "/decisions:batch")


class Guard:
    """Nothing gets out but answers of the interface; no error text but those of the table."""

    def __init__(self, app: ASGIApp, metrics: Metrics, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._metrics = metrics
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["app"] = self  # by which Starlette's router raises instead of answering itself
        started = time.perf_counter()
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            self._require_small(scope)
            await self._app(scope, self._limited(receive), sending)
        except Exception as error:
            if begun:  # a stream whose listener has gone
                return
            await response_of(error)(scope, receive, send)
        if scope["path"].endswith(DECISIONS):
            self._metrics.took(time.perf_counter() - started)

    def _require_small(self, scope: Scope) -> None:
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > self._most):
                raise self._too_large()

    def _limited(self, receive: Receive) -> Receive:
        """The same, counting what comes where no length was stated."""
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most:
                raise self._too_large()
            return message

        return receiving

    def _too_large(self) -> Any:
        return TooLargeError(f"a body has at most {self._most:,} bytes: send less at a time.")
