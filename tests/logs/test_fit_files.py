"""Logs on disk: every format, any size, odd cells, damaged files. The sum is always that of the
rows."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers import BUDGET, TESTS, build_design, small_design, user_design
from log_data import (
    COLUMNS,
    DESIGN,
    NAMES,
    WRITERS,
    collected,
    damage,
    log_table,
    one_batch,
    sum_of,
    total,
    touch,
    work_on,
)
from tacit import Box, Categories, InputError, Matern, Problem, StateError
from tacit.logs import LogColumns, LogFile, Span, find_logs, pieces, starts
from tacit.logs.local import count

TABLE = log_table(5000)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1024 rows, so that a small log has several."""
    monkeypatch.setattr("tacit.logs.columns.MOST_ROWS", 1024)


@pytest.fixture(params=WRITERS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    WRITERS[request.param](TABLE, path)
    return path


# -- one sum, however the rows are kept -----------------------------------------------------------


def test_every_format_gives_the_sum_of_the_rows(log: Path) -> None:
    assert collected(work_on([log])) == sum_of(TABLE)


def test_reading_may_begin_at_any_piece(log: Path) -> None:
    for start in range(0, 5000, 1024):
        tables = list(pieces(str(log), COLUMNS, start, 5000))
        assert [table.num_rows for table in tables] == [
            min(1024, 5000 - at) for at in range(start, 5000, 1024)
        ]
        assert [float(x) for table in tables for x in table["dose"].to_pylist()] == TABLE[
            "dose"
        ].to_pylist()[start:]


def test_parts_of_a_file_add_up_in_any_order(log: Path) -> None:
    work = work_on([log])
    spans = list(work.todo(split=True))
    for span in spans[1::2] + spans[::2]:
        for piece, statistic in count(DESIGN.statistic(), COLUMNS, span):
            work.take(piece, statistic)
    assert total(work.statistic) == sum_of(TABLE)


def test_where_a_writer_ends_its_row_groups_does_not_show(tmp_path: Path) -> None:
    """It can depend on how long cells are, which is private."""
    lengths = []
    for size in (100, 777, 1024, 5000):
        pq.write_table(TABLE, tmp_path / "log.parquet", row_group_size=size)
        lengths.append(
            [table.num_rows for table in pieces(str(tmp_path / "log.parquet"), COLUMNS, 0, 5000)]
        )
        assert all(
            start % 1024 == 0 for start in starts(str(tmp_path / "log.parquet"), COLUMNS, 5000)
        )
    assert lengths == [[1024, 1024, 1024, 1024, 904]] * 4


def test_large_row_groups_are_what_several_readers_share(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet", row_group_size=1700)
    work = work_on([tmp_path / "log.parquet"])
    assert [(span.start, span.stop) for span in work.todo(split=True)] == [
        (0, 2048),
        (2048, 4096),
        (4096, 5000),
    ]


def test_large_files_are_shared_in_parts_of_at_most_16_pieces(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.logs.reading.SHARE", 2)
    spans = [(span.start, span.stop) for span in work_on([log]).todo(split=True)]
    assert spans[0][0] == 0
    assert spans[-1][1] == 5000
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    if log.suffix != ".csv":  # which has to be read from the beginning
        assert max(stop - start for start, stop in spans) <= 2048


def test_several_files_of_several_formats_are_one_log(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.parquet", "b.csv", "c.feather")]
    for i, (path, name) in enumerate(
        zip(paths, ("one-group.pq", "rows.csv", "packed.feather"), strict=True)
    ):
        WRITERS[name](TABLE.slice(i * 1500, 1500), path)
    expected = [sum_of(TABLE.slice(at, 1500)) for at in (0, 1500, 3000)]
    assert collected(work_on(paths)) == [sum(values) for values in zip(*expected, strict=True)]


def test_wide_tables_are_read_in_smaller_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sizes = [
        LogColumns.of(tuple(f"x{i}" for i in range(n)), "reward", None, {}).piece
        for n in (3, 31, 99, 9999)
    ]
    assert sizes == [65_536, 65_536, 16_384, 1024]


# -- every row once -------------------------------------------------------------------------------


def test_a_span_that_is_counted_is_not_counted_again(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    work = work_on([tmp_path / "log.parquet"])
    (file,) = work.files.values()
    ((span, statistic),) = count(DESIGN.statistic(), COLUMNS, Span(file, 1024, 2048))
    work.take(span, statistic)
    ((_, again),) = count(DESIGN.statistic(), COLUMNS, Span(file, 1024, 2048))
    with pytest.raises(StateError, match="counted already"):
        work.take(span, again)
    assert work.counted == 1024
    assert [(span.start, span.stop) for span in work.todo()] == [(0, 1024), (2048, 5000)]


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "log.parquet")
    with pytest.raises(InputError, match="named twice"):
        find_logs([str(tmp_path / "*.parquet")])


def test_patterns_find_files_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "a.parquet.ledger.db", "c.csv"):
        (tmp_path / name).touch()
    (tmp_path / "d.parquet").mkdir()
    assert [path.name for path in find_logs([str(tmp_path / "*.parquet")])] == [
        "a.parquet",
        "b.parquet",
    ]
    for pattern, says in (
        ("*.pq", "no data file"),
        ("d.parquet", "is a folder"),
        ("*.db", "should end in one of"),
    ):
        with pytest.raises(InputError, match=says):
            find_logs([str(tmp_path / pattern)])


# -- cells ----------------------------------------------------------------------------------------


def decimals(values: Any) -> pa.Array:
    return pa.array(
        [None if x is None else Decimal(repr(x)) for x in values], pa.decimal128(30, 20)
    )


CELLS: dict[str, Callable[[list[Any]], pa.Array]] = {
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "decimal": decimals,
    "dictionary of decimals": lambda values: decimals(values).dictionary_encode(),
    "text": lambda values: pa.array([None if x is None else repr(x) for x in values]),
    "large text": lambda values: pa.array(
        [None if x is None else repr(x) for x in values], pa.large_string()
    ),
    "dictionary of text": lambda values: pa.array(
        [None if x is None else repr(x) for x in values]
    ).dictionary_encode(),
}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("write", [pq.write_table, one_batch])
def test_cells_of_every_type_are_the_numbers_that_they_mean(
    kind: str, write: Any, tmp_path: Path
) -> None:
    values = [round(x, 3) for x in TABLE["age"].to_pylist()]
    values[3::7] = [None] * len(values[3::7])
    plain = TABLE.set_column(1, "age", pa.array(values, pa.float64()))
    write(TABLE.set_column(1, "age", CELLS[kind](values)), tmp_path / "log.parquet")
    if write is one_batch:
        (tmp_path / "log.parquet").rename(tmp_path / "log.arrow")
    assert collected(work_on(list(tmp_path.iterdir()))) == sum_of(plain)


def test_small_numbers_and_truths_are_numbers(tmp_path: Path) -> None:
    ages = [i % 70 for i in range(5000)]
    for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.bool_()):
        column = pa.array(np.array(ages).astype(kind.to_pandas_dtype()), kind)
        table = TABLE.set_column(1, "age", column)
        one_batch(table, tmp_path / "log.arrow")
        expected = TABLE.set_column(1, "age", pa.array([float(x) for x in column.to_pylist()]))
        assert collected(work_on([tmp_path / "log.arrow"])) == sum_of(expected)


def test_a_row_with_a_gap_counts_and_adds_nothing(log: Path, tmp_path: Path) -> None:
    gaps = {name: TABLE[name].to_pylist() for name in TABLE.column_names}
    for i, name in enumerate(gaps):
        gaps[name][i::5] = [None] * len(gaps[name][i::5])
    WRITERS[log.name](pa.table(gaps), log)
    complete = TABLE.take(list(range(4, 5000, 5)))
    work = work_on([log])
    assert collected(work) == sum_of(complete)
    assert work.statistic.records == 5000


def test_a_column_that_is_empty_is_no_error(log: Path) -> None:
    WRITERS[log.name](TABLE.set_column(3, "reward", pa.nulls(5000)), log)
    work = work_on([log])
    assert not any(collected(work))
    assert work.statistic.records == 5000


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.arrow"])
def test_a_cell_that_is_no_text_changes_no_other_row_and_is_not_quoted(
    name: str, tmp_path: Path
) -> None:
    problem = Problem(
        Box([0.0], [100.0], ["dose"]), Categories(["a", "ä", "c"], "kind"), Matern(2.5, 0.5)
    )
    design = build_design(
        problem, horizon=5000, budget=BUDGET, rng=0, rank=8, tau=5.0, public_points=1000
    )
    columns = LogColumns.of(("dose", "kind"), "reward", None, {})
    rewards = [float(i % 2) for i in range(300)]
    cells = [("a", "ä", "c")[i % 3].encode() for i in range(300)]
    cells[7] = b"secret\xff\xfe"
    kinds = pa.Array.from_buffers(pa.string(), 300, pa.array(cells).buffers())
    table = pa.table({"dose": TABLE["dose"].slice(0, 300), "kind": kinds, "reward": rewards})
    path = tmp_path / name
    if name == "log.csv":
        rows = zip(table["dose"].to_pylist(), cells, rewards, strict=True)
        path.write_bytes(b"dose,kind,reward\n" + b"".join(b"%r,%b,%r\n" % row for row in rows))
    else:
        (one_batch if name == "log.arrow" else pq.write_table)(table, path)
    expected = design.statistic()
    for i, kind in enumerate(cells):
        text = None if i == 7 else kind.decode()
        expected.add({"dose": table["dose"][i].as_py()}, {"kind": text}, [rewards[i]])
    assert collected(work_on([path], design, columns)) == total(expected)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array([datetime.datetime(2024, 1, 1)] * 5000), "timestamp"),
        (pa.array([datetime.date(2024, 1, 1)] * 5000), "date32"),
        (pa.array([datetime.timedelta(1)] * 5000), "duration"),
        (pa.array([[1.0]] * 5000), "list"),
        (pa.array([{"a": 1.0}] * 5000), "struct"),
        (pa.array([b"1"] * 5000), "binary"),
        (pa.array([datetime.date(2024, 1, 1)] * 5000).dictionary_encode(), "d"),
    ],
)
def test_times_and_nested_columns_are_refused_by_name(
    column: pa.Array, says: str, tmp_path: Path
) -> None:
    pq.write_table(TABLE.set_column(1, "age", column), tmp_path / "log.parquet")
    with pytest.raises(
        InputError, match=rf"'age' of \S*log.parquet holds {says}.*convert it first"
    ):
        work_on([tmp_path / "log.parquet"])
    pq.write_table(TABLE.append_column("seen", column), tmp_path / "log.parquet")
    assert collected(work_on([tmp_path / "log.parquet"])) == sum_of(TABLE)


