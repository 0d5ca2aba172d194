"""Silence where private values are handled: a warning that depends on one of them would leak it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_lock = threading.Lock()
_inside = 0  # how many calls, of all threads, are inside now
_filters: warnings.catch_warnings[None] | None = None  # restores the filters from before the first


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of NumPy in this thread, and none of Python's in any thread, while anybody is
    inside.

    NumPy's settings belong to a thread: whoever starts threads calls this in each of them. The
    filters of `warnings` belong to the whole process, so the first to enter sets them and the last
    to leave restores them.
    """
    global _inside, _filters
    with _lock:
        if _inside == 0:
            _filters = warnings.catch_warnings(action="ignore")
            _filters.__enter__()
        _inside += 1
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _filters is not None:
                _filters.__exit__(None, None, None)
                _filters = None
