"""`tacit study`: create a study in a database, look at it, release its policy."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.console import Json, emit, out, progress, table
from tacit.cli.options import (
    Delta,
    Epsilon,
    Overwrite,
    Passes,
    ProblemPath,
    Rank,
    chosen_budget,
    chosen_rounds,
    save_released,
)

if TYPE_CHECKING:
    from tacit.study import Study, StudyState

app = typer.Typer(
    no_args_is_help=True, help="Create, look at and release a study that lives in a database."
)

Url = Annotated[str, typer.Argument(help="The study's database, for example sqlite:///study.db.")]


@app.command()
def create(
    url: Url,
    problem: ProblemPath,
    rounds: Annotated[
        int | None,
        typer.Option(help="The most rounds to ask; the horizon of the file otherwise."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    passes: Passes = 2,
    user: Annotated[
        bool,
        typer.Option(
            "--user",
            help="Protect whole users instead of single rounds: every round says whose it is.",
        ),
    ] = False,
    rank: Rank = None,
    json: Json = False,
) -> None:
    """Design a study and write it to a database. Needs no data and spends nothing.

        tacit study create sqlite:///study.db problem.toml --rounds 5000 --epsilon 1

    Then play rounds from Python, in any number of processes:

        study = tacit.Study.open("sqlite:///study.db")
        decision = study.ask({"age": 61, "weight": 74})
        study.tell(decision, reward=0.8)
    """
    from tacit.design import DesignOptions
    from tacit.logs import read_problem
    from tacit.study import Study

    spec = read_problem(problem)
    horizon = chosen_rounds(spec, rounds)
    budget = chosen_budget(spec, epsilon, delta)
    with progress(json) as show:
        study = Study.create(
            url,
            spec.problem,
            horizon=horizon,
            budget=budget,
            unit="user" if user or spec.user is not None else "record",
            passes=passes,
            options=DesignOptions(rank=rank),
            progress=show,
        )
    if json:
        emit(asdict(study.state) | {"rank": study.design.rank})
        return
    out.print(f"[bold]Study created[/bold]  (rank {study.design.rank})")
    _show(study.state)
    out.print("Next, in Python: tacit.Study.open(url).ask(context)")


@app.command()
def show(url: Url, json: Json = False) -> None:
    """Show where a study stands. Free, and it says nothing of the rewards.

    How many rewards came back is private: it is neither shown here nor anywhere else.

        tacit study show sqlite:///study.db
    """
    state = _open(url).state
    if json:
        emit(asdict(state))
    else:
        _show(state)


@app.command()
def release(
    url: Url,
    to: Annotated[Path, typer.Option("--out", help="The folder to write the policy to.")],
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Close a study, SPEND its budget and write the policy to a folder.

    No round can be asked afterwards. Run again, it writes the same policy and spends nothing. The
    folder must be new or empty, or hold that policy; another one is replaced with --overwrite.

        tacit study release sqlite:///study.db --out policy/

        tacit decide policy/ visitors.csv
    """
    from tacit.policy import require_writable
    from tacit.study.study import RELEASE

    started = time.perf_counter()
    study = _open(url)
    require_writable(to, overwrite, study.ledger.receipt(RELEASE))
    with progress(json, rate="rounds") as bars:
        policy = study.release(bars)
    save_released(policy, to)
    seconds = time.perf_counter() - started
    if json:
        told = {"policy": str(to), "rounds": study.asked, "seconds": seconds}
        emit(told | asdict(policy.guarantee))
        return
    out.print(
        f"[bold]Policy written to {to}[/bold]  ({study.asked} rounds, rank {study.design.rank}, "
        f"{seconds:.1f} s)",
        soft_wrap=True,
    )
    out.print(f"Guarantee: {policy.guarantee}", soft_wrap=True)


def _open(url: str) -> Study:
    from tacit.study import Study

    return Study.open(url)


def _show(state: StudyState) -> None:
    whom = "one user, with all of their rounds" if state.unit == "user" else "one round"
    times = "1 pass" if state.passes == 1 else f"{state.passes} passes"
    rows = [
        ["state", state.stage],
        ["rounds asked", f"{state.asked:,} of {state.horizon:,}"],
        ["budget", state.budget],
        ["the release spends", f"{state.release_budget}, in {times}"],
        ["spent", f"{state.counted_in}={state.spent:.6g}"],
        ["left", f"{state.counted_in}={state.remaining:.6g}"],
        ["protects", whom],
    ]
    table("Study", ["", ""], rows)
