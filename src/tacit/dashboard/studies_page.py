"""The first page: a card for each study that the visitor may look at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.views import Standing, standing_of
from tacit.service.problems import UnauthorizedError

if TYPE_CHECKING:
    from tacit.dashboard.dashboard import Dashboard


@dataclass(frozen=True)
class Card:
    """One study on the first page. `portrait` is None until it is drawn."""

    standing: Standing
    portrait: dict[str, Any] | None
    drawing: bool


async def show(ask: Ask) -> Answered:
    """All studies that the visitor may look at."""
    if not ask.visitor.known:
        raise UnauthorizedError("sign in with a key.")
    cards = await asyncio.to_thread(cards_of, ask)
    waiting = any(card.drawing for card in cards)
    return Shown("studies.html", {"cards": cards}, "Studies", wait=2.0 if waiting else None)


def cards_of(ask: Ask) -> list[Card]:
    names = [name for name in ask.dashboard.service.studies if ask.visitor.may(name, "read")]
    return [card_of(ask.dashboard, name) for name in names]


def card_of(dashboard: Dashboard, name: str) -> Card:
    from tacit.dashboard.study_page import portrait_job

    served = dashboard.service.studies[name]
    job = portrait_job(dashboard, served)
    portrait = None if job is None else job.result
    drawing = job is not None and not job.done
    return Card(standing_of(served), portrait, drawing)


PAGES = [Page("GET", "/", show, scope=None)]
