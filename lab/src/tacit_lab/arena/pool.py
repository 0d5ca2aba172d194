"""Jobs in parallel processes of their own: one that hangs or dies is a failure of its own and stops
nobody else."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict

from tacit_lab.arena.job import Job, Row, attempt, failure

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
LIMIT = 600.0  # seconds that a job may take


def run_jobs(
    jobs: Sequence[Job],
    take: Callable[[Row], None],
    processes: int = 2,
    limit_seconds: float = LIMIT,
) -> None:
    """Hands every row to `take`, in this thread, as it comes. With `processes=0` the jobs run in
    this process."""
    if processes == 0:
        for job in jobs:
            take(attempt(job))
        return
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    done: queue.SimpleQueue[Row] = queue.SimpleQueue()
    hands = [_Hand(todo, done, limit_seconds) for _ in range(min(processes, len(jobs)))]
    try:
        for hand in hands:
            hand.start()
        for _ in jobs:
            take(done.get())
    finally:
        for hand in hands:
            hand.stop()


class _Hand(threading.Thread):
    """A thread that keeps one process busy."""

    def __init__(
        self, todo: queue.SimpleQueue[Job], done: queue.SimpleQueue[Row], limit: float
    ) -> None:
        super().__init__(daemon=True)
        self.todo = todo
        self.done = done
        self.limit = limit
        self.process: subprocess.Popen[str] | None = None
        self.stopped = False

    def run(self) -> None:
        while not self.stopped:
            try:
                job = self.todo.get_nowait()
            except queue.Empty:
                break
            row = self._ask(job)
            if not self.stopped:
                self.done.put(row)
        if self.process is not None:
            self.process.kill()
            _close(self.process)

    def stop(self) -> None:
        """Ends whatever runs. The thread itself gives the process back."""
        self.stopped = True
        while self.is_alive():
            if self.process is not None:
                self.process.kill()
            self.join(0.1)

    def _ask(self, job: Job) -> Row:
        if self.process is None or self.process.poll() is not None:
            self.process = _start()
            assert self.process.stdout is not None
            self.process.stdout.readline()  # until it is ready
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(self.limit, end)
        clock.start()
        try:
            process.stdin.write(json.dumps(asdict(job)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            clock.cancel()
        if answer.endswith("\n"):
            row: Row = json.loads(answer)
            return row
        _close(process)
        if late.is_set():
            return failure(job, f"took longer than {self.limit:g} s and was ended.")
        return failure(
            job,
            f"its process ended with code {process.returncode}: "
            "perhaps there was too little memory.",
        )


def _close(process: subprocess.Popen[str]) -> None:
    """Waits for its end and gives back its pipes."""
    process.wait()
    with contextlib.suppress(OSError):
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tacit_lab.arena.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | dict.fromkeys(THREADS, "1"),
    )
