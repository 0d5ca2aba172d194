"""The studio: one process beside the service that draws, plans and designs, so that decisions and
pages do not wait for it. What it works on is public or released."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tacit.service.problems import UnavailableError

KEPT = 200  # jobs that are remembered
MOST_WAITING = 50
FAILED = "this could not be computed here: try it with the command line, which says why."


@dataclass
class Job:
    """Something to be computed: `result` is there once it is done, `problem` if it failed."""

    key: str
    request: dict[str, Any]
    group: str = ""
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
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def job(self, key: str, request: dict[str, Any], group: str = "") -> Job:
        """The job of this key, which is begun if there is none or it failed. Of jobs of one group
        that wait, the last one counts: whoever moves a slider wants the last answer."""
        with self._lock:
            found = self._jobs.get(key)
            if found is not None and not (found.done and found.problem is not None):
                self._jobs.move_to_end(key)
                return found
            self._drop(group)
            if len(self._waiting) >= MOST_WAITING:
                raise UnavailableError("much is being computed here: try again in a minute.")
            made = Job(key, request, group)
            self._jobs[key] = made
            self._forget()
            self._waiting.append(made)
            self._go_on()
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
            self._waiting.clear()
        if process is None:
            return
        process.terminate()
        if self._reader is not None:
            self._reader.join(timeout=10)

    def _drop(self, group: str) -> None:
        """Forgets jobs of a group that nobody wants any more."""
        for job in [each for each in self._waiting if group and each.group == group]:
            self._waiting.remove(job)
            del self._jobs[job.key]
            job.problem = "another question was asked since."
            job.over.set()

    def _forget(self) -> None:
        old = [key for key, job in self._jobs.items() if job.done]
        for key in old[: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[key]

    def _go_on(self) -> None:
        """Hands the next job on, if the process has none."""
        while self._current is None and self._waiting:
            self._current = self._waiting.popleft()
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._send(self._current)

    def _send(self, job: Job) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": job.id} | job.request) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._end(job, None, FAILED)

    def _end(self, job: Job, result: dict[str, Any] | None, problem: str | None) -> None:
        job.result = result
        job.problem = problem
        self._current = None
        job.over.set()

    def _start(self) -> None:
        command = [sys.executable, "-m", "tacit.dashboard.drawing"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._process = process
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._take(json.loads(line))
        process.stdout.close()
        process.wait()
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        with self._lock:  # it has ended: what it was doing is not done
            if self._current is not None and self._process in (process, None):
                self._end(self._current, None, FAILED)
                self._go_on()

    def _take(self, told: dict[str, Any]) -> None:
        with self._lock:
            job = self._current
            if job is None or job.id != told["id"]:
                return
            if "progress" in told:
                job.progress = told["progress"]
                return
            self._end(job, told.get("result"), told.get("problem"))
            self._go_on()
