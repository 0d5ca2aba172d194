"""Long work: advance, release, validate; and plans, which are free."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request

from tacit.errors import InputError, StateError
from tacit.problem import Problem as StatedProblem
from tacit.service.calls import Answered, Call, Handler, answer
from tacit.service.problems import NotFoundError, UnavailableError
from tacit.service.schemas import (
    AdvanceRequest,
    ExtendRequest,
    PlanAnswer,
    PlanRequest,
    Problem,
    ReleaseRequest,
    ValidateRequest,
    WorkAnswer,
)
from tacit.service.served_study import ServedStudy
from tacit.service.work import FAILED, Work

if TYPE_CHECKING:
    from tacit.service.service import Service

KEY = "Idempotency-Key"
MOST_KEY = 200
PLAN_SECONDS = 120.0
STATUSES = (404, 409, 422, 503)


def long_work(kind: str) -> Handler:
    """Writes work down, to be done by a process of its own."""

    async def begin(service: Service, request: Request, body: Any) -> Answered:
        study = _study(service, request)
        given = {name: value for name, value in msgspec.to_builtins(body).items() if value}
        key = request.headers.get(KEY)
        if key is not None and not 1 <= len(key) <= MOST_KEY:
            raise InputError(f"an idempotency key has 1 to {MOST_KEY} letters.")
        work = await asyncio.to_thread(study.begin, kind, given, key)
        place = f"{request.scope.get('root_path', '')}/v1/studies/{study.name}/work/{work.id}"
        return answer(_told(work), status=202, headers={"Location": place})

    return begin


async def show_work(service: Service, request: Request, _body: Any) -> Answered:
    """Where long work stands."""
    study = _study(service, request)
    return answer(_told(await asyncio.to_thread(study.works.get, request.path_params["work"])))


async def make_plan(service: Service, request: Request, body: PlanRequest) -> Answered:
    """What a policy will be worth, before any data. Free, and made by a process of its own."""
    try:
        StatedProblem.from_spec(body.problem)
    except (InputError, StateError):
        raise
    except Exception as error:  # a spec is anything that JSON can hold
        raise InputError(f"the problem cannot be read ({type(error).__name__}).") from None
    async with service.planning:
        found = await _planned({"plan": msgspec.to_builtins(body)})
    if "problem" in found:
        raise InputError(found["problem"]["detail"])
    return answer(PlanAnswer(found["forecast"], found["explanation"]))


async def _planned(job: dict[str, Any]) -> dict[str, Any]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tacit.service.worker", stdin=pipe, stdout=pipe
    )
    try:
        content, _ = await asyncio.wait_for(
            process.communicate(json.dumps(job).encode()), PLAN_SECONDS
        )
    except TimeoutError:
        raise UnavailableError("this plan takes too long: use tacit plan.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise InputError("this plan cannot be made: try it with tacit plan, which says why.")
    found: dict[str, Any] = json.loads(content)
    return found


def _study(service: Service, request: Request) -> ServedStudy:
    study = service.study(request)
    if not isinstance(study, ServedStudy):
        raise NotFoundError("a policy alone has no releases: serve a study.")
    return study


def _told(work: Work) -> WorkAnswer:
    failed = work.state == FAILED
    error = msgspec.convert(work.result, Problem) if failed else None
    result = None if failed else work.result
    return WorkAnswer(work.id, work.kind, work.state, work.progress, result, error)


def _call(kind: str, summary: str, body: Any) -> Call:
    return Call(
        "POST",
        f"/v1/studies/{{study}}/{kind}",
        kind,
        summary,
        long_work(kind),
        "operate",
        {202: WorkAnswer},
        body,
        body_needed=kind == "extend",
        problems=STATUSES,
        headers=(KEY,),
    )


CALLS = [
    _call(
        "advance",
        "Release the present epoch, which SPENDS its budget, and open the next: long work",
        AdvanceRequest,
    ),
    _call(
        "release",
        "Close a study and release its policy, which SPENDS its budget: long work",
        ReleaseRequest,
    ),
    _call(
        "validate",
        "Plan an epoch that compares the policy with a baseline, which spends nothing: long work",
        ValidateRequest,
    ),
    _call(
        "extend",
        "Add rounds in further epochs, which spends nothing: long work",
        ExtendRequest,
    ),
    Call(
        "GET",
        "/v1/studies/{study}/work/{work}",
        "showWork",
        "Where long work stands",
        show_work,
        "read",
        {200: WorkAnswer},
        problems=(404, 503),
    ),
    Call(
        "POST",
        "/v1/plans",
        "plan",
        "What a policy will be worth, before any data. Free",
        make_plan,
        "operate",
        {200: PlanAnswer},
        PlanRequest,
        problems=(503,),
    ),
]
