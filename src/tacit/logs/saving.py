"""Statistics in files, each with the design that it belongs to.

PRIVATE: such a file tells as much about people as the data that went into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.core.saved import Arrays, packed, unpacked
from tacit.design import Design
from tacit.errors import InputError
from tacit.logs.dumping import dump, load
from tacit.logs.storage import damaged, read, write
from tacit.problem import Problem
from tacit.statistic import Statistic

SCHEMA = 3


@dataclass(frozen=True)
class Partial:
    """What a file holds: a statistic, public notes, and further statistics that are not merged into
    it yet."""

    statistic: Statistic
    about: dict[str, Any]
    parts: dict[str, Statistic] = field(default_factory=dict)


def save_partial(
    statistic: Statistic,
    path: str | Path,
    about: dict[str, Any],
    parts: Mapping[str, Statistic] | None = None,
) -> None:
    """Writes the sum, its design and the notes `about` (public, plain data) as one private file."""
    design = statistic.design
    parts = dict(parts or {})
    head = {
        "schema": SCHEMA,
        "fingerprint": design.fingerprint,
        "facts": design.facts(),
        "request": statistic._request,
        "parts": list(parts),
        "about": about,
    }
    arrays = (
        {"head": packed(head)}
        | _prefixed("design", design.arrays())
        | _prefixed("sum", dump(statistic))
    )
    for i, part in enumerate(parts.values()):
        arrays |= _prefixed(f"part{i}", dump(part))
    write(Path(path), arrays)


def load_about(path: str | Path) -> dict[str, Any]:
    """The notes alone."""
    return dict(_head(path)["about"])


def load_design(problem: Problem, path: str | Path) -> Design:
    """The design that the sum in the file belongs to, coins and all."""
    try:
        return Design.restore(problem, _head(path)["facts"], _under("design", read(path, "design")))
    except (KeyError, TypeError):
        raise damaged(path) from None


def load_partial(design: Design, path: str | Path, device: str | None = None) -> Partial:
    """The statistic as it was saved, with the same request: what was released before is returned,
    not drawn again."""
    head = _head(path)
    arrays = read(path, "sum") | read(path, "part")
    if head["fingerprint"] != design.fingerprint:
        raise InputError(f"{path} belongs to another design: restore its own with load_design.")
    try:
        statistic = load(design, _under("sum", arrays), device)
        statistic._request = head["request"]
        parts = {
            name: load(design, _under(f"part{i}", arrays), device)
            for i, name in enumerate(head["parts"])
        }
    except (KeyError, ValueError):
        raise damaged(path) from None
    return Partial(statistic, dict(head["about"]), parts)


def _head(path: str | Path) -> dict[str, Any]:
    try:
        head = dict(unpacked(read(path, "head")["head"]))
        if head["schema"] == SCHEMA:
            return head
    except (KeyError, ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
    raise damaged(path)


def _prefixed(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}.{key}": array for key, array in arrays.items()}


def _under(name: str, arrays: Arrays) -> Arrays:
    return {
        key.removeprefix(f"{name}."): array
        for key, array in arrays.items()
        if key.startswith(f"{name}.")
    }
