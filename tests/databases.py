"""Databases to test on: a SQLite file, a throw-away PostgreSQL cluster, and processes that race for
either.

A test module says `pytest_plugins = ["databases"]` and asks for `sqlite_urls` or `postgres_urls`:
functions that make one more empty database at every call. (PYTEST_DONT_REWRITE: it is imported by
others before pytest sees it as a plugin, and its asserts explain themselves.)
"""

from __future__ import annotations

import atexit
import importlib
import itertools
import json
import multiprocessing
import os
import random
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from helpers import (
    BUDGET,
    COARSE,
    SMALL,
    create_study,
    do_not_wait_for_the_disk,
    small_problem,
    unit_problem,
)
from tacit import Budget, BudgetError, Ledger, Matern, StateError, Study
from tacit.core import Cohort, database
from tacit.core.events import PermuteAndFlip

Urls = Callable[[], str]
HERE = Path(__file__).parent
DEBIAN = Path("/usr/lib/postgresql")  # one folder per version, none of them on the path
SUPERUSER = "postgres"  # of the operating system: PostgreSQL refuses to run as root
OWNER = "tacit"


class Cluster:
    """A PostgreSQL server of our own in a temporary folder, reached through a socket in it: no
    port, no network."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-"))
        self._made = 0
        self._empty: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, SUPERUSER, SUPERUSER)

    def create(self) -> None:
        options = [
            "--auth=trust",
            f"--username={OWNER}",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        self._run("initdb", "--pgdata", str(self._data), *options)
        self.start()

    def start(self) -> None:
        # fsync guards against a power cut. We only ever kill processes, which loses nothing that
        # was written. The long delay makes sure that what is committed with synchronous_commit =
        # off is not written when we do.
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder)}
        settings |= {"fsync": "off", "wal_writer_delay": "10s"}
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
        self._control("start", "--wait", "--log", str(self.folder / "log"), "--options", options)

    def crash(self) -> None:
        """Ends the server as if killed: no checkpoint, buffers lost, clients cut off."""
        self._control("stop", "--wait", "--mode", "immediate")

    def remove(self) -> None:
        try:
            self.crash()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def new_url(self) -> str:
        """An empty database: one that was wiped, or one more."""
        if not self._empty:
            self._made += 1
            self._empty.append(f"study{self._made}")
            self.sql(f"CREATE DATABASE {self._empty[0]}")
        return f"postgresql+psycopg://{OWNER}@/{self._empty.pop()}?host={self.folder}"

    def wipe(self, url: str) -> None:
        name = make_url(url).database or ""
        self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public", name)
        self._empty.append(name)

    def sql(self, statements: str, database: str = "postgres") -> None:
        with psycopg.connect(
            host=str(self.folder), user=OWNER, dbname=database, autocommit=True
        ) as connection:
            connection.execute(statements)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "--silent", "--pgdata", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        become = ["runuser", "-u", SUPERUSER, "--"] if os.geteuid() == 0 else []
        # No pipe: the server would inherit it and keep it open.
        with tempfile.TemporaryFile("w+") as output:
            command = [*become, str(self._programs / program), *arguments]
            done = subprocess.run(
                command, cwd=self.folder, stdout=output, stderr=output, check=False
            )
            output.seek(0)
            assert done.returncode == 0, f"{program} failed: {output.read()}"


def postgres_programs() -> Path | None:
    """The folder with initdb, pg_ctl and psql: that of the newest version, or whatever is on the
    path."""
    versions = [path.parent for path in DEBIAN.glob("*/bin/initdb")]
    if versions:
        return max(versions, key=lambda path: float(path.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    programs = postgres_programs()
    if programs is None:
        missing = "PostgreSQL is not installed: no initdb under /usr/lib/postgresql or on the path"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing}; CI tests it always.")
        pytest.skip(f"{missing}.")
    cluster = Cluster(programs)
    try:
        cluster.create()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def postgres_urls(cluster: Cluster) -> Iterator[Urls]:
    made: list[str] = []

    def new() -> str:
        made.append(cluster.new_url())
        return made[-1]

    yield new
    for url in made:
        cluster.wipe(url)


@pytest.fixture
def sqlite_urls(tmp_path: Path) -> Urls:
    numbers = itertools.count(1)
    return lambda: f"sqlite:///{tmp_path / f'study{next(numbers)}.db'}"


def race(function: Callable[..., Any], heats: Sequence[Sequence[Sequence[Any]]]) -> list[list[Any]]:
    """`function` of each of a heat's arguments, all at one moment, each in a process of its own;
    heat after heat.

    Arguments (a database's address first) and results are plain data. One interpreter does the
    imports, once for all races, and then forks: a start is then a matter of milliseconds, and the
    processes really meet.
    """
    answers: list[list[Any]] = _starter().run([function.__module__, function.__name__, heats])
    return answers


class _Starter:
    """The interpreter that forks: reads one job a line, and answers with one line. It opens no
    database itself."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "databases.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        atexit.register(self.stop)

    def run(self, job: list[Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], 120)
        answer = self._process.stdout.readline() if ready else ""
        if not answer:
            _starter.cache_clear()
            atexit.unregister(self.stop)
            raise AssertionError(f"a racer died, or hangs: {self.stop()}")
        return json.loads(answer)

    def stop(self) -> str:
        """What it said on standard error."""
        self._process.kill()
        self._process.communicate()
        with self._errors:
            self._errors.seek(0)
            return self._errors.read()


@cache
def _starter() -> _Starter:
    return _Starter()


# -- what the processes do ------------------------------------------------------------------------


def kill_writers(
    url: str | None, what: str, kills: int, kind: str, kills_per_database: int
) -> dict[str, Any]:
    """A short run of `tacit_lab.benchmarks.crash`: writers that are killed at random moments."""
    from tacit_lab.benchmarks import crash

    crash.KILLS_PER_DATABASE = kills_per_database
    return asdict(crash.measure(what, kills, kind, url, random.Random(0)))


def make_study(url: str, horizon: int = 50, seed: int = 0, unit: str = "record") -> Study:
    small: dict[str, Any] = {
        "rank": 8,
        "tau": 10.0,
        "public_points": 1000,
        "rng": seed,
        "unit": unit,
    }
    return create_study(url, small_problem(), horizon=horizon, budget=BUDGET, **small)


def spend(url: str, request: str, epsilon: float) -> str:
    """The answer, of fresh randomness, or that there is none."""
    try:
        return (
            Ledger.open(url)
            .spend(request, PermuteAndFlip(epsilon), {}, lambda: os.urandom(8))
            .hex()
        )
    except BudgetError:
        return "refused"


def create_ledger(url: str, epsilon: float) -> float | None:
    """The budget of the ledger that this process made, None if another was first."""
    try:
        return Ledger.create(url, Budget(epsilon=epsilon)).remaining
    except StateError:
        return None


def try_to_create_study(url: str, seed: int) -> str | None:
    try:
        return make_study(url, seed=seed).design.fingerprint
    except StateError:
        return None


def open_cohort(url: str, name: str, first: int) -> bool:
    """Whether this process was the one to open a cohort that overlaps with what the others want."""
    try:
        Ledger.open(url).add_cohort(Cohort(name, first, first + 100))
    except StateError:
        return False
    return True


def read_balance(url: str, request: str, epsilon: float, times: int) -> bool:
    """Spends under ids of its own, or (without a request) reads what others spend."""
    ledger = Ledger.open(url)
    for i in range(times):
        if request:
            ledger.spend(f"{request}-{i}", PermuteAndFlip(epsilon), {}, lambda: os.urandom(8))
        elif not sum(charge.cost for charge in ledger.charges()) <= ledger.spent <= 1.0:
            return False
    return True


def ask_until_full(url: str) -> list[str]:
    """Asks and tells, one or two rounds at a time, until the horizon is full."""
    study = Study.open(url)
    ids: list[str] = []
    for size in itertools.cycle((1, 2)):
        try:
            asked = [decision.id for decision in study.ask_many([[61, 74]] * size)]
        except StateError:
            if size == 1:
                return ids
            continue
        study.tell_many(asked, [0.5] * size)
        ids += asked
    raise AssertionError("unreachable")


def ask_until_closed(url: str, most: int) -> int:
    """How many rounds this process asked before somebody closed the study; with `most` it is the
    one to do so."""
    study = Study.open(url)
    for asked in itertools.count():
        if most and asked == most:
            study._store.close()
        try:
            study.ask({"age": 61, "weight": 74})
        except StateError:
            return asked
    raise AssertionError("unreachable")


def ask_in_forks(url: str) -> list[list[str]]:
    """Rounds that a process and its forks ask with one and the same open study."""
    study = Study.open(url)
    mine = [study.ask({"age": 61, "weight": 74}).id]

    def ask_ten() -> list[str]:
        return [study.ask({"age": 61, "weight": 74}).id for _ in range(10)]

    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    children = [fork.Process(target=lambda: answers.put(ask_ten())) for _ in range(3)]
    for child in children:
        child.start()
    mine += ask_ten()
    for child in children:
        child.join()
    return [mine, *(answers.get() for child in children if not child.exitcode)]


def release_study(url: str) -> list[int]:
    weights: list[int] = Study.open(url).release().posterior.weights.tolist()
    return weights


def make_epoch_study(url: str, sizes: list[int], **given: Any) -> Study:
    """A small study in epochs, of one action and one context."""
    problem = unit_problem(kernel=Matern(2.5, 0.5), reward_range=(0.0, 1.0))
    whole: dict[str, Any] = {"horizon": sum(sizes), "budget": BUDGET, "epochs": sizes}
    return create_study(url, problem, **SMALL | {"public_points": 500} | whole | given)


def ask_for_users(url: str, users: list[str]) -> list[list[Any]]:
    """One round after the other: whose it was, its id, and the epoch in which it counts."""
    study = Study.open(url)
    asked = []
    for user in users:
        decision = study.ask({"c": 0.5}, user=user)
        asked.append([user, decision.id, decision.epoch])
    return asked


def advance_study(url: str) -> list[Any]:
    """What this process was told, and the policy that there was then of the first epoch."""
    study: Any = Study.open(url)
    done = study.advance()
    return [done.advanced, done.epoch, study.policy_of(1).posterior.weights.tolist()]


def ask_while_advancing(url: str, most: int) -> list[list[Any]]:
    """Asks as often as it is let, or (without `most`) advances: ids and epochs of the rounds."""
    study = Study.open(url)
    if not most:
        study.advance(early=True)
        return []
    asked = []
    for _ in range(most):
        try:
            decision = study.ask({"c": 0.5})
        except StateError:
            break
        asked.append([decision.id, decision.epoch])
    return asked


def _heat(function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
    fork = multiprocessing.get_context("fork")
    start = fork.Barrier(len(arguments))
    answers = fork.SimpleQueue()

    def run(at: int) -> None:
        start.wait()
        answers.put((at, function(*arguments[at])))

    racers = [fork.Process(target=run, args=(at,)) for at in range(len(arguments))]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    if any(racer.exitcode for racer in racers):
        raise SystemExit("a racer died: see above.")
    return [answer for _, answer in sorted(answers.get() for _ in racers)]


def _main() -> None:
    do_not_wait_for_the_disk()
    for path, value in COARSE.items():  # how accurate policies are does not matter to any race
        owner, constant = path.rsplit(".", 1)
        setattr(importlib.import_module(owner), constant, value)
    importlib.import_module("opendp.measurements")
    for job in sys.stdin:
        module, name, heats = json.loads(job)
        if heats[0][0][0]:
            database.connect(heats[0][0][0])  # loads the driver; opens nothing
        function = getattr(importlib.import_module(module), name)
        print(json.dumps([_heat(function, heat) for heat in heats]), flush=True)


if __name__ == "__main__":
    _main()
