"""The same fit on a Ray cluster: the same integers, whoever counted what, and whoever died
meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from helpers import (
    BUDGET,
    PROBLEM,
    SMALL,
    TESTS,
    build_design,
    small_design,
    small_problem,
    user_design,
)
from log_data import COLUMNS, collected, damage, log_table, total, touch, work_on
from tacit import Design, InputError, Ledger, RunOptions, StateError
from tacit.cli import app
from tacit.core import Part
from tacit.errors import MissingExtraError
from tacit.logs import (
    Checkpoint,
    Job,
    LogColumns,
    Work,
    cluster,
    collect_on_ray,
    load_design,
    load_partial,
    read_problem,
    save_partial,
)
from tacit.logs.cluster import connected
from tacit.logs.worker import count_span, shipped
from tacit.progress import silent

# Some versions of Ray forget to close their own log files.
pytestmark = [
    pytest.mark.usefixtures("coarse_fits"),
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed:ResourceWarning"
    ),
]

WORKERS = 2
PIECE = 4096
ROWS = 25_000
DESIGN = small_design(horizon=ROWS)


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    """Of few rows, so that a small log has several. The driver cuts them; a worker counts what it
    is told to."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tacit.logs.columns.MOST_ROWS", PIECE)
        yield


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of two workers on this machine, for this module."""
    try:
        import ray
    except ImportError:
        missing = "Ray is not installed: pip install 'tacit-dp[ray]'"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing}; CI tests it always.")
        pytest.skip(f"{missing}.")
    with cluster.connected(ray, None, WORKERS):
        yield ray


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven pieces in five row groups."""
    path: Path = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(log_table(ROWS), path, row_group_size=5600)
    return path


@pytest.fixture(scope="module")
def expected(log: Path) -> list[int]:
    return collected(work_on([log], DESIGN))


def on_ray(work: Work, **options: Any) -> list[int]:
    collect_on_ray(work, lambda: None, silent, **options)
    return total(work.statistic)


