"""Results that survive a stop, line by line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit_lab.json_lines import append_line, read_lines


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "store.jsonl"
    rows = [{"error": 0.5}, ["a", 1, math.inf]]
    for row in rows:
        append_line(path, row)
    assert read_lines(path) == rows
    assert path.read_text() == "".join(json.dumps(row) + "\n" for row in rows)


@given(st.integers(0, 40))
def test_a_line_that_was_cut_off_is_left_out_and_spoils_no_other(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "store.jsonl"
    for row in (["first"], ["second, which is cut"]):
        append_line(path, row)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - cut])
    append_line(path, ["third"])
    found = read_lines(path)
    assert found[-1] == ["third"]
    assert all(row in (["first"], ["second, which is cut"]) for row in found[:-1])
    assert cut > 1 or ["second, which is cut"] in found


def test_without_a_file_nothing_is_known_and_nothing_kept(tmp_path: Path) -> None:
    append_line(None, {"error": 0.5})
    assert read_lines(None) == []
    assert read_lines(tmp_path / "absent.jsonl") == []
