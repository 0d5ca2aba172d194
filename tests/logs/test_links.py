"""A file by another name is the same file: the same ledger, budget and checkpoint."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from helpers import PROBLEM, records, small_design
from log_data import COLUMNS, log_table
from tacit import Budget, BudgetError, InputError, Ledger
from tacit.cli import app
from tacit.logs import LogFile, forget, load_partial, save_partial

pytestmark = pytest.mark.usefixtures("coarse_fits")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    pq.write_table(log_table(300), tmp_path / "log.parquet")
    return tmp_path


def fit(study: Path, log: Path, out: str, *options: object) -> np.ndarray:
    """The policy's weights, or the error that the fit ended with."""
    command = [
        "fit",
        study / "problem.toml",
        log,
        "--out",
        study / out,
        "--rank",
        8,
        "--passes",
        1,
        *options,
    ]
    done = CliRunner().invoke(app, list(map(str, command)))
    if done.exception is not None:
        raise done.exception
    with np.load(study / out / "policy.npz") as arrays:
        return np.asarray(arrays["weights"])


def test_a_symbolic_link_to_a_log_has_the_logs_own_ledger(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The released policy comes back, free of charge, and a second budget does not."""
    (study / "elsewhere").mkdir()
    link = study / "elsewhere" / "link.parquet"
    link.symlink_to(study / "log.parquet")
    folder = study / "folder"
    folder.symlink_to(study, target_is_directory=True)
    monkeypatch.chdir(study / "elsewhere")
    released = fit(study, study / "log.parquet", "a")
    for log in (
        link,
        folder / "log.parquet",
        folder / "elsewhere" / "link.parquet",
        Path("link.parquet"),
    ):
        assert np.array_equal(fit(study, log, "b"), released)
    ledgers = {path.resolve() for path in study.glob("**/*.ledger.db")}
    assert ledgers == {study.resolve() / "log.parquet.ledger.db"}
    assert len(Ledger.open(f"sqlite:///{study}/log.parquet.ledger.db").charges()) == 1
    with pytest.raises(BudgetError, match="does not cover this: spent epsilon"):
        fit(study, link, "c", "--epsilon", 0.5)


def test_a_ledger_beside_a_link_is_not_forgotten(study: Path) -> None:
    """Earlier versions kept one there: what was spent in it was spent on the same people."""
    link = study / "link.parquet"
    link.symlink_to(study / "log.parquet")
    Ledger.create(f"sqlite:///{link}.ledger.db", Budget(epsilon=1.0, delta=1e-6))
    with pytest.raises(InputError, match="a ledger beside the link"):
        fit(study, link, "a")
    assert not (study / "log.parquet.ledger.db").exists()
    fit(study, link, "a", "--ledger", f"sqlite:///{link}.ledger.db")


def test_a_log_is_the_same_by_any_name(study: Path) -> None:
    link = study / "link.parquet"
    link.symlink_to(study / "log.parquet")
    assert LogFile.at(link, COLUMNS) == LogFile.at(study / "log.parquet", COLUMNS)


def test_a_fit_goes_on_by_another_name_of_the_log(study: Path) -> None:
    kept = ("--checkpoint", study / "kept", "--ledger", f"sqlite:///{study}/ledger.db")
    link = study / "link.parquet"
    link.symlink_to(study / "log.parquet")
    command = [
        "fit",
        study / "problem.toml",
        study / "log.parquet",
        "--out",
        study / "a",
        "--rank",
        8,
        "--passes",
        1,
    ]
    done = CliRunner().invoke(app, list(map(str, [*command, *kept, "--collect-only"])))
    assert done.exit_code == 0, done.output
    fit(study, link, "a", *kept)
    assert not (study / "kept").exists()


def test_a_ledger_opened_through_a_link_is_the_same_ledger(tmp_path: Path) -> None:
    """Also while both are open: SQLite keeps its journal beside the file, not beside the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "study.db"
    link.symlink_to(tmp_path / "real" / "ledger.db")
    urls = [f"sqlite:///{path}" for path in (link, tmp_path / "real" / "ledger.db")]
    ledgers = [Ledger.at(url, Budget(epsilon=3.0, delta=1e-6)) for url in urls]
    design = small_design()
    with closing(sqlite3.connect(link)) as held:
        held.execute("select count(*) from sqlite_master").fetchone()
        for i in range(2):
            design.statistic().add(*records(20, i)).release(ledger=ledgers[i % 2])
        assert [path.name for path in (tmp_path / "links").iterdir()] == ["study.db"]
    assert [len(ledger.charges()) for ledger in ledgers] == [2, 2]
    assert ledgers[0].remaining == ledgers[1].remaining
    assert link.is_symlink()


def test_a_checkpoint_through_a_link_leaves_no_old_sum_behind(tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    link = tmp_path / "link"
    file = tmp_path / "safe" / "kept"
    link.symlink_to(file)
    design = small_design()
    for rows in (20, 30):
        save_partial(design.statistic().add(*records(rows)), link, {})
        assert link.is_symlink()
        assert load_partial(design, file).statistic.records == rows
    forget(link)
    assert not file.exists()
    assert not link.is_symlink()
