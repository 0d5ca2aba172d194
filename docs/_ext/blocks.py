"""Runs the code blocks of a page, in order, in a folder of their own, and compares what they print.

    python docs/_ext/blocks.py docs/tutorials/dosing.md            # as `pytest docs` does
    python docs/_ext/blocks.py --update docs/tutorials/dosing.md   # and writes down what is printed

| in a page | what is done |
|---|---|
| a `python` block | executed; all blocks of a page share their names |
| a `text` block right after it | is what the `python` block prints |
| a `console` block | lines that begin with `$ ` go to bash; the others are what they print |
| `<!-- file: NAME -->` above a block | writes the block to a file |
| `<!-- numbers vary -->` above a block | its words are compared, and numbers may be others |
| `<!-- numbers vary, A or B -->` above a block | and where it says A another run may say B |
| a figure `![...](../figures/NAME)` | some block writes the file NAME |
| `<!-- needs: PROGRAM -->` above a block | is executed where there is such a program |
| `<!-- executed by: TEST -->` above a block | is executed by that test instead |
| `<!-- not executed: REASON -->` above a block | is not executed |
| `<!-- setup`, lines of Python, `-->` | executed, and not shown |

Every other `python` or `console` block is executed, and every `text` block is what one of them
prints, or says in the same words why nothing compares it: there is no way to forget one.

A page runs in an empty folder with a link to the repository's `examples`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    flags=re.MULTILINE | re.DOTALL,
)
# Several with commas between them count as one: a comma may also stand between thousands.
VALUE = r"[-+±]?\d+(\.\d+)?(e[-+]?\d+)?"
NUMBER = re.compile(rf"{VALUE}(,{VALUE})*|[━─┏┓┗┛┡┩└┘┳╇┴]+")
VARIES = re.compile(r"numbers vary(?:, (?P<words>\w+(?: or \w+)+))?")
SECONDS = 600  # for one line of a console block


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    note: str
    body: str
    line: int
    start: int  # of its body in the page's text
    follows: bool  # right after the block before it

    @property
    def varies(self) -> re.Pattern[str] | None:
        """What another run may print otherwise; None if it prints the same each time."""
        found = VARIES.fullmatch(self.note)
        if found is None:
            return None
        words = (found["words"] or "").split(" or ")
        either = "|".join(rf"\b{word}\b" for word in words if word)
        return re.compile(f"{NUMBER.pattern}|{either}") if either else NUMBER

    @property
    def file(self) -> str | None:
        return self.note.removeprefix("file: ") if self.note.startswith("file: ") else None

    @property
    def prints(self) -> bool:
        """Whether a `text` block right after it is what it prints."""
        return self.kind == "python" and self.file is None and self.skipped is None

    @property
    def skipped(self) -> str | None:
        """Why it is not executed."""
        if self.note.startswith("needs: "):
            program = self.note.removeprefix("needs: ")
            return None if shutil.which(program) else f"there is no {program}"
        if self.note.startswith("executed by: "):
            return self.note
        mark = "not executed: "
        return self.note.removeprefix(mark) if self.note.startswith(mark) else None


def blocks_of(text: str) -> list[Block]:
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        between = text[end : match.start()]
        body = "setup" if match["kind"] is None else "body"
        found.append(
            Block(
                match["kind"] or "setup",
                match["note"] or "",
                match[body],
                text.count("\n", 0, match.start(body)),
                match.start(body),
                follows=bool(found) and not between.strip(),
            )
        )
        end = match.end()
    return found


class BlockFailure(Exception):
    """A block that raises, or prints something else than the page says."""


@dataclass
class Run:
    """A page that is being executed."""

    path: Path
    update: bool = False
    executed: int = 0
    skipped: list[str] = field(default_factory=list)
    printed: str = ""
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    background: list[subprocess.Popen[str]] = field(default_factory=list)
    changes: list[tuple[Block, str]] = field(default_factory=list)

    def run(self) -> Run:
        text = self.path.read_text()
        with tempfile.TemporaryDirectory() as folder, _inside(folder):
            Path("examples").symlink_to(EXAMPLES)
            try:
                self._run_all(blocks_of(text))
                self._figures(text)
            finally:
                self._end_background()
        if self.update and self.changes:
            for block, printed in reversed(self.changes):
                text = text[: block.start] + printed + text[block.start + len(block.body) :]
            self.path.write_text(text)
        return self

    def _run_all(self, blocks: list[Block]) -> None:
        for i, block in enumerate(blocks):
            if block.skipped is not None:
                self.skipped.append(f"{self.path.name}:{block.line}: {block.skipped}")
            elif block.file is not None:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.body)
            elif block.kind == "setup":
                self._python(block)
            elif block.kind == "python":
                self._python(block)
                self.executed += 1
            elif block.kind == "console":
                self._console(block)
            elif block.kind == "text":
                if not (block.follows and blocks[i - 1].prints):
                    raise BlockFailure(self._at(block, "no block of this page prints this."))
                self._compare(block, self.printed)

    def _figures(self, text: str) -> None:
        """The figures of a page are drawn by it: `![...](../figures/NAME)`."""
        for link in re.findall(r"!\[[^\]]*\]\(([^)]*figures/[^)]+)\)", text):
            drawn = Path(Path(link).name)
            if not drawn.exists():
                raise BlockFailure(f"{self.path}: no block of this page draws {drawn}.")
            if self.update:
                target = self.path.parent / link
                target.parent.mkdir(exist_ok=True)
                shutil.copy(drawn, target)

    def _python(self, block: Block) -> None:
        out = io.StringIO()
        source = "\n" * block.line + block.body
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(source, str(self.path), "exec"), self.names)  # noqa: S102
        except Exception:
            raise BlockFailure(self._at(block, traceback.format_exc())) from None
        self.printed = out.getvalue()

    def _console(self, block: Block) -> None:
        shown = []
        for command in _commands(block.body):
            shown.append("$ " + command)
            shown += self._shell(block, command.replace("\n> ", "\n")).splitlines()
        self._compare(block, "\n".join(line.rstrip() for line in shown) + "\n")
        self.executed += 1

    def _shell(self, block: Block, command: str) -> str:
        env = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        if command.endswith("&"):
            started = subprocess.Popen(
                ["bash", "-c", f"exec {command[:-1]}"],
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self.background.append(started)
            return ""
        done = subprocess.run(
            ["bash", "-c", command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            what = f"$ {command}\n{done.stdout}exit code {done.returncode}"
            raise BlockFailure(self._at(block, what))
        return done.stdout.replace(f"{os.getcwd()}/", "")  # a folder that nobody else has

    def _compare(self, block: Block, printed: str) -> None:
        if self.update:
            if block.body != printed:
                self.changes.append((block, printed))
        elif not same(block.body, printed, block.varies):
            raise BlockFailure(
                self._at(block, f"the page says\n\n{block.body}\nand it printed\n\n{printed}")
            )

    def _at(self, block: Block, what: str) -> str:
        return f"{self.path}, line {block.line + 1}:\n{what}"

    def _end_background(self) -> None:
        for process in self.background:
            process.send_signal(signal.SIGTERM)
        for process in self.background:
            process.wait(timeout=30)


def _commands(body: str) -> Iterator[str]:
    """The lines that begin with `$ `, each with its continuation lines, which begin with `> `."""
    for match in re.finditer(r"^\$ (.*(?:\n> .*)*)", body, flags=re.MULTILINE):
        yield match[1]


def same(said: str, printed: str, varies: re.Pattern[str] | None) -> bool:
    """Whether a block prints what the page says: in all but white space and what varies."""
    return _words(said, varies) == _words(printed, varies)


def _words(text: str, varies: re.Pattern[str] | None) -> list[str]:
    return (varies.sub("#", text) if varies else text).split()


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--update", action="store_true", help="write down what is printed")
    asked = parser.parse_args()
    for page in asked.pages:
        run = Run(page.resolve(), asked.update).run()
        sys.stdout.write(f"{page}: {run.executed} blocks executed, {len(run.changes)} rewritten\n")
        for block, printed in run.changes:
            sys.stdout.write(f"--- line {block.line + 1}\n{printed}")


if __name__ == "__main__":
    main()
