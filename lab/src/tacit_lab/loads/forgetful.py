"""A service that acknowledges before it writes: what `service_kills` must find out."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from tacit.service import running
from tacit.service.writer import Waiting, Writer

LATE = 0.3  # seconds after which it writes


def main(url: str, port: int) -> None:
    """Answers with what would be written, and writes it later."""
    results = Writer._results

    def early(self: Writer, group: list[Waiting]) -> Sequence[Any]:
        if type(group[0].call).__name__ != "Tell":
            return results(self, group)
        self._tell(group, [None] * len(group))
        time.sleep(LATE)
        results(self, group)
        return [None] * len(group)

    Writer._results = early  # type: ignore[method-assign]
    running.serve([f"study={url}"], listening=running.Listening(port=port))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
