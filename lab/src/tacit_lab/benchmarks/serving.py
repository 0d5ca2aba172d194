"""How many decisions a service makes, and how long they take, beside an empty endpoint.

    python -m tacit_lab.benchmarks.serving [--seconds 5] [--rate 500] [--markdown PAGE]
    python -m tacit_lab.benchmarks.serving --only postgresql
    python -m tacit_lab.benchmarks.serving --minutes 10 [--rate 500]

In one run, on this machine and its loopback address: an endpoint that answers with a constant (on
the same stack, with as many connections), a released policy, and studies on SQLite and PostgreSQL
whose decisions are durable before they are answered, once while everybody explores and once by what
was learned, as far as that is good enough. Throughput is that of callers who send the next request
when the last one was answered. Machines are shared, and their speed changes from one second to the
next: so each server takes turns with the empty endpoint, and its share is the median of what it had
of the turns before and after. Percentiles are of requests that come at a fixed rate, from the
moment at which each was due: the median of as many turns, and the worst of them. The process that
makes the load shares the machine with the service, and a p99 means something on free cores only: a
turn counts if the host gave at most 2 % of the cores' time to others meanwhile, which Linux says,
and other turns are taken again, up to eight times as many. Where that does not help, those with the
least stolen time count, and the table says how much it was.

With `--minutes` it is the memory that is watched instead, of one service that decides by a policy
and for a study and takes rewards; the command fails if it grows.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacit import Box, Budget, DesignOptions, Matern, Mixed, Policy, Problem, Study, fit
from tacit.study import EpochStudy
from tacit_lab.benchmarks.pages import print_table, put_table
from tacit_lab.loads.growth import MOST_GROWTH, growth
from tacit_lab.loads.postgres import Postgres
from tacit_lab.loads.servers import Server, empty_server, running, service
from tacit_lab.loads.stolen import Turns, free_turns
from tacit_lab.loads.wire import Timings, at_rate, closed_loop

HEADER = [
    "",
    "requests/s",
    "share of the empty endpoint",
    "CPU µs a request",
    "rate",
    "p50 ms",
    "p99 ms (worst turn)",
    "stolen (turns left out)",
    "failed",
    "MiB",
]
PROBLEM = Problem(
    actions=Box.of(dose=(0, 100)),
    contexts=Mixed.of(age=(18, 95), weight=(40, 140), gene=["G/G", "A/G", "A/A"]),
)
BUDGET = Budget(epsilon=1.0, delta=1e-6)
LARGE = Budget(epsilon=10.0, delta=1e-6)  # leaves so many landmarks something to tell
PEOPLE = 1000
TURNS = 5  # of a server and the empty endpoint
TIMED_SECONDS = 4.0  # of each turn at a fixed rate
MOST_STOLEN = 0.02  # of the cores' time, in a turn that counts
MOST_TURNS = 8 * TURNS  # before those with the least stolen time have to do
LEARNED = (3000, 2_000_000)  # rounds of the first epoch, and of the one that is loaded
EXPLORING = (2_000_000, 400)


class Served(StrEnum):
    """What is loaded."""

    EMPTY = "empty"
    POLICY = "policy"
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


NAMES = {Served.SQLITE: "SQLite", Served.POSTGRESQL: "PostgreSQL"}


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    what: str
    requests_a_second: float
    share_of_empty: float
    cpu_seconds: float
    rate: float
    p50: float
    p99: float
    worst_p99: float
    stolen: float
    left_out: int
    failed: int
    mib: float

    def cells(self) -> list[str]:
        return [
            self.what,
            f"{self.requests_a_second:,.0f}",
            f"{self.share_of_empty:.0%}",
            f"{1e6 * self.cpu_seconds:,.0f}",
            f"{self.rate:,.0f}",
            f"{1e3 * self.p50:.1f}",
            f"{1e3 * self.p99:.1f} ({1e3 * self.worst_p99:.1f})",
            f"{self.stolen:.1%} ({self.left_out})",
            str(self.failed),
            f"{self.mib:,.0f}",
        ]


@dataclass(frozen=True)
class Load:
    """How much is asked of each server."""

    seconds: float
    rate: float
    connections: int


def learned_policy(rank: int, folder: Path) -> Policy:
    """A policy of this rank, of simulated people. Its seed marks it as not private."""
    rng = np.random.default_rng(0)
    log = PROBLEM.actions.decode(PROBLEM.actions.sample_points(4000, rng))
    log |= PROBLEM.contexts.decode(PROBLEM.contexts.sample_points(4000, rng))
    log["reward"] = 1 - np.abs(log["dose"] - log["age"]) / 100
    options = DesignOptions(rank=rank, seed=0)
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    given: dict[str, Any] = {"play": "uniform", "budget": LARGE, "passes": 1}
    policy: Policy = fit(PROBLEM, log, reward="reward", ledger=ledger, options=options, **given)
    return policy  # whose rank is lower where fewer landmarks say the same


def make_study(url: str, sizes: tuple[int, int], rank: int) -> str:
    """A study in epochs: one that explores, or one whose second epoch was opened. How it plays."""
    problem = Problem(PROBLEM.actions, PROBLEM.contexts, Matern(2.5, 0.5))
    options = DesignOptions(rank=rank, seed=0)
    whole: dict[str, Any] = {"horizon": sum(sizes), "budget": BUDGET, "epochs": list(sizes)}
    study = Study.create(url, problem, options=options, **whole)
    if sizes == LEARNED:
        rng = np.random.default_rng(0)
        contexts = problem.contexts.decode(problem.contexts.sample_points(sizes[0], rng))
        decisions = study.ask_many(contexts)
        doses = np.array([decision.action["dose"] for decision in decisions])
        study.tell_many(decisions, 1 - np.abs(doses - contexts["age"]) / 100)
        study.advance()
    assert isinstance(study, EpochStudy)
    return study.play.description


def asks(path: str) -> Any:
    """Of people who are all different."""
    people = PROBLEM.contexts.decode(
        PROBLEM.contexts.sample_points(PEOPLE, np.random.default_rng(0))
    )
    rows = zip(*(column.tolist() for column in people.values()), strict=True)
    bodies = [json.dumps({"context": dict(zip(people, row, strict=True))}).encode() for row in rows]
    following = itertools.cycle(bodies)

    def requests() -> Iterator[tuple[str, str, bytes]]:
        while True:
            yield "POST", path, next(following)

    return requests


def measure(what: str, server: Server, path: str, load: Load, empty: Server) -> Measured:
    """Loads one server in turns with the empty endpoint. It is stopped at the end."""
    turn = load.seconds / TURNS
    with running(server) as up:
        asyncio.run(closed_loop(up.port, asks(path), load.connections, 0.5))  # warm
        before = up.cpu()
        of_empty = [_rate(empty, "/empty", load, turn).rate]
        every: list[Timings] = []

        def full_turn() -> tuple[Timings, float]:
            every.append(_rate(up, path, load, turn))
            of_empty.append(_rate(empty, "/empty", load, turn).rate)
            return every[-1], 2.0 * every[-1].rate / (of_empty[-2] + of_empty[-1])

        def timed_turn() -> Timings:
            every.append(asyncio.run(at_rate(up.port, asks(path), load.rate, TIMED_SECONDS)))
            return every[-1]

        full = free_turns(full_turn, TURNS, MOST_STOLEN, MOST_TURNS)
        cpu = (up.cpu() - before) / max(1, sum(len(each.seconds) for each in every))
        timed = free_turns(timed_turn, TURNS, MOST_STOLEN, MOST_TURNS)
        failed = sum(each.failed for each in every)
        return _line(what, full, timed, load.rate, cpu_seconds=cpu, failed=failed, mib=up.memory())


def _rate(server: Server, path: str, load: Load, seconds: float) -> Timings:
    return asyncio.run(closed_loop(server.port, asks(path), load.connections, seconds))


def _line(
    what: str, full: Turns[tuple[Timings, float]], timed: Turns[Timings], rate: float, **rest: Any
) -> Measured:
    tails = [each.percentile(0.99) for each in timed.measured]
    return Measured(
        what=what,
        requests_a_second=float(np.median([each.rate for each, _ in full.measured])),
        share_of_empty=float(np.median([share for _, share in full.measured])),
        rate=rate,
        p50=float(np.median([each.percentile(0.5) for each in timed.measured])),
        p99=float(np.median(tails)),
        worst_p99=max(tails),
        stolen=max(full.stolen, timed.stolen),
        left_out=full.left_out + timed.left_out,
        **rest,
    )


def measure_all(load: Load, rank: int, folder: Path, served: Sequence[Served]) -> list[Measured]:
    """What is served, one after the other, each beside the same empty endpoint."""
    found = []
    with running(empty_server()) as empty:
        if Served.EMPTY in served:
            found.append(measure("another empty endpoint", empty_server(), "/empty", load, empty))
        if Served.POLICY in served:
            found.append(_measured_policy(load, rank, folder, empty))
        found += _measured_studies(load, folder, served, empty)
    return found


def _measured_policy(load: Load, rank: int, folder: Path, empty: Server) -> Measured:
    policy = learned_policy(rank, folder)
    policy.save(folder / "policy")
    path = "/v1/studies/policy/decisions"
    alone = service(["--policy", str(folder / "policy")])
    what = f"a released policy of rank {policy.posterior.rank}"
    return measure(what, alone, path, load, empty)


def _measured_studies(
    load: Load, folder: Path, served: Sequence[Served], empty: Server
) -> Iterator[Measured]:
    server = Postgres().start() if Served.POSTGRESQL in served else None
    kinds = [kind for kind in (Served.SQLITE, Served.POSTGRESQL) if kind in served]
    try:
        for sizes, kind in itertools.product((EXPLORING, LEARNED), kinds):
            file = folder / f"{kind}{sizes[0]}.db"
            url = server.new_url() if server and kind != Served.SQLITE else f"sqlite:///{file}"
            what = f"a study on {NAMES[kind]}: {make_study(url, sizes, rank=100)}"
            up = service([f"study={url}"])
            yield measure(what, up, "/v1/studies/study/decisions", load, empty)
    finally:
        if server:
            server.remove()


def watch(folder: Path, rate: float, minutes: float, rank: int, as_json: bool) -> None:
    """Watches the memory of a service, and fails if it grows."""
    url = f"sqlite:///{folder / 'growth.db'}"
    make_study(url, EXPLORING, rank=100)
    learned_policy(rank, folder).save(folder / "policy")
    server = service([f"study={url}", "--policy", str(folder / "policy")])
    found = growth(server, rate, minutes)
    if as_json:
        print(json.dumps(asdict(found) | {"grown": found.grown}))
    else:
        print("MiB, minute by minute:", ", ".join(f"{each:.1f}" for each in found.mib))
        print(f"{found.requests:,} requests, {found.failed} failed;", end=" ")
        print(f"since the second minute it grew by {found.grown:.1f} MiB.")
    if found.grown > MOST_GROWTH or found.failed:
        raise SystemExit(1)


def main(
    seconds: Annotated[float, typer.Option(help="Of each load.")] = 5.0,
    rate: Annotated[float, typer.Option(help="Requests a second, for percentiles.")] = 500.0,
    connections: Annotated[int, typer.Option(help="Callers at a time.")] = 64,
    rank: Annotated[int, typer.Option(help="Of the released policy.")] = 500,
    only: Annotated[
        list[Served] | None, typer.Option(help="Load this alone. Repeat for several.")
    ] = None,
    minutes: Annotated[float, typer.Option(help="Watch the memory for so long, instead.")] = 0.0,
    page: Annotated[Path | None, typer.Option("--markdown", help="A page to write to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load a decision service on this machine."""
    if not (0 < seconds <= 600 and 0 < rate <= 10_000 and 0 < connections <= 1000):
        raise typer.BadParameter("at most 600 seconds, 10,000 requests/s and 1,000 connections.")
    if only and page is not None:
        raise typer.BadParameter("a page has the whole table: leave --only out.")
    load = Load(seconds, rate, connections)
    with tempfile.TemporaryDirectory(prefix="tacit-") as name:
        folder = Path(name)
        if minutes:
            watch(folder, rate, minutes, rank, as_json)
            return
        found = measure_all(load, rank, folder, only or list(Served))
    if as_json:
        lines = [asdict(each) for each in found]
        print(json.dumps({"cores": os.cpu_count(), "lines": lines}))
    else:
        print_table("Decisions over HTTP", HEADER, [each.cells() for each in found], width=140)
    if page is not None:
        put_table(page, "serving", HEADER, [each.cells() for each in found])


if __name__ == "__main__":
    typer.run(main)
