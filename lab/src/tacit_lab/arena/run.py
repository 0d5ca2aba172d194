"""A whole comparison: jobs in parallel, rows on disk as they come, nothing done twice."""

from __future__ import annotations

from pathlib import Path

from tacit.progress import Progress, silent
from tacit_lab.arena.config import Config
from tacit_lab.arena.job import Job, Row
from tacit_lab.arena.pool import run_jobs
from tacit_lab.arena.results import Journal


def run(
    config: Config, out: Path, processes: int = 2, progress: Progress = silent
) -> tuple[list[Row], list[Row]]:
    """Runs what `out` does not have yet; returns results and failures of this config's jobs.

    Interrupt it at any time: the same call goes on where it stopped.
    """
    journal = Journal(out)
    had = journal.done()
    todo = [job for job in config.jobs if job not in had]
    finished = len(config.jobs) - len(todo)
    progress("jobs", finished, len(config.jobs))

    def take(row: Row) -> None:
        nonlocal finished
        journal.append(row)
        finished += 1
        progress("jobs", finished, len(config.jobs))

    try:
        run_jobs(todo, take, processes, config.limit_seconds)
    finally:
        journal.compact()
    asked = set(config.jobs)
    rows = [row for row in journal.rows() if Job.of(row) in asked]
    results = [row for row in rows if "failure" not in row]
    failures = [row for row in rows if "failure" in row]
    return results, failures
