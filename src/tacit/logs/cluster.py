"""Collecting on a Ray cluster: every span of rows is a task that sends back its sum.

Ray moves these sums between machines as they are, so a cluster is as trusted as the data itself.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from tacit.errors import InputError, MissingExtraError, StateError
from tacit.logs.counting import Span, Work
from tacit.logs.dumping import load
from tacit.logs.worker import count_span, shipped
from tacit.progress import Progress

RETRIES = 3
AHEAD = 2  # tasks per worker that wait or run: enough to keep it busy
WAIT = 0.5  # seconds between checks for Ctrl-C
PATIENCE = 10.0  # seconds for a cluster's address to answer


def collect_on_ray(
    work: Work,
    tick: Callable[[], None],
    show: Progress,
    *,
    device: str | None = None,
    retries: int = RETRIES,
    task: Callable[..., dict[str, Any]] = count_span,
) -> None:
    """Counts what is not counted yet, while `connected` to a cluster.

    A worker that dies is replaced, and its span counts once: when a sum comes.
    """
    ray = import_ray()
    gpu = (device or "cpu").startswith("cuda")
    remote = ray.remote(num_cpus=1, num_gpus=int(gpu), max_retries=retries)(task)
    design = ray.put(shipped(work.design))
    resource = "GPU" if gpu else "CPU"
    slots = AHEAD * max(1, int(ray.cluster_resources().get(resource, 1)))
    todo = work.todo(split=True)
    running: dict[Any, Span] = {}
    show(work.stage, work.counted, work.rows)
    while True:
        for span in islice(todo, slots - len(running)):
            running[remote.remote(design, work.columns, span, device)] = span
        if not running:
            return
        done, _ = ray.wait(list(running), timeout=WAIT)
        for reference in done:
            _take(ray, work, running.pop(reference), reference)
            show(work.stage, work.counted, work.rows)
        tick()


def _take(ray: Any, work: Work, span: Span, reference: Any) -> None:
    rows = f"rows {span.start} to {span.stop} of {span.file.path}"
    try:
        answer = ray.get(reference)
    except ray.exceptions.RayError as error:  # its text may quote what a worker was doing
        raise StateError(
            f"no worker lived to count {rows} ({type(error).__name__}): run again to go on."
        ) from None
    with work.whole(span.file):
        if "error" in answer:
            raise InputError(answer["error"])
        work.take(span, load(work.design, answer))


def import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError.of("fits on a cluster", "Ray", "ray") from None
    return ray


@contextmanager
def connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """A cluster that is there, or one of our own on this machine for as long as it takes.

    Ray tells of dead workers on standard output.
    """
    if ray.is_initialized():
        yield
        return
    # Nothing about a private study goes to anybody.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        with _own_signals():
            if address is None:
                ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
            else:
                _knock(address)
                ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        where = address or "this machine"
        raise StateError(
            f"there is no Ray cluster at {where} ({type(error).__name__}): start one first."
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Fails at once if nobody answers: Ray itself tries for minutes, and then ends the process."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():  # "auto" and "local" are no machines
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Puts our signal handlers back, in whose place Ray puts its own: ours save what is counted."""
    ours = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for name, handler in ours.items():
                signal.signal(name, handler)
