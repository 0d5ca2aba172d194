"""A service that acknowledges before it writes: what `service_kills` must find out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tacit.service.writer import Waiting, Writer
from tacit.study.desk import Tell

LATE = 0.3  # seconds after which it writes


def forget() -> None:
    """Makes this process answer rewards at once, and write them later."""
    results = Writer._results

    def early(self: Writer, group: list[Waiting]) -> Sequence[Any]:
        if not all(isinstance(each.call, Tell) for each in group):
            return results(self, group)
        self._tell(group, [None] * len(group))
        time.sleep(LATE)
        results(self, group)
        return [None] * len(group)

    Writer._results = early  # type: ignore[method-assign]