def test_users_may_be_bytes_and_the_sum_is_per_user(tmp_path: Path) -> None:
    design = user_design(horizon=5000, tau=5.0)
    ids = [bytes([65 + i % 50, 255, 65 + i % 3]) for i in range(5000)]
    expected = design.statistic().add(TABLE, TABLE, TABLE["reward"], users=[str(x) for x in ids])
    for kind in (pa.binary(), pa.binary(3)):
        pq.write_table(TABLE.append_column("who", pa.array(ids, kind)), tmp_path / "log.parquet")
        columns = LogColumns.of(NAMES, "reward", "who", {})
        assert collected(work_on([tmp_path / "log.parquet"], design, columns)) == total(expected)


# -- names ----------------------------------------------------------------------------------------


def test_columns_may_have_other_names_in_the_files(log: Path) -> None:
    called = {"dose": "amount", "reward": "outcome"}
    WRITERS[log.name](TABLE.rename_columns(["amount", "age", "weight", "outcome"]), log)
    columns = LogColumns.of(NAMES, "reward", None, called)
    assert collected(work_on([log], columns=columns)) == sum_of(TABLE)
    with pytest.raises(InputError, match="has no column 'dose'"):
        work_on([log])


def test_swapped_columns_give_another_sum(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    columns = LogColumns.of(NAMES, "reward", None, {"age": "weight", "weight": "age"})
    assert collected(work_on([tmp_path / "log.parquet"], columns=columns)) != sum_of(TABLE)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE.append_column("age", TABLE["weight"]), tmp_path / "log.parquet")
    with pytest.raises(InputError, match="2 columns 'age'"):
        work_on([tmp_path / "log.parquet"])


