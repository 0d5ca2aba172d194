"""Decisions, their rewards, and those that were shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from tacit.errors import UnknownRoundError
from tacit.service.calls import Answered, Call, answer, nothing
from tacit.service.doors import caller_of
from tacit.service.problems import as_tacit, problem_of
from tacit.service.schemas import (
    BatchAnswer,
    BatchItem,
    BatchRequest,
    DecisionAnswer,
    DecisionRequest,
    RewardRequest,
)
from tacit.service.served import Reply, Served

if TYPE_CHECKING:
    from tacit.service.service import Service

REPLAYED = {"Idempotent-Replayed": "true"}


async def decide(service: Service, request: Request, body: DecisionRequest) -> Answered:
    """A decision for one context. Where the round counts it is on disk before it is answered."""
    reply = await service.study(request).decide(body, caller_of(request))
    service.metrics.decided(1)
    return answer(reply.answer, headers=REPLAYED if reply.replayed else None)


async def decide_many(service: Service, request: Request, body: BatchRequest) -> Answered:
    """Many decisions at once, an error for each that fails."""
    study = service.study(request)
    wanted = [_one(study, each, caller_of(request)) for each in body.decisions]
    items = await asyncio.gather(*wanted)
    service.metrics.decided(sum(item.error is None for item in items))
    return answer(BatchAnswer(list(items)))


async def _one(study: Served, request: DecisionRequest, caller: str) -> BatchItem:
    try:
        reply: Reply = await study.decide(request, caller)
    except Exception as error:
        if as_tacit(error) is None:
            raise
        return BatchItem(error=problem_of(error))
    return BatchItem(decision=reply.answer)


async def reward(service: Service, request: Request, body: RewardRequest) -> Answered:
    """The reward of a decision. Repeated it changes nothing."""
    await _where_known(service, request, "reward", body.value)
    return nothing()


async def activate(service: Service, request: Request, body: Any) -> Answered:
    """A decision that was deferred was shown: the round counts from now on."""
    await _where_known(service, request, "activate")
    return nothing()


async def _where_known(service: Service, request: Request, what: str, *more: Any) -> None:
    """Calls the study that knows the round, among those that the caller may come to."""
    id = request.path_params["event_id"]
    studies = service.admitted(request, "decide" if what == "activate" else "reward")
    unknown: UnknownRoundError | None = None
    for study in studies:
        try:
            await getattr(study, what)(id, *more)
        except UnknownRoundError as error:
            unknown = error
        else:
            return
    raise unknown or UnknownRoundError(f"there is no round {id!r}.")


CALLS = [
    Call(
        "POST",
        "/v1/studies/{study}/decisions",
        "decide",
        "A decision for one context, durable before it is answered",
        decide,
        "decide",
        {200: DecisionAnswer},
        DecisionRequest,
        problems=(400, 404, 409, 413, 422, 429, 503),
    ),
    Call(
        "POST",
        "/v1/studies/{study}/decisions:batch",
        "decideMany",
        "Many decisions at once: an error for each that fails, in the order of the requests",
        decide_many,
        "decide",
        {200: BatchAnswer},
        BatchRequest,
        problems=(400, 404, 413, 422, 429, 503),
    ),
    Call(
        "PUT",
        "/v1/decisions/{event_id}/reward",
        "reward",
        "The reward of a decision. Repeated it changes nothing; another one is a conflict",
        reward,
        None,
        {204: None},
        RewardRequest,
        problems=(400, 401, 403, 404, 409, 410, 413, 422, 429, 503),
    ),
    Call(
        "POST",
        "/v1/decisions/{event_id}/activate",
        "activate",
        "A decision that was asked with defer_activation was shown, and counts",
        activate,
        None,
        {204: None},
        problems=(401, 403, 404, 409, 410, 429, 503),
    ),
]
