"""Killed at random moments: does a ledger ever answer twice, forget a charge or overspend?

Three writers share a database and are killed (SIGKILL) again and again, each time replaced by a new
one.

ledger   they spend under ids that they have in common; every draw is fresh randomness, so a second
         draw shows
study    they ask and tell until the horizon is full, then release
epochs   they ask for users who come back, tell, and advance a study in epochs, the second of which
         validates the policy of the first

Whatever a writer was answered it notes in a file of its own. At the end the notes are held against
the database.

    python -m tacit_lab.benchmarks.crash [--kills 200] [--ledger sound] [--url ...] [--json]

`--ledger` takes one of the broken ledgers below, or `forgetful` for epochs, to see that it is found
out. The command stops and fails at the first broken promise.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError

from tacit import (
    Box,
    Budget,
    BudgetError,
    DesignOptions,
    Ledger,
    Matern,
    Problem,
    StateError,
    Study,
)
from tacit.core import ledger as tables
from tacit.core.accounts import cohorts_table, cost_of, metadata
from tacit.core.budget import UNITS
from tacit.core.database import connect, perform
from tacit.core.events import Event, PermuteAndFlip
from tacit.errors import TooLateError
from tacit.study import epoch_store, store
from tacit.study.epoch_store import EpochRow
from tacit.study.epoch_study import EpochStudy

WRITERS = 3
KILLS_PER_DATABASE = 20
# How far behind the latest request id a writer asks: they meet, and ask again.
BACK = (0, 0, 0, 1, 2)
RELEASES = 2  # of a study, one for each of its passes
HORIZON = 40
EPOCHS = [12, 18, 24]
VALIDATION = 12  # rounds of the epoch after the first
# Requests, one for each pass.
PASSES = ["epoch 1", "epoch 1/pass 1", "epoch 2", "epoch 3", "epoch 4"]
PEOPLE = 40  # who come, and come back
QUICKLY = (0.005, 0.1)  # seconds between kills
SLOWLY = (0.05, 2.0)  # where a release and the next design take about a second
PROBLEM = Problem(Box([0.0], [1.0], ["dose"]), Box([0.0], [1.0], ["age"]), Matern(2.5, 0.5))
SMALL = DesignOptions(rank=6, tau=10.0, public_points=1000, seed=0)


@dataclass(frozen=True)
class Result:
    """What was seen. The last three must be zero."""

    what: str
    kills: int
    answers: int  # that a writer was given
    refused: int  # because the budget, or the horizon, was used up
    # charges without a result, or rounds without a reward, that dead writers left behind
    interrupted: int
    seconds: float
    conflicts: int  # different answers to one question
    lost: int  # answers that the database does not know of
    overspends: int  # databases that spent more, or other, than they wrote down

    @property
    def holds(self) -> bool:
        return not (self.conflicts or self.lost or self.overspends)

    def __add__(self, other: Result) -> Result:
        names = [field.name for field in fields(self) if field.name != "what"]
        counts = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Result(self.what, **counts)


# -- ledgers that can be fooled -------------------------------------------------------------------


class OwnDraw(Ledger):
    """Returns what it drew instead of what is stored: two writers give two answers."""

    def _store(self, request: str, result: bytes) -> bytes:
        super()._store(request, result)
        return result


class BillLater(Ledger):
    """Answers at once and charges when it is asked the next time: who is killed in between got it
    for nothing."""

    _owed: tuple[str, Event, dict[str, Any], Callable[[], bytes]] | None = None

    def spend(
        self,
        request: str,
        event: Event,
        about: dict[str, Any],
        draw: Callable[[], bytes],
        *_rest: Any,
        **_more: Any,
    ) -> bytes:
        if self._owed:
            super().spend(*self._owed)
        answer = self.stored(request) or draw()
        self._owed = (request, event, about, lambda: answer)
        return answer


class TwoPayments(Ledger):
    """Writes the request down in one transaction and pays in another: who is killed in between
    never pays."""

    def _charge(self, charge: dict[str, Any], event: Event, *_rest: Any) -> bytes | None:
        answer = self.stored(charge["request"])
        if answer is not None:
            return answer
        accounts = cohorts_table
        charges = tables._charges
        account = self.account()
        charge = charge | {"cost": cost_of(event, account.measure)}
        if account.spent + charge["cost"] > account.cap:
            raise BudgetError("spent.")
        number = select(func.count()).select_from(charges).scalar_subquery() + 1
        new = insert(charges).values(charge | {"number": number, "created": time.time()})
        known = select(charges.c.request).where(charges.c.request == charge["request"])
        written = perform(
            self._engine, lambda c: c.execute(known).first() or c.execute(new).rowcount
        )
        if written == 1:
            time.sleep(0.001)
            pay = update(accounts).values(spent=accounts.c.spent + charge["cost"])
            try:
                perform(self._engine, lambda c: c.execute(pay))
            except IntegrityError:  # others have paid since: the database keeps the cap
                raise BudgetError("spent.") from None
        return None


LEDGERS: dict[str, type[Ledger]] = {
    "sound": Ledger,
    "own-draw": OwnDraw,
    "bill-later": BillLater,
    "two-payments": TwoPayments,
}


FORGETFUL = "forgetful"  # a study in epochs that forgets who was there

# -- writers --------------------------------------------------------------------------------------


class Notes:
    """What one writer was answered. A line is one system call: it is there or it is not."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, *words: str) -> None:
        os.write(self._file, (" ".join(words) + "\n").encode())