def test_the_first_row_of_a_csv_without_names_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("12.5,secret,70,1\n" * 3)
    with pytest.raises(InputError, match="no column 'dose' in its first line") as error:
        work_on([tmp_path / "log.csv"])
    assert "secret" not in str(error.value)


def test_a_cell_may_hold_a_line_break(tmp_path: Path) -> None:
    notes = pa.array(['two\nlines, "quoted"'] * 5000)
    pa.csv.write_csv(TABLE.append_column("note", notes), tmp_path / "log.csv")
    assert collected(work_on([tmp_path / "log.csv"])) == sum_of(TABLE)


# -- files that are damaged, or change ------------------------------------------------------------


def test_a_damaged_file_is_named_and_counts_with_none_of_its_rows(tmp_path: Path) -> None:
    good = tmp_path / "a.parquet"
    bad = tmp_path / "b.parquet"
    pq.write_table(TABLE, good)
    pq.write_table(TABLE, bad, row_group_size=1000, write_page_checksum=True)
    damage(bad, at=0.7)
    work = work_on([good, bad])
    with pytest.raises(InputError, match=r"b.parquet cannot be read") as error:
        collected(work)
    assert "\n" not in str(error.value)
    assert total(work.statistic) == sum_of(TABLE)
    assert work.counted == 5000
    assert not work.parts


