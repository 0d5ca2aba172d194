"""Noise that is not the shipped one: noise that can be repeated, one deliberate mistake each (see
test_broken_mechanisms.py), and noise that is drawn quickly.

Other processes import this file to draw, so it imports little.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

_KNOWN_STREAM = np.random.default_rng(7)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_KNOWN_STREAM.random)
_UNKNOWN_STREAM = np.random.default_rng()


def _integers(rng: np.random.Generator) -> list[int]:
    return [int(value) for value in rng.integers(0, 2**40, size=16)]


def seeded_every_time() -> list[int]:
    return _integers(np.random.default_rng(7))


def from_the_global_generator() -> list[int]:
    return [int(value) for value in np.random.randint(0, 2**40, size=16)]


def from_a_known_stream() -> list[int]:
    """Never the same in one process, nor across a fork; the same in every process that starts."""
    return _integers(_KNOWN_STREAM)


def from_a_stream_that_is_copied_by_a_fork() -> list[int]:
    """A good seed from the operating system, used in a worker that was forked from a server."""
    return _integers(_UNKNOWN_STREAM)


def quick_noise(scale: float = 1.0) -> Callable[..., Any]:
    """Gaussian noise of so many times the scale that was asked for, rounded, in a tenth of the time
    of the shipped one. Seeded."""
    rng = np.random.default_rng(0)
    return lambda total, event: (
        total + np.rint(rng.normal(0.0, scale * event.scale, len(total))).astype(np.int64)
    )
