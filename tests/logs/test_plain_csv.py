"""CSV files without pyarrow: the same cells as Arrow reads, or the same refusal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.errors import InputError, MissingExtraError
from tacit.logs import LogColumns, pieces, read_table, write_table
from tacit.logs.plain_csv import MISSING, write_csv
from tacit.logs.reading import count_rows

COLUMNS = LogColumns.of(("dose", "gene"), "reward", None, {})
# Cells as they stand in a file.
CELLS = [
    "1",
    " 2.5 ",
    "-1e3",
    "0x10",
    "1_000",
    "",
    "nan",
    "NULL",
    '""',
    '"NA"',
    "true",
    '"a,b"',
    '"a\nb"',
    '"say ""no"""',
    'in "the" middle',
    "'single'",
    "ü",
    "剤型",
    "\\n",
    "#N/A",
    "inf",
    "x" * 10_000,
]


def file_of(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def cells_of(path: str, start: int = 0, stop: int | None = None) -> list[tuple[Any, ...]]:
    """What a fit would see, row by row."""
    found: list[tuple[Any, ...]] = []
    for piece in pieces(path, COLUMNS, start, stop or count_rows(path, COLUMNS)):
        cells = COLUMNS.cells(piece)
        found += zip(*(list(cells[name]) for name in cells), strict=True)
    return found


@pytest.fixture
def without_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch)


def hide(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet", "pyarrow.feather"):
        monkeypatch.setitem(__import__("sys").modules, name, None)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_cells_are_those_that_arrow_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, last: str
) -> None:
    rows = [",".join([cell, CELLS[-i - 1], "0.5"]) for i, cell in enumerate(CELLS)]
    path = file_of(tmp_path, "\ufeff" + ends.join(["dose,gene,reward", *rows]) + last)
    by_arrow = cells_of(path)
    with monkeypatch.context() as patch:
        hide(patch)
        assert cells_of(path) == by_arrow
    assert len(by_arrow) == len(CELLS)


def test_bytes_that_are_no_text_are_read_as_by_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"dose,gene,reward\n1,\xff\xfe,0.5\n2,a\x00b,0.1\n3,\xc3(,0.2\n"
    path = file_of(tmp_path, content)
    by_arrow = cells_of(path)
    hide(monkeypatch)
    assert cells_of(path) == by_arrow
    assert by_arrow[0][1] == "\\xff\\xfe"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "dose,gene,reward\n1,2\n",
        "dose,gene,reward\n1,2,3,4\n",
        "dose,gene\n1,2\n",
        "dose,gene,reward,reward\n1,2,3,4\n",
    ],
    ids=["empty", "short row", "long row", "no column", "two columns"],
)
def test_what_arrow_refuses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    path = file_of(tmp_path, content)
    with pytest.raises(InputError) as by_arrow:
        cells_of(path)
    hide(monkeypatch)
    with pytest.raises(InputError) as plainly:
        cells_of(path)
    assert kind_of(by_arrow) == kind_of(plainly)
    assert "1,2" not in str(plainly.value)


def kind_of(error: pytest.ExceptionInfo[InputError]) -> str:
    """The sentence, but for the name of the reader's own error."""
    return str(error.value).replace("(ArrowInvalid)", "(ValueError)")


@pytest.mark.usefixtures("without_arrow")
def test_pieces_begin_and_end_where_they_are_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.logs.columns.MOST_ROWS", 4)
    path = file_of(tmp_path, "gene,reward,dose\n" + "".join(f"g,0,{i}\n" for i in range(11)))
    assert [row[0] for row in cells_of(path, 4, 10)] == list("456789")
    assert [piece.num_rows for piece in pieces(path, COLUMNS, 0, 11)] == [4, 4, 3]
    with pytest.raises(InputError, match="ends 3 rows too early"):
        cells_of(path, 0, 14)


@pytest.mark.usefixtures("without_arrow")
def test_small_tables_are_read_and_written(tmp_path: Path) -> None:
    path = file_of(tmp_path, "age,gene\n61,A/A\n,\n")
    table = read_table(path)
    assert table == {"age": ["61", None], "gene": ["A/A", None]}
    write_table(table, tmp_path / "again.csv")
    assert read_table(tmp_path / "again.csv") == table
    with pytest.raises(MissingExtraError, match=r"tacit-dp\[files\]"):
        write_table(table, tmp_path / "new" / "again.parquet")
    assert not (tmp_path / "new").exists()
    for content, says in (("a,a\n1,2\n", "cannot be read"), ("a\n", "has no rows")):
        with pytest.raises(InputError, match=says):
            read_table(file_of(tmp_path, content))


def test_what_is_written_is_what_arrow_writes() -> None:
    columns: dict[str, list[Any]] = {
        'na"me': ["a", 'say "no"', None, "x\ny"],
        "number": [1.5, -2.0, 1e-9, None],
        "sure": [True, False, None, True],
    }
    by_arrow = io.BytesIO()
    pa.csv.write_csv(pa.table(columns), by_arrow)
    plainly = io.StringIO()
    write_csv(columns, plainly)
    plain_table = pa.csv.read_csv(io.BytesIO(plainly.getvalue().encode()), parse_options=NEWLINES)
    arrow_table = pa.csv.read_csv(io.BytesIO(by_arrow.getvalue()), parse_options=NEWLINES)
    assert plain_table == arrow_table
    assert plainly.getvalue().splitlines()[:2] == ['"na""me","number","sure"', '"a",1.5,true']


NEWLINES = pa.csv.ParseOptions(newlines_in_values=True)


def test_missing_cells_are_spelt_as_arrow_spells_them() -> None:
    assert set(pa.csv.ConvertOptions().null_values) == MISSING
