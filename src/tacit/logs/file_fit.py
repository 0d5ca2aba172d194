"""A fit of files: which pass it is in, how it is counted, and how it goes on from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tacit.core import Ledger, Part, as_ledger
from tacit.design import Design
from tacit.errors import InputError
from tacit.kernels import Custom
from tacit.logs.checkpoint import Checkpoint
from tacit.logs.cluster import collect_on_ray, connected, import_ray
from tacit.logs.counting import Work
from tacit.logs.job import Job
from tacit.logs.local import collect_here
from tacit.logs.log_files import LogFile, kinds_in
from tacit.logs.parts import layout_of, open_accounts, rows_of_files
from tacit.logs.saving import load_design, load_partial
from tacit.passes import release_on, release_passes, require_room
from tacit.policy import Policy
from tacit.progress import Progress
from tacit.statistic import Statistic

Count = Callable[[Work, Callable[[], None], Progress], None]


class FileFit:
    """A fit of these files, from its first row or from where its checkpoint left it.

    `work` is the pass that it is in. `tacit.fit` and `tacit fit` both go through here.
    """

    def __init__(self, job: Job, paths: Sequence[Path]) -> None:
        if job.run.engine == "ray":
            _require_cluster(job)
        job.require_apart(paths)
        kept = job.run.checkpoint
        path = None if kept is None else Path(kept)
        self.job = job
        self.checkpoint = Checkpoint(path, job.terms, job.run.save_every)
        if self.checkpoint.exists:
            self.work = self._resumed(paths)
        else:
            self.work = self._begun(paths)

    def collect(self) -> Statistic:
        """Counts what is left of the pass that it is in. Nothing is released."""
        with self._engine() as count:
            return self._collect(count, self.work.design)

    def release(self, ledger: Ledger | str) -> Policy:
        """Spends what this pass and those after it are planned to spend, and returns the policy.

        A ledger that cannot pay for all of them is a reason not to begin. The checkpoint stays:
        forget it when the policy is where it should be.
        """
        account = as_ledger(ledger, self.job.budget)
        design = self.work.design
        part = Part.of(design.cohort)
        if part is not None:
            open_accounts(account, part)
        require_room(account, design, self.work.request, design.cohort)
        with self._engine() as count:
            policy = release_passes(
                design,
                collect=partial(self._collect, count),
                release=partial(self._release, release_on(account, self.work.request)),
                following=self._following,
            )
        return self.job.described(policy)

    # -- one pass ----------------------------------------------------------------------------------

    def _collect(self, count: Count, design: Design) -> Statistic:
        assert design is self.work.design
        with self.checkpoint.keeping(self.work) as tick:
            count(self.work, tick, self.job.run.progress)
        return self.work.statistic

    def _release(self, release: Callable[[Statistic], Policy], statistic: Statistic) -> Policy:
        if statistic.design.passes_left:
            # The next pass must read the same rows: files that changed already cost nothing.
            self.work.require_unchanged()
        return release(statistic)

    def _following(self, policy: Policy) -> Design:
        """The design of the next pass, which takes the place of this one in the checkpoint.

        Until it is saved this pass is there, and its release is in the ledger: a crash in between
        changes nothing.
        """
        work = self.work
        design = self.job.next_design(policy)
        self.work = Work(design, list(work.files.values()), work.columns, work.request)
        self.checkpoint.save(self.work)
        return design

    @contextmanager
    def _engine(self) -> Iterator[Count]:
        """Who counts, in all passes."""
        run = self.job.run
        device = self.job.options.device
        if run.engine == "local":
            yield partial(collect_here, device=device)
            return
        assert device is None or isinstance(device, str)
        with connected(import_ray(), run.address, run.workers):
            yield partial(collect_on_ray, device=device)

    # -- to begin, and to go on --------------------------------------------------------------------

    def _begun(self, paths: Sequence[Path]) -> Work:
        """The first pass, saved before its first row."""
        files = self._files(paths, ())
        rows = sum(file.rows for file in files)
        part = self.job.part(layout_of(files))
        learned = rows if part is None else rows_of_files(part, files, self.job.columns)
        design = self.job.design(rows, part, learned)
        work = Work(design, files, self.job.columns, self.job.request(design))
        self.checkpoint.save(work)
        return work

    def _resumed(self, paths: Sequence[Path]) -> Work:
        """The pass that is in the checkpoint."""
        path = self.checkpoint.path
        assert path is not None
        about = self.checkpoint.about()
        design = load_design(self.job.problem, path)
        files = self._files(paths, [LogFile(*file) for file in about["files"]])
        work = Work(design, files, self.job.columns, about["request"])
        work.resume(load_partial(design, path))
        self.checkpoint.work = work
        return work

    def _files(self, paths: Sequence[Path], known: Sequence[LogFile]) -> list[LogFile]:
        files = []
        for i, path in enumerate(paths):
            self.job.require_types(kinds_in(path, self.job.columns), str(path))
            files.append(LogFile.at(path, self.job.columns, known))
            self.job.run.progress("counting rows", i + 1, len(paths))
        if not any(file.rows for file in files):
            raise InputError("the data has no rows: there is nothing to learn from.")
        return files


def _require_cluster(job: Job) -> None:
    """Fails if Ray is not installed, or if there is something that cannot be sent to workers."""
    import_ray()
    if isinstance(job.problem.kernel, Custom):
        raise InputError(
            "a kernel that is a function of your own cannot be sent to a cluster: count with the "
            "engine local."
        )
    if not (job.options.device is None or isinstance(job.options.device, str)):
        raise InputError('workers need the name of a device: pass "cuda", or none.')
