"""`tacit fit`: logged data in, one private policy out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress
from tacit.errors import InputError, RequestConflictError, StateError

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.logs import Checkpoint, Job, ProblemFile, Work
    from tacit.policy import Policy
    from tacit.progress import Progress

Count = Callable[["Work", Callable[[], None], "Progress"], None]


class Engine(StrEnum):
    local = "local"
    ray = "ray"


def fit(
    problem: Annotated[
        Path, typer.Argument(help="The problem, as TOML (see examples/dosing.toml).")
    ],
    data: Annotated[
        list[str],
        typer.Argument(help="Parquet, Arrow or CSV files, or patterns: 'logs/*.parquet'."),
    ],
    to: Annotated[Path, typer.Option("--out", help="The folder to write the policy to.")],
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy budget; that of the problem file otherwise.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Goes with --epsilon.")] = 1e-6,
    horizon: Annotated[
        int | None, typer.Option(help="The number of rounds planned; the number of rows otherwise.")
    ] = None,
    rank: Annotated[int | None, typer.Option(help="The largest number of landmarks.")] = None,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            help="How often the files are read: twice is more accurate at the same budget.",
        ),
    ] = 2,
    user: Annotated[
        str | None,
        typer.Option(help="A column of user ids: protect whole users instead of single rounds."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN",
            help="What the files call a column of the problem: dose=amount_mg.",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="The database that keeps the budget; beside the data by default."),
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(
            help="A name for this release: the same name returns the same policy, free of charge."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep what is counted so far in this file, AS PRIVATE AS THE DATA, and go on from it."
        ),
    ] = None,
    save_every: Annotated[float, typer.Option(min=0, help="Seconds between checkpoints.")] = 10.0,
    collect_only: Annotated[
        bool,
        typer.Option(
            "--collect-only",
            help="Stop before anything is released: count (a first pass), keep the checkpoint, spend nothing.",
        ),
    ] = False,
    engine: Annotated[
        Engine, typer.Option(help="Who counts: this process, or a Ray cluster.")
    ] = Engine.local,
    address: Annotated[
        str | None,
        typer.Option(help="The Ray cluster's address; without one it is started on this machine."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many workers a Ray cluster on this machine has.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Where products are computed: cpu or cuda.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn a policy from rounds that were logged under uniformly random actions.

    Streams the files, spends the privacy budget from the ledger beside the data, and writes the
    policy to a folder. Running it again with the same problem returns the released policy; it never
    draws twice.

    It looks at the files twice: a first release takes a part of the budget, and the rest goes into
    what that one got wrong. Together they spend the budget and no more. With --passes 1 there is one
    release, and one reading.

    Files may be of any size: memory stays the same. One row is one round. Needed are the columns of
    actions and contexts, and the reward; others are not read. A cell that is empty or makes no
    sense counts and adds nothing.

        tacit fit problem.toml log.parquet --out policy/

        tacit fit problem.toml 'logs/*.parquet' --out policy/ --ledger sqlite:///study.db --column dose=amount_mg

    With --checkpoint a fit that was stopped, by Ctrl-C or by a crash, goes on where it was when it
    is run again, and counts no row twice. The file is deleted once the policy is written:

        tacit fit problem.toml 'logs/*.parquet' --out policy/ --ledger sqlite:///study.db --checkpoint fit.partial

    With --engine ray the files are shared among the workers of a cluster; the sum is the same:

        tacit fit problem.toml 'logs/*.parquet' --out policy/ --ledger sqlite:///study.db --engine ray
    """
    from tacit.logs import Checkpoint, Job, LogColumns, find_logs, read_problem

    started = time.perf_counter()
    _check(checkpoint, collect_only, engine, address, workers)
    spec = read_problem(problem)
    paths = find_logs(data)
    url = ledger or ("" if collect_only else _beside(paths))
    names = (*spec.problem.actions.names, *spec.problem.contexts.names)
    columns = LogColumns.of(
        names, spec.reward, user or spec.user, {**spec.columns, **_mapping(column or [])}
    )
    near = device if engine is Engine.local else None  # a cluster's devices are its workers'
    job = Job(
        spec, paths, columns, _budget(spec, epsilon, delta), horizon, rank, request, near, passes
    )
    kept = Checkpoint(checkpoint, job.terms, save_every)
    with progress(json, rate="rows") as show:
        work = job.begin(kept, show)
        if not collect_only:
            _require_room(work, url)
        with _counting(engine, device, address, workers) as count:
            _collect(work, kept, show, count)
            if work.design.whole is not None and not collect_only:
                work = job.look_again(work, _release(job, work, url), kept, show)
                _collect(work, kept, show, count)
    design = work.design
    told = {
        "rows": work.rows,
        "passes": passes,
        "rank": design.rank,
        "tau": design.tau,
        "clip": design.clip,
    }
    if collect_only:
        _say_collected(work, kept, told | {"seconds": time.perf_counter() - started}, json)
        return
    policy = _release(job, work, url)
    policy.save(to)
    kept.forget()
    _say_released(policy, to, url, told | {"seconds": time.perf_counter() - started}, json)


