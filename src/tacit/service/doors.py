"""Who comes in: keys, scopes, rates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from tacit.service.keys import Key, Ring
from tacit.service.problems import ForbiddenError, TooManyError, UnauthorizedError

CALLER = "tacit.caller"  # where a request carries whose key it came with
BURST = 2.0  # seconds of a rate that may come at once


@dataclass
class Bucket:
    """Lets `rate` requests a second through, and at most `BURST` seconds of them at once."""

    rate: float
    level: float
    last: float

    def take(self, now: float) -> bool:
        most = max(1.0, BURST * self.rate)
        self.level = min(most, self.level + (now - self.last) * self.rate)
        self.last = now
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True


@dataclass
class Door:
    """Of one study: which keys are good for what. Without any key everybody may come in; the
    service then listens on the loopback address only."""

    ring: Ring
    clock: Callable[[], float] = time.monotonic  # does not jump
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def admit(self, connection: HTTPConnection, scope: str) -> Key | None:
        """Whose key it is; None where no key is needed. Fails if it is not good for this."""
        if self.ring.empty:
            connection.scope[CALLER] = ""
            return None
        key = self.ring.find(token_of(connection))
        if key is None:
            raise UnauthorizedError(
                "this needs a key that is good: send Authorization: Bearer KEY (tacit keys create)."
            )
        if scope not in key.scopes:
            raise ForbiddenError(f"this key has no scope {scope!r}: make another one with it.")
        if key.rate is not None and not self._bucket(key).take(self.clock()):
            raise TooManyError("this key may make fewer requests a second: wait a moment.")
        connection.scope[CALLER] = key.name
        return key

    def _bucket(self, key: Key) -> Bucket:
        rate = key.rate or 0.0
        found = self._buckets.get(key.id)
        if found is None or found.rate != rate:
            found = Bucket(rate, max(1.0, BURST * rate), self.clock())
            self._buckets[key.id] = found
        return found


def caller_of(connection: HTTPConnection) -> str:
    """The name of the key by which a request was admitted; nothing where none was needed."""
    return str(connection.scope.get(CALLER, ""))


def token_of(connection: HTTPConnection) -> str:
    """What a request says who it is from: a bearer token, or an X-API-Key."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return connection.headers.get("x-api-key", "")
