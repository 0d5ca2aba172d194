"""The code of docs/evaluation.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from helpers import ROOT


@pytest.mark.usefixtures("coarse_tuning")
def test_the_page_on_evaluations_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 40)
    text = (ROOT / "docs" / "evaluation.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "docs/evaluation.md", "exec"), names)  # noqa: S102
    assert list(names["found"].subgroups) == ["G/G", "A/A"]
    assert names["policy"].facts["evaluation"]["against"] == "now"
