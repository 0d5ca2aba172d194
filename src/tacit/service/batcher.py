"""Decisions of a released policy: requests that come at once are decided by one matrix product."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Decided = tuple[dict[str, Any], float]  # an action, and how likely it was
Decide = Callable[[Sequence[Mapping[str, Any]]], Sequence[Decided]]


GATHER_SECONDS = 0.002  # waited for more contexts, where several came at once before
BUSY = 3  # contexts of a batch from which on it is worth waiting for more
MOST = 256


class Batcher:
    """Gathers contexts that come at about the same time. Who comes alone does not wait."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._busy = False
        self._waiting: list[tuple[Mapping[str, Any], asyncio.Future[Decided]]] = []

    def submit(self, context: Mapping[str, Any]) -> asyncio.Future[Decided]:
        """The action that will be decided."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Decided] = loop.create_future()
        self._waiting.append((context, answer))
        if len(self._waiting) == MOST:
            self._flush()
        elif len(self._waiting) == 1 and self._busy:
            loop.call_later(GATHER_SECONDS, self._flush)
        elif len(self._waiting) == 1:
            loop.call_soon(self._flush)
        return answer

    def _flush(self) -> None:
        group = self._waiting
        if not group:  # they were too many to wait
            return
        self._waiting = []
        self._busy = len(group) >= BUSY
        try:
            actions = self._decide([context for context, _ in group])
        except Exception as error:  # to each caller, as if it had been alone
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), action in zip(group, actions, strict=True):
            if not answer.done():
                answer.set_result(action)
