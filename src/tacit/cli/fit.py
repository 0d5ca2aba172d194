"""`tacit fit`: logged data in, one private policy out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress
from tacit.errors import InputError
from tacit.progress import Progress

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.files import ProblemFile
    from tacit.statistic import Statistic


def fit(
    problem: Annotated[Path, typer.Argument(help="The problem, as TOML (see examples/dosing.toml).")],
    data: Annotated[list[Path], typer.Argument(help="Parquet, CSV or Arrow files with one row per round.")],
    to: Annotated[Path, typer.Option("--out", help="The folder to write the policy to.")],
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget; overrides [budget] in the file.")] = None,
    delta: Annotated[float, typer.Option(help="Goes with --epsilon.")] = 1e-6,
    horizon: Annotated[
        int | None, typer.Option(help="The number of rounds planned; the number of rows otherwise.")
    ] = None,
    rank: Annotated[int | None, typer.Option(help="The largest number of landmarks.")] = None,
    user: Annotated[
        str | None, typer.Option(help="A column of user ids: protect whole users instead of single rounds.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The database that keeps the budget; beside the data by default.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(help="A name for this release: the same name returns the same policy, free of charge.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn a policy from rounds that were logged under uniformly random actions.

    Streams the files, spends the privacy budget from the ledger beside the data, and writes the policy to a folder.
    Running it again with the same problem returns the released policy; it never draws twice.
    """
    from tacit.core import Ledger
    from tacit.design import Design
    from tacit.files import batches, open_dataset, read_problem

    started = time.perf_counter()
    url = ledger or _beside(data)
    spec = read_problem(problem)
    user = user or spec.user
    columns = [*spec.problem.actions.names, *spec.problem.contexts.names, spec.reward, *([user] if user else [])]
    dataset = open_dataset(data, columns)
    rows = dataset.count_rows()
    if not rows:
        raise InputError("the data has no rows: there is nothing to learn from.")
    budget = _budget(spec, epsilon, delta)
    rounds = horizon or spec.horizon or rows
    seed = int.from_bytes(hashlib.sha256(spec.text.encode()).digest()[:8], "big")  # public, and the same every time
    with progress(json) as show:
        design = Design.build(
            spec.problem,
            horizon=max(rounds, rows),
            budget=budget,
            rng=seed,
            rank=rank,
            unit="user" if user else "record",
            progress=show,
        )
        statistic = design.statistic()
        _stream(statistic, batches(dataset, columns), spec.reward, user, show, rows)
    policy = statistic.release(ledger=Ledger.at(url, budget), request=request or f"fit-{design.fingerprint}")
    policy.save(to)
    seconds = time.perf_counter() - started
    if json:
        facts = {"rows": rows, "rank": design.rank, "tau": design.tau, "clip": design.clip, "seconds": seconds}
        emit({"policy": str(to)} | facts | asdict(policy.guarantee))
        return
    out.print(f"[bold]Policy written to {to}[/bold]  ({rows} rounds, rank {design.rank}, {seconds:.1f} s)")
    out.print(f"Guarantee: {policy.guarantee}")
    err.print(f"Budget kept in {url}")


def _stream(
    statistic: Statistic, tables: Iterator[Any], reward: str, user: str | None, show: Progress, rows: int
) -> None:
    for table in tables:
        statistic.add(table, table, table[reward], users=table[user] if user else None)
        show("reading rounds", statistic.records, rows)


def _beside(data: list[Path]) -> str:
    """One file has its ledger beside it. Several could be named in another order, and get another ledger: ask."""
    if len(data) > 1:
        raise InputError("several data files need one ledger to share: pass --ledger sqlite:///study.ledger.db.")
    return f"sqlite:///{data[0]}.ledger.db"


def _budget(spec: ProblemFile, epsilon: float | None, delta: float) -> Budget:
    from tacit.core import Budget

    if epsilon is not None:
        return Budget(epsilon=epsilon, delta=delta)
    if spec.budget is None:
        raise InputError("no budget: pass --epsilon 1 --delta 1e-6, or add a [budget] table to the problem file.")
    return spec.budget
