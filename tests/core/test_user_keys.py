"""One person, one id: whatever may be two spellings of one id is one user, wherever ids come in."""

from __future__ import annotations

import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from helpers import PROBLEM, small_problem, sqlite, user_design, user_study
from log_data import NAMES, collected, total, work_on
from tacit import Study
from tacit.cli import app
from tacit.core.saved import packed
from tacit.core.sums import UserSum
from tacit.core.users import user_key
from tacit.logs import LogColumns, dump, load, load_design, load_partial, read_problem
from tacit.progress import silent

DESIGN = user_design()
SENSITIVITY = DESIGN.encoding.sensitivity


class Named(str):
    """Text of somebody's own type."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("secret")


class Nameless:
    def __str__(self) -> str:
        raise RuntimeError("secret")


# Each list is one person.
PEOPLE: dict[str, list[Any]] = {
    "7": [
        7,
        7.0,
        "7",
        "7.0",
        " 7 ",
        "+7",
        "07",
        "7e0",
        "\uff17",
        "\u0667",
        "7\u200b",
        "\ufeff7",
        "7\0",
        "7\n",
        b"7",
        b"7\0\0\0",
        bytearray(b"7"),
        memoryview(b"7"),
        np.bytes_(b"7"),
        np.void(b"7\0"),
        Named("7"),
        np.int8(7),
        np.uint64(7),
        np.float32(7),
        np.float64(7),
        np.longdouble(7),
        np.complex64(7),
        7 + 0j,
        Decimal(7),
        Decimal("7.00"),
        Fraction(7),
        [7],
        (b"7",),
        [[7]],
        np.array(7),
        np.array([["7"]]),
        pa.scalar(7),
        pa.scalar(b"7"),
        pa.scalar("7"),
    ],
    "true": [True, 1, "1", np.True_, "true", "TRUE", b"True", pa.scalar(True), [True]],
    "false": [
        False,
        0,
        "0",
        "-0",
        -0.0,
        "-0.0",
        np.float32(-0.0),
        Decimal("-0"),
        "+0",
        b"-0",
        np.False_,
        "False",
        "-0e5",
    ],
    "no one": [
        None,
        float("nan"),
        np.nan,
        np.float32("nan"),
        Decimal("nan"),
        complex("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "ns"),
        np.ma.masked,
        pa.scalar(None),
        "",
        " ",
        "\t",
        "\u200b",
        b"",
        b"\0\0",
        "none",
        "None",
        "NULL",
        "nan",
        "-NaN",
        "<NA>",
        "NaT",
        "NA",
        "N/A",
        "#N/A",
        [],
        (),
        [None],
        np.array([]),
        Nameless(),
    ],
    "accents": [
        "Zo\u00eb",
        "Zoe\u0308",
        "ZO\u00cb",
        " zo\u00eb",
        "Zo\u00eb\u200d",
        "Zoe\u034f\u0308",
        "\uff3ao\u00eb",
        "Zo\u00eb\ufe0f",
        "zo\u00ad\u00eb",
        "Zo\u00eb".encode(),
        "Zo\u00eb".encode() + b"\0\0",
    ],
    "spaces": [
        *(f"ann{space}lee" for space in (" ", "\u00a0", "\t", "\u3000")),
        *("Ann  Lee", " Ann\r\nLee ", b"Ann Lee\0"),
    ],
    "fillers": [
        "ab",
        *(f"a{filler}b" for filler in "\u3164\u115f\uffa0\U000e0062\U000e0fff\u2065"),
    ],
    "order of accents": [
        "\u1fb4",
        "\u03b1\u0301\u0345",
        "\u03b1\u0345\u0301",
        "\u03b1\u0345\u034f\u0301",
        "\u03b1\u0345\0\u0301",
    ],
    "sharp": ["stra\u00dfe", "STRASSE", "Stra\u1e9ee"],
    "odd bytes": [b"a\xff", "a\\xff", "a\udcff", b"A\xff\0"],
    "infinite": [
        "inf",
        float("inf"),
        "Infinity",
        10**400,
        "1e999",
        Decimal("1e400"),
        Fraction(10**400),
    ],
    "large": [2**53, 2.0**53, "9007199254740992", np.int64(2**53), "9007199254740993"],
    "uuid": [uuid.UUID(int=10), str(uuid.UUID(int=10)), str(uuid.UUID(int=10)).upper()],
}
ANYTHING = st.one_of(
    st.text(),
    st.text(st.characters()),  # lone surrogates too
    st.binary(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.booleans(),
    st.none(),
    st.lists(st.one_of(st.text(), st.integers(), st.none()), max_size=2),
    st.tuples(st.binary()),
    st.sampled_from([spelling for spellings in PEOPLE.values() for spelling in spellings]),
)


@pytest.mark.parametrize("person", PEOPLE)
def test_every_spelling_of_an_id_is_one_user(person: str) -> None:
    keys = [user_key(spelling) for spelling in PEOPLE[person]]
    assert keys == [keys[0]] * len(keys)


def test_different_people_have_different_names() -> None:
    assert len({user_key(spellings[0]) for spellings in PEOPLE.values()}) == len(PEOPLE)
    others = [
        "zoe",
        "ann",
        "annlee",
        7.5,
        "7a",
        "x7",
        (1, 2),
        (1, 3),
        uuid.UUID(int=11),
        "a b",
        pd.Timestamp("2024"),
    ]
    assert len({user_key(other) for other in others}) == len(others)


def assert_a_name(user: Any) -> None:
    key = user_key(user)
    assert type(key) is str
    assert user_key(key) == key
    assert user_key(key.encode()) == key
    assert user_key([user]) == key
    assert "\0" not in key
    assert key == key.strip()
    key.encode()  # a lone surrogate would raise


@given(user=ANYTHING)
@example(user="\u1e9e\u0345\u0301")
@example(user="\u0345\u0301\u03b1")
@example(user="\u3164\u0301")
def test_a_name_is_its_own_name_and_fits_into_any_database(user: Any) -> None:
    """Rounds are stored under it, and it is applied again when they are read."""
    assert_a_name(user)


def test_that_holds_for_every_character_of_unicode() -> None:
    """Of those that are assigned: planes 0 to 3, and the invisible ones of plane 14."""
    for start in [*range(0, 0x33480, 64), *range(0xE0000, 0xE1000, 64)]:
        assert_a_name("".join(chr(start + i) for i in range(66)))  # two of the next, for neighbours


@given(
    user=st.text(),
    other=st.sampled_from(["\u200b", "\u034f", "\0", "\ufe0f", "\u00ad", "\U000e0100"]),
    at=st.integers(0, 99),
)
def test_what_cannot_be_seen_makes_no_other_person(user: str, other: str, at: int) -> None:
    at = min(at, len(user))
    assert user_key(user[:at] + other + user[at:]) == user_key(user)


@given(
    number=st.floats(allow_nan=False),
    written=st.sampled_from(["{!r}", " {!r}", "{:.17g}", "{:E}", "{:.20e}"]),
)
def test_numbers_are_compared_by_value(number: float, written: str) -> None:
    text = written.format(number)
    assert (
        user_key(text)
        == user_key(float(text))
        == user_key(np.float64(text))
        == user_key(text.encode())
    )
    assert user_key(-0.0 + number) == user_key(Decimal(number)) == user_key(complex(number))


# -- what it is for: the sum ----------------------------------------------------------------------


def table_of(rows: int, reward: float) -> pa.Table:
    """Always the same round: what adds up the fastest."""
    return pa.table(
        {
            "dose": [50.0] * rows,
            "age": [60.0] * rows,
            "weight": [70.0] * rows,
            "reward": [reward] * rows,
        }
    )


def moved2(one: list[int], other: list[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def assert_bounded(sums: list[list[int]]) -> None:
    """Within the sensitivity, and most of it: two users' worth would be twice as far."""
    moved = moved2(*sums)
    assert (0.8 * SENSITIVITY) ** 2 < moved <= SENSITIVITY**2


