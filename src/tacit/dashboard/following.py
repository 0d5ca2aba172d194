"""Long work on a page: how far it is, by server-sent events where there is a script, and by looking
again where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.studio import Job
from tacit.service.problems import NotFoundError
from tacit.service.served_study import ServedStudy
from tacit.service.work import DONE, FAILED, Work

LOOK = 0.3  # seconds between two looks
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Told:
    """Where some work stands, for people."""

    state: str  # "waiting", "running", "done" or "failed"
    progress: str
    over: bool


def told_of_job(job: Job) -> Told:
    if job.done:
        return Told("failed" if job.problem else "done", job.problem or "done", True)
    return Told("running", job.progress, False)


def told_of_work(work: Work) -> Told:
    over = work.state in (DONE, FAILED)
    return Told(work.state, work.progress or ("done" if over else "waiting for its turn"), over)


def job_page(job: Job, title: str, back: str, events: str) -> Shown:
    """The page of a job of the studio."""
    view = {"told": told_of_job(job), "back": back, "events": events, "result": [], "next": ""}
    return Shown("work.html", view, title, wait=None if job.problem else 2.0)


async def job_events(ask: Ask) -> Answered:
    job = ask.dashboard.studio.find(ask.request.path_params["job"])
    if job is None:
        raise NotFoundError("there is no such work here.")
    return _stream(ask, lambda: told_of_job(job))


async def work_events(ask: Ask) -> Answered:
    """How far a release is, as it goes on."""
    study = ask.study
    assert isinstance(study, ServedStudy)
    id = ask.request.path_params["work"]
    await asyncio.to_thread(study.works.get, id)
    return _stream(ask, lambda: told_of_work(study.works.get(id)))


def _stream(ask: Ask, look: Callable[[], Told]) -> StreamingResponse:
    return StreamingResponse(
        _told(ask, look), media_type=EVENTS, headers={"X-Accel-Buffering": "no"}
    )


async def _told(ask: Ask, look: Callable[[], Told]) -> AsyncIterator[bytes]:
    before: Any = None
    while not ask.dashboard.service.exiting():
        told = await asyncio.to_thread(look)
        if told != before:
            before = told
            yield b"data: " + msgspec.json.encode(told) + b"\n\n"
        if told.over:
            return
        await asyncio.sleep(LOOK)


PAGES = [
    Page("GET", "/jobs/{job}/events", job_events, scope="operate"),
    Page("GET", "/studies/{study}/work/{work}/events", work_events),
]
