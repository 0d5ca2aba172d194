"""Plan: how good the policy will be for other rounds, another epsilon or other epochs. Free."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.charts import Dots, Figure, Intervals, Panel, Rule, Scale
from tacit.charts.marks import Mark
from tacit.core import Budget
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.studio import Job
from tacit.errors import InputError
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy
from tacit.spent import coin_toss

if TYPE_CHECKING:
    from tacit.dashboard.dashboard import Dashboard

PATIENCE = 0.2  # seconds that a page waits for an answer
ROUNDS = (100, 1_000_000)
EPSILONS = (0.05, 10.0)
MOST_EPOCHS = 8
DELTA = 1e-6
WHY = {
    "rounds": "Even without privacy it would hardly do better: more rounds are what helps.",
    "privacy": "The privacy noise is what limits it: more rounds or a larger epsilon help about "
    "equally.",
    "rank": "The landmarks are what limits it: allow a larger rank.",
    "nothing": "There is little left to gain.",
    "": "",
}


@dataclass(frozen=True)
class Asked:
    """What the sliders say."""

    rounds: int
    epsilon: float
    epochs: int


@dataclass(frozen=True)
class PlanView:
    """The form, and the answer once it is there."""

    asked: Asked
    coin: str
    answer: dict[str, Any] | None
    chart: str
    why: str
    waiting: str
    problem: str | None


async def show(ask: Ask) -> Answered:
    """The page; with `part=answer` its answer alone, for the script."""
    asked = asked_of(ask)
    budget = Budget(asked.epsilon, DELTA)
    own = f"plan of {ask.visitor.nonce}" if ask.visitor.nonce else ""
    job = plan_job(ask.dashboard, ask.study, asked.rounds, budget, asked.epochs, group=own)
    if not job.done:
        await asyncio.to_thread(job.over.wait, PATIENCE)
    view = PlanView(
        asked=asked,
        coin=coin_toss(asked.epsilon),
        answer=job.result,
        chart="" if job.result is None else chart_of(job.result),
        why="" if job.result is None else WHY[job.result["limited_by"]],
        waiting="" if job.done else job.progress,
        problem=job.problem,
    )
    waits = 1.0 if view.waiting else None
    told = {"view": view, "rounds": ROUNDS, "epsilons": EPSILONS, "most_epochs": MOST_EPOCHS}
    if ask.field("part") == "answer":
        return Shown("plan_answer.html", told, "Plan")
    return Shown("plan.html", told, f"Plan {ask.study.name}", wait=waits)


def asked_of(ask: Ask) -> Asked:
    """What was asked for, or the study's own terms."""
    usual = usual_of(ask.study)
    try:
        return Asked(
            rounds=round(_within(ask.field("rounds", str(usual.rounds)), ROUNDS)),
            epsilon=_within(ask.field("epsilon", f"{usual.epsilon:g}"), EPSILONS),
            epochs=round(_within(ask.field("epochs", str(usual.epochs)), (1, MOST_EPOCHS))),
        )
    except ValueError:
        raise InputError("rounds, epsilon and epochs are numbers: type them again.") from None


def usual_of(served: Served) -> Asked:
    if not isinstance(served, ServedStudy):
        return Asked(5000, 1.0, 1)
    epsilon = served.study.ledger.budget.epsilon or 1.0
    return Asked(max(served.study.horizon, ROUNDS[0]), epsilon, 1)


def _within(text: str, ends: tuple[float, float]) -> float:
    return min(max(float(text.replace(",", "")), ends[0]), ends[1])


def plan_job(
    dashboard: Dashboard,
    served: Served,
    rounds: int,
    budget: Budget,
    epochs: int,
    more: int | None = None,
    group: str = "",
) -> Job:
    """The plan for so many rounds; the same question is answered once."""
    request: dict[str, Any] = {
        "kind": "plan",
        "rounds": rounds,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "epochs": epochs,
        "horizon": usual_of(served).rounds,
    }
    if more is not None:
        request["more"] = more
    if isinstance(served, ServedStudy):
        request["url"] = served.url
    else:
        request["problem"] = served.problem.spec()
    key = f"plan/{served.name}/{rounds}/{budget.epsilon}/{budget.delta}/{epochs}/{more}"
    return dashboard.studio.job(key, request, group)


def chart_of(answer: dict[str, Any]) -> str:
    """What is lost a decision: now, with more people, without privacy, and at random."""
    names = ["this plan", f"+{answer['more']:,} people"]
    values = [answer["error"], answer["more_error"]]
    bands = [answer["band"], answer["more_band"]]
    if answer["nonprivate_error"] is not None:
        names.append("without privacy")
        values.append(answer["nonprivate_error"])
    at = [float(i) for i in range(len(names))]
    ends = [end for band in bands for end in band]
    across = Scale.around([*ends, *values, answer["uniform_error"], 0.0], "Reward lost a decision")
    marks: list[Mark] = [
        Intervals(at[:2], [b[0] for b in bands], [b[1] for b in bands], "accent", flat=True),
        Dots(values, at, "accent", 5.0),
        Rule(answer["uniform_error"], upright=True, kind="dashed"),
    ]
    alt = "Reward lost a decision with 90 % bands; the dashed line is random actions."
    panel = Panel(across, Scale.of_labels(names, down=True), marks)
    return Figure([panel], alt, 520.0, 70.0 + 34.0 * len(names)).svg()


PAGES = [Page("GET", "/studies/{study}/plan", show)]
