"""Long work in forks instead of fresh interpreters, which would take a second each to import."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
from typing import Any

from tacit.service.supervisor import Supervisor
from tacit.service.work import Work
from tacit.service.worker import perform_work

WORKER = "tacit-worker"  # the name of such a process
PR_SET_NAME = 15


class Forked:
    """A process that works, as far as a supervisor looks at it."""

    def __init__(self, helper: socket.socket, job: dict[str, Any]) -> None:
        helper.sendall(json.dumps(job).encode() + b"\n")
        self._helper = helper
        self._code: int | None = None

    def poll(self) -> int | None:
        """How it ended; None while it works."""
        if self._code is None and select.select([self._helper], [], [], 0)[0]:
            self._code = self._helper.recv(1)[0]
        return self._code


def work_by_forks() -> None:
    """To be called before there are threads: makes a helper that forks whenever there is work."""
    mine, its = socket.socketpair()
    if not os.fork():
        mine.close()
        try:
            _help(its)
        finally:
            os._exit(0)
    its.close()

    def start(self: Supervisor, work: Work) -> None:
        job = {"url": self._url, "id": work.id, "beat": work.beat}
        self._child = Forked(mine, job)  # type: ignore[assignment]

    Supervisor._start = start  # type: ignore[method-assign]


def _help(service: socket.socket) -> None:
    """One job after the other, until the service is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in service.makefile():
        pid = os.fork()
        if not pid:
            _work(json.loads(line))
        _, status = os.waitpid(pid, 0)
        service.sendall(bytes([min(255, status)]))


def _work(job: dict[str, Any]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_NAME, WORKER.encode(), 0, 0, 0)
    code = 1
    try:
        perform_work(job["url"], job["id"], job["beat"])
        code = 0
    finally:
        os._exit(code)
