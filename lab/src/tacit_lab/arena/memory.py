"""The most memory that was held while something ran."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
import sys
from pathlib import Path
from types import TracebackType

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what Linux wants to hear


class PeakMemory:
    """`with PeakMemory() as peak: ...`, then `peak.megabytes` above what the process held before.

    Linux can forget an earlier peak. Elsewhere the peak is that of the whole process, and this is
    an upper bound.
    """

    megabytes = 0.0

    def __enter__(self) -> PeakMemory:
        _give_back()
        self._before = _resident()
        if CLEAR.exists():
            CLEAR.write_text(RESET_PEAK)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.megabytes = max(0.0, _peak() - self._before)


def _give_back() -> None:
    """Memory that was freed but is still held would hide what is asked for next. glibc returns it
    when told to."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _resident() -> float:
    return _field("VmRSS") if STATUS.exists() else 0.0


def _peak() -> float:
    if STATUS.exists():
        return _field("VmHWM")
    import resource  # not on Windows, where nothing is known

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _field(name: str) -> float:
    found = re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text())
    return int(found[1]) / 1024 if found else 0.0
