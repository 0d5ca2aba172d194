"""Killed at random moments: does the decision service ever lose what it acknowledged?

A service is under load: callers ask, ask again under the same event ids, defer and activate, tell,
and advance a study in epochs. The service, the process that works on its releases, or the database
server with all its processes is killed (SIGKILL) again and again. At the end everything that
callers were told is held against the database:

- every acknowledged decision is there once, with the action and the epoch that were told;
- every acknowledged activation and reward is there, with its value;
- rounds are numbered without gaps, and no epoch holds more than it may;
- every release was charged, once, and no account is overdrawn;
- no event id has two answers.

    python -m tacit_lab.benchmarks.service_kills [--kills 20] [--database sqlite] [--json]

Everything runs on this machine, on the loopback address. Services are forked from an interpreter
that has imported everything, so that a cycle takes about a second; releases are made by processes
of their own, as always. `--forget` serves with a service that acknowledges before it writes, to see
that it is found out. The command stops at the first database where a promise was broken.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tacit import Box, Budget, DesignOptions, Matern, Problem, Study
from tacit_lab.loads.callers import Callers
from tacit_lab.loads.holding import broken
from tacit_lab.loads.nursery import Nursery, kill
from tacit_lab.loads.postgres import Postgres
from tacit_lab.loads.servers import answers, free_port

SIZES = [60, 120, 240, 480, 20_000]
PROBLEM = Problem(Box([0.0], [1.0], ["dose"]), Box([0.0], [1.0], ["age"]), Matern(2.5, 0.5))
SMALL = DesignOptions(rank=6, tau=10.0, public_points=1000, seed=0)
BUDGET = Budget(epsilon=1.0, delta=1e-6)
CALLERS = 6
# Seconds between the service's first answer and a kill: most are short, some let a release end.
PAUSES = ((0.02, 0.3), (0.02, 0.3), (0.3, 2.0))
KILLS_PER_DATABASE = 25
CHANCES = {"service": 0.5, "worker": 0.15, "database": 0.25}  # where there is such a process
START_SECONDS = 60.0


@dataclass
class Found:
    """What came of it."""

    database: str
    kills: Counter[str] = field(default_factory=Counter)
    in_releases: int = 0  # kills while a process worked on a release
    databases: int = 0
    decisions: int = 0
    activations: int = 0
    rewards: int = 0
    releases: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


@dataclass
class Killer:
    """Kills the processes of a service, whose load goes on."""

    nursery: Nursery
    server: Postgres | None
    rng: random.Random
    found: Found
    forget: bool
    _serving: int = 0  # the process

    def one_database(self, url: str, kills: int) -> None:
        """A study from its beginning, under load and kills, and what is left of it."""
        whole = sum(SIZES)
        Study.create(url, PROBLEM, horizon=whole, budget=BUDGET, epochs=SIZES, options=SMALL)
        port = free_port()
        name = f"d{self.found.databases}"
        callers = Callers(port, CALLERS, self.rng.randrange(2**32), name)
        asyncio.run(self._load(callers, url, port, kills))
        wrong, released = broken(url, callers.notes)
        self.found.databases += 1
        self.found.decisions += len(callers.notes.decisions)
        self.found.activations += len(callers.notes.activated)
        self.found.rewards += len(callers.notes.rewards)
        self.found.releases += released
        self.found.wrong += wrong

    async def _load(self, callers: Callers, url: str, port: int, kills: int) -> None:
        await asyncio.to_thread(self._start, url, port)
        load = asyncio.create_task(callers.run())
        for _ in range(kills):
            await asyncio.sleep(self.rng.uniform(*self.rng.choice(PAUSES)))
            await asyncio.to_thread(self._kill_one, url, port)
        await asyncio.sleep(0.3)
        callers.stop()
        await load
        kill(self._serving, *self.nursery.workers())

    def _kill_one(self, url: str, port: int) -> None:
        """Kills something, and starts it again unless the service does that."""
        workers = self.nursery.workers()
        target = self._target(bool(workers))
        if target == "worker":
            kill(*workers)
        elif target == "database":
            assert self.server is not None
            self.server.kill()
            time.sleep(self.rng.uniform(0.0, 0.1))
            self.server.start()
        else:
            kill(self._serving)
            self._start(url, port)
        self.found.kills[target] += 1
        self.found.in_releases += bool(workers)

    def _target(self, working: bool) -> str:
        there = {"service": True, "worker": working, "database": self.server is not None}
        names = [name for name in CHANCES if there[name]]
        return self.rng.choices(names, [CHANCES[name] for name in names])[0]

    def _start(self, url: str, port: int) -> None:
        """Returns once the service answers."""
        self._serving = self.nursery.start(url, port, self.forget)
        until = time.monotonic() + START_SECONDS
        while not answers(port, "/livez"):
            if time.monotonic() > until:
                raise RuntimeError("the service does not answer.")
            time.sleep(0.01)


def measure(
    database: str, kills: int, seed: int = 0, forget: bool = False, per_database: int = 0
) -> Found:
    """Kills so often, on as many databases as that takes."""
    found = Found(database)
    started = time.perf_counter()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-"))
        server = Postgres(sync=False).start() if database == "postgres" else None
        if server:
            stack.callback(server.remove)
        nursery = Nursery()
        stack.callback(nursery.stop)
        killer = Killer(nursery, server, random.Random(seed), found, forget)
        while found.kills.total() < kills and not found.wrong:
            path = Path(folder) / f"study{found.databases}.db"
            url = server.new_url() if server else f"sqlite:///{path}"
            left = kills - found.kills.total()
            killer.one_database(url, min(left, per_database or KILLS_PER_DATABASE))
            found.seconds = time.perf_counter() - started
            print(f"{found.kills.total()} kills, {found.seconds:.0f} s", file=sys.stderr)
    return found


def main(
    kills: Annotated[int, typer.Option(help="How often something is killed.")] = 20,
    database: Annotated[str, typer.Option(help="sqlite or postgres.")] = "sqlite",
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    forget: Annotated[
        bool, typer.Option("--forget", help="Serve with a service that writes too late.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Kill a decision service under load and look for what it has lost."""
    if not 1 <= kills <= 10_000 or database not in ("sqlite", "postgres"):
        raise typer.BadParameter("1 to 10,000 kills, of sqlite or postgres.")
    found = measure(database, kills, seed, forget)
    if as_json:
        print(json.dumps(asdict(found) | {"kills": dict(found.kills)}))
    else:
        killed = ", ".join(f"{many} of the {what}" for what, many in sorted(found.kills.items()))
        print(f"{database}: {found.kills.total()} kills ({killed}) in {found.seconds:.0f} s,")
        print(f"{found.in_releases} of them while a release was under way.")
        print(f"{found.decisions:,} decisions, {found.activations:,} activations and", end=" ")
        print(f"{found.rewards:,} rewards were acknowledged,")
        print(f"and {found.releases} epochs released, on {found.databases} databases.")
        print("\n".join(found.wrong[:20]) or "Nothing is lost, nothing is there twice.")
    if found.wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
