"""A specification as text in the manner of TOML, long lists cut short."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

ITEMS = 12  # of a list that are shown


def lines(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """One line per value; tables inside follow under their own heading."""
    inner = {key: value for key, value in table.items() if _tables(value)}
    for key, value in table.items():
        if key not in inner and value is not None:
            yield f"{key} = {_plain(value)}"
    for key, value in inner.items():
        name = f"{path}.{key}" if path else key
        for one in [value] if isinstance(value, Mapping) else value:
            yield ""
            yield f"[{name}]" if isinstance(value, Mapping) else f"[[{name}]]"
            yield from lines(one, name)


def _tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    )


def _plain(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    shown = ", ".join(_plain(item) for item in value[:ITEMS])
    return f"[{shown}]" if len(value) <= ITEMS else f"[{shown}, …]  # {len(value):,} in all"
