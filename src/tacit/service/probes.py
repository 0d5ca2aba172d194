"""For those who run the service: is it alive, is it ready, how much does it do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tacit._version import __version__, version_of
from tacit.service.calls import Answered, Call, answer
from tacit.service.problems import UnavailableError
from tacit.service.schemas import Ready, VersionAnswer

if TYPE_CHECKING:
    from tacit.service.service import Service

TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def livez(service: Service, request: Request, _body: Any) -> Answered:
    """The process answers."""
    return answer(Ready("alive"))


async def readyz(service: Service, request: Request, _body: Any) -> Answered:
    """Every database answers, and decisions can be written."""
    if not all(study.ready for study in service.studies.values()):
        raise UnavailableError("a study's database does not answer now.")
    return answer(Ready("ready"))


async def metrics(service: Service, request: Request, _body: Any) -> Answered:
    """Figures for Prometheus. None of them depends on anything private."""
    return Response(service.metrics.text(service.studies.values()), media_type=TEXT)


async def version(service: Service, request: Request, _body: Any) -> Answered:
    """Versions of what the guarantee rests on."""
    return answer(VersionAnswer(__version__, "v1", version_of("opendp")))


async def openapi(service: Service, request: Request, _body: Any) -> Answered:
    """This interface, for machines."""
    return Response(msgspec.json.encode(service.document), media_type="application/json")


CALLS = [
    Call("GET", "/livez", "livez", "The process answers", livez, None, {200: Ready}),
    Call(
        "GET",
        "/readyz",
        "readyz",
        "Databases answer, and decisions can be written",
        readyz,
        None,
        {200: Ready},
        problems=(503,),
    ),
    Call(
        "GET",
        "/metrics",
        "metrics",
        "Figures for Prometheus: none depends on anything private",
        metrics,
        None,
        {200: str},
        media="text/plain",
    ),
    Call("GET", "/version", "version", "Versions", version, None, {200: VersionAnswer}),
    Call("GET", "/openapi.json", "openapi", "This interface", openapi, None, {200: dict[str, Any]}),
]
