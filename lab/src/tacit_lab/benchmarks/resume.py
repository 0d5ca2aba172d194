"""Killed at random moments: does `tacit fit` count every row once?

A fit of several files is killed (SIGKILL) again and again, and each time run again with the same
checkpoint. When it gets to its end its sum is compared with that of a fit that nobody killed:
integer by integer. Half of the kills come before the first release, the others between it and the
end of the second pass. Both fits share a ledger, so that their second passes follow the same
release; it must be charged once for each pass.

    python -m tacit_lab.benchmarks.resume [--kills 20] [--rows 600000] [--engine local] [--json]

Moments are random, counted from a fit's start or from one of its first saves, so that imports, the
designs, counting, saving and releases are all hit. Files are read in small pieces, so that there is
more to interrupt. `--broken` saves sums without noting what is in them, to see that it is found
out.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import typer
from rich.console import Console

from tacit import Ledger
from tacit.logs import load_about

PROBLEM = """
horizon = 100_000_000
actions = { type = "box", low = [0.0], high = [100.0], names = ["dose"] }
contexts = { type = "box", low = [18, 40], high = [95, 140], names = ["age", "weight"] }
kernel = { type = "matern", lengthscale = 0.3 }
budget = { epsilon = 1.0, delta = 1e-6 }
play = { law = "uniform" }
"""
SAVES = 4  # to wait for, at most, before a kill
AFTER_SAVE = 0.15  # seconds after the last of them, at most
PIECE = 4096  # rows read at a time; 65,536 otherwise
# The command line, which reads small pieces and keeps its checkpoint.
FIT = f"""
import tacit.logs.columns
from tacit.logs import Checkpoint
tacit.logs.columns.MOST_ROWS = {PIECE}
Checkpoint.forget = lambda checkpoint: None  # there is a sum in it to compare
from tacit.cli import main
main()
"""
# Prepended to the program: what is noted lags one save behind the sums.
BROKEN = """
from tacit.logs.counting import Work
notes = Work.notes
def late(work):
    "What was noted when the sums were saved the last time."
    now, then = notes(work), getattr(work, "_then", notes(work))
    work._then = json.loads(json.dumps(now))
    return now if work.counted == work.rows else then