@pytest.mark.parametrize("size", [0, 10, 1990])
def test_a_file_that_is_cut_off_is_named(log: Path, size: int) -> None:
    log.write_bytes(log.read_bytes()[:size])
    with pytest.raises(InputError, match=log.name):
        collected(work_on([log]))


@pytest.mark.parametrize(
    "name", ["groups-of-1700.parquet", "rows.csv", "packed.feather", "plain.feather"]
)
def test_random_damage_is_one_sentence_or_nothing(name: str, tmp_path: Path) -> None:
    """Never another error, which would quote cells, and never a crash."""
    kinds = pa.array([f"kind-{i % 7}" for i in range(2000)])
    table = TABLE.slice(0, 2000).set_column(
        1, "age", kinds.dictionary_encode() if "csv" not in name else kinds
    )
    table = table.set_column(2, "weight", pa.array([str(i) for i in range(2000)]))
    path = tmp_path / name
    WRITERS[name](table, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(60):
        content = bytearray(whole)
        for at in rng.integers(len(content), size=rng.integers(1, 10)):
            content[at] = rng.integers(256)
        path.write_bytes(content)
        sentence = read_or_refuse(path)
        assert not sentence or path.name in sentence
        assert "kind-" not in sentence
        seen += bool(sentence)
    assert seen > 5


def read_or_refuse(path: Path) -> str:
    try:
        for piece in pieces(str(path), COLUMNS, 0, LogFile.at(path, COLUMNS).rows):
            piece.to_pylist()
    except InputError as error:
        return str(error)
    return ""


def test_a_file_that_grows_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    pa.csv.write_csv(TABLE, path)
    work = work_on([path])
    counted: Iterator[Any] = count(DESIGN.statistic(), COLUMNS, next(iter(work.todo())))
    with pytest.raises(InputError, match="changed while it was read"):  # noqa: PT012
        for piece, statistic in counted:
            touch(path)
            with work.whole(piece.file):
                work.take(piece, statistic)
    assert work.counted == 0


def test_a_file_that_shrank_is_noticed(tmp_path: Path) -> None:
    pa.csv.write_csv(TABLE, tmp_path / "log.csv")
    work = work_on([tmp_path / "log.csv"])
    pa.csv.write_csv(TABLE.slice(0, 4990), tmp_path / "log.csv")
    with pytest.raises(InputError, match=r"log.csv ends 10 rows too early"):
        collected(work)
    assert work.counted == 0


def test_more_rows_than_were_planned_for_are_refused_before_any_is_read(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    with pytest.raises(InputError, match="5000 rows, more than the 4999"):
        work_on([tmp_path / "log.parquet"], small_design(horizon=4999))


# -- memory ---------------------------------------------------------------------------------------

PEAK = """
import sys
sys.path.insert(0, sys.argv[1])
{work}
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(line.split()[1]) // 1024)
"""
STREAM = """
from pathlib import Path
from helpers import small_design
from log_data import collected, work_on
work = work_on([Path(sys.argv[2])], small_design(horizon=10**6))
collected(work)
assert work.statistic.records == 50_000
"""
SWALLOW = "import tacit.logs, pyarrow.parquet; table = pyarrow.parquet.read_table(sys.argv[2])"


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """300 MB in one row group: streamed in well under 1 GiB, and in less than it takes to read it
    as a whole."""
    path = tmp_path / "log.parquet"
    table = log_table(50_000)
    for i in range(760):
        table = table.append_column(f"other{i}", table["age"])
    pq.write_table(table, path, row_group_size=50_000, use_dictionary=False, compression="none")
    assert path.stat().st_size > 300e6
    del table
    peaks = {}
    for name, work in (("stream", STREAM), ("swallow", SWALLOW)):
        command = [
            sys.executable,
            "-c",
            PEAK.format(work=work),
            str(TESTS),
            str(path),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        peaks[name] = int(done.stdout)
    assert peaks["stream"] < 400 < peaks["swallow"]