def sums_of(users: list[Any]) -> list[list[int]]:
    """One user's rounds, a few under each name, with all rewards of one sign, then of the other."""
    sums = []
    for y in (-1.0, 1.0):
        statistic = DESIGN.statistic()
        for user in users * 3:
            statistic.add_points(np.array([[0.5, 0.5, 0.3]]), np.array([y]), [user])
        sums.append(total(statistic))
    return sums


@pytest.mark.parametrize("person", PEOPLE)
def test_one_person_under_all_spellings_moves_the_sum_by_at_most_the_sensitivity(
    person: str,
) -> None:
    assert_bounded(sums_of(PEOPLE[person]))


def test_names_that_are_plain_text_would_break_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.core.sums.user_key", str)
    for person in PEOPLE.keys() - {"no one"}:
        with pytest.raises((AssertionError, RuntimeError)):
            assert_bounded(sums_of(PEOPLE[person]))


@pytest.mark.parametrize(
    "users",
    [
        [b"7", "7", 7, 7.0] * 5,
        np.array([b"7", b"7\0"] * 10),
        pd.Series(["7", " 7", "+7", "7.0"] * 5),
        pl.Series([b"7", b"7\0"] * 10),
        pa.array([b"7\0\0", b"7  "] * 10, pa.binary(3)),
        pa.chunked_array([pa.array(["7"] * 10), pa.array(["07"] * 10)]),
    ],
)
def test_columns_of_any_kind_name_the_same_person(users: Any) -> None:
    sums = []
    for reward in (0.0, 1.0):
        table = table_of(20, reward)
        statistic = DESIGN.statistic().add(table, table, table["reward"], users=users)
        statistic.add(table, table, table["reward"], users=[7] * 20)
        assert isinstance(statistic._sum, UserSum)
        assert list(statistic._sum._index) == ["7.0"]
        sums.append(total(statistic))
    assert_bounded(sums)