def price(number: int) -> float:
    return (1 + number % 5) / 8


def ask(ledger: Ledger, number: int, draw: Callable[[], bytes]) -> str:
    return ledger.spend(f"r{number}", PermuteAndFlip(price(number)), {"number": number}, draw).hex()


def spend_for_ever(url: str, kind: str, notes: Notes, seed: int, latest: Any) -> None:
    ledger = LEDGERS[kind].open(url)
    rng = random.Random(seed)

    def draw() -> bytes:
        time.sleep(rng.random() * 0.008)  # real noise takes its time
        return os.urandom(16)

    while True:
        number = max(0, latest.value - rng.choice(BACK))
        try:
            notes.write("answer", f"r{number}", ask(ledger, number, draw))
        except BudgetError:
            notes.write("refused")
        latest.value = max(latest.value, number + 1)


def study_for_ever(url: str, notes: Notes, seed: int) -> None:
    study = Study.open(url)
    rng = random.Random(seed)
    while True:
        size = rng.choice((1, 1, 3))
        try:
            decisions = study.ask_many([[rng.random()] for _ in range(size)])
        except StateError:
            notes.write("refused")
            if size == 1:
                weights = study.release().posterior.weights
                notes.write("released", hashlib.sha256(weights.tobytes()).hexdigest())
            continue
        ids = [decision.id for decision in decisions]
        rewards = [rng.random() for _ in ids]
        batch = [f"{name}={reward!r}" for name, reward in zip(ids, rewards, strict=True)]
        notes.write("asked", *batch)
        study.tell_many(ids, rewards)
        notes.write("told", *batch)


def forget_users() -> None:
    """A study, and a ledger, that take everybody for new: in this process alone."""
    vars(epoch_store)["_counted_in"] = lambda _connection, _user, epoch: epoch
    vars(tables)["enrol"] = lambda _connection, _cohort, _members: None


def epochs_for_ever(url: str, kind: str, notes: Notes, seed: int) -> None:
    if kind == FORGETFUL:
        forget_users()
    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    rng = random.Random(seed)
    while True:
        users = [f"user {rng.randrange(PEOPLE)}" for _ in range(rng.choice((1, 1, 3)))]
        try:
            decisions = study.ask_many([[rng.random()] for _ in users], users=users)
        except StateError:
            notes.write("refused")
            decisions = []
        counted = [decision for decision in decisions if decision.epoch is not None]
        if counted:
            ids = [decision.id for decision in counted]
            rewards = [rng.random() for _ in ids]
            batch = [f"{name}={reward!r}" for name, reward in zip(ids, rewards, strict=True)]
            notes.write("asked", *batch)
            notes.write("counted", *[f"{each.id}={each.epoch}" for each in counted])
            try:
                study.tell_many(ids, rewards)
                notes.write("told", *batch)
            except TooLateError:
                notes.write("refused")
        if not decisions or rng.random() < 0.2:
            _advance(study, notes)


