"""The same client for asyncio."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import httpx

from tacit.client import messages
from tacit.client.client import DELIVERY_PAUSES
from tacit.client.local import LocalPolicy
from tacit.client.messages import ClientOptions, Decided, ServiceUnavailableError
from tacit.client.outbox import Outbox


class AsyncClient:
    """Decisions and rewards of one study, for asyncio (see `Client`):

    async with AsyncClient("https://decisions.example", "shop", key=KEY) as client:
        decision = await client.decide({"age": 61}, default={"price": 10})
        await client.reward(decision, 0.8)
    """

    def __init__(
        self,
        url: str,
        study: str,
        *,
        key: str | None = None,
        options: ClientOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.study = study
        self.options = options or ClientOptions()
        self._http = httpx.AsyncClient(
            base_url=url,
            headers=messages.headers(key),
            timeout=self.options.timeout,
            transport=transport,
        )
        self.outbox = None if self.options.outbox is None else Outbox(self.options.outbox)
        self._local = LocalPolicy(self.options.refresh)
        self._wake = asyncio.Event()
        self._deliverer: asyncio.Task[None] | None = None

    async def decide(
        self,
        context: dict[str, Any],
        *,
        user: str | None = None,
        event_id: str | None = None,
        default: dict[str, Any] | None = None,
        defer: bool = False,
    ) -> Decided:
        """A decision for one context: the service's, or `default` where it does not answer."""
        if self.options.local and await self._fetched():
            return self._local.decide(context, event_id)
        body = messages.decision_body(context, user, event_id, defer)
        try:
            answer = await self._send("POST", messages.decisions_path(self.study), body)
        except ServiceUnavailableError:
            if default is None:
                raise
            return messages.by_default(body["event_id"], default)
        return messages.decided(messages.checked(answer).json())

    async def reward(self, decision: Decided | str, value: float) -> None:
        """The reward of a decision, or of its id."""
        id = messages.id_of(decision)
        if id is None:
            return
        if self.outbox is None:
            path = messages.reward_path(id)
            messages.checked(await self._send("PUT", path, {"value": value}))
            return
        await asyncio.to_thread(self.outbox.put, id, float(value))
        self._wake.set()

    async def activate(self, decision: Decided | str) -> None:
        """A decision that was deferred was shown."""
        id = messages.id_of(decision)
        if id is not None:
            messages.checked(await self._send("POST", messages.activate_path(id)))

    async def deliver(self) -> int:
        """Sends rewards that wait, and returns how many still do."""
        if self.outbox is None:
            return 0
        for id, value in self.outbox.waiting():
            try:
                answer = await self._send("PUT", messages.reward_path(id), {"value": value})
            except ServiceUnavailableError:
                break
            if not self.outbox.settle(id, answer.status_code):
                break
        return len(self.outbox)

    async def close(self) -> None:
        """Ends. What was not delivered stays in the outbox, for the next client."""
        if self._deliverer is not None:
            self._deliverer.cancel()
            with suppress(asyncio.CancelledError):
                await self._deliverer
        await self._http.aclose()
        if self.outbox is not None:
            self.outbox.close()

    async def __aenter__(self) -> Self:
        if self.outbox is not None:
            self._deliverer = asyncio.create_task(self._deliver_for_ever())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """The answer to a request that may be sent again."""
        pause = messages.PAUSE
        failure: Exception | None = None
        for attempt in range(self.options.tries):
            if attempt:
                await asyncio.sleep(pause)
                pause *= 2
            try:
                answer = await self._http.request(method, path, json=body, headers=headers)
            except httpx.TransportError as error:
                failure = error
                continue
            if answer.status_code not in messages.AGAIN:
                return answer
            failure = messages.RefusedError(answer.status_code, "")
        assert failure is not None
        raise messages.down(failure)

    async def _fetched(self) -> bool:
        """Whether there is a policy here, fetched anew where it may have changed."""
        if self._local.stale:
            path = messages.policy_path(self.study)
            try:
                answer = await self._send("GET", path, **self._local.headers)
            except ServiceUnavailableError:
                return self._local.there
            self._local.take(answer.status_code, answer.headers.get("etag", ""), answer.content)
        return self._local.there

    async def _deliver_for_ever(self) -> None:
        first, most = DELIVERY_PAUSES
        pause = first
        while True:
            if await self.deliver():
                await asyncio.sleep(pause)
                pause = min(2 * pause, most)
            else:
                pause = first
                await self._wake.wait()
                self._wake.clear()
