"""The outermost layer, as plain ASGI: it makes every error an answer, and times decisions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.problems import response_of

if TYPE_CHECKING:
    from tacit.service.metrics import Metrics

DECISIONS = ("/decisions", "/decisions:batch")


class Guard:
    """Nothing gets out but answers of the interface; no error text but those of the table."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

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
            await self._app(scope, receive, sending)
        except Exception as error:
            if begun:  # a stream whose listener has gone
                return
            await response_of(error)(scope, receive, send)
        if scope["path"].endswith(DECISIONS):
            self._metrics.took(time.perf_counter() - started)
