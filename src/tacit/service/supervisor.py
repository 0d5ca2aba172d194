"""Starts processes for the work of a study, here or after another service has died."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable

from tacit.service.work import QUEUED, Work, Works

AGAIN_SECONDS = 0.5  # between two starts at least
STALE_SECONDS = 5.0  # a beat that stands still for so long belongs to nobody
log = logging.getLogger("tacit.service")


class Supervisor:
    """Looks at the work of one study from time to time. Clocks of other machines do not matter:
    what is looked at is whether the beat grows."""

    def __init__(self, works: Works, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._works = works
        self._url = url
        self._clock = clock
        self._child: subprocess.Popen[bytes] | None = None
        self._seen: tuple[str, int] | None = None
        self._since = 0.0
        self._started = -AGAIN_SECONDS

    def look(self) -> None:
        """Starts a process if there is work that nobody does."""
        died = False
        if self._child is not None:
            code = self._child.poll()
            if code is None:
                return
            died = code != 0
            self._child = None
        work = self._works.open()
        now = self._clock()
        soon = now - self._started < AGAIN_SECONDS
        if work is not None and not soon and (work.state == QUEUED or died or self._stale(work)):
            self._started = now
            self._start(work)

    def _stale(self, work: Work) -> bool:
        now = self._clock()
        if (work.id, work.beat) != self._seen:
            self._seen = (work.id, work.beat)
            self._since = now
        return now - self._since > STALE_SECONDS

    def _start(self, work: Work) -> None:
        log.info("work begins: %s", work.kind)
        command = [sys.executable, "-m", "tacit.service.worker"]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert self._child.stdin is not None
        job = {"url": self._url, "id": work.id, "beat": work.beat}
        with self._child.stdin as pipe:
            pipe.write(json.dumps(job).encode())

    def stop(self) -> None:
        """Ends the process: its work is taken up by the next service."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            self._child.wait(timeout=10)
