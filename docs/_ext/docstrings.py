"""Docstrings of this project are Markdown: here they become what autodoc expects."""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"`([^`]+)`")
SPECIAL = re.compile(r"([*|\\])|(?<=\w)(_)(?=\W|$)")


def converted(lines: list[str]) -> list[str]:
    """Tables, code spans and indented code of Markdown as reStructuredText."""
    found: list[str] = []
    i = 0
    while i < len(lines):
        block = _block(lines, i)
        i += len(block)
        if not block[0].strip():
            found += block
        elif block[0].lstrip().startswith("|"):
            found += _table(block)
        elif block[0].lstrip().startswith(">>>"):
            found += block
        elif block[0].startswith("    "):
            found += [".. code-block:: python", "", *block]
        else:
            found += _inline("\n".join(block)).split("\n")
    return found


def _block(lines: list[str], start: int) -> list[str]:
    """Lines of one kind from `start` on: a table, an example, indented code, a paragraph, or one
    empty line."""
    if not lines[start].strip():
        return lines[start : start + 1]
    code = lines[start].startswith("    ")
    end = start
    while end < len(lines):
        inside = lines[end].startswith("    ")
        if not lines[end].strip():
            following = lines[end + 1] if end + 1 < len(lines) else ""
            if not (code and following.startswith("    ")):
                break
        elif code and not inside:
            break
        end += 1
    return lines[start:end]


def _table(rows: list[str]) -> list[str]:
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    body = [cells[0], *cells[2:]]
    found = [".. list-table::", "   :header-rows: 1", ""]
    for row in body:
        for j, cell in enumerate(row):
            found.append(f"   {'*' if j == 0 else ' '} - {_inline(cell)}")
    return [*found, ""]


def _inline(text: str) -> str:
    parts = CODE.split(text)  # outside, inside, outside, ...
    outside = [SPECIAL.sub(lambda m: "\\" + m[0], part) for part in parts[::2]]
    found = outside[0]
    for code, after in zip(parts[1::2], outside[1:], strict=True):
        # Something that follows directly, such as a plural s, needs a mark.
        code = " ".join(code.split())  # which may begin on one line and end on the next
        found += f"``{code}``" + ("\\ " if after[:1].isalnum() else "") + after
    return found


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = converted(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
