"""People who are held out: a public split of a log, and a budget for each part of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, PROBLEM, small_design, small_problem, sqlite, user_design
from log_data import COLUMNS, NAMES, WRITERS, collected, log_table, total, work_on
from mutation import Mutant, failure_under
from tacit import BudgetError, Cohort, DesignOptions, InputError, Ledger, RunOptions, StateError
from tacit.cli import app, console
from tacit.core import Encoding, Part, PrivateSum
from tacit.core.parts import _hashes
from tacit.core.saved import dump_sum, load_sum
from tacit.core.sums import UserSum
from tacit.logs import FileFit, Job, LogColumns, learning_part, load_partial, require_layout
from tacit.logs.dumping import load
from tacit.logs.parts import open_accounts, table_layout
from tacit.logs.worker import count_span, shipped

pytestmark = pytest.mark.usefixtures("coarse_fits")

ROWS = 2600
KEY = "0123456789abcdef"
LEARN = Part("learn", 0.2, "record", KEY)
USERS = replace(LEARN, unit="user")
SHAPE = Encoding(size=3, horizon=1000)
OPTIONS = DesignOptions(rank=8, tau=10.0, public_points=1000)
BY_USER = LogColumns.of(NAMES, "reward", "who", {})


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1024 rows, so that a small log has several."""
    monkeypatch.setattr("tacit.logs.columns.MOST_ROWS", 1024)


def log(rows: int = ROWS) -> pa.Table:
    """With a column of 300 users, some of them nameless."""
    ids = [None if i % 97 == 0 else f"user {i % 300}" for i in range(rows)]
    return log_table(rows).append_column("who", pa.array(ids))


def files(folder: Path, rows: int = ROWS) -> list[Path]:
    """The log in two files of 1500 rows and the rest."""
    paths = [folder / "a.parquet", folder / "b.parquet"]
    pq.write_table(log(rows).slice(0, 1500), paths[0], row_group_size=400)
    pq.write_table(log(rows).slice(1500), paths[1])
    return paths


def fit(data: Any, ledger: Ledger | str, **given: Any) -> tacit.Policy:
    chosen: dict[str, Any] = {"play": "uniform", "budget": BUDGET, "hold_out": 0.2} | given
    return tacit.fit(small_problem(), data, ledger=ledger, options=OPTIONS, **chosen)


def of_part(part: Part, design: tacit.Design | None = None) -> tacit.Design:
    """A design for the people of the part."""
    return replace(design or small_design(horizon=ROWS), cohort=part.cohort)


def sum_of_part(part: Part, table: pa.Table) -> tacit.Statistic:
    """From memory and in one go."""
    design = of_part(part, user_design(ROWS) if part.unit == "user" else None)
    users = table["who"] if part.unit == "user" else None
    statistic: tacit.Statistic = design.statistic(cohort=design.cohort)
    return statistic.add(table, table, table["reward"], users=users, first=part.cohort.first)


