"""A fit that is stopped and goes on: every row counts once, and nothing is released twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from helpers import BUDGET, COARSE, PROBLEM
from log_data import NAMES, damage, log_table, touch
from tacit import (
    Budget,
    BudgetError,
    DesignOptions,
    InputError,
    Ledger,
    RequestConflictError,
    RunOptions,
    TacitError,
)
from tacit.cli import app
from tacit.core.ledger import Charge
from tacit.logs import (
    Checkpoint,
    FileFit,
    Job,
    LogColumns,
    Work,
    collect_here,
    load_about,
    load_design,
    read_problem,
    save_partial,
)
from tacit.progress import silent
from tacit.residual.refine import refine

pytestmark = pytest.mark.usefixtures("coarse_fits")

ROWS = 6000
# What the fixtures change in this process, in another one.
CHANGED = COARSE | {"tacit.logs.columns.MOST_ROWS": 1024}
LONG = "\n".join(
    [f"import {path.rpartition('.')[0]}\n{path} = {value}" for path, value in CHANGED.items()]
    + ["from tacit.cli import main", "main()"]
)

# Before it: killed as soon as a part of a pass is counted and saved, the first or a later one.
DYING = """
import os, signal
from tacit.logs import Checkpoint
save = Checkpoint.save
def save_and_die(checkpoint, work):
    save(checkpoint, work)
    if work.counted and bool(work.design.previous) == {later}:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.save = save_and_die
"""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1024 rows, so that a small log has several."""
    monkeypatch.setattr("tacit.logs.columns.MOST_ROWS", 1024)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    table = log_table(ROWS)
    for i, name in enumerate("abc"):
        part = table.slice(i * 2000, 2000)
        pq.write_table(
            part, tmp_path / f"{name}.parquet", row_group_size=700, write_page_checksum=True
        )
    return tmp_path


def logs(study: Path) -> list[Path]:
    return [study / f"{name}.parquet" for name in "abc"]


def run(study: Path, name: str, stop_after: int | None = None, **options: Any) -> Work:
    """The first pass of a fit with a checkpoint of this name; `stop_after` so many pieces it dies
    as by a kill, without another save."""
    ticks = 0
    fit = begun(study, name, **options)
    work = fit.work
    with fit.checkpoint.keeping(work) as tick:

        def counted_tick() -> None:
            nonlocal ticks
            ticks += 1
            if ticks == stop_after:
                raise SystemExit
            tick()

        collect_here(work, counted_tick, silent)
    return work


def begun(study: Path, name: str, **given: Any) -> FileFit:
    spec = read_problem(study / "problem.toml")
    columns = given.pop("columns", LogColumns.of(NAMES, spec.reward, None, spec.columns))
    paths = given.pop("paths", logs(study))
    budget = given.pop("budget", BUDGET)
    passes = given.pop("passes", 2)
    options = DesignOptions(rank=given.pop("rank", 12), tau=given.pop("tau", None))
    run = RunOptions(checkpoint=study / name, save_every=0.0, **given)
    job = Job(spec.problem, columns, budget, passes, options, run, spec.text)
    return FileFit(job, paths)


def sum_in(path: Path) -> list[int]:
    with np.load(path) as file:
        return [int(value) for value in file["sum.total"]]


def fit(study: Path, *options: object) -> dict[str, Any]:
    """`tacit fit` of the study's files, in this process."""
    result = invoke(study, *options)
    if isinstance(result.exception, TacitError):
        raise result.exception
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def typed(study: Path, *options: object) -> list[str]:
    command = [
        "fit",
        study / "problem.toml",
        study / "[abc].parquet",
        "--rank",
        12,
        "--out",
        study / "policy",
    ]
    command += ["--ledger", f"sqlite:///{study}/ledger.db", "--json", *options]
    return [str(word) for word in command]


def invoke(study: Path, *options: object) -> Result:
    return CliRunner().invoke(app, typed(study, *options))


