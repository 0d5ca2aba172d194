"""OpenFeature's Remote Evaluation Protocol: any OpenFeature SDK gets decisions.

A flag is a study: its value is the action, by the names of its columns. `STUDY.COLUMN` is one
column of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request

from tacit.errors import InputError, StateError, TacitError
from tacit.service.calls import Answered, Call, answer
from tacit.service.doors import caller_of
from tacit.service.problems import UnavailableError
from tacit.service.schemas import (
    DecisionAnswer,
    DecisionRequest,
    OfrepAnswer,
    OfrepBulk,
    OfrepFailure,
    OfrepRequest,
)
from tacit.service.served import Served

if TYPE_CHECKING:
    from tacit.service.service import Service

USER = "targetingKey"
EVENT = "event_id"


async def evaluate(service: Service, request: Request, body: OfrepRequest) -> Answered:
    """A decision, as the value of a flag."""
    key = request.path_params["key"]
    name, _, column = key.partition(".")
    study = service.studies.get(name)
    columns = [] if study is None else study.columns
    if study is None or (column and column not in columns):
        return answer(OfrepFailure("FLAG_NOT_FOUND", "there is no such flag.", key), status=404)
    study.door.admit(request, "decide")
    asked = Asked(body.context, False, caller_of(request))
    found = await _evaluated(study, key, column, asked)
    service.metrics.decided(isinstance(found, OfrepAnswer))
    return answer(found, status=200 if isinstance(found, OfrepAnswer) else 400)


async def evaluate_all(service: Service, request: Request, body: OfrepRequest) -> Answered:
    """A decision of every study. They are deferred: each counts once it is activated, because who
    fetches all flags shows few of them."""
    flags: list[Any] = []
    for study in service.admitted(request, "decide"):
        context = {name: value for name, value in body.context.items() if name != EVENT}
        asked = Asked(context, study.counts, caller_of(request))
        found = await _evaluated(study, study.name, "", asked)
        flags.append(msgspec.to_builtins(found))
    return answer(OfrepBulk(flags, {}))


class Asked(NamedTuple):
    """An evaluation context, whether the decision is deferred, and who asks."""

    context: dict[str, Any]
    defer: bool
    caller: str


async def _evaluated(
    study: Served, key: str, column: str, asked: Asked
) -> OfrepAnswer | OfrepFailure:
    try:
        reply = await study.decide(_request(study, asked), asked.caller)
    except UnavailableError:
        raise
    except (InputError, msgspec.ValidationError) as error:
        missing = study.by_user and USER not in asked.context
        code = "TARGETING_KEY_MISSING" if missing else "INVALID_CONTEXT"
        return OfrepFailure(code, str(error), key)
    except (StateError, TacitError) as error:
        return OfrepFailure("GENERAL", str(error), key)
    return _flag(reply.answer, key, column)


def _request(study: Served, asked: Asked) -> DecisionRequest:
    """What an evaluation context says, of what the study knows."""
    context = asked.context
    known = {name: context[name] for name in study.context_names if name in context}
    user = context.get(USER) if study.by_user else None
    given = {"context": known, "user": user, "event_id": context.get(EVENT)}
    return msgspec.convert(given | {"defer_activation": asked.defer}, DecisionRequest)


def _flag(decision: DecisionAnswer, key: str, column: str) -> OfrepAnswer:
    value = decision.action[column] if column else decision.action
    labels = [str(each) for each in decision.action.values() if isinstance(each, str)]
    about: dict[str, str | float | bool] = {
        "event_id": decision.event_id,
        "mode": decision.mode,
        "policy": decision.policy,
        "density": decision.density,
    }
    if decision.propensity is not None:
        about["propensity"] = decision.propensity
    if decision.epoch is not None:
        about["epoch"] = decision.epoch
    return OfrepAnswer(
        key=key,
        reason="TARGETING_MATCH" if decision.mode == "exploit" else "SPLIT",
        variant=",".join(labels) or decision.mode,
        value=value,
        metadata=about,
    )


CALLS = [
    Call(
        "POST",
        "/ofrep/v1/evaluate/flags/{key}",
        "evaluateFlag",
        "OpenFeature Remote Evaluation: the decision of a study, or one column of it, as a flag",
        evaluate,
        None,
        {200: OfrepAnswer, 400: OfrepFailure, 404: OfrepFailure},
        OfrepRequest,
        body_needed=False,
        problems=(401, 403, 422, 429, 503),
    ),
    Call(
        "POST",
        "/ofrep/v1/evaluate/flags",
        "evaluateAllFlags",
        "OpenFeature Remote Evaluation: a deferred decision of every study",
        evaluate_all,
        None,
        {200: OfrepBulk},
        OfrepRequest,
        body_needed=False,
        problems=(401, 403, 422, 429, 503),
    ),
]
