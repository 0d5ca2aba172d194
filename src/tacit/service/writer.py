"""Group commit: one thread gathers what many callers ask and tell into one durable transaction."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tacit.errors import TacitError
from tacit.service.problems import UNAVAILABLE, UnavailableError, as_tacit

MOST = 256  # calls of one transaction
MOST_WAITING = 20_000
SLOW = (
    "the database is slow: whether this was written is not known; send it again under the same "
    "event id."
)
log = logging.getLogger("tacit.service")


class Waiting(NamedTuple):
    """A call, and whom to tell what became of it."""

    call: Any
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class Writer:
    """Runs groups of calls one after the other. A call that came while a group was written is one
    of the next group."""

    def __init__(self, serve: Callable[[Sequence[Any]], Sequence[Any]], name: str) -> None:
        self._serve = serve
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"writer of {name}", daemon=True)
        self._group: list[Waiting] = []  # that is being written
        self._since = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Writes what is waiting, and ends."""
        self._waiting.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(self, call: Any) -> asyncio.Future[Any]:
        """What will become of a call: its result, or its error."""
        if self._waiting.qsize() > MOST_WAITING:
            raise UnavailableError("too many requests wait: try again in a second.")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting.put(Waiting(call, loop, answer))
        return answer

    def give_up(self, patience: float) -> None:
        """Tells those who have waited for longer that it is not known what became of their calls.
        To be called now and then from the event loop: a timer for each call would cost more."""
        group = self._group
        if not group or time.monotonic() - self._since < patience:
            return
        waiting = list(group)
        while not self._waiting.empty():
            each = self._waiting.get_nowait()
            if each is None:
                self._waiting.put(None)
                break
            waiting.append(each)
        _settle(waiting, [UnavailableError(SLOW)] * len(waiting))

    def _run(self) -> None:
        while True:
            group, last = self._gather()
            if group:
                self._since = time.monotonic()
                self._group = group
                self._tell(group, self._results(group))
                self._group = []
            if last:
                return

    def _gather(self) -> tuple[list[Waiting], bool]:
        """At least one call, and all others that wait already."""
        group: list[Waiting] = []
        each = self._waiting.get()
        while each is not None:
            group.append(each)
            if len(group) == MOST:
                return group, False
            try:
                each = self._waiting.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _results(self, group: list[Waiting]) -> Sequence[Any]:
        try:
            return self._serve([each.call for each in group])
        except Exception as error:  # whatever happens, the thread goes on and callers are told
            known = as_tacit(error)
            log.error("a group of calls was not written: %s", type(error).__name__)
            failed = known or UnavailableError(UNAVAILABLE)
            return [failed] * len(group)

    @staticmethod
    def _tell(group: list[Waiting], results: Sequence[Any]) -> None:
        loop = group[0].loop  # a service has one
        loop.call_soon_threadsafe(_settle, group, results)


def _settle(group: list[Waiting], results: Sequence[Any]) -> None:
    for each, result in zip(group, results, strict=True):
        if each.answer.done():  # its caller has gone
            continue
        if isinstance(result, TacitError):
            each.answer.set_exception(result)
        else:
            each.answer.set_result(result)
