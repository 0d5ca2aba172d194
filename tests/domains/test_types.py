"""Columns whose type cannot hold what a problem declares are refused before anything is charged, by
the schema alone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, build_design, sqlite
from tacit import Box, Categories, InputError, Mixed, Problem
from tacit.cli import app
from tacit.contexts import release_marginals
from tacit.domains import Declared, record_points
from tacit.domains.schema import kind_of_column

pytestmark = pytest.mark.usefixtures("coarse_fits")

ROWS = 40
GENES = ["G/G", "A/G"]
PROBLEM = Problem(Box.of(dose=(0, 100)), Mixed.of(age=(18, 95), gene=GENES))
DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12)
LOG: dict[str, list[Any]] = {
    "dose": [float(i) for i in range(ROWS)],
    "age": [20 + i for i in range(ROWS)],
    "gene": [GENES[i % 2] for i in range(ROWS)],
    "reward": [0.5] * ROWS,
}


def column(kind: pa.DataType, cell: Any) -> pa.Array:
    return pa.array([cell] * ROWS, kind)


# Columns that hold no numbers, and what they are called in the sentence that refuses them.
TYPED: dict[str, tuple[Any, str]] = {
    "NumPy text": (np.array(["30"] * ROWS), "text"),
    "NumPy bytes": (np.array([b"30"] * ROWS), "bytes"),
    "NumPy times": (np.array(["2024-01-01"] * ROWS, "M8[D]"), "times"),
    "pandas string": (pd.Series(["30"] * ROWS, dtype="string"), "text"),
    "pandas category": (pd.Series(["30"] * ROWS, dtype="category"), "labels"),
    "pandas times": (pd.Series([NOON] * ROWS), "times"),
    "polars String": (pl.Series(["30"] * ROWS), "text"),
    "polars Categorical": (pl.Series(["30"] * ROWS, dtype=pl.Categorical), "labels"),
    "polars Enum": (pl.Series(["30"] * ROWS, dtype=pl.Enum(["30"])), "labels"),
    "polars Date": (pl.Series([DAY] * ROWS), "times"),
    "polars List": (pl.Series([[30.0]] * ROWS), "lists"),
    "polars Binary": (pl.Series([b"30"] * ROWS), "bytes"),
    "Arrow string": (column(pa.string(), "30"), "text"),
    "Arrow dictionary": (column(pa.string(), "30").dictionary_encode(), "labels"),
    "Arrow timestamp": (column(pa.timestamp("us"), NOON), "times"),
    "Arrow struct": (column(pa.struct([("a", pa.int8())]), {"a": 3}), "lists"),
    "Arrow fixed bytes": (column(pa.binary(2), b"30"), "bytes"),
}
# Columns that may hold numbers, by their type.
UNTYPED: dict[str, Any] = {
    "list": ["30"] * ROWS,
    "objects": np.array(["30"] * ROWS, dtype=object),
    "pandas objects": pd.Series(["30"] * ROWS, dtype=object),
    "truth values": np.array([True] * ROWS),
    "pandas numbers with gaps": pd.Series([30, None] * (ROWS // 2), dtype="Int64"),
    "pandas categories of numbers": pd.Series([30] * ROWS, dtype="category"),
    "Arrow dictionary of numbers": column(pa.int64(), 30).dictionary_encode(),
    "Arrow nulls": pa.nulls(ROWS),
    "polars nulls": pl.Series([None] * ROWS),
}


def fit(data: Any, url: str, **given: Any) -> tacit.Policy:
    options = tacit.DesignOptions(rank=5, tau=10.0, public_points=200)
    common: dict[str, Any] = {"play": "uniform", "budget": BUDGET, "passes": 1, "options": options}
    return tacit.fit(PROBLEM, data, ledger=url, **common | given)


def assert_nothing_happened(url: str) -> None:
    assert not Path(url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("where", ["dose", "age", "reward"])
def test_a_column_of_a_type_without_numbers_is_refused_by_name(
    name: str, where: str, tmp_path: Path
) -> None:
    typed, kind = TYPED[name]
    url = sqlite(tmp_path)
    says = f"column '{where}' of the data holds {kind}, where numbers are expected: convert it"
    with pytest.raises(InputError, match=says) as caught:
        fit(LOG | {where: typed}, url)
    assert "\n" not in str(caught.value)
    assert_nothing_happened(url)


@pytest.mark.parametrize("name", UNTYPED)
def test_a_column_that_may_hold_numbers_is_never_refused(name: str) -> None:
    log = LOG | {"age": UNTYPED[name], "reward": UNTYPED[name], "dose": UNTYPED[name]}
    assert kind_of_column(UNTYPED[name]) in ("anything", "numbers", "truth values")
    assert record_points(PROBLEM.contexts, log, "contexts").shape == (ROWS, 2)
    assert small_statistic().add(log, log, log["reward"]).records == ROWS


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda log: pd.DataFrame(log).astype({"age": "string"}),
    "polars": lambda log: pl.DataFrame(log),
    "Arrow": lambda log: pa.table(log),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_refused_by_its_own_name_of_the_column(kind: str, tmp_path: Path) -> None:
    frame = FRAMES[kind](LOG | {"age": ["30"] * ROWS})
    url = sqlite(tmp_path)
    with pytest.raises(InputError, match="column 'age' of the data holds text, where numbers are"):
        fit(frame, url)
    renamed = FRAMES[kind](LOG | {"age": ["30"] * ROWS})
    if kind == "Arrow":
        renamed = renamed.rename_columns(["dose", "years", "gene", "reward"])
    elif kind == "pandas":
        renamed = renamed.rename(columns={"age": "years"})
    else:
        renamed = renamed.rename({"age": "years"})
    with pytest.raises(InputError, match="column 'years' of the data holds text"):
        fit(renamed, url, run=tacit.RunOptions(columns={"age": "years"}))
    assert_nothing_happened(url)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_are_refused_by_their_schema_in_python_and_at_the_command_line(
    suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"log.{suffix}"
    table = pa.table(LOG | {"age": ["30"] * ROWS})
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path)
    url = sqlite(tmp_path)
    says = r"column 'age' of \S*log\.\w+ holds text, where numbers are expected: convert it first"
    with pytest.raises(InputError, match=says):
        fit(path, url)
    problem = tmp_path / "problem.toml"
    problem.write_text(
        '[actions]\ntype = "box"\nlow = [0]\nhigh = [100]\nnames = ["dose"]\n'
        '[contexts]\ntype = "box"\nlow = [18]\nhigh = [95]\nnames = ["age"]\n'
        "[budget]\nepsilon = 1.0\ndelta = 1e-6\n"
    )
    arguments = ["fit", problem, path, "--out", tmp_path / "policy", "--ledger", url]
    arguments += ["--play", "uniform"]
    answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(answer.exception, InputError)
    assert re.search(says, str(answer.exception))
    assert_nothing_happened(url)
    assert not (tmp_path / "policy").exists()


def test_a_csv_has_no_types_and_its_text_spells_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame(LOG).to_csv(path, index=False)
    from_file = fit(path, sqlite(tmp_path, "a.db"))
    from_table = fit(LOG, sqlite(tmp_path, "b.db"))
    assert from_file.releases[0].released.records == from_table.releases[0].released.records == ROWS


@pytest.mark.parametrize(
    ("genes", "refused"),
    [
        (np.array(GENES * (ROWS // 2)), False),
        (pd.Series(GENES * (ROWS // 2), dtype="category"), False),
        (pl.Series(GENES * (ROWS // 2), dtype=pl.Enum(GENES)), False),
        (pl.Series([DAY] * ROWS), False),  # a date is looked up by what it prints
        (np.arange(ROWS), True),
        (np.array([True] * ROWS), True),
        (pl.Series([["G/G"]] * ROWS), True),
    ],
)
def test_labels_take_every_type_in_which_one_can_occur(genes: Any, refused: bool) -> None:
    log = LOG | {"gene": genes}
    if not refused:
        assert record_points(PROBLEM.contexts, log, "contexts").shape == (ROWS, 2)
        return
    with pytest.raises(InputError, match=r"'gene' of contexts holds .*none of the declared levels"):
        record_points(PROBLEM.contexts, log, "contexts")


# -- the statistic --------------------------------------------------------------------------------


def small_statistic() -> tacit.Statistic:
    return build_design(
        PROBLEM, horizon=4 * ROWS, budget=BUDGET, rank=5, tau=10.0, public_points=200, rng=0
    ).statistic()


@pytest.mark.parametrize("where", ["dose", "age", "reward"])
def test_a_statistic_refuses_a_table_before_it_counts_its_rows(where: str) -> None:
    statistic = small_statistic()
    log = pa.table(LOG | {where: column(pa.string(), "30")})
    with pytest.raises(InputError, match=f"column '{where}' of .* holds text, where numbers are"):
        statistic.add(log, log, log["reward"])
    assert statistic.records == 0


def test_contexts_are_not_learned_from_columns_of_another_type(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    with pytest.raises(InputError, match="column 'age' of the contexts holds text"):
        release_marginals(
            pl.DataFrame(LOG | {"age": ["30"] * ROWS}), PROBLEM.contexts, budget=BUDGET, ledger=url
        )
    assert_nothing_happened(url)


def test_one_dtype_for_all_columns_is_refused_where_no_column_takes_it() -> None:
    text = np.array([["30", "G/G"], ["40", "A/G"]])
    assert np.isfinite(record_points(PROBLEM.contexts, text, "contexts")).all()
    with pytest.raises(InputError, match="column 'age' of contexts holds text"):
        record_points(Box.of(age=(18, 95)), text[:, :1], "contexts")


def test_a_domain_of_somebodys_own_may_read_any_type() -> None:
    class Years(Box):
        """Reads dates."""

    years = Years([0.0], [1.0], ["age"])
    log = {"age": pl.Series([DAY] * 3)}
    assert record_points(years, log, "contexts").shape == (3, 1)
    with pytest.raises(InputError, match="holds times"):
        record_points(Box([0.0], [1.0], ["age"]), log, "contexts")


def test_a_single_record_has_no_types() -> None:
    for cell in ("30", "int64", b"30", DAY, [30.0], np.datetime64("2024-01-01"), np.str_("30")):
        record = {"age": cell, "gene": "G/G"}
        assert record_points(PROBLEM.contexts, record, "the context", single=True).shape == (1, 2)
        assert record_points(PROBLEM.contexts, record, "the context").shape == (1, 2)


# -- only the schema decides ----------------------------------------------------------------------

texts = st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["30", "G/G", "nan", "int64"]))
anything = st.one_of(texts, st.integers(), st.floats(), st.binary(max_size=3), st.just(DAY))


def outcome(data: Any) -> str:
    try:
        record_points(PROBLEM.contexts, data, "contexts")
    except InputError as error:
        return str(error)
    return "taken"


@settings(max_examples=15)
@given(st.lists(texts, min_size=2, max_size=2), st.lists(texts, min_size=2, max_size=2))
def test_whatever_the_cells_one_schema_has_one_outcome(ages: list[Any], genes: list[Any]) -> None:
    """Text for a box is refused, and text for labels taken, whatever it spells."""
    strings = pa.schema([("age", pa.string()), ("gene", pa.string())])
    says = {
        outcome(pa.table({"age": ages, "gene": genes}, strings)),
        outcome(pl.DataFrame({"age": ages, "gene": genes}, {"age": pl.String, "gene": pl.String})),
        outcome(pd.DataFrame({"age": ages, "gene": genes}, dtype="string")),
    }
    assert says == {
        "column 'age' of contexts holds text, where numbers are expected: convert it first, or "
        "declare its levels."
    }
    numbers = pa.schema([("age", pa.float64()), ("gene", pa.string())])
    assert outcome(pa.table({"age": [30.0, None], "gene": genes}, numbers)) == "taken"


@settings(max_examples=15)
@given(st.lists(anything, min_size=2, max_size=2), st.lists(anything, min_size=2, max_size=2))
def test_columns_without_a_type_are_taken_whatever_they_hold(
    ages: list[Any], genes: list[Any]
) -> None:
    cells = {"age": ages, "gene": genes}
    objects = {name: np.fromiter(column, dtype=object) for name, column in cells.items()}
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    for data in (cells, objects, pd.DataFrame(objects, dtype=object), rows):
        assert outcome(data) == "taken"


def test_a_declaration_says_the_same_of_bytes() -> None:
    with pytest.raises(InputError, match="column 'age' holds bytes and cannot have a range"):
        Declared.of(pa.schema([("age", pa.binary())]), {"age": (0, 1)}, None)
    codes = Declared.of(pa.schema([("age", pa.binary())]), None, {"age": Categories(["a", "b"])})
    assert list(codes.columns) == ["age"]
