"""What a service serves: something that decides, under a name."""

from __future__ import annotations

import asyncio
from typing import Any

from tacit.policy.archives import Released
from tacit.service.doors import Door
from tacit.service.problems import NotFoundError
from tacit.service.schemas import DecisionAnswer, DecisionRequest, StudyAnswer


class Reply:
    """A decision, and whether it was given before."""

    __slots__ = ("answer", "replayed")

    def __init__(self, answer: DecisionAnswer, replayed: bool = False) -> None:
        self.answer = answer
        self.replayed = replayed


class Served:
    """Something that decides, under a name."""

    name: str
    kind: str
    door: Door
    released: Released | None
    problem: Any
    by_user = False  # whether every request says whose it is
    counts = False  # whether decisions are rounds of a study

    @property
    def columns(self) -> list[str]:
        return list(self.problem.actions.names)

    @property
    def context_names(self) -> list[str]:
        return list(self.problem.contexts.names)

    def start(self) -> None:
        """Begins to serve."""

    def stop(self) -> None:
        """Ends, after what was begun."""

    @property
    def ready(self) -> bool:
        return True

    async def decide(self, request: DecisionRequest, caller: str = "") -> Reply:
        """A decision. Who calls is a part of the request: nobody gets the answer of others."""
        raise AssertionError("abstract")

    async def reward(self, id: str, value: float) -> None:
        """Takes the reward of a round."""
        raise NotFoundError("a policy alone takes no rewards: serve a study.")

    async def activate(self, id: str) -> None:
        """Counts a round that was deferred."""
        raise NotFoundError("a policy alone has no rounds: serve a study.")

    def about(self) -> StudyAnswer:
        raise AssertionError("abstract")

    def listen(self) -> asyncio.Queue[tuple[str, dict[str, Any]]]:
        """News, as they come: see `forget`."""
        return asyncio.Queue()

    def forget(self, queue: Any) -> None:
        """The end of `listen`."""
