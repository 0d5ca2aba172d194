"""`tacit fit`: logged data in, one private policy out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress, say_health
from tacit.cli.epoch_options import read_baseline
from tacit.cli.options import (
    Delta,
    Epsilon,
    Overwrite,
    Passes,
    ProblemPath,
    Rank,
    chosen_budget,
    save_released,
)
from tacit.errors import InputError, StateError

if TYPE_CHECKING:
    from tacit.core import Ledger
    from tacit.logs import Checkpoint, FileFit, Work
    from tacit.policy import Policy
    from tacit.problem import Problem


class Engine(StrEnum):
    local = "local"
    ray = "ray"


def fit(
    problem: ProblemPath,
    data: Annotated[
        list[str],
        typer.Argument(help="Parquet, Arrow or CSV files, or patterns: 'logs/*.parquet'."),
    ],
    to: Annotated[Path, typer.Option("--out", help="The folder to write the policy to.")],
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    horizon: Annotated[
        int | None, typer.Option(help="The number of rounds planned; the number of rows otherwise.")
    ] = None,
    rank: Rank = None,
    passes: Passes = 2,
    user: Annotated[
        str | None,
        typer.Option(help="A column of user ids: protect whole users instead of single rounds."),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(
            help="The share of people to keep apart and not to learn from, up to 0.5: 0.2."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ACTION|FOLDER",
            help="With --hold-out: evaluate the policy on those kept apart, against an action, "
            "dose=30 or dose=30,days=7, or the policy in a folder.",
        ),
    ] = None,
    play: Annotated[
        str | None,
        typer.Option(
            help="How actions were chosen: uniform. Other laws stand in the problem file."
        ),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(help="Instead: a column with the propensity of the action that was played."),
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
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Open a budget at --ledger although these files have one beside them already.",
        ),
    ] = False,
    request: Annotated[
        str | None,
        typer.Option(
            help="A name for this release: the same name returns the same policy, free of charge."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep what is counted so far in this file, AS PRIVATE AS THE DATA, and go on."
        ),
    ] = None,
    save_every: Annotated[float, typer.Option(min=0, help="Seconds between checkpoints.")] = 10.0,
    collect_only: Annotated[
        bool,
        typer.Option(
            "--collect-only",
            help="Count one pass, keep it in the checkpoint, and release and spend nothing.",
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
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Learn a policy from rounds that were logged.

    Streams the files, spends the privacy budget from the ledger beside the data, and writes the
    policy to a folder. Running it again with the same problem returns the released policy; it never
    draws twice.

    The folder is checked before anything is spent. It must be new or empty, or hold the policy of
    this very fit, which is then written again. Another policy in it is replaced with --overwrite
    only, as a whole or not at all; other files are never touched.

    Where there is no ledger yet, one is made with the budget of this fit, and a line says so: a new
    ledger is a new budget. Files that have a ledger beside them get no second one at --ledger,
    unless you say --new-ledger: what is spent from two ledgers adds up for the people in the data.

    It reads the files twice: the release of pass 1 takes a part of the budget, and the rest goes
    into what that one got wrong. Together they spend the budget and no more. With --passes 1 there
    is one release, and one reading.

    Files may be of any size: memory stays the same. One row is one round. Needed are the columns of
    actions and contexts, and the reward; others are not read. A cell that is empty or makes no
    sense counts and adds nothing.

    How actions were chosen cannot be seen in a log, so it has to be said: uniformly at random, by a
    law that the problem file states in its `play` table, or with a propensity for each row.

        tacit fit problem.toml log.parquet --out policy/ --play uniform

        tacit fit problem.toml log.parquet --out policy/ --propensity p

        tacit fit problem.toml 'logs/*.parquet' --out policy/ --ledger sqlite:///study.db

    With --hold-out a share of the rounds, or of the users of --user, is kept apart, to tell later
    what the policy is worth for people that it was not learned from. Who that is follows from row
    numbers, or user ids, alone. They are different people, so each part may spend the whole budget:
    the ledger keeps an account for each. Name the same files in the same order from then on:

        tacit fit problem.toml log.parquet --out policy/ --hold-out 0.2

    With --against it is measured at once: the policy is evaluated on those kept apart, with the
    same budget from their own account, against what is done now. The report leads with it:

        tacit fit problem.toml log.parquet --out policy/ --hold-out 0.2 --against dose=30

    With --checkpoint a fit that was stopped, by Ctrl-C or by a crash, goes on where it was when it
    is run again, and counts no row twice. The file is deleted once the policy is written:

        tacit fit problem.toml log.parquet --out policy/ --checkpoint fit.partial

    With --engine ray the files are shared among the workers of a cluster; the sum is the same:

        tacit fit problem.toml log.parquet --out policy/ --engine ray
    """
    from tacit.core import Ledger
    from tacit.design import DesignOptions
    from tacit.fitting import evaluate_held_out
    from tacit.logs import FileFit, Job, LogColumns, RunOptions, find_logs, read_problem
    from tacit.logs.stated_play import one_statement, state_play
    from tacit.policy import require_writable

    started = time.perf_counter()
    if against is not None and (hold_out is None or collect_only):
        raise InputError("--against needs people kept apart to evaluate on: pass --hold-out 0.2.")
    if collect_only and checkpoint is None:
        raise InputError("--collect-only needs a --checkpoint to keep what is collected in.")
    spec = read_problem(problem)
    said, propensity = one_statement(play, propensity, (spec.play, spec.propensity))
    stated = state_play(spec.problem, said, propensity)
    baseline = None if against is None else read_policy(against, stated)
    paths = find_logs(data)
    url = ledger or ""
    if not url and not collect_only:
        url = beside(paths)
    if not collect_only:
        require_writable(to, overwrite=True)  # which policy is in it is looked at below
        require_first_ledger(url, paths, new_ledger)
    with progress(json, rate="rows") as show, _stdout_for(engine):
        run = RunOptions(
            request=request,
            horizon=spec.horizon if horizon is None else horizon,
            columns={**spec.columns, **mapping(column or [])},
            checkpoint=checkpoint,
            save_every=save_every,
            engine=engine.value,
            address=address,
            workers=workers,
            progress=show,
        )
        names = (*spec.problem.actions.names, *spec.problem.contexts.names)
        columns = LogColumns.of(names, spec.reward, user or spec.user, run.columns, propensity)
        options = DesignOptions(rank=rank, device=device)
        budget = chosen_budget(spec, epsilon, delta)
        job = Job(stated, columns, budget, passes, options, run, spec.text, spec.sample, hold_out)
        fit = FileFit(job, paths)
        with _told_what_is_kept(fit.checkpoint):
            if collect_only:
                fit.collect()
            else:
                require_writable(to, overwrite, _receipt(url, fit.work.request))
                account = Ledger.at(url, budget)
                with _told_of_a_new_budget(account):
                    policy = fit.release(account)
                    if baseline is not None:
                        policy = evaluate_held_out(policy, baseline, list(data), job, account)
    told = _told(fit, passes, time.perf_counter() - started)
    if collect_only:
        _say_collected(fit.work, fit.checkpoint, told, json)
        return
    save_released(policy, to)
    fit.checkpoint.forget()
    told |= {"ledger": account.shown_url, "new_ledger": account.is_new}
    if hold_out is not None:
        learned = int(policy.facts["records"])
        told |= {"learned": learned, "held_out": fit.work.rows - learned}
    _say_released(policy, to, told, json)
    if account.is_new:
        _say_new(account)


