"""`tacit arena`: private contextual bandits side by side on the same work."""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.console import Json, emit, err, out, progress, table
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit_lab.arena.config import Config
    from tacit_lab.arena.job import Row
    from tacit_lab.arena.statistics import Cells, Key

app = typer.Typer(invoke_without_command=True, no_args_is_help=True)
OUT = Path("out/arena")
Several = list[str] | None
Results = Annotated[
    Path, typer.Argument(help="A folder that tacit arena wrote, or its results.parquet.")
]
MOST_COLUMNS = 4  # environments that each have a column of their own


@app.callback()
def arena(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="Every learner on a few environments: minutes.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file that says what to run (docs/arena.md).")
    ] = None,
    learner: Annotated[
        Several, typer.Option(help="A learner, or file.py:Class. Repeat for several.")
    ] = None,
    environment: Annotated[
        Several, typer.Option(help="An environment, or file.py:function. Repeat.")
    ] = None,
    rounds: Annotated[
        list[int] | None, typer.Option(help="Rounds to play. Repeat for several.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Privacy budget; inf for none. Repeat.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of --learner and --environment runs.")] = 5,
    to: Annotated[
        Path | None, typer.Option("--out", help="Where rows are kept; a rerun goes on from there.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with warfarin/iwpc.csv and jester/ratings.csv.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes; 0 runs in this one.")
    ] = os.cpu_count() or 1,
    names: Annotated[
        bool, typer.Option("--list", help="Print learners and environments, and stop.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare private contextual bandits: same functions, same contexts, same noise.

    The error rate is what a decision loses against the best action, on average over
    fresh contexts, after the last round; rewards are in [-1, 1]. Learners that protect
    nothing have no epsilon (null in JSON). Rows are kept in --out as they come:
    interrupt a run and type the same command again.

    tacit arena --quick               every learner, a few environments
    tacit arena --list                who and what there is
    tacit arena --config study.toml   a study of your own
    tacit arena --learner tacit --learner mine.py:Mine --environment branin
    tacit arena figures out/arena     draw it
    tacit arena attack                attack what they claim to protect
    tacit arena study out/arena       write it up

    Add @wrong or @none to an environment's name to give its learner a wrong law of
    contexts, or none.
    """
    if context.invoked_subcommand is not None:
        return
    if data is not None:
        from tacit_lab.arena.environments.data import VARIABLE

        os.environ[VARIABLE] = str(data.resolve())
    if names:
        _list(json)
        return
    wanted = _config(quick, config, learner, environment, rounds, epsilon, seeds)
    _run(wanted, quick, to, jobs, json)


@app.command()
def attack(
    learner: Annotated[
        Several, typer.Option(help="A private learner, or file.py:Class. Repeat; all by default.")
    ] = None,
    to: Annotated[Path, typer.Option("--out", help="The Parquet file to write.")] = OUT
    / "attacks.parquet",
    json: Json = False,
) -> None:
    """Attack every private learner as a whole, and print what that proves beside its claim.

    Many short studies on two data sets that differ in one round, from fresh seeds. A lower bound
    above the claim refutes it; one below proves nothing. Findings on other learners that are in
    the file stay. About a minute of one core for a learner.
    """
    from tacit_lab.arena.attack import attack, usual_effort, write_attack
    from tacit_lab.arena.names import is_private, known_learners, learner_named

    names = learner or [name for name in known_learners() if is_private(name)]
    found = []
    with progress(json) as show:
        for i, name in enumerate(names):
            found.append(attack(name, learner_named(name), usual_effort(name)))
            write_attack(found[-1], to)
            show("attacks", i + 1, len(names))
    rows = [
        [
            each.learner,
            f"{each.epsilon:g}",
            f"{each.lower_bound:.2f}",
            each.neighbours,
            "refuted" if each.refuted else "",
        ]
        for each in found
    ]
    if json:
        emit({"attacks": [asdict(each) for each in found], "out": str(to)})
    else:
        table("Attacks", ["learner", "claimed", "proved", "neighbours", ""], rows)


@app.command()
def figures(
    results: Results = OUT,
    to: Annotated[Path, typer.Option("--out", help="The folder for the figures.")] = Path(
        "docs/images/arena"
    ),
    json: Json = False,
) -> None:
    """Draw the figures of the study: who is best, error against epsilon and rounds, regret."""
    from tacit_lab.arena.figures import draw_all
    from tacit_lab.arena.results import read_results
    from tacit_lab.arena.selection import Selection

    rows, _ = read_results(results)
    written = [str(path) for path in draw_all(Selection(rows), to)]
    if json:
        emit({"figures": written})
    else:
        out.print("\n".join(written), soft_wrap=True)


@app.command()
def study(
    results: Results = OUT,
    to: Annotated[Path, typer.Option("--out", help="The Markdown file to write.")] = Path(
        "docs/study.md"
    ),
    json: Json = False,
) -> None:
    """Write the study: a page to read, a page of long tables beside it, and figures.

    Every number comes from the table of results and from that of tacit arena attack, if it lies
    in the same folder.
    """
    from tacit_lab.arena.attack import read_attacks
    from tacit_lab.arena.results import read_results
    from tacit_lab.arena.study import Study, write_study

    rows, failures = read_results(results)
    attacks = read_attacks(results)
    tables = f"{to.stem}-tables.md"
    written = write_study(Study(rows, failures, attacks, results.as_posix(), tables), to)
    if json:
        emit({"study": str(to), "written": [str(path) for path in written]})
    else:
        out.print("\n".join(map(str, written)), soft_wrap=True)


def _config(
    quick: bool,
    file: Path | None,
    learners: Several,
    environments: Several,
    rounds: list[int] | None,
    epsilons: list[float] | None,
    seeds: int,
) -> Config:
    from tacit_lab.arena.config import parse, quick_config, read_config

    if quick + (file is not None) + bool(learners or environments) != 1:
        raise InputError(
            "say one of --quick, --config FILE, or --learner and --environment; "
            "--list prints the names."
        )
    if quick:
        return quick_config()
    if file is not None:
        return read_config(file)
    run: dict[str, Any] = {
        "learners": learners or "all",
        "environments": environments or ["matern52-1+1"],
        "rounds": rounds or [1000],
        "epsilons": epsilons or [1.0],
    }
    return parse({"seeds": seeds, "runs": [run]}, "the command")


def _run(config: Config, quick: bool, to: Path | None, processes: int, json: bool) -> None:
    from tacit_lab.arena.report import failures_json, results_json
    from tacit_lab.arena.run import run

    # a quick run keeps its rows only where it was told to
    kept = to if quick else to or OUT
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary, progress(json) as show:
        rows, failures = run(config, kept or Path(temporary), processes, show)
    seconds = time.perf_counter() - started
    if json:
        found = {"results": results_json(rows), "failures": failures_json(failures)}
        emit(found | {"seconds": seconds, "out": None if kept is None else str(kept)})
    else:
        _show(rows, failures)
        out.print(f"{len(rows)} rows, {len(failures)} failures ({seconds:.0f} s).", highlight=False)
        if kept is not None:
            err.print(f"Results: {kept}")
    if not rows:
        raise typer.Exit(1)


def _list(json: bool) -> None:
    from tacit_lab.arena.report import names_json

    found = names_json()
    if json:
        emit(found)
        return
    learners = [
        [row["learner"], row["promise"], row["protects"], row["trust"], row["source"]]
        for row in found["learners"]
    ]
    table("Learners", ["learner", "promise", "protects", "trust", "source"], learners)
    environments = [[row["environment"], row["about"]] for row in found["environments"]]
    table("Environments", ["environment", ""], environments)


def _show(rows: list[Row], failures: list[Row]) -> None:
    """One table per number of rounds and epsilon, the best learner first."""
    from tacit_lab.arena.names import is_private
    from tacit_lab.arena.statistics import Cells

    cells = Cells(rows)
    settings = {(row["rounds"], row["epsilon"]) for row in rows if is_private(row["learner"])}
    for rounds, epsilon in sorted(settings or {(row["rounds"], math.inf) for row in rows}):
        _rank(cells, rounds, epsilon)
    sentences = {f"{row['learner']} on {row['environment']}: {row['failure']}" for row in failures}
    for sentence in sorted(sentences):
        err.print(f"failed: {sentence}", style="red", highlight=False, markup=False, soft_wrap=True)


def _rank(cells: Cells, rounds: int, epsilon: float) -> None:
    """A few environments each have a column; many are only averaged."""
    from tacit_lab.arena.names import is_private
    from tacit_lab.arena.statistics import Track, plus_minus, ranking

    environments = [name for name in cells.environments() if rounds in cells.rounds(name)]
    columns = environments if len(environments) <= MOST_COLUMNS else []
    shown = []
    for rank in ranking(cells, Track(rounds, epsilon, environments)):
        private = is_private(rank.learner)
        level = epsilon if private else math.inf
        errors = [_error(cells, (rank.learner, name, rounds, level)) for name in columns]
        left = plus_minus(rank.left, ".0%")
        shown.append([rank.learner, "yes" if private else "", left, *errors])
    title = f"Error rate after {rounds:,} rounds, epsilon {epsilon:g}, 95 % intervals over seeds"
    table(title, ["learner", "private", "of uniform play's", *columns], shown)


def _error(cells: Cells, key: Key) -> str:
    from tacit_lab.arena.statistics import plus_minus

    return plus_minus(cells.interval(key)) if key in cells.rows else "-"
