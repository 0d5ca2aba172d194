"""What clients say and hear, without saying how: the same for `Client` and `AsyncClient`."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tacit.errors import InputError, TacitError

SERVICE = "service"
DEFAULT = "default"
LOCAL = "local"
AGAIN = (429, 502, 503, 504)  # statuses that another try may change
PAUSE = 0.05  # seconds before the first further try; each one after it waits twice as long


class ServiceUnavailableError(TacitError, ConnectionError):
    """The service does not answer, and no default was given."""


class RefusedError(TacitError):
    """The service refuses a request, and would refuse it again."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True)
class ClientOptions:
    """How a client behaves.

    `outbox` is a file in which rewards wait until the service has taken them. With `local` the
    released policy is fetched and decides here, without a request; it is fetched again when it is
    older than `refresh` seconds and has changed.
    """

    timeout: float = 2.0
    tries: int = 2
    outbox: str | Path | None = None
    local: bool = False
    refresh: float = 30.0

    def __post_init__(self) -> None:
        if not self.timeout > 0 or self.tries < 1 or not self.refresh >= 0:
            raise InputError(
                "a client needs a timeout above 0, at least one try, and a refresh of at least 0 "
                "seconds."
            )


@dataclass(frozen=True)
class Decided:
    """A decision. `source` says whose it is: the service's, the caller's default, or that of a
    policy which was fetched before. Only the first kind is a round of the study."""

    id: str
    action: dict[str, Any]
    source: str = SERVICE
    mode: str = DEFAULT
    propensity: float | None = None
    density: bool = False
    epoch: int | None = None
    policy: str = ""
    reward_until: str | None = None

    @property
    def counts(self) -> bool:
        """Whether its reward is wanted."""
        return self.source == SERVICE


def headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def decision_body(
    context: dict[str, Any], user: str | None, event_id: str | None, defer: bool
) -> dict[str, Any]:
    """A request for a decision. It has an id of its own, so that it can be sent again."""
    body: dict[str, Any] = {"context": context, "event_id": event_id or secrets.token_hex(12)}
    if user is not None:
        body["user"] = user
    if defer:
        body["defer_activation"] = True
    return body


def decided(answer: dict[str, Any]) -> Decided:
    """What the service decided."""
    names = ("action", "mode", "propensity", "density", "epoch", "policy", "reward_until")
    return Decided(answer["event_id"], **{name: answer[name] for name in names})


def by_default(event_id: str, action: dict[str, Any]) -> Decided:
    return Decided(event_id, action, DEFAULT, propensity=1.0)


def decisions_path(study: str) -> str:
    return f"/v1/studies/{quote(study, safe='')}/decisions"


def policy_path(study: str) -> str:
    return f"/v1/studies/{quote(study, safe='')}/policy"


def reward_path(event_id: str) -> str:
    return f"/v1/decisions/{quote(event_id, safe='')}/reward"


def activate_path(event_id: str) -> str:
    return f"/v1/decisions/{quote(event_id, safe='')}/activate"


def checked(response: httpx.Response) -> httpx.Response:
    """The same, unless it is a refusal."""
    if response.status_code < 400:
        return response
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the service answers with status {response.status_code}."
    raise RefusedError(response.status_code, detail)


def id_of(decision: Decided | str) -> str | None:
    """The id of a round; None if it is none of the study's."""
    if isinstance(decision, str):
        return decision
    return decision.id if decision.counts else None


def down(error: Exception) -> ServiceUnavailableError:
    return ServiceUnavailableError(
        f"the decision service does not answer ({type(error).__name__}): pass a default, or try "
        "again."
    )