def _advance(study: EpochStudy, notes: Notes) -> None:
    try:
        study.advance()
    except StateError:
        if not study.finished:
            raise
        time.sleep(0.01)  # nothing is left to advance
    for number, digest in _policies(study).items():
        notes.write("released", str(number), digest)


def _policies(study: EpochStudy) -> dict[int, str]:
    """A digest of the policy of every epoch that was released, and of what was found of it."""
    released = [epoch.number for epoch in study.history if epoch.released is not None]
    found = {}
    for number in released:
        policy = study.policy_of(number)
        measured = json.dumps(policy.facts.get("validation"), sort_keys=True)
        told = policy.posterior.weights.tobytes() + measured.encode()
        found[number] = hashlib.sha256(told).hexdigest()
    return found


# -- the killer -----------------------------------------------------------------------------------


def hunt(
    work: Callable[[Notes, int], None],
    folder: Path,
    kills: int,
    rng: random.Random,
    pause: tuple[float, float] = QUICKLY,
) -> list[list[str]]:
    """Keeps `WRITERS` writers at work and kills them at random moments. Returns their notes, as
    words."""
    fork = multiprocessing.get_context("fork")
    paths: list[Path] = []

    def start() -> tuple[BaseProcess, Path]:
        paths.append(folder / f"notes-{len(paths)}")
        seed = rng.getrandbits(32)
        path = paths[-1]
        process = fork.Process(target=lambda: work(Notes(path), seed), daemon=True)
        process.start()
        return process, path

    writers = [start() for _ in range(WRITERS)]
    try:
        while kills > 0:
            time.sleep(rng.uniform(*pause))
            if any(process.exitcode is not None for process, _ in writers):
                raise SystemExit("a writer died by itself: see above.")
            # who has begun to write notes; now and then all of them are killed together
            busy = [
                i for i, (_, path) in enumerate(writers) if path.exists() and path.stat().st_size
            ]
            victims = busy if rng.random() < 0.15 else rng.sample(busy, min(1, len(busy)))
            victims = victims[:kills]
            for i in victims:
                writers[i][0].kill()
            for i in victims:
                writers[i][0].join()
                writers[i] = start()
            kills -= len(victims)
    finally:
        for process, _ in writers:
            process.kill()
            process.join()
    written = [path.read_text() for path in paths if path.exists()]
    return [line.split() for text in written for line in text.splitlines()]


# -- what must hold -------------------------------------------------------------------------------


def ledger_episode(url: str, folder: Path, kills: int, kind: str, rng: random.Random) -> Result:
    cap = rng.randint(5, 25)
    Ledger.create(url, Budget(epsilon=float(cap)))
    latest = RawValue("q", 0)  # without a lock, which a killed writer would keep
    begun = time.perf_counter()
    lines = hunt(
        lambda notes, seed: spend_for_ever(url, kind, notes, seed, latest), folder, kills, rng
    )
    seconds = time.perf_counter() - begun

    answers: dict[str, set[str]] = defaultdict(set)
    for word, *rest in lines:
        if word == "answer":
            answers[rest[0]].add(rest[1])
    rows = perform(connect(url), lambda c: c.execute(select(tables._charges)).all())
    stored = {row.request: row.result and bytes(row.result).hex() for row in rows}
    ledger = Ledger.open(url)
    for row in rows:  # once more, now that all is quiet: free, and the same
        number = int(row.request[1:])
        answers[row.request].add(ask(ledger, number, lambda: os.urandom(16)))
    spent = ledger.account().spent
    return Result(
        what="ledger",
        kills=kills,
        answers=sum(line[0] == "answer" for line in lines),
        refused=sum(line[0] == "refused" for line in lines),
        interrupted=sum(row.result is None for row in rows),
        seconds=seconds,
        conflicts=sum(len(given) > 1 for given in answers.values()),
        lost=sum(
            request not in stored or stored[request] not in {None, *given}
            for request, given in answers.items()
        ),
        overspends=int(spent != sum(row.cost for row in rows) or spent > cap * UNITS),
    )


