"""The page of the command line, from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

import typer.main

from tacit.cli import app

HEAD = """# The command line

Made from the commands' own help. `tacit COMMAND --help` shows the same in a terminal. Every command
takes `--json`, which prints one JSON object for machines and nothing else. Errors are one sentence
on standard error, and the exit code is then 2.
"""


def command_line_page() -> str:
    top = typer.main.get_command(app)
    parts = [HEAD]
    for name, command in top.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            parts += _group(name, command)
        elif _own(command):
            parts.append(_section(f"tacit {name}", command))
    return "\n".join(parts)


def _own(command: Any) -> bool:
    """Whether it is a command of this distribution: others may add theirs."""
    return str(command.callback.__module__).startswith("tacit.")


def _group(name: str, group: Any) -> list[str]:
    found = [
        _section(f"tacit {name} {each}", command)
        for each, command in group.commands.items()
        if _own(command)
    ]
    return [f"## tacit {name}\n\n{_help(group)}\n", *found] if found else []


def _section(name: str, command: Any) -> str:
    level = "##" if name.count(" ") == 1 else "###"
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join([name, *[_argument(each) for each in arguments], "[OPTIONS]"])
    rows = [_row(_argument(each), each) for each in arguments]
    rows += [_row(", ".join(each.opts), each) for each in options if not each.hidden]
    table = "\n".join(["| argument | what it is | default |", "|---|---|---|", *rows])
    return f"{level} {name}\n\n```text\n{usage}\n```\n\n{_help(command)}\n\n{table}\n"


def _argument(each: Any) -> str:
    name = str(each.metavar or each.name).upper()
    return name if each.nargs == 1 or name.endswith("...") else f"{name}..."


def _row(name: str, each: Any) -> str:
    kind = each.metavar or getattr(each.type_descriptor.annotation, "__name__", "value")
    shown = f"`{name}`"
    if each.param_type_name == "option" and not each.is_flag:
        shown = f"`{name} {str(kind).upper()}`"
    default = each.default
    if each.required:
        default = "needed"
    elif callable(default) or default in (None, False, (), []) or "Sentinel" in repr(default):
        default = ""
    text = _plain(each.help or "").replace("|", "\\|")
    return f"| {shown} | {text} | {default} |"


def _help(command: Any) -> str:
    """The help as Markdown: what is indented in it is code."""
    text = _plain((command.help or "").strip()).replace("\x08", "")
    return re.sub(r"(?<!`)<(\w+)>", r"`<\1>`", text)


def _plain(text: str) -> str:
    """Without the marks that keep square brackets from being read as styles."""
    return text.replace("\\[", "[")
