"""`tacit study`: create a study in a database, show it, release its policy."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, out, progress, table
from tacit.cli.epoch_options import (
    Baseline,
    Control,
    Epochs,
    Exploit,
    Explore,
    Wait,
    read_baseline,
    read_epochs,
    read_wait,
)
from tacit.cli.epochs import (
    about_epochs,
    advance,
    export,
    extend,
    history,
    show_epochs,
    validate,
)
from tacit.cli.options import (
    Delta,
    Epsilon,
    Overwrite,
    Passes,
    ProblemPath,
    Rank,
    StudyUrl,
    chosen_budget,
    chosen_rounds,
    save_released,
)
from tacit.errors import InputError, StateError

if TYPE_CHECKING:
    from tacit.core import Budget
    from tacit.study import Study, StudyState

app = typer.Typer(
    no_args_is_help=True, help="Create, show and release a study that lives in a database."
)


@app.command()
def create(
    url: StudyUrl,
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
    epochs: Epochs = "1",
    explore: Explore = 0.05,
    exploit: Exploit = 0.0,
    control: Control = 0.0,
    baseline: Baseline = None,
    wait: Wait = "0",
    json: Json = False,
) -> None:
    """Design a study and write it to a database. Needs no data and spends nothing.

        tacit study create sqlite:///study.db problem.toml --rounds 5000 --epsilon 1

    Then play rounds from Python, in any number of processes:

        study = tacit.Study.open("sqlite:///study.db")
        decision = study.ask({"age": 61, "weight": 74})
        study.tell(decision, reward=0.8)

    A study in epochs goes on after each release, and plays by what it has learned. Every epoch
    spends the whole budget, because each person counts in one epoch. Sizes are chosen for you, or
    typed. The first epoch explores; from the second one on what --explore, --exploit and --control
    leave is played by Thompson sampling. An epoch reads its rounds as often as it should, whatever
    --passes says.

        tacit study create sqlite:///study.db problem.toml --epochs 4 --wait 7d

        tacit study create sqlite:///study.db problem.toml --epochs 500,1000,3500

        tacit study advance sqlite:///study.db --out policy/
    """
    from tacit.design import DesignOptions
    from tacit.logs import read_problem
    from tacit.study import Study

    spec = read_problem(problem)
    planned = read_epochs(epochs)
    if isinstance(planned, list) and rounds is None:
        rounds = sum(planned)
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
            epochs=planned,
            explore=explore,
            exploit=exploit,
            control=control,
            baseline=read_baseline(baseline or [], spec.problem.actions),
            wait=read_wait(wait),
            progress=show,
        )
    if json:
        emit(_about(study) | {"rank": study.design.rank})
        return
    out.print(f"[bold]Study created[/bold]  (rank {study.design.rank})")
    _show(study)
    out.print("Next, in Python: tacit.Study.open(url).ask(context)")


@app.command()
def show(
    url: StudyUrl,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say how good a policy a release now would give."),
    ] = False,
    json: Json = False,
) -> None:
    """Show where a study stands. Free, and it says nothing of the rewards.

    How many rewards came back is private: it is neither shown here nor anywhere else. Of a study in
    epochs it shows the present one, how it is played, and what `tacit study advance` waits for.

        tacit study show sqlite:///study.db
    """
    study = _open(url)
    planned = None
    if plan:
        with progress(json) as bars:
            planned = study.plan(progress=bars)
            forecast = planned.forecast
    if json:
        emit(_about(study) | ({} if planned is None else {"forecast": forecast.to_json()}))
        return
    _show(study)
    if planned is not None:
        out.print(planned.explain(), soft_wrap=True)


@app.command()
def release(
    url: StudyUrl,
    to: Annotated[Path, typer.Option("--out", help="The folder to write the policy to.")],
    overwrite: Overwrite = False,
    epsilon: Annotated[
        float | None,
        typer.Option(help="What to spend; what was planned, or what is left of it, otherwise."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Goes with --epsilon; the study's own otherwise.")
    ] = None,
    json: Json = False,
) -> None:
    """Close a study, SPEND its budget and write the policy to a folder.

    Where single decisions have left less than was planned, it spends all that is left. No round can
    be asked afterwards. Run again, it writes the same policy and spends nothing. The folder must be
    new or empty, or hold that policy; another one is replaced with --overwrite. A study in epochs
    is released by `tacit study advance` instead.

        tacit study release sqlite:///study.db --out policy/

        tacit decide policy/ visitors.csv
    """
    from tacit.policy import require_writable

    started = time.perf_counter()
    study = _open(url)
    _require_one_release(study, url)
    require_writable(to, overwrite, study.receipt)
    budget = _stated(study, epsilon, delta)
    with progress(json, rate="rounds") as bars:
        policy = study.release(budget, progress=bars)
    save_released(policy, to)
    seconds = time.perf_counter() - started
    state = study.state
    if json:
        told = {"policy": str(to), "rounds": study.asked, "seconds": seconds}
        spent = {"release_budget": state.release_budget, "spent": state.spent}
        emit(told | spent | asdict(policy.guarantee))
        return
    out.print(
        f"[bold]Policy written to {to}[/bold]  ({study.asked} rounds, rank {study.design.rank}, "
        f"{seconds:.1f} s)",
        soft_wrap=True,
    )
    out.print(f"Guarantee: {policy.guarantee}", soft_wrap=True)
    out.print(
        f"The release spent {state.release_budget}; with everything else the study spent "
        f"{state.spent_text}, left {state.left_text}.",
        soft_wrap=True,
    )


app.command()(advance)
app.command()(history)
app.command()(extend)
app.command()(validate)
app.command()(export)


def _stated(study: Study, epsilon: float | None, delta: float | None) -> Budget | None:
    """The budget of the options, if any."""
    from tacit.core import Budget

    if epsilon is None:
        if delta is not None:
            raise InputError("--delta goes with --epsilon: pass both, or neither.")
        return None
    if delta is None:
        delta = study.ledger.budget.delta or 1e-6
    return Budget(epsilon=epsilon, delta=delta)


def _open(url: str) -> Study:
    from tacit.study import Study

    return Study.open(url)


def _require_one_release(study: Study, url: str) -> None:
    from tacit.study import EpochStudy

    if isinstance(study, EpochStudy):
        raise StateError(
            "this study goes on in epochs and is released epoch by epoch: run tacit study advance "
            f"{url} --out FOLDER."
        )


def _about(study: Study) -> dict[str, Any]:
    """Where a study stands, for machines."""
    from tacit.study import EpochStudy

    more = about_epochs(study) if isinstance(study, EpochStudy) else {}
    return asdict(study.state) | more


def _show(study: Study) -> None:
    """The same for people."""
    from tacit.study import EpochStudy

    if isinstance(study, EpochStudy):
        show_epochs(study)
    else:
        _show_state(study.state)


def _show_state(state: StudyState) -> None:
    whom = "one user, with all of their rounds" if state.unit == "user" else "one round"
    times = "1 pass" if state.passes == 1 else f"{state.passes} passes"
    if state.passes < state.planned_passes:
        times += f" of {state.planned_passes} that were planned: nothing was left for more"
    rows = [
        ["state", state.stage],
        ["rounds asked", f"{state.asked:,} of {state.horizon:,}"],
        ["budget", state.budget],
        [
            "the release spent" if state.released else "a release spends",
            f"{state.release_budget}, in {times}",
        ],
        ["spent", state.spent_text],
        ["left", state.left_text],
        ["protects", whom],
    ]
    table("Study", ["", ""], rows)