def study_episode(url: str, folder: Path, kills: int, rng: random.Random) -> Result:
    study = Study.create(url, PROBLEM, horizon=HORIZON, budget=Budget(rho=0.5), options=SMALL)
    begun = time.perf_counter()
    lines = hunt(lambda notes, seed: study_for_ever(url, notes, seed), folder, kills, rng)
    seconds = time.perf_counter() - begun

    columns = store.rounds_table.c
    query = select(columns.number, columns.id, columns.told, columns.reward).order_by(
        columns.number
    )
    rows = perform(connect(url), lambda c: c.execute(query).all())
    rounds = {row.id: row for row in rows}
    policies = {rest[0] for word, *rest in lines if word == "released"}
    tells = [_scaled(rest) for word, *rest in lines if word == "told"]
    asks = [_scaled(rest) for word, *rest in lines if word == "asked"]
    charges = len(study.ledger.charges())
    known = [batch for batch in asks if all(name in rounds for name in batch)]
    torn = sum(not _whole(batch, rounds) for batch in known)
    forgotten = sum(not _kept(batch, rounds) for batch in tells)
    in_order = [row.number for row in rows] == list(range(1, len(rows) + 1))
    return Result(
        what="study",
        kills=kills,
        answers=sum(line[0] != "refused" for line in lines),
        refused=sum(line[0] == "refused" for line in lines),
        interrupted=sum(not row.told for row in rows),
        seconds=seconds,
        conflicts=max(0, len(policies) - 1) + torn,
        lost=len(asks) - len(known) + forgotten + (charges < RELEASES * bool(policies)),
        overspends=int(not in_order or len(rows) > HORIZON) + (charges > RELEASES),
    )


def epochs_episode(url: str, folder: Path, kills: int, kind: str, rng: random.Random) -> Result:
    made = Study.create(
        url,
        PROBLEM,
        horizon=sum(EPOCHS),
        budget=Budget(rho=0.5),
        unit="user",
        options=SMALL,
        epochs=EPOCHS,
    )
    assert isinstance(made, EpochStudy)
    made.validate(rounds=VALIDATION, baseline={"dose": 0.5})
    begun = time.perf_counter()
    lines = hunt(
        lambda notes, seed: epochs_for_ever(url, kind, notes, seed), folder, kills, rng, SLOWLY
    )
    seconds = time.perf_counter() - begun

    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    interrupted = sum(epoch.closed is not None for epoch in study.history) - len(_policies(study))
    if not study.finished:  # once more, now that all is quiet: whatever was begun can be ended
        study.advance(early=True)
    policies: dict[str, set[str]] = defaultdict(set)
    for number, digest in _policies(study).items():
        policies[str(number)].add(digest)
    for word, *rest in lines:
        if word == "released":
            policies[rest[0]].add(rest[1])

    rows = perform(
        connect(url),
        lambda c: c.execute(select(store.rounds_table).order_by(store.rounds_table.c.number)).all(),
    )
    rounds = {row.id: row for row in rows}
    epochs = study._epochs.epochs()
    asks = [_scaled(rest) for word, *rest in lines if word == "asked"]
    tells = [_scaled(rest) for word, *rest in lines if word == "told"]
    known = [batch for batch in asks if all(name in rounds for name in batch)]
    moved = 0  # rounds that count in another epoch than they were told
    for word, *rest in lines:
        if word == "counted":
            pairs = [each.split("=") for each in rest]
            moved += sum(
                name in rounds and _epoch_of(rounds[name].number, epochs) != int(epoch)
                for name, epoch in pairs
            )
    of_users: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        of_users[row.user].add(_epoch_of(row.number, epochs))
    twice = sum(len(found) > 1 for found in of_users.values())
    charges = [charge.request for charge in study.ledger.charges()]
    expected = [name for name in PASSES if name.split("/")[0] in {f"epoch {n}" for n in policies}]
    in_order = [row.number for row in rows] == list(range(1, len(rows) + 1))
    accounts = study.ledger.accounts()
    return Result(
        what="epochs",
        kills=kills,
        answers=sum(line[0] != "refused" for line in lines),
        refused=sum(line[0] == "refused" for line in lines),
        interrupted=interrupted,
        seconds=seconds,
        conflicts=sum(len(found) > 1 for found in policies.values())
        + sum(not _whole(batch, rounds) for batch in known)
        + moved
        + twice,
        lost=len(asks)
        - len(known)
        + sum(not _kept(batch, rounds) for batch in tells)
        + len(set(expected) - set(charges)),
        overspends=int(not in_order)
        + len(set(charges) - set(PASSES))
        + (len(charges) - len(set(charges)))
        + sum(account.spent > account.cap for account in accounts),
    )


