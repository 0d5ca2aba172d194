"""The README's code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 80)  # 500 would take its time
    blocks = python_blocks((ROOT / "README.md").read_text())
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert len(names["best"]["dose"]) == 2
    assert names["study"].state.released
    assert (tmp_path / "policy" / "policy.json").exists()


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/notation.md", "examples/README.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        assert "//" in target or ((ROOT / page).parent / target).exists(), target
