"""A study: how far it is, what it earned, what its policy decides and for whom."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.dashboard import study_charts
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.studio import Job
from tacit.dashboard.views import Pace, Saved, Standing, now, standing_of
from tacit.report.guarantee import UNITS
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy
from tacit.study import Epoch, EpochStudy

if TYPE_CHECKING:
    from tacit.dashboard.dashboard import Dashboard

PATIENCE = 0.1  # seconds that a page waits for a portrait
SHOWN = 60  # epochs of the table


@dataclass(frozen=True)
class StudyView:
    """Everything on the page."""

    standing: Standing
    pace: Pace | None
    saved: Saved | None
    values: str  # a chart
    drift: str  # a chart
    no_drift: bool  # two epochs were released and the reward function stayed the same
    table: list[Epoch]
    answers: list[str]
    span: float  # of rewards
    protects: str


async def show(ask: Ask) -> Answered:
    served = ask.study
    view = await asyncio.to_thread(view_of, served)
    job = portrait_job(ask.dashboard, served)
    if job is not None and not job.done:
        await asyncio.to_thread(job.over.wait, PATIENCE)
    waiting = job is not None and not job.done
    told = {
        "view": view,
        "portrait": None if job is None else job.result,
        "drawing": job.progress if waiting and job is not None else "",
        "problem": None if job is None else job.problem,
    }
    return Shown("study.html", told, served.name, wait=2.0 if waiting else None)


def view_of(served: Served) -> StudyView:
    """The page's numbers."""
    standing = standing_of(served)
    low, high = served.problem.reward_range
    present = standing.present
    drift = study_charts.drift(standing.epochs)
    return StudyView(
        standing=standing,
        pace=None if present is None else Pace.of(present, now()),
        saved=Saved.of(standing.epochs, standing.first_control) if standing.epochs else None,
        values=study_charts.values(standing.epochs, (low, high)),
        drift=drift,
        no_drift=not drift and sum(each.drift is not None for each in standing.epochs) > 1,
        table=standing.epochs[-SHOWN:][::-1],
        answers=[f"Epoch {each.number}: {each.answer}." for each in standing.epochs if each.answer][
            -3:
        ][::-1],
        span=high - low,
        protects=UNITS.get(standing.unit, standing.unit),
    )


# -- portraits of policies -------------------------------------------------------------------------


def portrait_job(dashboard: Dashboard, served: Served) -> Job | None:
    """The portrait of the policy that was released last; None before there is one."""
    released = served.released
    if released is None:
        return None
    request: dict[str, Any] = {"kind": "portrait"}
    if isinstance(served, ServedStudy):
        request["url"] = served.url
        if isinstance(served.study, EpochStudy):
            request["epoch"] = int(released.name.removeprefix("epoch-"))
    else:
        request["folder"] = served.folder  # type: ignore[attr-defined]
    return dashboard.studio.job(f"portrait/{served.name}/{released.name}", request)


def begin_portraits(dashboard: Dashboard) -> None:
    """Has portraits drawn before anybody asks for them."""
    for served in dashboard.service.studies.values():
        portrait_job(dashboard, served)


PAGES = [Page("GET", "/studies/{study}", show)]
