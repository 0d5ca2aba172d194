"""The runner of the pages' code blocks (docs/_ext/blocks.py): what it executes, and what it
refuses."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from blocks import NUMBER, BlockFailure, Run, blocks_of, same

PAGE = """# A page

```python
x = 20 + 1
print(f"x is {x}")
```

```text
x is 21
```

<!-- file: words.txt -->
```text
one
two
```

```console
$ wc -l < words.txt
2
```
"""


def run(tmp_path: Path, text: str, update: bool = False) -> Any:
    page = tmp_path / "page.md"
    page.write_text(text)
    return Run(page, update).run()


def test_blocks_are_executed_in_order_and_compared(tmp_path: Path) -> None:
    assert run(tmp_path, PAGE).executed == 2


@pytest.mark.parametrize(
    ("said", "other"),
    [("x is 21", "x is 22"), ("\n2\n", "\n3\n"), ("x = 20 + 1", "x = 1 / 0"), ("wc -l", "false")],
)
def test_a_page_that_says_something_else_fails(tmp_path: Path, said: str, other: str) -> None:
    with pytest.raises(BlockFailure):
        run(tmp_path, PAGE.replace(said, other, 1))


def test_updating_writes_down_what_was_printed(tmp_path: Path) -> None:
    wrong = PAGE.replace("x is 21", "x is 22")
    run(tmp_path, wrong, update=True)
    assert (tmp_path / "page.md").read_text() == PAGE


def test_numbers_may_vary_where_the_page_says_so_and_words_may_not() -> None:
    assert not same("0.12 of 5,000", "0.13 of 5,000", varies=None)
    assert same("0.12 of 5,000", "-0.1e-3 of 4", varies=NUMBER)
    assert not same("0.12 of 5,000", "0.12 from 5,000", varies=NUMBER)


def test_a_number_may_be_whole_in_one_run_and_not_in_another() -> None:
    assert same("61,2,0.15,8.6", "61,1.8557,0.1e-3,-9", varies=NUMBER)
    assert not same("61,2,high", "61,1.8557,low", varies=NUMBER)


@pytest.mark.parametrize(
    ("note", "fails"),
    [
        ("numbers vary, free or paid", False),
        ("numbers vary, free or dear", True),
        ("numbers vary", True),
        ("varies, free or paid", True),
    ],
)
def test_words_may_vary_only_where_the_page_names_them(
    tmp_path: Path, note: str, fails: bool
) -> None:
    page = f"```python\nprint('8 paid')\n```\n\n<!-- {note} -->\n```text\n9 free\n```\n"
    with pytest.raises(BlockFailure) if fails else nullcontext():
        run(tmp_path, page)


def test_what_is_not_executed_says_why(tmp_path: Path) -> None:
    page = "<!-- not executed: needs a GPU -->\n```python\nboom()\n```\n"
    done = run(tmp_path, page)
    assert done.executed == 0
    assert done.skipped == ["page.md:2: needs a GPU"]
    with pytest.raises(BlockFailure):
        run(tmp_path, page.split("\n", 1)[1])


def test_a_figure_has_to_be_drawn_by_its_page(tmp_path: Path) -> None:
    with pytest.raises(BlockFailure, match="no block of this page draws nothing"):
        run(tmp_path, PAGE + "\n![A figure](../figures/nothing.png)\n")


def test_blocks_that_others_execute_name_a_test_that_exists() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for block in blocks_of(page.read_text()):
            if block.note.startswith("executed by: "):
                assert (ROOT / block.note.removeprefix("executed by: ")).exists(), page.name
