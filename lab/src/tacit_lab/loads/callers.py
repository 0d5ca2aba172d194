"""Callers of a service that dies: what they were told is written down, to be held against the
database."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from dataclasses import dataclass, field
from typing import Any

from tacit_lab.loads.wire import Wire

STUDY = "/v1/studies/study"
DEFERRED = 0.1  # the share of decisions that are activated later


@dataclass
class Notes:
    """What callers were told: decisions by event id, and rewards that were taken."""

    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    activated: set[str] = field(default_factory=set)  # deferred decisions that count
    wrong: list[str] = field(default_factory=list)  # promises that were seen to be broken

    def decided(self, answer: dict[str, Any]) -> None:
        id = answer["event_id"]
        before = self.decisions.setdefault(id, answer)
        if before != answer:
            self.wrong.append(f"event {id} has two answers")


class Callers:
    """Ask, ask again, and tell, as fast as they are answered, until they are stopped."""

    def __init__(self, port: int, many: int, seed: int, name: str) -> None:
        self.notes = Notes()
        self._port = port
        self._many = many
        self._rng = random.Random(seed)
        self._name = name
        self._stopping = False

    async def run(self) -> None:
        await asyncio.gather(*(self._call(i) for i in range(self._many)), self._operate())

    def stop(self) -> None:
        self._stopping = True

    async def _call(self, who: int) -> None:
        for i in itertools.count():
            if self._stopping:
                return
            await self._round(f"{self._name}-{who}-{i}")

    async def _round(self, id: str) -> None:
        """One decision and its reward, each sent again until it is answered."""
        deferred = self._rng.random() < DEFERRED
        context = {"age": self._rng.random()}
        body = {"event_id": id, "context": context, "defer_activation": deferred}
        status, answer = await self._until(f"{STUDY}/decisions", "POST", body)
        if status != 200:
            await asyncio.sleep(0.05)
            return
        found = json.loads(answer)
        if deferred:
            await self._activate(id)
        elif found["epoch"] is None:  # the study is over, and its policy decides
            await asyncio.sleep(0.05)
        else:
            self.notes.decided(found)
            await self._again(body)
            await self._reward(id)

    async def _again(self, body: dict[str, Any]) -> None:
        """Sometimes, as if the answer had been lost."""
        if self._rng.random() < 0.2:
            status, again = await self._until(f"{STUDY}/decisions", "POST", body)
            if status == 200:
                self.notes.decided(json.loads(again))

    async def _activate(self, id: str) -> None:
        """Unless the law that it was decided by is over, or the epoch is full."""
        status, _ = await self._until(f"/v1/decisions/{id}/activate", "POST", None)
        if status == 204:
            self.notes.activated.add(id)
            await self._reward(id)

    async def _reward(self, id: str) -> None:
        value = self._rng.random()
        status, _ = await self._until(f"/v1/decisions/{id}/reward", "PUT", {"value": value})
        if status == 204:
            self.notes.rewards[id] = value
        elif status not in (410, 0):
            self.notes.wrong.append(f"the reward of {id} was refused with {status}")

    async def _operate(self) -> None:
        """Advances the study whenever it can be."""
        while not self._stopping:
            status, answer = await self._once(STUDY, "GET", None)
            if status == 200 and not json.loads(answer)["missing"]:
                await self._once(f"{STUDY}/advance", "POST", {})
            await asyncio.sleep(0.2)

    async def _until(self, path: str, method: str, body: Any) -> tuple[int, bytes]:
        """The answer of a service that is there; status 0 if it was stopped before."""
        while not self._stopping:
            status, answer = await self._once(path, method, body)
            if status not in (0, 503):
                return status, answer
            await asyncio.sleep(0.05)
        return 0, b""

    async def _once(self, path: str, method: str, body: Any) -> tuple[int, bytes]:
        try:
            wire = await Wire(self._port).open()
            try:
                return await asyncio.wait_for(
                    wire.send(method, path, json.dumps(body).encode()), timeout=10
                )
            finally:
                wire.close()
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError):
            return 0, b""
