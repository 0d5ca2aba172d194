"""The studio: one process beside the service that draws, plans and designs, so that decisions and
pages do not wait for it. What it works on is public or released."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

KEPT = 200  # jobs that are remembered
FAILED = "this could not be computed here: try it with the command line, which says why."


@dataclass
class Job:
    """Something to be computed: `result` is there once it is done, `problem` if it failed."""

    key: str
    request: dict[str, Any]
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    progress: str = "waiting for its turn"
    result: dict[str, Any] | None = None
    problem: str | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def done(self) -> bool:
        return self.over.is_set()


class Studio:
    """Does one job after the other. The same job is done once, whoever asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def job(self, key: str, request: dict[str, Any]) -> Job:
        """The job of this key, which is begun if there is none or it failed."""
        with self._lock:
            found = self._jobs.get(key)
            if found is not None and not (found.done and found.problem is not None):
                self._jobs.move_to_end(key)
                return found
            made = Job(key, request)
            self._jobs[key] = made
            self._forget()
            self._send(made)
            return made

    def find(self, id: str) -> Job | None:
        """A job by its id."""
        with self._lock:
            return next((job for job in self._jobs.values() if job.id == id), None)

    def stop(self) -> None:
        """Ends the process, whatever it does: nothing of it is lost but time."""
        with self._lock:
            process = self._process
            self._process = None
        if process is None:
            return
        process.terminate()
        process.wait(timeout=10)
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        if self._reader is not None:
            self._reader.join(timeout=10)

    def _forget(self) -> None:
        old = [key for key, job in self._jobs.items() if job.done]
        for key in old[: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[key]

    def _send(self, job: Job) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": job.id} | job.request) + "\n")
            self._process.stdin.flush()
        except OSError:
            job.problem = FAILED
            job.over.set()

    def _start(self) -> None:
        command = [sys.executable, "-m", "tacit.dashboard.drawing"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        lines = self._process.stdout
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            self._take(json.loads(line))
        lines.close()
        with self._lock:  # it has ended: what it had to do was not done
            for job in self._jobs.values():
                if not job.done:
                    job.problem = FAILED
                    job.over.set()

    def _take(self, told: dict[str, Any]) -> None:
        job = self.find(told["id"])
        if job is None:
            return
        if "progress" in told:
            job.progress = told["progress"]
            return
        job.result = told.get("result")
        job.problem = told.get("problem")
        job.over.set()