def _epoch_of(number: int, epochs: list[EpochRow]) -> int:
    """The epoch of a round; the one after the last, if that one is closed and the round came
    later."""
    found = [epoch.number for epoch in epochs if epoch.first < number <= epoch.end]
    return found[0] if len(found) == 1 else epochs[-1].number + 1


def _scaled(batch: list[str]) -> dict[str, float]:
    """Rewards by round, as the database holds them."""
    rewards = {}
    for word in batch:
        name, reward = word.split("=")
        rewards[name] = float(PROBLEM.scale_reward(np.array([float(reward)]))[0])
    return rewards


def _whole(batch: dict[str, float], rounds: dict[str, Any]) -> bool:
    """Asked in a row; told all together, with these rewards, or not at all."""
    numbers = [rounds[name].number for name in batch]
    in_a_row = numbers == list(range(numbers[0], numbers[0] + len(batch)))
    untold = not any(rounds[name].told for name in batch)
    return in_a_row and (untold or _kept(batch, rounds))


def _kept(batch: dict[str, float], rounds: dict[str, Any]) -> bool:
    """Told all together, with these rewards."""
    return all(
        name in rounds and rounds[name].told and rounds[name].reward == reward
        for name, reward in batch.items()
    )


# -- the benchmark --------------------------------------------------------------------------------


def databases(url: str | None, folder: Path) -> Iterator[str]:
    """New SQLite files, or one given database that is emptied of what we put there each time."""
    number = 0
    while True:
        number += 1
        yield url or f"sqlite:///{folder / f'{number}.db'}"
        if url:
            metadata.drop_all(connect(url))


def measure(what: str, kills: int, kind: str, url: str | None, rng: random.Random) -> Result:
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="tacit-") as temporary:
        supply = databases(url, Path(temporary))
        for left in range(kills, 0, -KILLS_PER_DATABASE):
            folder = Path(temporary) / f"{what}-{left}"
            folder.mkdir()
            database = next(supply)
            now = min(left, KILLS_PER_DATABASE)
            if what == "ledger":
                results.append(ledger_episode(database, folder, now, kind, rng))
            elif what == "epochs":
                results.append(epochs_episode(database, folder, now, kind, rng))
            else:
                results.append(study_episode(database, folder, now, rng))
            if not results[-1].holds:
                break
        if url:
            next(supply)  # empties it
    return sum(results[1:], results[0])


def table(results: list[Result]) -> Table:
    title = f"{WRITERS} writers, killed at random moments"
    shown = Table(
        title=title, box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False
    )
    counted = ("kills", "answers", "refused", "conflicts", "lost", "overspends")
    for heading in ("", *counted, "seconds", ""):
        shown.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        counts = [f"{getattr(result, name):,}" for name in counted]
        verdict = "holds" if result.holds else "BROKEN"
        shown.add_row(result.what, *counts, f"{result.seconds:.1f}", verdict)
    return shown


def main(
    kills: int = typer.Option(200, min=1, help="of each kind"),
    what: str = typer.Option("ledger,study,epochs", help="what to kill, with commas"),
    ledger: str = typer.Option("sound", help=", ".join([*LEDGERS, FORGETFUL])),
    url: str = typer.Option("", help="an empty database (default: SQLite files)"),
    seed: int = typer.Option(0, help="of the moments"),
    to_json: bool = typer.Option(False, "--json"),
) -> None:
    """Kills writers and prints what became of their work, as a table or as JSON."""
    if url and inspect(connect(url)).get_table_names():
        raise SystemExit("this database is not empty: give one that may be wiped.")
    if what != "ledger":
        import opendp.prelude  # noqa: F401  (once, before the forks)
    rng = random.Random(seed)
    results = [measure(kind, kills, ledger, url or None, rng) for kind in what.split(",")]
    if to_json:
        print(json.dumps([asdict(r) | {"holds": r.holds} for r in results], indent=2))
    else:
        Console().print(table(results))
    raise typer.Exit(0 if all(r.holds for r in results) else 1)


if __name__ == "__main__":
    typer.run(main)
