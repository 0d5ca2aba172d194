"""Can anybody repeat the noise? A generator with a seed is not private, however good its law is.

Draws must differ within a process, when the well-known generators are reset in between, between two
fresh processes that do the same things in the same order, and on the two sides of a fork. Right
noise collides with probability below 1e-100: a hit is a proof.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np

from tacit.audit.findings import Check, Clock
from tacit.core import Budget, Encoding, PrivateSum, Released, simulate_gaussian
from tacit.core.events import Exponential, Gaussian
from tacit.core.noise import discrete_gaussian
from tacit.core.selection import selection_measurement
from tacit.errors import InputError, StateError
from tacit.progress import Progress, silent

Draw = Callable[[], list[int]]

PROCESSES = 2
DRAWS_OF_A_CHILD = 3 if hasattr(os, "fork") else 2
PATIENCE = 120.0  # seconds for a child to answer
CHILD = "import sys; from tacit.audit.randomness import child; child(*sys.argv[1:])"


def gaussian_noise() -> list[int]:
    """Noise as a release draws it."""
    noise = discrete_gaussian(
        np.zeros(32, dtype=np.int64), Gaussian(sensitivity=2**25, scale=2.0**25)
    )
    return [int(value) for value in noise]


def choices() -> list[int]:
    """Fair choices among 64 candidates, as a decision draws them."""
    choose = selection_measurement(64, Exponential(1.0), 1)
    return [int(choose([0] * 64)) for _ in range(64)]


SHIPPED: tuple[Draw, ...] = (gaussian_noise, choices)


def check_randomness(
    name: str,
    *,
    draws: tuple[Draw, ...] = SHIPPED,
    processes: int = PROCESSES,
    progress: Progress = silent,
) -> Check:
    """No two results of any of `draws` are the same. Other processes find them by name, at the top
    of a module."""
    clock = Clock()
    seen = [[tuple(draw()) for _ in range(2)] for draw in draws]
    for results, draw in zip(seen, draws, strict=True):
        for _ in range(2):
            with _reset_generators():
                results.append(tuple(draw()))
    for at, result in _draws_elsewhere(draws, processes):
        seen[at].append(result)
    progress(name, 1, 1)
    ok = all(len(set(results)) == len(results) for results in seen)
    said = "never" if ok else "REPEATED"
    about = f"in {processes + 1} processes, with generators reset, after forks: {said}"
    return Check(name, None, sum(map(len, seen)), clock.seconds, ok, about)


def check_seeds_are_marked(
    name: str = "a seed is marked",
    *,
    simulate: Callable[..., Released] = simulate_gaussian,
    progress: Progress = silent,
) -> Check:
    """What was drawn with a seed says that it is not private."""
    clock = Clock()
    total = PrivateSum(Encoding(size=2, horizon=1))
    guarantee = simulate(total, Budget(rho=0.5), np.random.default_rng(0)).guarantee
    progress(name, 1, 1)
    ok = guarantee.private is False and "NOT PRIVATE" in str(guarantee)
    about = "a simulated release carries the words NOT PRIVATE"
    return Check(name, None, 1, clock.seconds, ok, about)


@contextmanager
def _reset_generators() -> Iterator[None]:
    """Python's and NumPy's global generators at a known state, put back afterwards."""
    ours = random.getstate()
    numpys = np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)


def _draws_elsewhere(draws: tuple[Draw, ...], processes: int) -> list[tuple[int, tuple[int, ...]]]:
    """What fresh interpreters draw, each draw once and then once on both sides of a fork: (which,
    what)."""
    if any("<" in draw.__qualname__ for draw in draws):
        raise InputError(
            "a draw cannot be found by other processes: define it at the top of a module."
        )
    targets = [f"{draw.__module__}:{draw.__qualname__}" for draw in draws]
    command = [sys.executable, "-c", CHILD, *targets]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(processes)
    ]
    try:
        said = [process.communicate(timeout=PATIENCE)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    lines = [[int(word) for word in line.split()] for text in said for line in text.splitlines()]
    if len(lines) != processes * len(draws) * DRAWS_OF_A_CHILD:
        raise StateError(
            "a process that was started did not answer: the audit needs to start Python again."
        )
    return [(which, tuple(what)) for which, *what in lines]


def child(*targets: str) -> None:
    """Runs in the other process: writes one draw a line, with its number in front."""
    draws: list[Draw] = []
    for target in targets:
        module, name = target.split(":")
        draws.append(getattr(import_module(module), name))
    _say(draws)
    forked = os.fork() if hasattr(os, "fork") else -1
    if forked > 0:
        os.waitpid(forked, 0)
    _say(draws)
    if forked == 0:
        os._exit(0)


def _say(draws: list[Draw]) -> None:
    for which, draw in enumerate(draws):
        sys.stdout.write(" ".join(map(str, [which, *draw()])) + "\n")
    sys.stdout.flush()
