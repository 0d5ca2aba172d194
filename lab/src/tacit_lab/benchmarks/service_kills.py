"""Killed at random moments: does the decision service ever lose what it acknowledged?

A service is under load: callers ask, ask again under the same event ids, tell, and advance a study
in epochs. The service, the process that works on its releases, or the database server is killed
(SIGKILL; PostgreSQL by an immediate stop) again and again. At the end everything that callers were
told is held against the database:

- every acknowledged decision is there once, with the action and the epoch that were told;
- every acknowledged reward is there, with its value;
- rounds are numbered without gaps, and no epoch holds more than it may;
- every release was charged, once, and no account is overdrawn;
- no event id has two answers.

    python -m tacit_lab.benchmarks.service_kills [--kills 20] [--database sqlite] [--json]

Everything runs on this machine, on the loopback address. `--forget` serves with a service that
acknowledges before it writes, to see that it is found out.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacit import Box, Budget, DesignOptions, Matern, Problem, Study
from tacit.core.budget import UNITS
from tacit.study import EpochStudy
from tacit_lab.loads.callers import Callers, Notes
from tacit_lab.loads.postgres import Postgres
from tacit_lab.loads.servers import Server, free_port, service

SIZES = [100, 200, 600, 2000]
PROBLEM = Problem(Box([0.0], [1.0], ["dose"]), Box([0.0], [1.0], ["age"]), Matern(2.5, 0.5))
SMALL = DesignOptions(rank=6, tau=10.0, public_points=1000, seed=0)
CALLERS = 8
PAUSES = (0.02, 1.0)  # seconds between the service's first answer and a kill
KILLS_PER_DATABASE = 12


@dataclass
class Found:
    """What came of it."""

    database: str
    kills: Counter[str] = field(default_factory=Counter)
    databases: int = 0
    decisions: int = 0
    rewards: int = 0
    releases: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def measure(
    database: str, kills: int, seed: int = 0, forget: bool = False, per_database: int = 0
) -> Found:
    """Kills so often, on as many databases as that takes."""
    rng = random.Random(seed)
    found = Found(database)
    started = time.perf_counter()
    server = Postgres().start() if database == "postgres" else None
    try:
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            left = kills
            while left > 0:
                many = min(left, per_database or KILLS_PER_DATABASE)
                path = Path(folder) / f"study{found.databases}.db"
                url = server.new_url() if server else f"sqlite:///{path}"
                _one_database(url, many, server, rng, found, forget)
                found.databases += 1
                left -= many
    finally:
        if server:
            server.remove()
    found.seconds = time.perf_counter() - started
    return found


def _one_database(
    url: str,
    kills: int,
    server: Postgres | None,
    rng: random.Random,
    found: Found,
    forget: bool,
) -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    horizon = sum(SIZES)
    Study.create(url, PROBLEM, horizon=horizon, budget=budget, epochs=SIZES, options=SMALL)
    port = free_port()
    callers = Callers(port, CALLERS, rng.randrange(2**32), f"d{found.databases}")
    asyncio.run(_load(callers, url, port, kills, server, rng, found, forget))
    found.decisions += len(callers.notes.decisions)
    found.rewards += len(callers.notes.rewards)
    found.wrong += callers.notes.wrong
    check(url, callers.notes, found)


async def _load(
    callers: Callers,
    url: str,
    port: int,
    kills: int,
    server: Postgres | None,
    rng: random.Random,
    found: Found,
    forget: bool,
) -> None:
    running = await asyncio.to_thread(_start, url, port, forget)
    load = asyncio.create_task(callers.run())
    for _ in range(kills):
        await asyncio.sleep(rng.uniform(*PAUSES))
        target = _target(running, server, rng)
        if target == "database":
            assert server is not None
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(rng.uniform(0.0, 0.2))
            await asyncio.to_thread(server.start)
        elif target == "worker":
            _kill_workers(running)
        else:
            await asyncio.to_thread(running.kill)
            running = await asyncio.to_thread(_start, url, port, forget)
        found.kills[target] += 1
    await asyncio.sleep(0.5)
    callers.stop()
    await load
    await asyncio.to_thread(running.stop)


def _start(url: str, port: int, forget: bool) -> Server:
    if forget:
        command = ["-m", "tacit_lab.loads.forgetful", url, str(port)]
        return Server(command, port, "/livez", None).wait()
    return service([f"study={url}"], port).wait()


def _target(running: Server, server: Postgres | None, rng: random.Random) -> str:
    choices = ["service"]
    if _workers(running):
        choices.append("worker")
    if server is not None:
        choices.append("database")
    return rng.choice(choices)


def _workers(running: Server) -> list[int]:
    """Processes that this service has started and that work for it."""
    children = Path(f"/proc/{running.process.pid}/task").glob("*/children")
    found = []
    for each in children:
        try:
            found += [int(pid) for pid in each.read_text().split()]
        except OSError:
            continue
    return found


def _kill_workers(running: Server) -> None:
    for pid in _workers(running):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def check(url: str, notes: Notes, found: Found) -> None:
    """Holds what callers were told against the database."""
    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    rows = {row.id: row for _, page in study._epochs.rounds(0, study.asked) for row in page}
    counted = sorted(row.number for row in rows.values())
    _require(counted == list(range(1, study.asked + 1)), "rounds have gaps", found)
    _require(study.asked <= sum(SIZES), "there are more rounds than the horizon", found)
    for id, answer in notes.decisions.items():
        _require(id in rows and _same(study, rows[id], answer), f"decision {id} is lost", found)
    for id, value in notes.rewards.items():
        kept = rows[id].reward if id in rows else None
        scaled = float(study.problem.scale_reward(np.array([value]))[0])
        _require(kept == scaled, f"the reward of {id} is lost", found)
    _check_ledger(study, found)


def _same(study: EpochStudy, row: Any, answer: dict[str, Any]) -> bool:
    point = np.frombuffer(bytes(row.action), dtype="<f8")[None, :]
    action = float(study.problem.actions.decode(point)["dose"][0])
    return action == answer["action"]["dose"] and row.counts_in == answer["epoch"]


def _check_ledger(study: EpochStudy, found: Found) -> None:
    charges = study.ledger.charges()
    requests = [charge.request for charge in charges]
    _require(len(set(requests)) == len(requests), "a release was charged twice", found)
    for epoch in study._epochs.epochs():
        name = f"epoch {epoch.number}"
        paid = any(each.request == name and each.answered for each in charges)
        _require(epoch.released is None or paid, f"{name} is released and not paid", found)
        spent = sum(c.cost for c in charges if c.parameters.get("cohort") == name)
        accounts = [a for a in study.ledger.accounts() if a.cohort and a.cohort.name == name]
        kept = accounts[0].spent / UNITS if accounts else 0.0
        _require(abs(spent - kept) < 1e-9, f"{name}: charges and account differ", found)
        found.releases += epoch.released is not None


def _require(fine: bool, otherwise: str, found: Found) -> None:
    if not fine:
        found.wrong.append(otherwise)


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
        print(f"{database}: {sum(found.kills.values())} kills ({killed}), {found.seconds:.0f} s")
        print(f"{found.decisions:,} decisions and {found.rewards:,} rewards were acknowledged, and")
        print(f"{found.releases} epochs released on {found.databases} databases.")
        print("\n".join(found.wrong[:20]) or "Nothing is lost, nothing is there twice.")
    if found.wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
