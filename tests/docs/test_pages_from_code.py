"""Pages that are made from the code: the command line, the HTTP interface, docstrings."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from helpers import ROOT
from tacit.cli import app
from tacit.service.openapi import document
from tacit.service.service import CALLS

sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from command_line import command_line_page
from docstrings import converted
from http_interface import http_page


def commands(group: Any = None, name: str = "tacit") -> Iterator[tuple[str, Any]]:
    found: Any = typer.main.get_command(app) if group is None else group
    for word, command in found.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        elif command.callback.__module__.startswith("tacit."):
            yield f"{name} {word}", command


def test_the_page_has_every_command_and_every_option() -> None:
    page = command_line_page()
    for name, command in commands():
        assert f"# {name}\n" in page
        section = page.split(f"# {name}\n")[1].split("\n##")[0]
        for each in command.params:
            if each.param_type_name == "option" and each.name != "help":
                assert each.opts[0] in section, (name, each.opts)


def swallowed(text: str) -> list[str]:
    """What Rich reads as a style, and does not show."""
    return re.findall(r"(?<!\\)\[/?[a-z][a-z ]*\]", text)


def test_no_help_loses_a_word_in_square_brackets() -> None:
    for name, command in commands():
        texts = [command.help or "", *[getattr(each, "help", "") or "" for each in command.params]]
        for text in texts:
            assert not swallowed(text), name


def test_a_lost_word_would_be_seen() -> None:
    assert swallowed("as the [play] table says") == ["[play]"]


def test_the_page_of_the_interface_has_every_call() -> None:
    page = http_page(document(CALLS))
    for call in CALLS:
        assert f"## {call.method} {call.path}\n" in page
        assert call.summary in page


def test_docstrings_become_what_sphinx_reads() -> None:
    lines = [
        "Uses `a_` and *b*, `c(",
        "d)`.",
        "",
        "| x | y |",
        "|---|---|",
        "| `k` | `v`s |",
        "",
        "    code()",
    ]
    assert converted(lines) == [
        "Uses ``a_`` and \\*b\\*, ``c( d)``.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "",
        "   * - x",
        "     - y",
        "   * - ``k``",
        "     - ``v``\\ s",
        "",
        "",
        ".. code-block:: python",
        "",
        "    code()",
    ]
