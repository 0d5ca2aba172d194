"""Options of studies as people type them, on a command line or into a form, and how they are
read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.domains import Domain

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def read_epochs(typed: str) -> int | list[int]:
    """A number of epochs, or their sizes."""
    parts = [part.strip() for part in typed.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(
            "--epochs takes a number of epochs, as in 4, or their sizes, as in "
            f"1500,3000,6000,19500, got {typed!r}."
        )
    found = [int(part) for part in parts]
    return found if len(found) > 1 else found[0]


def read_wait(typed: str) -> timedelta:
    """A time such as 7d, 12h, 30m or 90s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", typed.strip())
    if typed.strip() == "0":
        return timedelta(0)
    if found is None:
        raise InputError(
            f"--wait takes days, hours or minutes, as in 7d, 12h or 30m, got {typed!r}."
        )
    return timedelta(seconds=float(found[1]) * SECONDS[found[2]])


def read_baseline(
    typed: Sequence[str], actions: Domain, option: str = "--baseline"
) -> dict[str, Any] | None:
    """An action from NAME=VALUE pairs, as the domain of actions reads them; None if there are
    none. `option` is where they were typed."""
    if not typed:
        return None
    pairs = [part.split("=", 1) for part in typed]
    names = [pair[0] for pair in pairs]
    complete = all(len(pair) == 2 for pair in pairs) and sorted(names) == sorted(actions.names)
    if not complete:
        raise InputError(
            f"{option} takes one NAME=VALUE for each of {', '.join(actions.names)}, got "
            f"{' '.join(typed)!r}."
        )
    action = {name: _cell(value) for name, value in pairs}
    points = actions.encode(actions.read(action, "the baseline").columns)
    found = {name: column[0] for name, column in actions.decode(points).items()}
    if not all(_same(action[name], found[name]) for name in action):
        raise InputError(
            f"{option} must be one of the actions, got {' '.join(typed)!r}: see [actions] of the "
            "problem file."
        )
    return action


def _cell(text: str) -> Any:
    """A number if it reads as one."""
    with suppress(ValueError):
        return float(text)
    return text


def _same(typed: Any, read: Any) -> bool:
    """Whether the domain has read a value as it was typed, and not moved it into a range."""
    try:
        return abs(float(typed) - float(read)) <= 1e-9 * max(1.0, abs(float(typed)))
    except (TypeError, ValueError):
        return str(typed) == str(read)