def charges(study: Path) -> list[Charge]:
    return Ledger.open(f"sqlite:///{study}/ledger.db").charges()


def policy_in(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("policy.json", "policy.npz")]


# -- every row once -------------------------------------------------------------------------------


def test_a_fit_that_dies_after_every_piece_gets_to_the_same_sum(study: Path) -> None:
    run(study, "clean")
    deaths = 0
    while True:
        try:
            run(study, "killed", stop_after=2)  # one piece is saved, the second is lost
            break
        except SystemExit:
            deaths += 1
    assert deaths == 5
    assert sum_in(study / "killed") == sum_in(study / "clean")
    assert load_about(study / "killed")["counted"] == {
        str(path): [[0, 2000]] for path in logs(study)
    }


@pytest.mark.parametrize("saves", range(2, 9))
def test_a_save_that_fails_once_counts_no_row_twice(
    study: Path, monkeypatch: pytest.MonkeyPatch, saves: int
) -> None:
    """A full disk, say. After the last piece of a file its sum is merged, and must not be taken for
    that of a damaged file. The horizon has room for rows that count twice."""
    calls = 0
    save = Checkpoint.save

    def failing(checkpoint: Checkpoint, work: Work) -> None:
        nonlocal calls
        calls += 1
        if calls == saves:
            raise InputError("it cannot be written")
        save(checkpoint, work)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", failing)
        with pytest.raises(InputError, match="it cannot be written"):
            run(study, "full", horizon=3 * ROWS)
    assert run(study, "full", horizon=3 * ROWS).statistic.records == ROWS
    run(study, "clean", horizon=3 * ROWS)
    assert sum_in(study / "full") == sum_in(study / "clean")