@contextmanager
def _counting(
    engine: Engine, device: str | None, address: str | None, workers: int | None
) -> Iterator[Count]:
    """Who counts, in both passes."""
    from tacit.logs import collect_here, collect_on_ray, connected, import_ray

    if engine is Engine.local:
        yield partial(collect_here, device=device)
        return
    with redirect_stdout(sys.stderr), connected(import_ray(), address, workers):
        yield partial(collect_on_ray, device=device)


def _collect(work: Work, kept: Checkpoint, show: Progress, count: Count) -> None:
    try:
        with kept.keeping(work) as tick:
            count(work, tick, show)
    except KeyboardInterrupt:
        if kept.path is None:
            raise
        _say_kept(work, kept)
        raise typer.Exit(130) from None
    except (InputError, StateError):
        if kept.path is not None:
            _say_kept(work, kept)
        raise


def _release(job: Job, work: Work, url: str) -> Policy:
    from tacit.core import Ledger

    return work.release(Ledger.at(url, job.budget))


def _require_room(work: Work, url: str) -> None:
    """A budget that does not cover both passes is a reason not to begin. What was charged already is
    free."""
    from tacit.core import Ledger, release_event

    with suppress(StateError):  # no ledger yet: it will be made for this budget
        there = Ledger.open(url)
        due = {
            request: budget
            for request, budget in work.releases.items()
            if there.receipt(request) is None
        }
        if due and work.request not in due:
            raise RequestConflictError(
                f"request {work.request!r} was made before with one pass: pass --passes 1, or "
                "choose another request."
            )
        if due:
            measure = there.account().measure
            encoding = work.design.encoding
            there.require_room(
                *(release_event(encoding, budget, measure) for budget in due.values())
            )


def _say_kept(work: Work, kept: Checkpoint) -> None:
    err.print(
        f"{work.look}: {work.counted:,} of {work.rows:,} rows are kept in {kept.path}, which is as "
        "private as the "
        "data: run the same command to go on.",
        soft_wrap=True,
    )


def _say_collected(work: Work, kept: Checkpoint, told: dict[str, Any], json: bool) -> None:
    if json:
        emit({"checkpoint": str(kept.path), "released": False} | told)
    else:
        out.print(
            f"{work.counted:,} rows are counted in {kept.path}, which is as private as the data: "
            "run the same command "
            "without --collect-only to release.",
            soft_wrap=True,
        )


def _say_released(policy: Policy, to: Path, url: str, told: dict[str, Any], json: bool) -> None:
    if json:
        emit({"policy": str(to)} | told | asdict(policy.guarantee))
        return
    out.print(
        f"[bold]Policy written to {to}[/bold]  ({told['rows']} rounds, rank {told['rank']}, "
        f"{told['seconds']:.1f} s)"
    )
    out.print(f"Guarantee: {policy.guarantee}")
    err.print(f"Budget kept in {url}")


def _check(
    checkpoint: Path | None,
    collect_only: bool,
    engine: Engine,
    address: str | None,
    workers: int | None,
) -> None:
    if collect_only and checkpoint is None:
        raise InputError("--collect-only needs a --checkpoint to keep what is collected in.")
    if checkpoint is not None and not checkpoint.absolute().parent.is_dir():
        raise InputError(
            f"{checkpoint} cannot be written: there is no folder {checkpoint.absolute().parent}."
        )
    if engine is not Engine.ray and (address or workers):
        raise InputError("--address and --workers are for a cluster: add --engine ray.")
    if address and workers:
        raise InputError(
            "a cluster that is there has its own workers: pass --address or --workers, not both."
        )
    if engine is Engine.ray:
        from tacit.logs import import_ray

        import_ray()


def _mapping(given: Sequence[str]) -> dict[str, str]:
    pairs = [entry.split("=", 1) for entry in given]
    if wrong := [
        entry for entry, pair in zip(given, pairs, strict=True) if len(pair) != 2 or not all(pair)
    ]:
        raise InputError(f"--column takes NAME=COLUMN, as in dose=amount_mg, got {wrong[0]!r}.")
    return {pair[0]: pair[1] for pair in pairs}


def _beside(data: Sequence[Path]) -> str:
    """One file has its ledger beside it. Several could be named in another order, and get another
    ledger: ask.

    A symbolic link has the ledger of the file that it leads to: another name is no reason for
    another budget.
    """
    if len(data) > 1:
        raise InputError(
            "several data files need one ledger to share: pass --ledger sqlite:///study.ledger.db."
        )
    file = data[0].resolve()
    here = Path(f"{data[0]}.ledger.db")
    there = Path(f"{file}.ledger.db")
    if (
        here.exists() and here.resolve() != there.resolve()
    ):  # earlier versions kept one beside the link
        raise InputError(
            f"{data[0]} is a link to {file}, and there is a ledger beside the link, with what was "
            "spent there: "
            f"say which one to go on with, by --ledger sqlite:///{here} or --ledger "
            f"sqlite:///{there}."
        )
    return f"sqlite:///{there}"


def _budget(spec: ProblemFile, epsilon: float | None, delta: float) -> Budget:
    from tacit.core import Budget

    if epsilon is not None:
        return Budget(epsilon=epsilon, delta=delta)
    if spec.budget is None:
        raise InputError(
            "no budget: pass --epsilon 1 --delta 1e-6, or add a [budget] table to the problem file."
        )
    return spec.budget
