"""Files of results, one line of JSON each, from which a stopped run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_lines(path: Path | None) -> list[Any]:
    """What is in a file, if there is one. A line that was cut off is left out."""
    found = []
    if path is not None and path.exists():
        for line in path.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return found


def append_line(path: Path | None, value: Any) -> None:
    """Adds one line. It is on disk when the call returns; without a path nothing is kept."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that was cut off spoils no other
                file.write(b"\n")
        file.write(json.dumps(value).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