def test_a_cluster_counts_what_one_process_counts(ray: Any, log: Path, expected: list[int]) -> None:
    work = work_on([log], DESIGN)
    assert [span.start // PIECE for span in work.todo(split=True)] == [0, 2, 3, 5, 6]
    assert on_ray(work) == expected
    assert work.statistic.records == ROWS


def test_a_cluster_counts_the_same_in_a_second_pass(
    ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both fits share a ledger, so that the first release is the same. Their checkpoints stay, to
    compare the sums."""
    monkeypatch.setattr(Checkpoint, "forget", lambda checkpoint: None)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    pq.write_table(log_table(9400), log := tmp_path / "log.parquet", row_group_size=3800)
    sums = []
    policies = []
    for engine in ("ray", "local"):
        out = tmp_path / engine
        kept = tmp_path / f"{engine}.partial"
        options = [
            "--rank",
            12,
            "--ledger",
            f"sqlite:///{tmp_path}/ledger.db",
            "--checkpoint",
            kept,
        ]
        command = [
            "fit",
            tmp_path / "problem.toml",
            log,
            "--out",
            out,
            "--engine",
            engine,
            *options,
        ]
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code == 0, done.output
        design = load_design(read_problem(tmp_path / "problem.toml").problem, kept)
        assert design.previous
        sums.append(total(load_partial(design, kept).statistic))
        policies.append((out / "policy.npz").read_bytes())
    assert sums[0] == sums[1]
    assert policies[0] == policies[1]
    assert len(Ledger.open(f"sqlite:///{tmp_path}/ledger.db").charges()) == 2


def test_propensities_and_a_law_of_play_go_to_the_workers(ray: Any, tmp_path: Path) -> None:
    """The column travels with the others; the law does not have to."""
    rows = 4400
    table = log_table(rows)
    p = np.where(np.arange(rows) % 3, 0.004, 0.03)
    pq.write_table(table.append_column("p", pa.array(p)), path := tmp_path / "log.parquet")
    columns = LogColumns.of(COLUMNS.names, "reward", None, {}, "p")
    weighted = small_design(horizon=rows, max_weight=2.0)
    known = weighted.statistic().add(table, table, table["reward"], propensity=p)
    assert on_ray(work_on([path], weighted, columns)) == total(known)
    problem = replace(small_problem(), play=lambda contexts, rng: contexts["age"])
    played = build_design(problem, horizon=rows, budget=BUDGET, **SMALL)
    known = played.statistic().add(table, table, table["reward"])
    assert on_ray(work_on([path], played)) == total(known)


@pytest.mark.parametrize("unit", ["record", "user"])
def test_a_cluster_counts_the_people_of_one_part(ray: Any, tmp_path: Path, unit: str) -> None:
    """By the numbers of rows in the whole log, whichever file and group they are in."""
    rows = 9400
    table = log_table(rows)
    table = table.append_column("who", pa.array([f"user {i % 700}" for i in range(rows)]))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(table.slice(0, 4400), paths[0], row_group_size=4200)
    pq.write_table(table.slice(4400), paths[1], row_group_size=4200)
    part = Part("hold-out", 0.2, unit, "0123456789abcdef")
    columns = LogColumns.of(COLUMNS.names, "reward", "who" if unit == "user" else None, {})
    made = user_design(50_000) if unit == "user" else small_design(50_000)
    design = replace(made, cohort=part.cohort)
    work = work_on(paths, design, columns)
    assert on_ray(work) == collected(work_on(paths, design, columns))
    users = table["who"].to_pylist() if unit == "user" else None
    assert work.statistic.records == part.mask(0, rows, users).sum()


def test_it_goes_on_from_what_is_counted_and_others_go_on_from_it(
    ray: Any, log: Path, expected: list[int]
) -> None:
    work = work_on([log], DESIGN)
    with pytest.raises(KeyboardInterrupt):
        collected(work, stop_after=1)
    assert work.counted == PIECE

    def stop() -> None:
        if work.counted > PIECE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_on_ray(work, stop, silent)
    assert PIECE < work.counted < ROWS
    assert collected(work) == expected


def test_sums_per_user_come_together(ray: Any, tmp_path: Path) -> None:
    """A user's rounds lie in several parts of the file: they are shrunk together, at the end."""
    rows = 12_500
    table = log_table(rows)
    table = table.append_column("who", [[f"user-{i % 40}" for i in range(rows)]])
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=4400)
    design = user_design(horizon=rows, tau=5.0)
    columns = LogColumns.of(("dose", "age", "weight"), "reward", "who", {})
    works = [work_on([tmp_path / "log.parquet"], design, columns) for _ in range(2)]
    assert on_ray(works[0]) == collected(works[1])


def test_a_damaged_file_is_named_by_the_worker_and_nothing_is_quoted(
    ray: Any, tmp_path: Path
) -> None:
    good = tmp_path / "a.parquet"
    bad = tmp_path / "b.parquet"
    pq.write_table(log_table(3000), good)
    pq.write_table(log_table(12_500), bad, row_group_size=4400, write_page_checksum=True)
    damage(bad, at=0.8)
    work = work_on([good, bad], DESIGN)
    with pytest.raises(InputError, match=r"b\.parquet cannot be read") as error:
        on_ray(work)
    assert "\n" not in str(error.value)
    assert not [path for path in work.parts if path.endswith("b.parquet")]


def test_a_worker_that_dies_is_replaced_and_its_rows_count_once(
    ray: Any, log: Path, expected: list[int], tmp_path: Path
) -> None:
    """A task kills its worker the first time it is tried, after all of its work."""

    def die_once(design: Any, columns: Any, span: Any, device: Any) -> dict[str, Any]:
        answer = count_span(design, columns, span, device)
        mark = tmp_path / str(span.start)
        if span.start == 2 * PIECE and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    work = work_on([log], DESIGN)
    assert on_ray(work, task=die_once) == expected
    assert len(list(tmp_path.iterdir())) == 1


def test_when_no_worker_lives_it_is_said_and_the_rest_is_kept(ray: Any, log: Path) -> None:
    def die(design: Any, columns: Any, span: Any, device: Any) -> dict[str, Any]:
        if span.start:
            os.kill(os.getpid(), signal.SIGKILL)
        return count_span(design, columns, span, device)

    work = work_on([log], DESIGN)
    with pytest.raises(
        StateError, match=r"no worker lived to count rows \d+ to \d+ of \S+ \(\w+\): run again"
    ) as error:
        on_ray(work, task=die, retries=0)
    assert "\n" not in str(error.value)
    assert work.counted in (0, 2 * PIECE)


@pytest.mark.slow
def test_a_worker_of_the_command_line_is_killed_from_outside_and_replaced(
    ray: Any, tmp_path: Path
) -> None:
    """As it is typed. What Ray says about the dead stays out of the result. The log is so long that
    a busy worker can be found."""
    rows = 400_000
    design = small_design(horizon=rows)
    pq.write_table(log_table(rows), log := tmp_path / "log.parquet", row_group_size=90_000)
    expected = collected(work_on([log], design))
    save_partial(design.statistic(), tmp_path / "fit.partial", begun(log, tmp_path, design))
    address = ray.get_runtime_context().gcs_address
    options = ["--engine", "ray", "--address", address, "--collect-only", "--json"]
    options += ["--out", str(tmp_path / "policy"), "--checkpoint", str(tmp_path / "fit.partial")]
    command = [
        sys.executable,
        "-c",
        "from tacit.cli import main; main()",
        "fit",
        str(tmp_path / "problem.toml"),
        str(log),
    ]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killed = kill_the_first_that_is_busy(process)
    told, errors = process.communicate()
    assert process.returncode == 0, errors
    assert not alive(killed)
    assert json.loads(told)["rows"] == rows
    assert total(load_partial(design, tmp_path / "fit.partial").statistic) == expected


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_is_not_there_is_named_at_once(scheme: str) -> None:
    class NoRay:
        """Where Ray itself would try for minutes, it is not even asked."""

        def is_initialized(self) -> bool:
            return False

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = (
            f"{scheme}127.0.0.1:{server.getsockname()[1]}"  # closed again: nobody listens there
        )
    with (
        pytest.raises(StateError, match=re.escape(f"no Ray cluster at {address}")),
        connected(NoRay(), address, None),
    ):
        pass


def begun(log: Path, folder: Path, design: Design) -> dict[str, Any]:
    """The notes of a fit that has its design and no rows yet."""
    (folder / "problem.toml").write_text(PROBLEM)
    spec = read_problem(folder / "problem.toml")
    work = work_on([log], design)
    run = RunOptions(horizon=spec.horizon)
    job = Job(spec.problem, COLUMNS, BUDGET, run=run, source=spec.text)
    return {"terms": job.terms} | work.notes()


def kill_the_first_that_is_busy(driver: subprocess.Popen[str]) -> int:
    while driver.poll() is None:
        for pid in descendants(os.getpid()):
            if "ray::count_span" in command_of(pid):
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.01)
    raise AssertionError(driver.communicate())


