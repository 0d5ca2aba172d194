"""How long work tells how far it is: a function of (what, done, total), called now and then. All
three are public."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """The default: says nothing."""
