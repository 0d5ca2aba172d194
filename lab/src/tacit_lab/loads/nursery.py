"""Services that start at once: one interpreter imports everything, and forks for each of them.

    python -m tacit_lab.loads.nursery < JOBS

A job is a line of JSON on standard input; the answer is the id of the process that serves. Those
processes are killed again and again, so their start must cost little. What works on releases is
forked, too, by a helper of each service (`forks.py`). It outlives the service: it is then a child
of this process (Linux), where it can be found.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PRELOADED = ("opendp.measurements", "psycopg", "scipy.stats.qmc", "tacit.cli", "uvicorn")
PR_SET_CHILD_SUBREAPER = 36
# Services live for a second: what others have left is to be taken up while they do, and releases
# are to end. How accurate policies are does not matter here.
SOONER = {
    "tacit.service.served_study.LOOK_SECONDS": 0.1,
    "tacit.service.supervisor.STALE_SECONDS": 0.5,
    "tacit.service.worker.BEAT_SECONDS": 0.1,
    "tacit.decoder.evidence.STEPS": 8,
    "tacit.decoder.evidence.FEW_STEPS": 4,
    "tacit.decoder.context_law.POINTS": 1024,
    "tacit.design.building.GENERATOR_SAMPLE": 1024,
    "tacit.design.choices.TUNING_POINTS": 512,
    "tacit.residual.refine.POINTS": 512,
    "tacit.residual.expected.POINTS": 512,
}


class Nursery:
    """Starts services, and knows all processes that come of them."""

    def __init__(self) -> None:
        one_thread = {"OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tacit_lab.loads.nursery"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=os.environ | one_thread
        )

    def start(self, url: str, port: int, forget: bool) -> int:
        """The id of a process that serves the study at this address as `study`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"url": url, "port": port, "forget": forget}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def workers(self) -> list[int]:
        """Processes that do long work, for a service that lives or for one that died."""
        from tacit_lab.loads.forks import WORKER

        names = {pid: _text(f"{pid}/comm").strip() for pid in descendants(self._process.pid)}
        return [pid for pid, name in names.items() if name == WORKER]

    def stop(self) -> None:
        """Ends this and everything that was started."""
        kill(*descendants(self._process.pid))
        self._process.kill()
        self._process.communicate()


def kill(*pids: int) -> None:
    """SIGKILL; returns once the processes do nothing any more."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while not {_state(pid) for pid in pids} <= {"", "Z"}:
        time.sleep(0.002)


def descendants(pid: int) -> list[int]:
    """Children of a process, their children, and so on."""
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _text(children).split():
            found += [int(child), *descendants(int(child))]
    return found


def _state(pid: int) -> str:
    """One letter; nothing for a process that is not there."""
    return _text(f"{pid}/stat").rpartition(")")[2].strip()[:1]


def _text(path: str | Path) -> str:
    """Of a file about processes; nothing where there is none."""
    try:
        return (Path("/proc") / path).read_text()
    except OSError:
        return ""


def _serve(job: dict[str, Any]) -> None:
    """What a fork does until it is killed."""
    from tacit.service import running
    from tacit_lab.loads import forgetful, forks

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    forks.work_by_forks()
    if job["forget"]:
        forgetful.forget()
    running.serve([f"study={job['url']}"], listening=running.Listening(port=job["port"]))


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who were killed
    for name in PRELOADED:
        importlib.import_module(name)
    for path, value in SOONER.items():
        owner, constant = path.rsplit(".", 1)
        setattr(importlib.import_module(owner), constant, value)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            os.close(sys.stdin.fileno())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            try:
                _serve(json.loads(line))
            finally:
                os._exit(1)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
