"""Errors as answers: one table from what Tacit raises to what HTTP says."""

from __future__ import annotations

import logging
from http import HTTPStatus

import msgspec
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tacit.errors import (
    BudgetError,
    DuplicateRewardError,
    InputError,
    MissingExtraError,
    RequestConflictError,
    StateError,
    TacitError,
    TooLateError,
    UnknownRoundError,
)
from tacit.service.schemas import Problem

log = logging.getLogger("tacit.service")


class ServiceError(TacitError):
    """What the service itself refuses."""


class UnauthorizedError(ServiceError):
    """No key, or one that is not good any more."""


class ForbiddenError(ServiceError):
    """A key that is good for something else."""


class NotFoundError(ServiceError):
    """There is nothing of this name."""


class TooLargeError(ServiceError):
    """A body above the limit."""


class TooManyError(ServiceError):
    """More requests than a key may make."""


class UnavailableError(ServiceError):
    """The database does not answer, or too many requests wait. Nothing was acknowledged."""


class MalformedError(ServiceError):
    """A body that is not JSON."""


# The first class that an error is of decides. Everything that the service answers other than
# success comes from here.
STATUSES: list[tuple[type[Exception], int]] = [
    (MalformedError, 400),
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (UnknownRoundError, 404),
    (DuplicateRewardError, 409),
    (TooLateError, 410),
    (TooLargeError, 413),
    (RequestConflictError, 422),
    (InputError, 422),
    (TooManyError, 429),
    (UnavailableError, 503),
    (BudgetError, 409),
    (StateError, 409),
    (MissingExtraError, 501),
    (TacitError, 500),
]
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": "1"},
    503: {"Retry-After": "1"},
}
# A connection may break while a commit is under way, so that nobody knows what became of it.
UNAVAILABLE = (
    "the database does not answer now, and nothing was acknowledged: send it again in a second, "
    "under the same event id if it has one."
)


def as_tacit(error: Exception) -> TacitError | None:
    """An error as one of the table's; None for one that is nobody's intention."""
    if isinstance(error, TacitError):
        return error
    if isinstance(error, msgspec.ValidationError):
        return InputError(f"the body is not what is expected: {_without_values(error)}.")
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError):
        return MalformedError("the body must be JSON: send Content-Type application/json.")
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout | DBAPIError):
        return UnavailableError(UNAVAILABLE)
    return None


def problem_of(error: Exception) -> Problem:
    """An error for the caller. One that nobody intended is told by its kind alone."""
    if isinstance(error, HTTPException):
        return _problem(error.status_code, HTTPStatus(error.status_code).phrase.lower())
    known = as_tacit(error)
    if known is None:
        log.error("a request failed: %s", type(error).__name__)
        return _problem(500, "the service failed: nothing was acknowledged.")
    for kind, status in STATUSES:
        if isinstance(known, kind):
            return _problem(status, str(known), kind)
    return _problem(500, "the service failed: nothing was acknowledged.")


def response_of(error: Exception) -> Response:
    found = problem_of(error)
    more = dict(getattr(error, "headers", None) or {}) | HEADERS.get(found.status, {})
    return Response(
        msgspec.json.encode(found),
        status_code=found.status,
        media_type="application/problem+json",
        headers=more,
    )


def _problem(status: int, detail: str, kind: type[Exception] | None = None) -> Problem:
    title = HTTPStatus(status).phrase
    name = title.lower().replace(" ", "-") if kind is None else _kebab(kind.__name__)
    return Problem(f"urn:tacit:problem:{name}", title, status, detail)


def _kebab(name: str) -> str:
    letters = [f"-{each.lower()}" if each.isupper() else each for each in name]
    return "".join(letters).lstrip("-").removesuffix("-error")


def _without_values(error: msgspec.ValidationError) -> str:
    """Msgspec says which field is wrong and what was expected. The names of context columns are the
    caller's own."""
    return str(error).rstrip(".")[:300]