import json
Work.notes = late
"""


@dataclass(frozen=True)
class Result:
    """What was seen. The sums must be the same, no more and no fewer rows in them, and each pass
    paid for once."""

    rows: int
    rank: int
    kills: int
    stages: dict[str, int]  # what was there when a fit was killed
    half_written: int  # checkpoints that a kill left half written
    seconds: float
    rows_counted: int
    same_sum: bool
    charges: int

    @property
    def holds(self) -> bool:
        return self.same_sum and self.rows_counted == self.rows and self.charges == 2


def make_table(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    low = np.array([0.0, 18, 40, 0])
    high = np.array([100.0, 95, 140, 1])
    values = low + (high - low) * rng.random((rows, 4))
    names = ("dose", "age", "weight", "reward")
    return pa.table({name: values[:, i] for i, name in enumerate(names)})


def make_logs(folder: Path, rows: int) -> list[Path]:
    """One log in three files of three formats; row groups and batches end where they like."""
    table = make_table(rows)
    third = rows // 3
    pq.write_table(table.slice(0, third), folder / "1.parquet", row_group_size=50_001)
    pa.csv.write_csv(table.slice(third, third), folder / "2.csv")
    pa.feather.write_feather(table.slice(2 * third), folder / "3.feather", chunksize=30_000)
    return sorted(folder.glob("[123].*"))


class Fit:
    """One `tacit fit` that goes on where the last one was. It stops before the first release unless
    told otherwise."""

    def __init__(
        self, folder: Path, logs: list[Path], name: str, rank: int, engine: str, program: str
    ) -> None:
        self.checkpoint = folder / f"{name}.partial"
        self.ledger = f"sqlite:///{folder}/study.db"
        self.options = ["--collect-only"]
        files = [str(folder / "problem.toml"), *map(str, logs)]
        fixed = ["--rank", str(rank), "--engine", engine, "--save-every", "0", "--json"]
        fixed += ["--ledger", self.ledger, "--out", str(folder / name)]
        fixed += ["--checkpoint", str(self.checkpoint)]
        self._command = [sys.executable, "-c", program, "fit", *files, *fixed]

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._command, *self.options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def finish(self) -> float:
        """To its end. Returns how long it took to its first save."""
        begun = time.perf_counter()
        saved = self.saved()
        process = self.start()
        while self.saved() == saved and process.poll() is None:
            time.sleep(0.01)
        first = time.perf_counter() - begun
        if process.wait():
            assert process.stderr is not None
            raise SystemExit(f"a fit failed by itself: {process.stderr.read().decode()}")
        return first

    def total(self) -> tuple[int, list[int]]:
        """PRIVATE, were the data not made up: how many records, and their sum."""
        with np.load(self.checkpoint) as file:
            return int(file["sum.records"]), file["sum.total"].tolist()

    def saved(self) -> int:
        """When the checkpoint was last written; 0 if never."""
        return self.checkpoint.stat().st_mtime_ns if self.checkpoint.exists() else 0

    def stage(self, rows: int) -> str:
        """How far the checkpoint is, of so many rows in all."""
        if not self.checkpoint.exists():
            return "before the first save"
        with np.load(self.checkpoint) as file:
            name = "second pass" if "design.previous_0_values" in file else "first pass"
        spans_by_file = load_about(self.checkpoint)["counted"].values()
        counted = sum(end - start for spans in spans_by_file for start, end in spans)
        if counted == 0:
            return f"{name} not begun"
        if counted == rows:
            return f"{name} complete"
        return f"{name} under way"


def kill_once(fit: Fit, startup: float, rng: random.Random) -> bool:
    """Kills one fit, some time after its start or after it saved something; False if it got to its
    end."""
    process = fit.start()
    saved = fit.saved()
    saves = rng.randint(1, SAVES) if rng.random() < 0.8 else 0
    for _ in range(saves):
        while fit.saved() == saved and process.poll() is None:
            time.sleep(0.002)
        saved = fit.saved()
    deadline = time.monotonic() + rng.random() * (AFTER_SAVE if saves else startup / 2)
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def measure(
    rows: int, rank: int, kills: int, engine: str, broken: bool, rng: random.Random
) -> Result:
    with tempfile.TemporaryDirectory(prefix="tacit-") as temporary:
        folder = Path(temporary)
        (folder / "problem.toml").write_text(PROBLEM)
        logs = make_logs(folder, rows)
        clean = Fit(folder, logs, "clean", rank, "local", FIT)
        startup = clean.finish()
        program = BROKEN + FIT if broken else FIT
        fit = Fit(folder, logs, "killed", rank, engine, program)
        begun = time.perf_counter()
        killed = 0
        half = 0
        stages = Counter[str]()

        def kill(times: int) -> None:
            nonlocal killed, half
            for _ in range(times):
                if not kill_once(fit, startup, rng):
                    raise SystemExit(
                        "a fit got to its end before it was killed: give it more --rows."
                    )
                killed += 1
                stages[fit.stage(rows)] += 1
                half += len(list(folder.glob(".killed.partial.*.part")))
            fit.finish()

        kill(kills - kills // 2)
        same = fit.total() == clean.total()
        paid = 0
        if same:  # else there is nothing to go on with
            # from here on both release
            clean.options = []
            fit.options = []
            kill(kills // 2)
            paid = len(Ledger.open(fit.ledger).charges())
            clean.finish()
            same = fit.total() == clean.total()
        taken = time.perf_counter() - begun
        return Result(
            rows=rows,
            rank=rank,
            kills=killed,
            stages=dict(stages),
            half_written=half,
            seconds=taken,
            rows_counted=fit.total()[0],
            same_sum=same,
            charges=paid,
        )


def main(
    kills: int = typer.Option(20, min=1),
    rows: int = typer.Option(600_000, min=1000),
    rank: int = typer.Option(100, min=1),
    engine: str = typer.Option("local", help="local or ray"),
    broken: bool = typer.Option(False, help="save sums without noting what is in them"),
    seed: int = typer.Option(0, help="of the moments"),
    to_json: bool = typer.Option(False, "--json"),
) -> None:
    """Kills a fit, goes on, and prints whether its sum is that of a fit that nobody killed."""
    result = measure(rows, rank, kills, engine, broken, random.Random(seed))
    if to_json:
        print(json.dumps(asdict(result) | {"holds": result.holds}, indent=2))
    else:
        where = ", ".join(f"{count} {stage}" for stage, count in sorted(result.stages.items()))
        console = Console(soft_wrap=True)
        console.print(
            f"{result.kills} kills of a fit of {rows:,} rows at rank {rank} "
            f"({result.seconds:.0f} s): {where}"
        )
        console.print(f"{result.half_written} of them left a checkpoint half written")
        console.print(
            f"rows in the sum: {result.rows_counted:,}; "
            f"the same sum as a clean run: {result.same_sum}; "
            f"charges for two passes: {result.charges}"
        )
    if not result.holds:
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