# -- the split ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
@pytest.mark.parametrize("unit", ["record", "user"])
def test_parts_are_a_partition_with_about_the_share_that_was_asked_for(
    share: float, unit: str
) -> None:
    """The number held out is binomial for a key at random: outside of these bounds with probability
    1e-7 each side. The key is fixed."""
    rows = 20_000
    users = [f"user {i}" for i in range(rows)]
    held_out = Part("hold-out", share, unit, KEY)
    mask = held_out.mask(0, rows, users)
    assert (held_out.other.mask(0, rows, users) == ~mask).all()
    assert binom.ppf(1e-7, rows, share) <= mask.sum() <= binom.isf(1e-7, rows, share)
    neighbours = int((mask[1:] & mask[:-1]).sum())  # one row says nothing of the next
    assert neighbours <= 2 * binom.isf(1e-7, rows // 2, share**2)
    other_key = replace(held_out, key="f" * 16).mask(0, rows, users)
    assert (other_key != mask).any()


def test_the_split_is_the_same_wherever_one_begins_to_read() -> None:
    whole = LEARN.mask(0, 1000)
    for first in (0, 1, 17, 512):
        assert (LEARN.mask(first, 300) == whole[first : first + 300]).all()


def test_hashes_are_what_they_were() -> None:
    """For rows the first outputs of SplitMix64 for the seed 1234567, which are published. A hash
    that changed would move people to the other part."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert _hashes(1234567, 0, 3).tolist() == known
    letters = "abcdefghijklmnopqrstuvwxyz"
    held_out = USERS.other.mask(0, 26, list(letters))
    assert "".join(np.array(list(letters))[held_out]) == "abmovx"


def test_all_rounds_of_a_user_are_in_one_part_however_the_id_is_written() -> None:
    for user in range(50):
        spellings = [user, str(user), f" {user}.0", np.int8(user), str(user).encode()]
        assert len(set(USERS.mask(0, 5, spellings))) == 1
        assert len({USERS.has_user(spelling) for spelling in spellings}) == 1
    nameless = [None, "", "n/a", float("nan")]
    assert len(set(USERS.mask(7, 4, nameless))) == 1


@pytest.mark.parametrize("share", [0, 0.0, 0.51, 1, -0.2, float("nan"), "a fifth", None])
def test_a_share_is_above_nothing_and_at_most_a_half(share: Any) -> None:
    with pytest.raises(InputError, match="hold_out is the share"):
        Part("learn", share, "record", KEY)


def test_a_wrong_share_fails_before_a_ledger_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hold_out is the share"):
        fit(log(), sqlite(tmp_path), hold_out=0.7)
    assert not list(tmp_path.iterdir())


def test_a_part_is_known_by_the_name_of_its_cohort() -> None:
    for part in (LEARN, LEARN.other, USERS, USERS.other):
        assert Part.of(part.cohort) == part
        assert Part.restore(part.facts()) == part
        assert Part.of(Cohort(part.cohort.name, 0, 10)) is None
    assert not LEARN.cohort.overlaps(LEARN.other.cohort)
    for name in ("learn", "epoch 1", LEARN.cohort.name.replace("0.2", "0.2x")):
        assert Part.of(Cohort(name, LEARN.cohort.first, LEARN.cohort.last)) is None
    with pytest.raises(InputError, match="key of 16"):
        Part("train", 0.2, "record", KEY)
    with pytest.raises(InputError, match="take it from policy"):
        Part.restore({"share": 0.2})


# -- sums -----------------------------------------------------------------------------------------


def test_a_sum_takes_the_records_of_its_part_and_drops_all_others() -> None:
    """Those of the other part may hold anything."""
    rows = np.random.default_rng(0).normal(size=(100, 3)) / 4
    for part in (LEARN, LEARN.other):
        mine = part.mask(40, 100)
        garbage = np.where(mine[:, None], rows, np.nan)
        start = part.cohort.first + 40
        found = PrivateSum(SHAPE, part.cohort)
        found.add(garbage[:60], 60, first=start)
        rest = PrivateSum(SHAPE, part.cohort)
        rest.add(garbage[60:], 40, first=start + 60)
        found.merge(rest)
        known = PrivateSum(SHAPE)
        known.add(rows[mine], int(mine.sum()))
        assert (found._value() == known._value()).all()
        assert found.records == mine.sum()
        with pytest.raises(StateError, match="counted already"):
            found.add(rows, 1, first=start + 99)
        with pytest.raises(InputError, match="have numbers"):
            found.add(rows, 1)
        with pytest.raises(InputError, match="not all of cohort"):
            found.add(rows, 1, first=part.other.cohort.first)


def test_a_design_for_one_part_does_not_take_the_other() -> None:
    with pytest.raises(InputError, match="make the statistic with cohort"):
        of_part(LEARN).statistic(cohort=LEARN.other.cohort)
    held_out = of_part(LEARN.other).statistic(cohort=LEARN.other.cohort)
    with pytest.raises(InputError, match="one and the same design"):
        of_part(LEARN).statistic(cohort=LEARN.cohort).merge(held_out)


def test_users_of_the_other_part_are_in_no_sum() -> None:
    users = [f"user {i % 30}" for i in range(100)]
    sums = [UserSum(SHAPE, part.cohort) for part in (USERS, USERS.other)]
    for each in sums:
        assert each.cohort is not None
        each.add(np.full((100, 3), 0.1), 100, users, first=each.cohort.first)
    assert not set(sums[0].members()) & set(sums[1].members())
    assert sums[0].records + sums[1].records == 100
    with pytest.raises(InputError, match="one user id per record"):
        sums[0].add(np.ones((5, 3)), 5, first=100)
    with pytest.raises(InputError, match="split and protect the same"):
        PrivateSum(SHAPE, USERS.cohort)


def test_no_more_records_of_a_part_than_the_horizon(tmp_path: Path) -> None:
    """All rows may be more than the horizon, since the others do not count."""
    short = Encoding(size=3, horizon=int(LEARN.mask(0, 500).sum()))
    found = PrivateSum(short, LEARN.cohort)
    found.add(np.ones((500, 3)), 500, first=0)
    next_of_part = 500 + int(LEARN.mask(500, 50).argmax())
    with pytest.raises(StateError, match="horizon"):
        found.add(np.ones((1, 3)), 1, first=next_of_part)
    assert found._spans == [(0, 500)]


def test_a_saved_sum_of_a_part_holds_no_users_of_the_other() -> None:
    found = UserSum(SHAPE, USERS.cohort)
    found.add(np.full((100, 3), 0.1), 100, [f"user {i}" for i in range(100)], first=0)
    arrays = dump_sum(found)
    again = load_sum(SHAPE, "user", arrays)
    assert (again._value() == found._value()).all()
    wrong = UserSum(SHAPE, USERS.other.cohort)
    wrong.add(np.full((100, 3), 0.1), 100, [f"user {i}" for i in range(100)], first=2**61)
    for name in ("users", "rows", "records"):
        arrays[name] = dump_sum(wrong)[name]
    with pytest.raises(ValueError, match="not a sum of this part"):
        load_sum(SHAPE, "user", arrays)
    with pytest.raises(ValueError, match="not a sum"):
        load_sum(SHAPE, "user", dump_sum(found) | {"records": np.array(101)})


# -- files, tables and clusters -------------------------------------------------------------------


@pytest.mark.parametrize("part", [LEARN, LEARN.other, USERS, USERS.other], ids=lambda p: p.name)
def test_files_tables_and_workers_of_a_cluster_count_the_same(tmp_path: Path, part: Part) -> None:
    """A worker gets a design as plain data and answers with arrays, as Ray carries them."""
    known = sum_of_part(part, log())
    columns = COLUMNS if part.unit == "record" else BY_USER
    for name in ("rows.csv", "one-batch.arrow", "groups-of-100.parquet"):
        WRITERS[name](log(), tmp_path / name)
        work = work_on([tmp_path / name], known.design, columns)
        assert collected(work) == total(known), name
        assert work.statistic.records == known.records
    work = work_on(files(tmp_path), known.design, columns)
    for span in reversed(list(work.todo(split=True))):
        answer = count_span(shipped(work.design), columns, span, None)
        work.take(span, load(work.design, answer))
    assert total(work.statistic) == total(known)
    held = sum_of_part(part.other, log())
    assert held.records + known.records == ROWS


def test_a_fit_of_a_table_and_of_its_file_is_one_fit(tmp_path: Path) -> None:
    pq.write_table(log(), tmp_path / "log.parquet")
    for given in ({}, {"user": "who"}):
        url = sqlite(tmp_path, f"{len(given)}.db")
        policy = fit(log(), url, **given)
        again = fit(tmp_path / "log.parquet", url, **given)
        assert (policy.posterior.weights == again.posterior.weights).all()
        assert len(Ledger.open(url).charges()) == 2  # one for each pass
        part = Part.restore(policy.facts["hold_out"])
        users = None if not given else log()["who"].to_pylist()
        assert policy.facts["records"] == policy.facts["horizon"]
        assert policy.facts["records"] == part.mask(0, ROWS, users).sum() < ROWS
        assert "counts in one part" in policy.guarantee.relation
    policy.save(tmp_path / "policy")
    assert tacit.Policy.load(tmp_path / "policy").facts["hold_out"] == part.facts()


@pytest.mark.parametrize("user", [None, "who"])
def test_a_fit_that_was_stopped_goes_on_with_the_same_files_only(
    tmp_path: Path, user: str | None
) -> None:
    paths = files(tmp_path)
    columns = LogColumns.of(NAMES, "reward", user, {})
    run = RunOptions(checkpoint=tmp_path / "kept", save_every=0.0)
    job = Job(small_problem(), columns, BUDGET, 2, OPTIONS, run, hold_out=0.2)
    begun = FileFit(job, paths)
    with pytest.raises(KeyboardInterrupt), begun.checkpoint.keeping(begun.work):
        collected(begun.work, stop_after=2)
    begun.checkpoint.save(begun.work)
    with pytest.raises(InputError, match="same files in the same order"):
        FileFit(job, paths[::-1])
    with pytest.raises(InputError, match="another share of people held out"):
        FileFit(replace(job, hold_out=0.3), paths)
    again = FileFit(job, paths)
    assert again.work.counted == 2 * 1024 - (1024 - 476)
    whole = FileFit(replace(job, run=RunOptions()), paths)
    assert total(again.collect()) == total(whole.collect())
    kept = load_partial(again.work.design, tmp_path / "kept")
    assert kept.statistic.records == again.work.design.horizon


def test_the_horizon_is_the_number_of_rounds_to_learn_from() -> None:
    """Of what is planned beyond the data, the same share."""
    job = Job(small_problem(), COLUMNS, BUDGET, 1, OPTIONS, RunOptions(horizon=3000), hold_out=0.25)
    part = job.part(table_layout(2000))
    design = job.design(2000, part, learned=1490)
    assert part is not None
    assert design.horizon == 1490 + 750
    assert design.cohort == part.cohort


# -- budgets --------------------------------------------------------------------------------------


def release_part(part: Part, ledger: Ledger, request: str, rows: int = ROWS) -> tacit.Policy:
    """All of the budget on one release about one part."""
    return sum_of_part(part, log(rows)).release(ledger=ledger, request=request)


def test_both_parts_spend_the_whole_budget_and_neither_spends_it_twice(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    policy = fit(log(), url)
    ledger = Ledger.open(url)
    learned = Part.restore(policy.facts["hold_out"])
    assert [account.cohort for account in ledger.accounts()] == [
        learned.cohort,
        learned.other.cohort,
    ]
    assert [account.texts(BUDGET)[0] == "nothing" for account in ledger.accounts()] == [False, True]
    release_part(learned.other, ledger, "validation")
    assert all(account.texts(BUDGET)[1] == "nothing" for account in ledger.accounts())
    for part in (learned, learned.other):
        with pytest.raises(BudgetError, match="does not cover"):
            release_part(part, ledger, f"{part.name} again")
    with pytest.raises(BudgetError, match="does not cover"):
        fit(log(), url, run=RunOptions(request="another"))
    with pytest.raises(StateError, match="hold out the same share"):
        fit(log(), url, hold_out=None)
    assert (fit(log(), url).posterior.weights == policy.posterior.weights).all()


def test_another_split_of_the_same_people_is_refused(tmp_path: Path) -> None:
    """Somebody could be in the learning part of one split and be held out by the other."""
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    open_accounts(ledger, LEARN)
    others = [
        replace(LEARN, share=0.3),
        replace(LEARN, key="f" * 16),
        USERS,
    ]
    for part in others:
        for each in (part, part.other):
            with pytest.raises(StateError, match="not of the same split"):
                ledger.add_cohort(each.cohort)
            with pytest.raises(StateError, match="has no cohort"):
                release_part(each, ledger, "another")
    with pytest.raises(StateError, match="not of the same split"):
        ledger.add_cohort(Cohort("epoch 1", 0, 100))
    epochs = Ledger.create(sqlite(tmp_path, "epochs.db"), BUDGET)
    epochs.add_cohort(Cohort("epoch 1", 0, 100))
    with pytest.raises(StateError, match="not of the same split"):
        open_accounts(epochs, LEARN)
    assert ledger.spent == epochs.spent == 0


def test_files_in_another_order_are_another_split(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    paths = files(tmp_path)
    fit(paths, url)
    with pytest.raises(StateError, match="not of the same split"):
        fit(paths[::-1], url)
    part = learning_part(0.2, "record", [("a.parquet", 1500), ("b.parquet", 1100)])
    assert Ledger.open(url).accounts()[0].cohort == part.cohort
    require_layout(part, [("a.parquet", 1500), ("b.parquet", 1100)])
    with pytest.raises(InputError, match="same files, in the same order"):
        require_layout(part, [("b.parquet", 1100), ("a.parquet", 1500)])
    users = learning_part(0.2, "user", table_layout(ROWS))
    require_layout(users, table_layout(ROWS + 1))  # who a user is does not depend on the log


def test_a_ledger_that_was_spent_from_is_not_split(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    half = tacit.Budget(0.1, 1e-6)
    Ledger.create(url, BUDGET)
    fit(log(300), url, hold_out=None, budget=half)
    with pytest.raises(StateError, match="cannot be divided"):
        fit(log(300), url, budget=half)
    assert len(Ledger.open(url).charges()) == 2


@pytest.mark.parametrize("who", ["one", None])
def test_a_part_without_anybody_fails_before_anything_is_charged(
    tmp_path: Path, who: str | None
) -> None:
    table = log(300).set_column(4, "who", pa.array([who] * 300, pa.string()))
    with pytest.raises(InputError, match="none are left"):
        fit(table, sqlite(tmp_path), user="who")
    with pytest.raises(InputError, match="none are left"):
        fit(log(1), sqlite(tmp_path))
    assert not list(tmp_path.iterdir())


# -- what would be seen ---------------------------------------------------------------------------


def test_a_record_moves_the_releases_of_its_own_part_only() -> None:
    """And is in exactly one of both."""
    table = log(40)
    changed = table.set_column(3, "reward", pa.array(1.0 - np.asarray(table["reward"])))
    for row in range(40):
        one = pa.concat_tables([table.slice(0, row), changed.slice(row, 1), table.slice(row + 1)])
        moved = [
            total(sum_of_part(part, one)) != total(sum_of_part(part, table))
            for part in (LEARN, LEARN.other)
        ]
        assert sum(moved) == 1, row


MUTANTS = [
    Mutant(
        "a sum takes whatever it is shown, of either part",
        "tacit.core.sums._chosen",
        "",
        "return integers, users",
        test_a_record_moves_the_releases_of_its_own_part_only,
    ),
    Mutant(
        "the people held out are learned from as well",
        "tacit.core.parts.Part.mask",
        "return held_out if self.name == HOLD_OUT else ~held_out",
        "return held_out if self.name == HOLD_OUT else held_out | True",
        test_a_record_moves_the_releases_of_its_own_part_only,
    ),
    Mutant(
        "a later piece is split by numbers of its own",
        "tacit.core.parts._hashes",
        "np.arange(first, first + rows, dtype=np.uint64)",
        "np.arange(rows, dtype=np.uint64)",
        test_the_split_is_the_same_wherever_one_begins_to_read,
    ),
    Mutant(
        "a ledger takes a second split",
        "tacit.core.parts.same_split",
        "",
        "return True",
        test_another_split_of_the_same_people_is_refused,
    ),
    Mutant(
        "the share is not part of the split",
        "tacit.core.parts.same_split",
        "name=LEARN",
        "name=LEARN, share=0.5",
        test_another_split_of_the_same_people_is_refused,
    ),
    Mutant(
        "ids are hashed as they are written",
        "tacit.core.parts.Part.mask",
        "[user_key(user) for user in users]",
        "[str(user) for user in users]",
        test_all_rounds_of_a_user_are_in_one_part_however_the_id_is_written,
    ),
    Mutant(
        "all releases are charged to the part that is learned from",
        "tacit.core.parts.Part.cohort",
        "return Cohort(self._rule, first, first + MIDDLE)",
        "return Cohort(replace(self, name=LEARN)._rule, 0, MIDDLE)",
        test_both_parts_spend_the_whole_budget_and_neither_spends_it_twice,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_split_is_seen(mutant: Mutant, tmp_path: Path) -> None:
    failure_under(mutant, tmp_path)


# -- the command line -----------------------------------------------------------------------------


def test_the_command_says_how_many_rounds_were_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    pq.write_table(log(), tmp_path / "log.parquet")
    command = ["fit", tmp_path / "problem.toml", tmp_path / "log.parquet", "--rank", 8]
    command += ["--hold-out", 0.2, "--out", tmp_path / "policy"]
    done = CliRunner().invoke(app, [str(word) for word in command])
    assert done.exit_code == 0, done.output
    policy = tacit.Policy.load(tmp_path / "policy")
    learned = policy.facts["records"]
    apart = ROWS - learned
    assert f"Learned from {learned:,} rounds, {apart:,} kept apart for validation" in done.output
    url = f"sqlite:///{tmp_path}/log.parquet.ledger.db"
    monkeypatch.setattr(console.out, "_width", 200)  # no line of the table is broken
    shown = CliRunner().invoke(app, ["ledger", "show", url])
    assert "hold-out (0.2 of records held out by" in shown.output
    assert "each round counts in one part" in shown.output
