"""Checkpoints: a collection that is stopped goes on later, and counts no row twice.

Sums and notes of what is in them are saved together, in one file that is replaced as a whole. What
was read after the last save is read again.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.errors import InputError, TacitError
from tacit.logs.counting import Work
from tacit.logs.saving import load_about, save_partial
from tacit.logs.storage import forget

SHARE = 0.05  # of the time may go into saving


@dataclass
class Checkpoint:
    """A PRIVATE file that holds what is counted so far; nothing at all without a `path`.

    `terms` is everything public that the sums depend on: a checkpoint of other terms is refused.
    """

    path: Path | None
    terms: dict[str, Any]
    every: float = 10.0
    work: Work | None = None  # what is in the file
    _next: float = field(default=0.0, repr=False)

    @property
    def exists(self) -> bool:
        return self.path is not None and self.path.exists()

    def about(self) -> dict[str, Any]:
        """The notes of an earlier run on the same terms."""
        assert self.path is not None
        about = load_about(self.path)
        for name, value in self.terms.items():
            if about.get("terms", {}).get(name) != value:
                raise InputError(
                    f"{self.path} was made with another {name}: run with the same, or delete it "
                    "and start again."
                )
        return about

    def save(self, work: Work) -> None:
        if self.path is None:
            return
        begun = time.monotonic()
        save_partial(work.statistic, self.path, {"terms": self.terms} | work.notes(), work.parts)
        self.work = work
        now = time.monotonic()
        wait = self.every
        if wait:  # without a wait every piece is saved, however long it takes
            wait = max(wait, (now - begun) / SHARE)
        self._next = now + wait

    def forget(self) -> None:
        if self.path is not None:
            forget(self.path)

    @contextmanager
    def keeping(self, work: Work) -> Iterator[Callable[[], None]]:
        """Saves now and then, when asked to stop, when a file is damaged, and at the end.

        Yields the function to call between two pieces.
        """
        with _stop_requests(self.path is not None) as asked:

            def tick() -> None:
                if asked or time.monotonic() >= self._next:
                    self.save(work)
                if asked:
                    raise KeyboardInterrupt

            try:
                yield tick
            except TacitError:
                self.save(work)
                raise
        self.save(work)


@contextmanager
def _stop_requests(catch: bool) -> Iterator[list[int]]:
    """Notes Ctrl-C and SIGTERM instead of obeying them: a sum must not be saved in the middle of an
    addition. The second one is obeyed at once.
    """
    asked: list[int] = []
    names = (signal.SIGINT, signal.SIGTERM)
    if not catch or threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt

    before = {name: signal.signal(name, note) for name in names}
    try:
        yield asked
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
