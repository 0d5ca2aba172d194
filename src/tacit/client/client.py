"""A client for programs with threads, or without."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self

import httpx

from tacit.client import messages
from tacit.client.local import LocalPolicy
from tacit.client.messages import ClientOptions, Decided, ServiceUnavailableError
from tacit.client.outbox import Outbox

DELIVERY_PAUSES = (0.2, 30.0)  # seconds between two tries to deliver: the first, and the most


class Client:
    """Decisions and rewards of one study:

        with Client("https://decisions.example", "shop", key=KEY) as client:
            decision = client.decide({"age": 61}, default={"price": 10})
            client.reward(decision, 0.8)

    A request may be sent twice and counts once. With an outbox (`ClientOptions`) a reward is on
    disk when `reward` returns, and is delivered when the service is there.
    """

    def __init__(
        self,
        url: str,
        study: str,
        *,
        key: str | None = None,
        options: ClientOptions | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.study = study
        self.options = options or ClientOptions()
        self._http = httpx.Client(
            base_url=url,
            headers=messages.headers(key),
            timeout=self.options.timeout,
            transport=transport,
        )
        self.outbox = None if self.options.outbox is None else Outbox(self.options.outbox)
        self._local = LocalPolicy(self.options.refresh)
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._deliverer = threading.Thread(target=self._deliver_for_ever, daemon=True)
        if self.outbox is not None:
            self._deliverer.start()

    def decide(
        self,
        context: dict[str, Any],
        *,
        user: str | None = None,
        event_id: str | None = None,
        default: dict[str, Any] | None = None,
        defer: bool = False,
    ) -> Decided:
        """A decision for one context: the service's, or `default` where it does not answer. With
        `defer` the round counts only once it is activated."""
        if self.options.local and self._fetched():
            return self._local.decide(context, event_id)
        body = messages.decision_body(context, user, event_id, defer)
        try:
            answer = self._send("POST", messages.decisions_path(self.study), body)
        except ServiceUnavailableError:
            if default is None:
                raise
            return messages.by_default(body["event_id"], default)
        return messages.decided(messages.checked(answer).json())

    def reward(self, decision: Decided | str, value: float) -> None:
        """The reward of a decision, or of its id. Those of defaults and of local decisions are no
        rounds of the study: they are dropped."""
        id = messages.id_of(decision)
        if id is None:
            return
        if self.outbox is None:
            messages.checked(self._send("PUT", messages.reward_path(id), {"value": value}))
            return
        self.outbox.put(id, float(value))
        self._wake.set()

    def activate(self, decision: Decided | str) -> None:
        """A decision that was deferred was shown."""
        id = messages.id_of(decision)
        if id is not None:
            messages.checked(self._send("POST", messages.activate_path(id)))

    def deliver(self) -> int:
        """Sends rewards that wait, and returns how many still do."""
        if self.outbox is None:
            return 0
        for id, value in self.outbox.waiting():
            try:
                answer = self._send("PUT", messages.reward_path(id), {"value": value})
            except ServiceUnavailableError:
                break
            if not self.outbox.settle(id, answer.status_code):
                break
        return len(self.outbox)

    def close(self) -> None:
        """Ends. What was not delivered stays in the outbox, for the next client."""
        self._closing.set()
        self._wake.set()
        if self._deliverer.is_alive():
            self._deliverer.join(timeout=10)
        self._http.close()
        if self.outbox is not None:
            self.outbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """The answer to a request that may be sent again."""
        pause = messages.PAUSE
        failure: Exception | None = None
        for attempt in range(self.options.tries):
            if attempt:
                time.sleep(pause)
                pause *= 2
            try:
                answer = self._http.request(method, path, json=body, headers=headers)
            except httpx.TransportError as error:
                failure = error
                continue
            if answer.status_code not in messages.AGAIN:
                return answer
            failure = messages.RefusedError(answer.status_code, "")
        assert failure is not None
        raise messages.down(failure)

    def _fetched(self) -> bool:
        """Whether there is a policy here, fetched anew where it may have changed."""
        if self._local.stale:
            path = messages.policy_path(self.study)
            try:
                answer = self._send("GET", path, **self._local.headers)
            except ServiceUnavailableError:
                return self._local.there
            self._local.take(answer.status_code, answer.headers.get("etag", ""), answer.content)
        return self._local.there

    def _deliver_for_ever(self) -> None:
        first, most = DELIVERY_PAUSES
        pause = first
        while not self._closing.is_set():
            left = self.deliver()
            if left:
                self._closing.wait(pause)
                pause = min(2 * pause, most)
            else:
                pause = first
                self._wake.wait()
                self._wake.clear()