def _stdout_for(engine: Engine) -> AbstractContextManager[Any]:
    """Ray tells of dead workers on standard output, which is for the result."""
    return redirect_stdout(sys.stderr) if engine is Engine.ray else nullcontext()


@contextmanager
def _told_what_is_kept(checkpoint: Checkpoint) -> Iterator[None]:
    """Whoever stops a fit, or whom it fails, is told where it can go on."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.work is None:
            raise
        _say_kept(checkpoint.work, checkpoint)
        raise typer.Exit(130) from None
    except (InputError, StateError):
        if checkpoint.work is not None:
            _say_kept(checkpoint.work, checkpoint)
        raise


def _told(fit: FileFit, passes: int, seconds: float) -> dict[str, Any]:
    design = fit.work.design
    return {
        "rows": fit.work.rows,
        "passes": passes,
        "rank": design.rank,
        "tau": design.tau,
        "clip": design.clip,
        "seconds": seconds,
    }


def _say_kept(work: Work, kept: Checkpoint) -> None:
    err.print(
        f"{work.stage}: {work.counted:,} of {work.rows:,} rows are kept in {kept.path}, which is "
        "as private as the data: run the same command to go on.",
        soft_wrap=True,
    )


def _say_collected(work: Work, kept: Checkpoint, told: dict[str, Any], json: bool) -> None:
    if json:
        emit({"checkpoint": str(kept.path), "released": False} | told)
    else:
        out.print(
            f"{work.counted:,} rows are counted in {kept.path}, which is as private as the data: "
            "run the same command without --collect-only to release.",
            soft_wrap=True,
        )


@contextmanager
def _told_of_a_new_budget(account: Ledger) -> Iterator[None]:
    """A release that fails has opened its budget all the same; one that succeeds says so last,
    after its verdict."""
    try:
        yield
    except BaseException:
        if account.is_new:
            _say_new(account)
        raise


def _say_new(account: Ledger) -> None:
    err.print(
        f"A new budget was opened at {account.shown_url}: {account.budget}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _say_released(policy: Policy, to: Path, told: dict[str, Any], json: bool) -> None:
    from tacit.evaluation import Evaluation

    say_health(policy)
    if json:
        about = {"policy": str(to), "play": policy.facts["play"]}
        if "evaluation" in policy.facts:
            about["evaluation"] = policy.facts["evaluation"]
        emit(about | told | asdict(policy.guarantee) | {"health": policy.health().to_json()})
        return
    out.print(
        f"[bold]Policy written to {to}[/bold]  ({told['rows']} rounds, rank {told['rank']}, "
        f"{told['seconds']:.1f} s)"
    )
    if "held_out" in told:
        out.print(
            f"Learned from {told['learned']:,} rounds, {told['held_out']:,} kept apart for "
            "validation."
        )
    if "evaluation" in policy.facts:
        evaluation = Evaluation.from_json(policy.facts["evaluation"])
        out.print(str(evaluation), highlight=False, markup=False, soft_wrap=True)
    out.print(f"Play: {policy.facts['play']}", highlight=False, markup=False)
    out.print(f"Guarantee: {policy.guarantee}")
    err.print(f"Budget kept in {told['ledger']}")


def read_policy(typed: str, problem: Problem) -> Any:
    """A baseline: "uniform", the folder of a policy, or an action such as dose=30,days=7."""
    from tacit.policy import load

    if typed == "uniform":
        return typed
    if Path(typed).is_dir():
        return load(typed)
    return read_baseline(typed.split(","), problem.actions, "--against")


def mapping(given: Sequence[str]) -> dict[str, str]:
    pairs = [entry.split("=", 1) for entry in given]
    if wrong := [
        entry for entry, pair in zip(given, pairs, strict=True) if len(pair) != 2 or not all(pair)
    ]:
        raise InputError(f"--column takes NAME=COLUMN, as in dose=amount_mg, got {wrong[0]!r}.")
    return {pair[0]: pair[1] for pair in pairs}


def beside(data: Sequence[Path]) -> str:
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
    # Earlier versions kept one beside the link.
    if here.exists() and here.resolve() != there.resolve():
        raise InputError(
            f"{data[0]} is a link to {file}, and there is a ledger beside the link, with what was "
            f"spent there: say which one to go on with, by --ledger sqlite:///{here} or --ledger "
            f"sqlite:///{there}."
        )
    return f"sqlite:///{there}"


def require_first_ledger(url: str, data: Sequence[Path], new_ledger: bool) -> None:
    """Fails if there is no ledger at `url` yet, and one beside one of the files."""
    if new_ledger or _opened(url) is not None:
        return
    for file in data:
        for beside in (f"sqlite:///{file}.ledger.db", f"sqlite:///{file.resolve()}.ledger.db"):
            if _opened(beside) is not None:
                raise InputError(
                    f"{file} has a ledger beside it already, and there is none where --ledger "
                    f"says: go on with --ledger {beside}, or pass --new-ledger to open a second "
                    "budget for the same people."
                )


def _receipt(url: str, request: str) -> dict[str, Any] | None:
    """That of the policy which this fit returns, if it was released before."""
    ledger = _opened(url)
    return None if ledger is None else ledger.receipt(request)


def _opened(url: str) -> Ledger | None:
    """The ledger at this address, if there is one. None is made."""
    from tacit.core import Ledger

    try:
        return Ledger.open(url)
    except StateError:
        return None
