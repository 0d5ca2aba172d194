"""What executes the code blocks of pages sees what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from blocks import BlockFailure, Run, blocks_of

HERE = Path(__file__).parent
PAGES = [path for path in sorted(HERE.rglob("*.md")) if "generated" not in path.parts]


def run(tmp_path: Path, text: str) -> Run:
    page = tmp_path / "page.md"
    page.write_text(text)
    return Run(page).run()


PRINTS = "```python\nprint(6 * 7, 'months')\n```\n\n"


def test_a_page_that_says_what_is_printed_passes(tmp_path: Path) -> None:
    done = run(tmp_path, PRINTS + "```text\n42 months\n```\n\n```console\n$ echo 7\n7\n```\n")
    assert (done.executed, done.skipped) == (2, [])


@pytest.mark.parametrize(
    "text",
    [
        PRINTS + "```text\n43 months\n```\n",
        PRINTS + "<!-- numbers vary -->\n```text\n42 years\n```\n",
        PRINTS + "Words between.\n\n```text\n42 months\n```\n",  # of which block?
        "```text\nsomething that nothing prints\n```\n",
        "<!-- not executed: takes an hour -->\n" + PRINTS + "```text\n42 months\n```\n",
        "```console\n$ echo 7\n8\n```\n",
        "```console\n$ false\n```\n",
        "```python\nraise ValueError\n```\n",
    ],
)
def test_a_page_that_says_something_else_fails(tmp_path: Path, text: str) -> None:
    with pytest.raises(BlockFailure):
        run(tmp_path, text)


def test_numbers_may_vary_where_the_page_says_so(tmp_path: Path) -> None:
    assert run(tmp_path, PRINTS + "<!-- numbers vary -->\n```text\n43 months\n```\n").executed == 1


def test_what_is_not_executed_is_counted_with_its_reason(tmp_path: Path) -> None:
    done = run(tmp_path, "<!-- not executed: takes an hour -->\n```console\n$ sleep 3600\n```\n")
    assert done.executed == 0
    assert done.skipped == ["page.md:2: takes an hour"]


def test_a_page_finds_the_examples_of_the_repository(tmp_path: Path) -> None:
    assert run(tmp_path, "```console\n$ test -f examples/dosing.toml\n```\n").executed == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HERE).as_posix())
def test_a_test_that_executes_a_block_names_its_page(page: Path) -> None:
    mark = "executed by: "
    for note in {each.note for each in blocks_of(page.read_text()) if each.note.startswith(mark)}:
        test = HERE.parent / note.removeprefix(mark)
        assert page.name in test.read_text(), f"{test} executes nothing of {page}"