def test_sums_without_notes_of_what_is_in_them_would_be_noticed(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with notes that are one piece behind: rows count twice, and the sum is another."""
    clean = run(study, "clean", horizon=50_000)
    notes = Work.notes

    def late(work: Work) -> dict[str, Any]:
        now = json.loads(json.dumps(notes(work)))
        then = getattr(work, "_late", now)
        work._late = now  # type: ignore[attr-defined]
        return now if work.counted == work.rows else then

    with monkeypatch.context() as patch, pytest.raises(SystemExit):  # noqa: PT012
        patch.setattr(Work, "notes", late)
        run(study, "killed", stop_after=3, horizon=50_000)
    killed = run(study, "killed", horizon=50_000)
    assert killed.statistic.records > clean.statistic.records
    assert sum_in(study / "killed") != sum_in(study / "clean")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints stay after the release, so that the sums of second passes can be compared."""
    monkeypatch.setattr(Checkpoint, "forget", lambda checkpoint: None)


def test_kills_in_either_pass_change_nothing(study: Path, kept: None) -> None:
    """`python -m tacit_lab.benchmarks.resume` kills at twenty random moments."""
    rows = 20_000
    pq.write_table(log_table(rows), study / "a.parquet")
    killed = study / "killed.partial"
    options = ["--checkpoint", str(killed), "--save-every", "0"]
    for later in (False, True):
        program = DYING.format(later=later) + LONG
        command = [sys.executable, "-c", program, *typed(study, *options)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        counted = sum(spans[0][1] for spans in load_about(killed)["counted"].values())
        assert 0 < counted < rows + 4000
    fit(study, *options)
    fit(study, "--checkpoint", study / "clean.partial", "--out", study / "clean")
    assert sum_in(killed) == sum_in(study / "clean.partial")
    assert load_about(killed)["counted"][str(study / "a.parquet")] == [[0, rows]]
    assert len(charges(study)) == 2


@pytest.mark.slow
def test_kills_at_random_moments_change_nothing() -> None:
    """One kill in each pass, when the program starts as well as later."""
    command = [
        sys.executable,
        "-m",
        "tacit_lab.benchmarks.resume",
        "--json",
        "--kills",
        "2",
        "--rows",
        "120000",
        "--rank",
        "40",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["kills"], result["rows_counted"], result["same_sum"]) == (2, 120_000, True)
    assert result["charges"] == 2


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_saves_and_says_how_to_go_on(study: Path, name: signal.Signals) -> None:
    pq.write_table(log_table(100_000), study / "a.parquet")
    checkpoint = study / "fit.partial"
    options = ["--rank", "12", "--save-every", "1000", "--collect-only"]
    command = [
        sys.executable,
        "-c",
        LONG,
        "fit",
        str(study / "problem.toml"),
        str(study / "a.parquet"),
        *options,
    ]
    command += ["--out", str(study / "policy"), "--checkpoint", str(checkpoint)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while (
        not checkpoint.exists() and process.poll() is None
    ):  # saved with its design, before the first row
        time.sleep(0.005)
    time.sleep(0.1)
    os.kill(process.pid, name)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "rows are kept in" in errors
    assert "Traceback" not in errors
    (spans,) = load_about(checkpoint)["counted"].values()
    assert 0 < spans[0][1] < 100_000


# -- a damaged file -------------------------------------------------------------------------------


def test_a_damaged_file_can_be_repaired_or_left_out(study: Path) -> None:
    run(study, "clean")
    whole = (study / "b.parquet").read_bytes()
    damage(study / "b.parquet", at=0.6)
    with pytest.raises(InputError, match=r"b\.parquet cannot be read"):
        run(study, "fit.partial")
    assert list(load_about(study / "fit.partial")["counted"]) == [str(study / "a.parquet")]
    shutil.copy(study / "fit.partial", study / "other.partial")
    (study / "b.parquet").write_bytes(whole)
    touch(study / "b.parquet")
    assert run(study, "fit.partial").counted == ROWS
    assert sum_in(study / "fit.partial") == sum_in(study / "clean")
    without = [study / "a.parquet", study / "c.parquet"]
    assert run(study, "other.partial", paths=without).statistic.records == 4000


# -- what a checkpoint is refused for -------------------------------------------------------------


def change_problem(study: Path) -> None:
    (study / "problem.toml").write_text(PROBLEM.replace("lengthscale = 0.5", "lengthscale = 0.4"))


def change_counted(study: Path) -> None:
    touch(study / "a.parquet")


def cut_off(study: Path) -> None:
    content = (study / "fit.partial").read_bytes()
    (study / "fit.partial").write_bytes(content[:-10])


def nothing(study: Path) -> None:
    """Only the options are others."""


OTHER = LogColumns.of(NAMES, "reward", None, {"age": "weight"})


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (change_problem, {}, "another problem:"),
        (nothing, {"budget": type(BUDGET)(epsilon=2.0, delta=1e-6)}, "another budget"),
        (nothing, {"rank": 13}, "another rank"),
        (nothing, {"tau": 3.0}, "another choice of design options"),
        (nothing, {"horizon": 9999}, "another horizon"),
        (nothing, {"request": "mine"}, "another request"),
        (nothing, {"passes": 1}, "another number of passes"),
        (nothing, {"columns": OTHER}, "another mapping of columns"),
        (nothing, {"columns": LogColumns.of(NAMES, "reward", "age", {})}, "another user column"),
        (nothing, {"paths": ["b.parquet", "c.parquet"]}, "a.parquet is counted in the checkpoint"),
        (change_counted, {}, "a.parquet is counted in the checkpoint, and has changed"),
        (cut_off, {}, "damaged, or no checkpoint"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(
    study: Path, change: Callable[[Path], None], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(SystemExit):
        run(study, "fit.partial", stop_after=4)
    before = (study / "fit.partial").read_bytes()
    change(study)
    if "paths" in options:
        options = options | {"paths": [study / name for name in options["paths"]]}
    with pytest.raises(InputError, match=says) as error:
        run(study, "fit.partial", **options)
    assert "\n" not in str(error.value)
    if change is not cut_off:
        assert (study / "fit.partial").read_bytes() == before


def test_a_sum_that_was_saved_for_something_else_is_refused(study: Path) -> None:
    save_partial(run(study, "fit.partial").statistic, study / "fit.partial", {"mine": 1})
    with pytest.raises(InputError, match="another problem:"):
        run(study, "fit.partial")


def test_files_that_are_not_counted_yet_may_come_and_change(study: Path) -> None:
    with pytest.raises(SystemExit):
        run(study, "fit.partial", stop_after=4, horizon=50_000)
    assert str(study / "c.parquet") not in load_about(study / "fit.partial")["counted"]
    pq.write_table(log_table(3000, seed=5), study / "c.parquet")
    pq.write_table(log_table(100, seed=6), study / "d.parquet")
    paths = [*logs(study), study / "d.parquet"]
    assert run(study, "fit.partial", horizon=50_000, paths=paths).statistic.records == 7100


# -- the release ----------------------------------------------------------------------------------


def test_after_the_release_the_checkpoint_is_gone(study: Path) -> None:
    assert fit(study, "--checkpoint", study / "fit.partial")["rows"] == ROWS
    assert not (study / "fit.partial").exists()
    assert not list(study.glob(".fit.partial*"))
    assert len(charges(study)) == 2


def test_collecting_spends_nothing_and_keeps_a_private_file(study: Path) -> None:
    told = fit(study, "--checkpoint", study / "fit.partial", "--collect-only")
    assert told["released"] is False
    assert not (study / "ledger.db").exists()
    assert not (study / "policy").exists()
    assert stat.S_IMODE((study / "fit.partial").stat().st_mode) == 0o600
    with pytest.raises(InputError, match="needs a --checkpoint"):
        fit(study, "--collect-only")


def test_a_checkpoint_that_comes_back_is_answered_with_the_same_policy(study: Path) -> None:
    """As after a crash between the release and the deletion, and for a copy that somebody kept."""
    fit(study, "--checkpoint", study / "fit.partial", "--collect-only")
    shutil.copy(study / "fit.partial", study / "copy.partial")
    fit(study, "--checkpoint", study / "fit.partial")
    fit(study, "--checkpoint", study / "copy.partial", "--out", study / "again")
    fit(study, "--out", study / "anew")  # and without one: read again, not drawn again
    assert policy_in(study / "policy") == policy_in(study / "again") == policy_in(study / "anew")
    assert len(charges(study)) == 2


def test_a_spent_budget_is_noticed_before_any_row_is_read(study: Path) -> None:
    fit(study)
    for path in logs(study):
        damage(path)
    with pytest.raises(BudgetError, match="does not cover"):
        fit(study, "--request", "another", "--overwrite")
    with pytest.raises(
        InputError, match="cannot be read"
    ):  # paid for: it would be answered, could it be read
        fit(study)


def test_a_fit_per_user_goes_on_too(study: Path) -> None:
    for path in logs(study):
        table = pq.read_table(path)
        users = [f"user-{i % 300}" for i in range(table.num_rows)]
        pq.write_table(table.append_column("who", [users]), path)
    columns = LogColumns.of(NAMES, "reward", "who", {})
    clean = run(study, "clean", columns=columns).statistic
    with pytest.raises(SystemExit):
        run(study, "fit.partial", stop_after=4, columns=columns)
    resumed = run(study, "fit.partial", columns=columns).statistic
    assert np.array_equal(clean._sum._value(), resumed._sum._value())


def test_the_terms_of_a_checkpoint_tell_nothing_private(study: Path) -> None:
    run(study, "fit.partial")
    notes = json.dumps(load_about(study / "fit.partial"))
    pq.write_table(log_table(2000, seed=9), study / "a.parquet")
    run(study, "other.partial")
    others = json.loads(json.dumps(load_about(study / "other.partial")))
    others["files"][0][1:3] = json.loads(notes)["files"][0][1:3]  # its size and its time
    assert others == json.loads(notes)


# -- two passes ------------------------------------------------------------------------------------


def dying(work: Work, tick: Callable[[], None], *rest: Any, **options: Any) -> None:
    """`collect_here`, until its second piece of a later pass."""
    ticks = 0

    def counted_tick() -> None:
        nonlocal ticks
        ticks += 1
        if work.design.previous and ticks == 2:
            raise SystemExit(9)
        tick()

    collect_here(work, counted_tick, *rest, **options)


def test_two_passes_spend_the_budget_and_no_more(study: Path) -> None:
    told = fit(study)
    ledger = Ledger.open(f"sqlite:///{study}/ledger.db")
    first, second = ledger.charges()
    assert first.request == f"{second.request}/pass 1"
    assert first.cost + second.cost <= BUDGET.gaussian
    assert first.cost + second.cost == pytest.approx(BUDGET.gaussian, rel=1e-6)
    assert (told["passes"], told["rows"], told["delta"]) == (2, ROWS, BUDGET.delta)
    assert told["epsilon"] == pytest.approx(1.0, abs=1e-5)
    assert told["rho"] == pytest.approx(ledger.spent, rel=1e-6)


def test_one_pass_is_one_release(study: Path) -> None:
    assert fit(study, "--passes", 1)["passes"] == 1
    (charge,) = charges(study)
    assert charge.cost == pytest.approx(BUDGET.gaussian, rel=1e-6)
    facts = json.loads((study / "policy" / "policy.json").read_text())["facts"]
    assert "residual_clip" not in facts


@pytest.mark.parametrize("passes", [2, 3])
@pytest.mark.usefixtures("kept")
def test_a_fit_that_dies_in_its_later_passes_gets_to_the_same_sum(
    study: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    """Both share a ledger, so that the releases of earlier passes are the same. Five of the six
    pieces of each later pass are the last that a fit saves before it dies."""
    options = ("--passes", passes, "--save-every", 0)
    deaths = 5 * (passes - 1)
    with monkeypatch.context() as patch:
        patch.setattr("tacit.logs.file_fit.collect_here", dying)
        exits = [
            invoke(study, "--checkpoint", study / "killed", *options).exit_code
            for _ in range(deaths + 1)
        ]
    assert exits == [9] * deaths + [0]
    fit(study, "--checkpoint", study / "clean", "--out", study / "clean-policy", *options)
    problem = read_problem(study / "problem.toml").problem
    assert len(load_design(problem, study / "killed").previous) == passes - 1
    assert load_about(study / "killed")["counted"] == {
        str(path): [[0, 2000]] for path in logs(study)
    }
    assert sum_in(study / "killed") == sum_in(study / "clean")
    assert policy_in(study / "policy") == policy_in(study / "clean-policy")
    assert len(charges(study)) == passes


@pytest.mark.usefixtures("kept")
def test_a_crash_after_the_first_release_goes_on_from_it(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tacit.logs.job.refine", crash)
        assert invoke(study, "--checkpoint", study / "killed").exit_code == 9
    assert [charge.request.endswith("/pass 1") for charge in charges(study)] == [True]
    fit(study, "--checkpoint", study / "killed")  # there is room for the rest, and for no more
    fit(study, "--checkpoint", study / "clean")
    assert sum_in(study / "killed") == sum_in(study / "clean")
    assert len(charges(study)) == 2


def crash(*arguments: Any, **options: Any) -> Any:
    raise SystemExit(9)


def test_collecting_stops_before_the_first_release_and_goes_on_to_the_second(study: Path) -> None:
    fit(study, "--checkpoint", study / "fit.partial", "--collect-only")
    design = load_design(read_problem(study / "problem.toml").problem, study / "fit.partial")
    assert (design.total_budget, design.passes_left) == (BUDGET, 1)
    assert fit(study, "--checkpoint", study / "fit.partial")["epsilon"] == pytest.approx(
        1.0, abs=1e-5
    )


def test_a_file_that_changes_between_the_passes_is_refused(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*arguments: Any, **named: Any) -> Any:
        touch(study / "b.parquet")
        return refine(*arguments, **named)

    options = ("--horizon", 9000, "--checkpoint", study / "fit.partial")
    monkeypatch.setattr("tacit.logs.job.refine", meanwhile)
    with pytest.raises(InputError, match=r"b\.parquet changed while it was read"):
        fit(study, *options)
    with pytest.raises(InputError, match=r"b\.parquet is not what it was in pass 1"):
        fit(study, *options)
    touch(study / "b.parquet", -5)
    pq.write_table(log_table(10), study / "d.parquet")
    with pytest.raises(InputError, match=r"d\.parquet is not what it was in pass 1"):
        fit(study, study / "d.parquet", *options)
    fit(study, *options)
    assert len(charges(study)) == 2


def test_a_file_that_changes_before_the_first_release_costs_nothing(study: Path) -> None:
    run(study, "fit.partial")
    fit = begun(study, "fit.partial")
    touch(study / "b.parquet")
    ledger = Ledger.create(f"sqlite:///{study}/ledger.db", BUDGET)
    with pytest.raises(InputError, match=r"b\.parquet changed"):
        fit.release(ledger)
    assert ledger.spent == 0


def test_a_budget_that_covers_only_the_first_pass_is_noticed_before_any_row_is_read(
    study: Path,
) -> None:
    Ledger.create(f"sqlite:///{study}/ledger.db", Budget(rho=0.99 * BUDGET.zcdp))
    for path in logs(study):
        damage(path)
    with pytest.raises(BudgetError, match="does not cover"):
        fit(study)


def test_a_request_that_was_made_with_one_pass_is_refused_before_it_costs_anything(
    study: Path,
) -> None:
    Ledger.create(f"sqlite:///{study}/ledger.db", Budget(rho=3 * BUDGET.gaussian))
    fit(study, "--passes", 1, "--request", "mine")
    with pytest.raises(RequestConflictError, match="made before with fewer passes"):
        fit(study, "--request", "mine")
    assert len(charges(study)) == 1


# -- options --------------------------------------------------------------------------------------


def test_columns_are_mapped_by_option_and_by_problem_file(study: Path) -> None:
    plain = fit(study, "--checkpoint", study / "plain.partial", "--collect-only")
    for path in logs(study):
        pq.write_table(
            pq.read_table(path).rename_columns(["amount", "years", "weight", "reward"]), path
        )
    (study / "problem.toml").write_text(
        PROBLEM + '\n[columns]\nage = "years"\ndose = "overridden"\n'
    )
    mapped = fit(
        study,
        "--checkpoint",
        study / "m.partial",
        "--collect-only",
        "--column",
        "dose=amount",
        "--rank",
        12,
    )
    assert mapped["rows"] == plain["rows"]
    for wrong, says in (
        ("dose", "takes NAME=COLUMN"),
        ("height=x", "no column 'height' to look for"),
    ):
        with pytest.raises(InputError, match=says):
            fit(study, "--column", wrong)
    (study / "problem.toml").write_text(PROBLEM + "\n[columns]\nage = 3\n")
    with pytest.raises(InputError, match=r"\[columns\] takes names"):
        fit(study)


def test_options_of_a_cluster_need_a_cluster(study: Path) -> None:
    for options in (("--workers", 2), ("--address", "auto")):
        with pytest.raises(InputError, match="choose the engine ray"):
            fit(study, *options)
    with pytest.raises(InputError, match="not both"):
        fit(study, "--engine", "ray", "--workers", 2, "--address", "auto")
