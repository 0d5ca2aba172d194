"""How cost and memory grow with the number of rounds."""

from __future__ import annotations

import resource
from dataclasses import dataclass

import numpy as np

from tacit.numerics.engine import Engine
from tacit.progress import Progress, silent
from tacit_lab.bench import work


@dataclass(frozen=True)
class Growth:
    """Seconds and peak memory (MiB, of the process so far) at each number of rounds, and the fitted
    exponent."""

    rank: int
    rounds: list[int]
    seconds: list[float]
    peak_mib: list[float]

    @property
    def exponent(self) -> float:
        return float(np.polyfit(np.log(self.rounds), np.log(self.seconds), 1)[0])


def growth(rank: int, rounds: list[int], on: Engine, progress: Progress = silent) -> Growth:
    design = work.design(rank, max(rounds), 4096, on)
    seconds = []
    peak = []
    for i, total in enumerate(rounds):
        progress("growth", i, len(rounds))
        seconds.append(work.add_seconds(design, total, on))
        peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    progress("growth", len(rounds), len(rounds))
    return Growth(rank, rounds, seconds, peak)
