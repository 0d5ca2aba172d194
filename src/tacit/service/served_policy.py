"""A released policy behind HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.policy.archives import Released
from tacit.quiet import quiet
from tacit.service.batcher import Batcher
from tacit.service.doors import Door
from tacit.service.keys import Ring
from tacit.service.schemas import DecisionAnswer, DecisionRequest, StudyAnswer
from tacit.service.served import Reply, Served
from tacit.tables import ROWS, Table

IDS = 256  # drawn at a time


class ServedPolicy(Served):
    """A released policy. Nothing that it decides is kept: every decision is free."""

    kind = "policy"

    def __init__(self, name: str, policy: Any, folder: str = "") -> None:
        self.name = name
        self.folder = folder  # where it was loaded from
        self.problem = policy.problem
        self.released = Released(name, policy)
        self.door = Door(Ring({}, b"tacit"))
        self._decider = PolicyDecider(self.released)

    async def decide(self, request: DecisionRequest, caller: str = "") -> Reply:
        return await self._decider.decide(request)

    def about(self) -> StudyAnswer:
        assert self.released is not None
        policy = self.released.policy
        promise = policy.guarantee if hasattr(policy, "guarantee") else policy.policy.guarantee
        problem = policy.problem
        return StudyAnswer(
            name=self.name,
            kind=self.kind,
            stage="released",
            asked=0,
            horizon=0,
            epoch=None,
            epochs=0,
            policy=self.name,
            unit="record",
            budget=str(promise),
            spent=str(promise),
            left="nothing",
            actions=list(problem.actions.names),
            contexts=list(problem.contexts.names),
            missing="",
        )


class PolicyDecider:
    """Decides by a released policy, many requests at a time."""

    def __init__(self, released: Released) -> None:
        self.released = released
        self._batcher = Batcher(self._decided)
        self._ids = fresh_ids()

    async def decide(self, request: DecisionRequest) -> Reply:
        require_columns(self.released.policy.problem, request.context)
        action, propensity = await self._batcher.submit(request.context)
        answer = DecisionAnswer(
            event_id=request.event_id or next(self._ids),
            action=action,
            mode="exploit",
            propensity=propensity,
            density=False,
            epoch=None,
            policy=self.released.name,
            reward_until=None,
        )
        return Reply(answer)

    @quiet()
    def _decided(self, contexts: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        policy = self.released.policy
        problem = policy.problem
        many = len(contexts)
        cells = {  # that there is one for each name was looked at before
            name: np.fromiter([each[name] for each in contexts], dtype=object, count=many)
            for name in problem.contexts.names
        }
        C = problem.context_points(Table(cells, many, ROWS))
        X = policy.decide_points(C)
        columns = problem.actions.decode(X)
        likely = np.ones(many)
        if hasattr(policy, "probability_points"):
            likely = policy.probability_points(X, C)
        names = list(columns)
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        actions = [dict(zip(names, each, strict=True)) for each in values]
        return list(zip(actions, likely.tolist(), strict=True))


def fresh_ids() -> Iterator[str]:
    """Ids that nobody can guess, of 12 bytes each. Many are drawn at a time: to ask the operating
    system costs more than to decide."""
    while True:
        drawn = secrets.token_hex(12 * IDS)
        yield from (drawn[i : i + 24] for i in range(0, len(drawn), 24))


def require_columns(problem: Any, context: Mapping[str, Any]) -> None:
    """Fails if a context lacks a column."""
    missing = [name for name in problem.contexts.names if name not in context]
    if missing:
        raise InputError(f"the context lacks {', '.join(map(repr, missing))}.")
