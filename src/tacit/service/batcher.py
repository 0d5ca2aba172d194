"""Decisions of a released policy: requests that come at once are decided by one matrix product."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Decided = tuple[dict[str, Any], float]  # an action, and how likely it was
Decide = Callable[[Sequence[Mapping[str, Any]]], Sequence[Decided]]
MOST = 256


class Batcher:
    """Decides all contexts together that came while others were decided. Nobody waits for those
    who are still to come: their callers would wait for us meanwhile, and we for them."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._waiting: list[tuple[Mapping[str, Any], asyncio.Future[Decided]]] = []

    def submit(self, context: Mapping[str, Any]) -> asyncio.Future[Decided]:
        """The action that will be decided."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Decided] = loop.create_future()
        self._waiting.append((context, answer))
        if len(self._waiting) == MOST:
            self._flush()
        elif len(self._waiting) == 1:
            loop.call_soon(self._flush)
        return answer

    def _flush(self) -> None:
        group = self._waiting
        if not group:  # they were too many to wait
            return
        self._waiting = []
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
