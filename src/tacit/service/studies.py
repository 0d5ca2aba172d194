"""What anybody may know of a study: public and released facts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tacit.errors import StateError
from tacit.service import facts
from tacit.service.calls import Answered, Call, answer
from tacit.service.problems import NotFoundError
from tacit.service.schemas import HistoryAnswer, LedgerAnswer, StudyAnswer
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy

if TYPE_CHECKING:
    from tacit.service.service import Service

ZIP = "application/zip"
EVENTS = "text/event-stream"
QUIET_SECONDS = 15.0  # after which a stream says that it is alive
LOOK_SECONDS = 0.5  # after which it looks whether the service is to end


async def show(service: Service, request: Request, _body: Any) -> Answered:
    """Where a study stands."""
    return answer(await asyncio.to_thread(service.study(request).about))


async def history(service: Service, request: Request, _body: Any) -> Answered:
    """Every epoch so far, as released."""
    study = service.study(request)
    epochs = []
    if isinstance(study, ServedStudy):
        epochs = await asyncio.to_thread(facts.history, study.study)
    return answer(HistoryAnswer(epochs))


async def ledger(service: Service, request: Request, _body: Any) -> Answered:
    """What was spent and what is left."""
    study = service.study(request)
    if not isinstance(study, ServedStudy):
        raise NotFoundError("a policy alone has no ledger: its guarantee says what was spent.")
    return answer(await asyncio.to_thread(facts.ledger_of, study.study.ledger))


async def policy(service: Service, request: Request, _body: Any) -> Answered:
    """The policy that was released last, as an archive of its files."""
    released = service.study(request).released
    if released is None:
        raise StateError("nothing of this study was released yet: advance it first.")
    etag = await asyncio.to_thread(lambda: released.etag)
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(released.archive, media_type=ZIP, headers=headers)


async def events(service: Service, request: Request, _body: Any) -> Answered:
    """News of a study, as they come: an epoch was opened, a policy was released."""
    study = service.study(request)
    fresh = {"Cache-Control": "no-store"}
    return StreamingResponse(_stream(service, study), media_type=EVENTS, headers=fresh)


async def _stream(service: Service, study: Served) -> AsyncIterator[bytes]:
    queue = study.listen()
    try:
        yield b": listening\n\n"
        quiet = 0.0
        while not service.exiting():
            try:
                kind, about = await asyncio.wait_for(queue.get(), LOOK_SECONDS)
            except TimeoutError:
                quiet += LOOK_SECONDS
                if quiet >= QUIET_SECONDS:
                    quiet = 0.0
                    yield b": still here\n\n"
                continue
            yield b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(about) + b"\n\n"
    finally:
        study.forget(queue)


CALLS = [
    Call(
        "GET",
        "/v1/studies/{study}",
        "showStudy",
        "Where a study stands: public and released facts",
        show,
        "read",
        {200: StudyAnswer},
        problems=(404, 429, 503),
    ),
    Call(
        "GET",
        "/v1/studies/{study}/history",
        "showHistory",
        "Every epoch so far, as released",
        history,
        "read",
        {200: HistoryAnswer},
        problems=(404, 429, 503),
    ),
    Call(
        "GET",
        "/v1/studies/{study}/policy",
        "fetchPolicy",
        "The policy that was released last, as an archive of its files",
        policy,
        "read",
        {200: bytes, 304: None},
        media=ZIP,
        problems=(404, 409, 429, 503),
        headers=("If-None-Match",),
    ),
    Call(
        "GET",
        "/v1/studies/{study}/events",
        "followStudy",
        "News as they come (server-sent): an epoch was opened, a policy was released",
        events,
        "read",
        {200: str},
        media=EVENTS,
        problems=(404, 429, 503),
    ),
    Call(
        "GET",
        "/v1/ledgers/{study}",
        "showLedger",
        "What was spent, what is left, and on what",
        ledger,
        "read",
        {200: LedgerAnswer},
        problems=(404, 429, 503),
    ),
]