def write_spellings(folder: Path, reward: float, rows: int = 20) -> list[Path]:
    """One person in three files: bytes of a fixed width, text, and numbers in CSV."""
    table = table_of(rows, reward)
    paths = [folder / name for name in ("bytes.parquet", "text.parquet", "numbers.csv")]
    fixed = pa.array([b"7\0\0\0"] * rows, pa.binary(4))
    pq.write_table(table.append_column("who", fixed), paths[0])
    pq.write_table(
        table.append_column("who", pa.array(["7", " 7.0\u200b"] * (rows // 2))), paths[1]
    )
    pa.csv.write_csv(table.append_column("who", pa.array([7, 7] * (rows // 2))), paths[2])
    return paths


def test_one_person_in_files_of_several_types_is_one_user(tmp_path: Path) -> None:
    columns = LogColumns.of(NAMES, "reward", "who", {})
    assert_bounded(
        [collected(work_on(write_spellings(tmp_path, r), DESIGN, columns)) for r in (0.0, 1.0)]
    )


def test_tacit_fit_takes_them_for_one(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    sums = []
    for reward in (0.0, 1.0):
        kept = tmp_path / f"kept-{reward}"
        arguments = [
            tmp_path / "problem.toml",
            *write_spellings(tmp_path, reward),
            "--out",
            tmp_path / "policy",
        ]
        arguments += ["--user", "who", "--rank", "8", "--collect-only", "--checkpoint", kept]
        done = CliRunner().invoke(app, ["fit", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        design = load_design(read_problem(tmp_path / "problem.toml").problem, kept)
        sums.append(total(load_partial(design, kept).statistic))
    assert 0 < moved2(*sums) <= design.encoding.sensitivity**2
    assert moved2(*sums) > (0.8 * design.encoding.sensitivity) ** 2


def test_a_study_takes_them_for_one(tmp_path: Path) -> None:
    study = user_study(sqlite(tmp_path), small_problem(), horizon=500)
    spellings = [user for users in PEOPLE.values() for user in users]
    spellings = [user for user in spellings if not isinstance(user, list | tuple | np.ndarray)]
    asked = study.ask_many([[61, 74]] * len(spellings), users=spellings)
    study.tell_many([decision.id for decision in asked], [1.0] * len(asked))
    again = Study.open(sqlite(tmp_path))._statistic(len(asked), silent)._sum
    assert isinstance(again, UserSum)
    assert sorted(again._index) == sorted(user_key(users[0]) for users in PEOPLE.values())


def test_a_checkpoint_of_an_earlier_version_is_read_with_todays_names() -> None:
    """Users that it kept apart are one now: rows are added up, and the bound is that of one."""
    sums = []
    for reward in (0.0, 1.0):
        table = table_of(30, reward)
        users = ["seven", "Zoe", "zoe\u0308"] * 10
        arrays = dump(DESIGN.statistic().add(table, table, table["reward"], users=users))
        assert len(arrays["rows"]) == 3
        loaded = load(DESIGN, arrays | {"users": packed(["b'7'", "Zoe\u0308", "zo\u00eb"])})
        assert isinstance(loaded._sum, UserSum)
        assert list(loaded._sum._index) == ["b'7'", "zo\u00eb"]
        assert loaded._sum._rows[1].tolist() == (arrays["rows"][1] + arrays["rows"][2]).tolist()
        loaded = load(DESIGN, arrays | {"users": packed(["7", " 7", "7.0"])})
        sums.append(total(loaded))
    assert_bounded(sums)


def test_rows_that_could_overflow_together_are_no_checkpoint() -> None:
    table = table_of(30, 1.0)
    arrays = dump(DESIGN.statistic().add(table, table, table["reward"], users=["a", "b", "c"] * 10))
    large = np.full_like(arrays["rows"], 30 * DESIGN.encoding.bound)
    with pytest.raises(ValueError, match="not a sum"):
        load(DESIGN, arrays | {"rows": large})


def test_typeset_dashes_and_apostrophes_are_the_plain_ones() -> None:
    for dash in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\uff0d\u207b":
        assert user_key(f"a{dash}17") == "a-17"
        assert user_key(f"{dash}7") == user_key(-7)
    for quote in "\u2018\u2019\u02bc\uff07":
        assert user_key(f"O{quote}Neil") == "o'neil"
