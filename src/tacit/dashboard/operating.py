"""Operate: advance, validate, extend, release. First a dry run that says what will be spent and
what that is expected to buy, then a confirmation that repeats it, then progress."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from tacit.core import Budget
from tacit.dashboard.fields import fields_of, read_cells
from tacit.dashboard.following import told_of_work
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.planning import plan_job
from tacit.dashboard.rendering import Shown
from tacit.dashboard.studio import Job
from tacit.dashboard.views import Spent, Standing, standing_of
from tacit.errors import InputError, StateError
from tacit.planning import ValidationPlan
from tacit.service.problems import NotFoundError
from tacit.service.served import Served
from tacit.service.served_study import ServedStudy
from tacit.service.work import FAILED
from tacit.spent import coin_toss
from tacit.study import Advance, Epoch, EpochStudy

KINDS = ("advance", "validate", "extend", "release")
SPENDS = ("advance", "release")
FEWEST = 10  # rounds that a plan can be made for


@dataclass(frozen=True)
class DryRun:
    """What an operation will do, spend, and is expected to buy."""

    kind: str
    title: str
    does: str
    spends: str
    buys: list[str]
    planning: str  # how far a plan is that says more
    parameters: str  # as JSON, for the confirmation
    seen: str  # a digest of where the study stood
    possible: bool
    missing: str

    @property
    def costs(self) -> bool:
        return self.kind in SPENDS


async def show(ask: Ask) -> Answered:
    """What can be done now."""
    study = _study(ask.study)
    standing = await asyncio.to_thread(standing_of, study)
    work = await asyncio.to_thread(study.works.open)
    view = {
        "standing": standing,
        "work": work,
        "fields": fields_of(study.problem.actions, _baseline(study), "b-"),
        "has_baseline": bool(_baseline(study)),
    }
    return Shown("operate.html", view, f"Operate {study.name}")


async def dry_run(ask: Ask) -> Answered:
    """What it will spend and is expected to buy. Changes nothing."""
    study = _study(ask.study)
    kind = ask.request.path_params["kind"]
    if kind not in KINDS:
        raise NotFoundError("there is no such operation.")
    given = parameters_of(ask, study, kind)
    standing = await asyncio.to_thread(standing_of, study)
    job = _outlook(ask, study, standing, kind, given)
    if job is not None and not job.done:
        await asyncio.to_thread(job.over.wait, 0.15)
    run = dry_run_of(study, standing, kind, given, job)
    view = {"run": run, "key": secrets.token_hex(12), "name": study.name}
    return Shown("dry_run.html", view, run.title, wait=1.5 if run.planning else None)


async def begin(ask: Ask) -> Answered:
    """Writes the operation down, if the study still stands where the dry run saw it."""
    study = _study(ask.study)
    kind = ask.request.path_params["kind"]
    if kind not in KINDS:
        raise NotFoundError("there is no such operation.")
    try:
        given = json.loads(ask.field("parameters"))
    except ValueError:
        raise InputError("the confirmation is damaged: begin again.") from None
    if ask.field("sure") != "yes":
        raise InputError("confirm that this is what you want: tick the box and send it again.")
    standing = await asyncio.to_thread(standing_of, study)
    if ask.field("seen") != _seen(standing, kind, given):
        raise StateError(
            "the study has gone on since the dry run, so that this may do something else now: look "
            "at a new one."
        )
    key = ask.field("key")[:64] or None
    work = await asyncio.to_thread(study.begin, kind, given, key)
    return ask.to(f"/studies/{study.name}/work/{work.id}")


async def follow(ask: Ask) -> Answered:
    """How far it is, and what came of it."""
    study = _study(ask.study)
    work = await asyncio.to_thread(study.works.get, ask.request.path_params["work"])
    told = told_of_work(work)
    view = {
        "told": told,
        "back": f"/studies/{study.name}/operate",
        "events": f"/studies/{study.name}/work/{work.id}/events",
        "result": _result(work.kind, work.state, work.result),
        "next": f"/studies/{study.name}",
    }
    title = f"{work.kind.capitalize()} {study.name}"
    return Shown("work.html", view, title, wait=None if told.over else 2.0)


# -- what will happen ------------------------------------------------------------------------------


def parameters_of(ask: Ask, study: ServedStudy, kind: str) -> dict[str, Any]:
    """What a form asks for, as the work takes it."""
    if kind == "advance":
        return {"early": True} if ask.field("early") == "yes" else {}
    if kind == "extend":
        return {"rounds": _whole(ask, "rounds"), "epochs": _whole(ask, "epochs")}
    if kind == "validate":
        typed = {name: ask.field(f"b-{name}") for name in study.problem.actions.names}
        given: dict[str, Any] = {"rounds": _whole(ask, "rounds")}
        try:
            given["split"] = float(ask.field("split", "0.5"))
        except ValueError:
            raise InputError("the policy's share is a number between 0 and 1.") from None
        if any(typed.values()):
            given["baseline"] = read_cells(study.problem.actions, typed, "the baseline")
        return given
    return {}


def dry_run_of(
    study: ServedStudy, standing: Standing, kind: str, given: dict[str, Any], job: Job | None
) -> DryRun:
    """An operation in words."""
    does, spends, missing = _words(study, standing, kind, given)
    buys, planning = _bought(study, standing, kind, given, job)
    return DryRun(
        kind=kind,
        title=f"Dry run: {kind} {study.name}",
        does=does,
        spends=spends,
        buys=buys,
        planning=planning,
        parameters=json.dumps(given, sort_keys=True),
        seen=_seen(standing, kind, given),
        possible=not missing,
        missing=missing,
    )


def _words(
    study: ServedStudy, standing: Standing, kind: str, given: dict[str, Any]
) -> tuple[str, str, str]:
    """What is done, what is spent, and what is missing for it."""
    state = standing.state
    assert state is not None
    if kind in ("validate", "extend", "advance") and not isinstance(study.study, EpochStudy):
        raise StateError("this study has one release and no epochs: release it.")
    if kind == "release" and isinstance(study.study, EpochStudy):
        raise StateError("this study goes on in epochs, which are released by advance.")
    price = _price(study)
    if kind == "extend":
        does = (
            f"{given['rounds']:,} rounds are added in {_many(given['epochs'], 'further epoch')}. "
            "They have people of their own."
        )
        return does, f"Nothing now. Each further epoch will spend {price} of its own people.", ""
    if kind == "validate":
        does = (
            f"An epoch of {given['rounds']:,} rounds is planned after the present one. A coin "
            f"gives {given.get('split', 0.5):.0%} of its people the policy's decision, the others "
            f"{_against(study, given)}. The policy stays as it is."
        )
        return does, f"Nothing now. Its release will spend {price} of its own people.", ""
    if kind == "release":
        does = "The study is closed: no further round is asked, and its policy is released."
        missing = "" if state.asked else "no round was asked yet"
        return does, f"{state.release_budget}, once, of each of {state.asked:,} rounds.", missing
    present = standing.present
    assert present is not None
    missing = standing.missing
    if given.get("early") and "rounds were asked" in missing:
        missing = "" if present.asked else "no round was asked yet"
    after = "and the next one is opened"
    if present.number >= standing.planned:
        after = "which is the last one that is planned"
    does = f"Epoch {present.number} is closed and released, {after}."
    if present.asked < present.size:
        does += (
            f" It is closed early: the {present.size - present.asked:,} rounds that it lacks are "
            "lost."
        )
    return does, f"{price}, of each of the {present.asked:,} people of this epoch.", missing


def _price(study: ServedStudy) -> str:
    """What the release of an epoch costs each of its people, in words."""
    budget = study.study.ledger.budget
    epsilon = budget.epsilon if budget.epsilon is not None else Spent.of(study.study.ledger).epsilon
    return f"{budget} (a coin toss becomes at most {coin_toss(epsilon)})"


def _bought(
    study: ServedStudy, standing: Standing, kind: str, given: dict[str, Any], job: Job | None
) -> tuple[list[str], str]:
    """What it is expected to buy, and how far the plan is that says so."""
    if kind == "validate" or (kind == "advance" and _validates(standing.present)):
        rounds = given.get("rounds") or (standing.present.asked if standing.present else 0)
        return [_interval(study, max(rounds, 10), given.get("split", 0.5))], ""
    if job is None:
        return [], ""
    if not job.done:
        return [], job.progress
    if job.result is None:
        return [job.problem or ""], ""
    found = job.result
    low, high = found["band"]
    now = f"{found['error']:.3g} (90 % band {low:.3g} to {high:.3g})"
    uniform = found["uniform_error"]
    rounds = job.request["rounds"]
    if "more" in job.request:
        more_low, more_high = found["more_band"]
        then = f"{found['more_error']:.3g} (90 % band {more_low:.3g} to {more_high:.3g})"
        return [
            f"By the plan, a policy of {rounds:,} rounds loses {now} reward a decision against "
            f"the best action; with {found['more']:,} more, {then}. Random actions lose "
            f"{uniform:.3g}."
        ], ""
    return [
        f"By the plan, a policy of {rounds:,} rounds loses {now} reward a decision against the "
        f"best action, where random actions lose {uniform:.3g}: it earns {found['value']:.3g} more "
        "than random play."
    ], ""


def _outlook(
    ask: Ask, study: ServedStudy, standing: Standing, kind: str, given: dict[str, Any]
) -> Job | None:
    """The plan that says what is bought; None where none is needed."""
    state = standing.state
    assert state is not None
    if kind == "validate" or _validates(standing.present):
        return None
    own = 0 if standing.present is None else standing.present.asked
    rounds = max(state.asked, 10)
    more = None
    if kind == "extend":
        rounds = state.horizon
        more = given["rounds"]
    elif own and state.asked - own >= FEWEST:  # what this epoch adds to those before it
        rounds = state.asked - own
        more = own
    return plan_job(ask.dashboard, study, rounds, _budget(study), 1, more)


def _budget(study: ServedStudy) -> Budget:
    budget = study.study.ledger.budget
    if budget.epsilon is None:
        return Budget(budget.as_epsilon(1e-6), 1e-6)
    return budget


def _interval(study: ServedStudy, rounds: int, split: float) -> str:
    unit = study.study.unit if isinstance(study.study, EpochStudy) else "record"
    plan = ValidationPlan(_budget(study), study.problem.reward_range, split=split, unit=unit)
    return (
        f"An interval of ± {plan.half_width(rounds):.3g} reward (95 %) around how much more the "
        "policy earns than the baseline, or less where rewards vary less than they can."
    )


def _against(study: ServedStudy, given: dict[str, Any]) -> str:
    if "baseline" in given:
        return ", ".join(f"{name} {value}" for name, value in given["baseline"].items())
    return "the study's own baseline"


def _validates(epoch: Epoch | None) -> bool:
    return epoch is not None and epoch.kind == "validation"


def _seen(standing: Standing, kind: str, given: dict[str, Any]) -> str:
    """Where a study stood, as far as an operation depends on it. More rounds of the same epoch
    change nothing but how many there are."""
    stages = [(epoch.number, epoch.stage == "released", epoch.size) for epoch in standing.epochs]
    said = json.dumps([standing.name, kind, given, stages, standing.planned], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _result(kind: str, state: str, result: dict[str, Any] | None) -> list[str]:
    if result is None:
        return []
    if state == FAILED:
        return [str(result.get("detail", "")), *result.get("charges", [])]
    if kind == "advance":
        done = Advance(**result)
        return [str(done) if done.advanced else f"Nothing was released: {done.missing}"]
    if kind == "release":
        return [f"Released: {result['guarantee']}"]
    if kind == "validate":
        return [f"Epoch {result['epoch']} will compare the policy with the baseline."]
    return [
        f"The study has {_many(result['epochs'], 'epoch')} and {result['horizon']:,} rounds now."
    ]


def _baseline(study: ServedStudy) -> dict[str, str]:
    """The study's own baseline, as a form shows it; nothing where it is no single action."""
    if not isinstance(study.study, EpochStudy):
        return {}
    action = getattr(study.study._baseline, "action", None)
    if not isinstance(action, dict):
        return {}
    return {f"b-{name}": f"{v:g}" if isinstance(v, float) else str(v) for name, v in action.items()}


def _whole(ask: Ask, name: str) -> int:
    text = ask.field(name).replace(",", "")
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{name} must be a whole number: type one.")
    return int(text)


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _study(served: Served) -> ServedStudy:
    if not isinstance(served, ServedStudy):
        raise NotFoundError("a policy alone has nothing to operate: serve a study.")
    return served


PAGES = [
    Page("GET", "/studies/{study}/operate", show, scope="operate"),
    Page("GET", "/studies/{study}/operate/{kind}", dry_run, scope="operate"),
    Page("POST", "/studies/{study}/operate/{kind}/begin", begin, scope="operate", form=True),
    Page("GET", "/studies/{study}/work/{work}", follow),
]
