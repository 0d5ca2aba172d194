"""A fit as it was asked for: how it begins, and how it goes on from a checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.core import Budget, release_event
from tacit.design import Design, DesignOptions
from tacit.errors import InputError
from tacit.logs.checkpoint import Checkpoint
from tacit.logs.columns import LogColumns
from tacit.logs.counting import Work
from tacit.logs.log_files import LogFile
from tacit.logs.problem_file import ProblemFile
from tacit.logs.saving import load_design, load_partial
from tacit.policy import Policy
from tacit.progress import Progress
from tacit.residual.refine import refine


@dataclass(frozen=True)
class Job:
    """A problem, the files to learn from, and what was chosen. All of it is public."""

    spec: ProblemFile
    paths: Sequence[Path]
    columns: LogColumns
    budget: Budget
    horizon: int | None = None
    rank: int | None = None
    request: str | None = None
    device: str | None = None
    passes: int = 2

    @property
    def terms(self) -> dict[str, Any]:
        """What must be the same when a fit goes on: sums of different things do not add up."""
        return {
            "problem file": hashlib.sha256(self.spec.text.encode()).hexdigest(),
            "budget": str(self.budget),
            "horizon": self.horizon,
            "rank": self.rank,
            "user column": self.columns.user,
            "mapping of columns": dict(self.columns.called),
            "request": self.request,
            "number of passes": self.passes,
        }

    def begin(self, checkpoint: Checkpoint, show: Progress) -> Work:
        """A new collection, saved before the first row, or the one that the checkpoint holds."""
        self.spec.require_apart(self.paths)
        if checkpoint.exists:
            return self._go_on(checkpoint, show)
        files = self._files((), show)
        design = self._design(files, show)
        work = Work(design, files, self.columns, self.request or f"fit-{design.fingerprint}")
        checkpoint.save(work)
        return work

    def look_again(
        self, work: Work, policy: Policy, checkpoint: Checkpoint, show: Progress
    ) -> Work:
        """The second pass at the same files, after `policy` came of the first, whose place it takes
        in the checkpoint.

        Until it is saved the first pass is there, and its release is in the ledger: a crash in
        between changes nothing.
        """
        design = refine(policy, device=self.device, progress=show)
        again = Work(design, list(work.files.values()), self.columns, work.request)
        checkpoint.save(again)
        return again

    def _go_on(self, checkpoint: Checkpoint, show: Progress) -> Work:
        assert checkpoint.path is not None
        about = checkpoint.about()
        design = load_design(self.spec.problem, checkpoint.path)
        files = self._files([LogFile(*file) for file in about["files"]], show)
        work = Work(design, files, self.columns, about["request"])
        work.resume(load_partial(design, checkpoint.path))
        return work

    def _files(self, known: Sequence[LogFile], show: Progress) -> list[LogFile]:
        files = []
        for i, path in enumerate(self.paths):
            files.append(LogFile.at(path, self.columns, known))
            show("counting rows", i + 1, len(self.paths))
        if not any(file.rows for file in files):
            raise InputError("the data has no rows: there is nothing to learn from.")
        return files

    def _design(self, files: Sequence[LogFile], show: Progress) -> Design:
        rows = sum(file.rows for file in files)
        seed = int.from_bytes(
            hashlib.sha256(self.spec.text.encode()).digest()[:8], "big"
        )  # public, the same each time
        design = Design.build(
            self.spec.problem,
            horizon=max(self.horizon or self.spec.horizon or rows, rows),
            budget=self.budget,
            rng=seed,
            unit="user" if self.columns.user else "record",
            passes=self.passes,
            options=DesignOptions(rank=self.rank, device=self.device),
            progress=show,
        )
        release_event(
            design.encoding, self.budget
        )  # a budget that cannot pay for a release fails before any row
        return design
