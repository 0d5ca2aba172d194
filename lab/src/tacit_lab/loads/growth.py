"""How much memory a service takes, minute by minute, under all kinds of requests."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tacit_lab.loads.servers import Server, running
from tacit_lab.loads.wire import at_rate

MOST_GROWTH = 10.0  # MiB: 50 bytes a request would be twice as much after ten minutes
SETTLED = 2  # minutes after which caches are filled
LATER = 2000  # rounds after which a reward comes: its decision was answered by then
CONTEXT = {"age": 61, "weight": 74, "gene": "A/G"}


@dataclass
class Growth:
    """Resident memory, once a minute, and what was asked meanwhile."""

    mib: list[float] = field(default_factory=list)
    requests: int = 0
    failed: int = 0

    @property
    def grown(self) -> float:
        """In MiB, since caches are filled."""
        return self.mib[-1] - self.mib[min(SETTLED, len(self.mib) - 1)]


def growth(server: Server, rate: float, minutes: float) -> Growth:
    """Serves `study` and `policy` for so long."""
    found = Growth()
    source = rounds()
    with running(server) as up:
        found.mib.append(up.memory())
        until = time.monotonic() + 60 * minutes
        while (left := until - time.monotonic()) > 1.0:
            timings = asyncio.run(at_rate(up.port, lambda: source, rate, min(60.0, left)))
            found.requests += len(timings.seconds)
            found.failed += timings.failed
            found.mib.append(up.memory())
    return found


def rounds() -> Iterator[tuple[str, str, bytes]]:
    """Decisions of a study, their rewards, and decisions of a policy, in turn."""
    for i in itertools.count():
        asked = {"event_id": f"round-{i}", "context": CONTEXT}
        yield "POST", "/v1/studies/study/decisions", json.dumps(asked).encode()
        if i >= LATER:
            yield "PUT", f"/v1/decisions/round-{i - LATER}/reward", b'{"value": 0.5}'
        yield "POST", "/v1/studies/policy/decisions", json.dumps({"context": CONTEXT}).encode()