# -- without a cluster ----------------------------------------------------------------------------


def test_a_worker_that_sees_another_file_than_the_driver_refuses(log: Path) -> None:
    (span, *_) = work_on([log], DESIGN).todo(split=True)
    touch(log)
    try:
        assert (
            "changed while it was read" in count_span(shipped(DESIGN), COLUMNS, span, None)["error"]
        )
    finally:
        touch(log, -5)


def test_an_unexpected_error_in_a_worker_says_its_kind_and_nothing_else(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*arguments: Any) -> Any:
        raise ZeroDivisionError("secret")

    (span, *_) = work_on([log], DESIGN).todo(split=True)
    monkeypatch.setattr("tacit.logs.worker.count", explode)
    answer = count_span(shipped(DESIGN), COLUMNS, span, None)
    assert list(answer) == ["error"]
    assert "ZeroDivisionError" in answer["error"]
    assert "secret" not in answer["error"]


def test_ray_is_asked_for_by_name_when_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"install 'tacit-dp\[ray\]"):
        on_ray(work_on([log], DESIGN))


def test_workers_need_no_opendp_and_nobody_else_needs_ray(log: Path) -> None:
    program = (
        "import sys; sys.modules['opendp'] = None; sys.modules['ray'] = None; sys.path.insert(0, "
        "sys.argv[1])\n"
        "from pathlib import Path\n"
        "from log_data import COLUMNS, work_on\n"
        "from helpers import small_design\n"
        "from tacit.logs.worker import count_span, shipped\n"
        "import tacit.cli\n"
        "import tacit.logs.columns\n"
        f"tacit.logs.columns.MOST_ROWS = {PIECE}\n"
        f"design = small_design(horizon={ROWS})\n"
        "span, *_ = work_on([Path(sys.argv[2])], design).todo(split=True)\n"
        "print(int(count_span(shipped(design), COLUMNS, span, None)['records']))\n"
    )
    command = [sys.executable, "-c", program, str(TESTS), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(2 * PIECE)]


# -- processes ------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Processes that this one started, and theirs: those of our own cluster, not others'."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += parents.get(each, [])
    return found[1:]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    for _ in range(100):
        if not command_of(pid):
            return False
        time.sleep(0.05)
    return True
