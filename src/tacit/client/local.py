"""A released policy that was fetched, and decides here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from tacit.client.messages import LOCAL, Decided
from tacit.policy.archives import unpacked


class LocalPolicy:
    """The policy that was fetched last, and when."""

    def __init__(self, refresh: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._refresh = refresh
        self._clock = clock
        self._looked: float | None = None
        self._policy: Any = None
        self.etag = ""

    @property
    def stale(self) -> bool:
        """Whether it is time to ask for a newer one."""
        return self._looked is None or self._clock() - self._looked >= self._refresh

    @property
    def there(self) -> bool:
        return self._policy is not None

    @property
    def headers(self) -> dict[str, str]:
        return {"If-None-Match": self.etag} if self.etag else {}

    def take(self, status: int, etag: str, content: bytes) -> None:
        """What the service answered. One that has no policy yet leaves the one that is there."""
        self._looked = self._clock()
        if status == 200:
            self._policy = unpacked(content)
            self.etag = etag

    def decide(self, context: dict[str, Any], event_id: str | None) -> Decided:
        """Free, and no round of the study."""
        action = self._policy.decide(context)
        return Decided(
            event_id or secrets.token_hex(12),
            action,
            LOCAL,
            "exploit",
            propensity=1.0,
            policy=self.etag.strip('"'),
        )
