"""Who looks at the pages: a session after sign-in with a key, a trusted proxy's word, or anybody on
this machine where there are no keys.

A session is a cookie that nobody else can make: the id of a key, when it was signed in, and a keyed
hash of both under what the database keeps of that key. So it needs no memory, holds for all
replicas, and ends with its key.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from tacit.dashboard.options import DashboardOptions
from tacit.service.keys import SCOPES, Key
from tacit.service.problems import ForbiddenError
from tacit.service.served import Served

SESSION = "tacit_session"
VISITOR = "tacit_visitor"
LASTS = 12 * 3600  # seconds of a session
MOST_KEYS = 8  # of one session
SAME_SITE = (None, "same-origin", "none")


@dataclass(frozen=True)
class Visitor:
    """Somebody who looks at pages: what they may do to which study. `name` is for people."""

    name: str
    scopes: Mapping[str, frozenset[str]]  # by study
    nonce: str = ""  # what forms are tied to; nobody else knows it
    session: str = ""
    open_here: bool = field(default=False)  # no key is needed on this machine

    def may(self, study: str, scope: str) -> bool:
        return scope in self.scopes.get(study, frozenset())

    @property
    def operates(self) -> bool:
        """Whether they may operate anything."""
        return any("operate" in scopes for scopes in self.scopes.values()) or self.open_here

    @property
    def known(self) -> bool:
        return self.open_here or any(self.scopes.values())

    @property
    def csrf(self) -> str:
        """What every form of theirs carries."""
        said = f"csrf|{self.session}|{self.name}".encode()
        return hmac.new(self.nonce.encode(), said, hashlib.sha256).hexdigest()

    def require_own(self, request: Request, token: str) -> None:
        """Fails unless a request to change something comes from a form of ours."""
        same = request.headers.get("sec-fetch-site") in SAME_SITE
        if (
            not same
            or not self.nonce
            or not hmac.compare_digest(token.encode(), self.csrf.encode())
        ):
            raise ForbiddenError(
                "this form is not one of this visit's own: load the page again and send it from "
                "there."
            )


def visitor_of(
    request: Request, studies: Mapping[str, Served], options: DashboardOptions
) -> Visitor:
    """Who a request is from."""
    nonce = request.cookies.get(VISITOR, "")
    if options.user_header is not None:
        return _named_by_proxy(request, studies, options, nonce)
    session = request.cookies.get(SESSION, "")
    found: dict[str, frozenset[str]] = {}
    names: list[str] = []
    here = options.behind_proxy or is_this_machine(request.headers.get("host", ""))
    for name, study in studies.items():
        if study.door.ring.empty:
            found[name] = frozenset(SCOPES) if here else frozenset()
            continue
        keys = list(_keys_of(session, study))
        found[name] = frozenset(scope for key in keys for scope in key.scopes)
        names += [key.name for key in keys if key.name not in names]
    free = here and all(study.door.ring.empty for study in studies.values())
    return Visitor(", ".join(names), found, nonce, session, free)


def _named_by_proxy(
    request: Request, studies: Mapping[str, Served], options: DashboardOptions, nonce: str
) -> Visitor:
    assert options.user_header is not None
    name = request.headers.get(options.user_header, "").strip()
    scopes = frozenset[str]()
    if name:
        scopes = frozenset({"read", "operate"} if name in options.operators else {"read"})
    return Visitor(name, dict.fromkeys(studies, scopes), nonce)


# -- sessions --------------------------------------------------------------------------------------


def session_of(key: Key, kept: str, before: str = "") -> str:
    """A session that holds this key, and those of the session before."""
    entry = _entry(key.id, int(time.time()), kept)
    others = [each for each in before.split("~") if each and not each.startswith(f"{key.id}.")]
    return "~".join([*others, entry][-MOST_KEYS:])


def _entry(id: str, issued: int, kept: str) -> str:
    said = f"session|{id}|{issued}".encode()
    return f"{id}.{issued}.{hmac.new(kept.encode(), said, hashlib.sha256).hexdigest()}"


def _keys_of(session: str, study: Served) -> Iterator[Key]:
    """The keys of a study that a session holds and that are good."""
    now = time.time()
    for entry in session.split("~")[:MOST_KEYS]:
        id, _, rest = entry.partition(".")
        issued = rest.partition(".")[0]
        key, kept = study.door.ring.keys.get(id, (None, ""))
        if key is None or not issued.isdecimal() or len(issued) > 12:
            continue
        same = hmac.compare_digest(_entry(id, int(issued), kept).encode(), entry.encode())
        if same and key.good(now) and 0 <= now - int(issued) < LASTS:
            yield key


def new_nonce() -> str:
    return secrets.token_urlsafe(24)


def is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine: a page elsewhere whose name was made to point here
    is shown nothing."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
