"""Figures for those who run the service.

What is counted is public: that a round took place, and how long its answer took. How many rewards
came is private, so rewards are neither counted nor timed, and nothing here holds a sum of which
they are a part.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.service.served import Served

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one process."""

    def __init__(self) -> None:
        self.started = time.time()
        self._decisions = 0
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def decided(self, many: int) -> None:
        self._decisions += many

    def took(self, seconds: float) -> None:
        """How long a request for a decision took."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, studies: Iterable[Served]) -> str:
        """In Prometheus' own format."""
        lines = [
            "# HELP tacit_start_time_seconds When the service was started.",
            "# TYPE tacit_start_time_seconds gauge",
            f"tacit_start_time_seconds {self.started:.3f}",
            "# HELP tacit_decisions_total Decisions that were answered.",
            "# TYPE tacit_decisions_total counter",
            f"tacit_decisions_total {self._decisions}",
            "# HELP tacit_decision_seconds How long requests for decisions took.",
            "# TYPE tacit_decision_seconds histogram",
        ]
        below = 0
        for bound, count in zip(BOUNDS, self._counts, strict=False):
            below += count
            lines.append(f'tacit_decision_seconds_bucket{{le="{bound:g}"}} {below}')
        total = sum(self._counts)
        lines.append(f'tacit_decision_seconds_bucket{{le="+Inf"}} {total}')
        lines.append(f"tacit_decision_seconds_sum {self._seconds:.6f}")
        lines.append(f"tacit_decision_seconds_count {total}")
        lines += [
            "# HELP tacit_study_ready Whether the study's database answers.",
            "# TYPE tacit_study_ready gauge",
        ]
        lines += [f'tacit_study_ready{{study="{each.name}"}} {int(each.ready)}' for each in studies]
        return "\n".join(lines) + "\n"
