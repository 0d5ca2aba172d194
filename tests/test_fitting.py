"""`tacit.fit`: one call from a log to a policy, whatever the log is kept in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from helpers import BUDGET, ROOT, silence, sqlite
from tacit import (
    Box,
    Budget,
    BudgetError,
    Design,
    DesignOptions,
    InputError,
    Ledger,
    Mixed,
    Problem,
    RequestConflictError,
    RunOptions,
    StateError,
)
from tacit.passes import release_on, release_passes
from test_readme import python_blocks
from witness import GAUSSIAN, always, watched

pytestmark = pytest.mark.usefixtures("coarse_fits")
GENES = ["G/G", "A/G", "A/A"]
ROWS = 400
OPTIONS = DesignOptions(rank=12, tau=10.0, public_points=1000)


def dosing(**given: Any) -> Problem:
    return Problem(
        actions=Box.of(dose=(0, 100)),
        contexts=Mixed.of(age=(18, 95), weight=(40, 140), gene=GENES),
        **given,
    )


def log(rows: int = ROWS, seed: int = 0) -> dict[str, Any]:
    """Rounds of uniform play, and a column that nobody asked for."""
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0, 100, rows)
    age = rng.uniform(18, 95, rows)
    return {
        "dose": dose,
        "age": age,
        "weight": rng.uniform(40, 140, rows),
        "gene": rng.choice(GENES, rows),
        "reward": 1 - np.abs(dose - age) / 100,
        "diary": [f"secret {i}" for i in range(rows)],
    }


def fit(data: Any, ledger: Ledger | str, **given: Any) -> tacit.Policy:
    chosen: dict[str, Any] = {"play": "uniform", "budget": BUDGET, "options": OPTIONS} | given
    return tacit.fit(chosen.pop("problem", dosing()), data, ledger=ledger, **chosen)


def weights(policy: tacit.Policy) -> list[float]:
    return [float(value) for value in policy.posterior.weights]


def charges(url: str) -> list[str]:
    return [charge.request for charge in Ledger.open(url).charges()]


# -- one log, many containers ---------------------------------------------------------------------


def as_parquet(table: dict[str, Any], folder: Path) -> Path:
    pq.write_table(pa.table(table), folder / "log.parquet", row_group_size=150)
    return folder / "log.parquet"


def as_patterns(table: dict[str, Any], folder: Path) -> list[str]:
    whole = pa.table(table)
    (folder / "logs").mkdir()
    pq.write_table(whole.slice(0, 300), folder / "logs" / "1.parquet")
    pq.write_table(whole.slice(300), folder / "logs" / "2.parquet")
    return [str(folder / "logs" / "*.parquet")]


CONTAINERS: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "a dict of arrays": lambda table, folder: table,
    "a dict of lists": lambda table, folder: {name: list(table[name]) for name in table},
    "pandas": lambda table, folder: pd.DataFrame(table),
    "polars": lambda table, folder: pl.DataFrame(table),
    "Arrow": lambda table, folder: pa.table(table),
}
FILES: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "a path": as_parquet,
    "the name of a path": lambda table, folder: str(as_parquet(table, folder)),
    "a list of patterns": as_patterns,
}


def released(kind: str, folder: Path) -> tuple[list[list[int]], list[float]]:
    """The sums of both passes, as OpenDP got them, and the policy that came of them."""
    data = (CONTAINERS | FILES)[kind](log(), folder)
    with watched(GAUSSIAN, answer=always(3)) as draws:
        policy = fit(data, sqlite(folder))
    return [draw.argument for draw in draws], weights(policy)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[int]], list[float]]:
    found = released("a dict of arrays", tmp_path_factory.mktemp("arrays"))
    assert len(found[0]) == 2
    return found


@pytest.mark.parametrize("kind", [*CONTAINERS, *FILES])
def test_the_same_rows_give_the_same_policy_in_every_container(
    tmp_path: Path, kind: str, expected: tuple[list[list[int]], list[float]]
) -> None:
    assert released(kind, tmp_path) == expected


def test_other_rows_or_another_seed_would_be_noticed(tmp_path: Path) -> None:
    """The comparison above can fail."""
    found = []
    changed = log()
    changed["reward"][7] = 0.0
    for name, data, seed in (("a", log(), 1), ("b", changed, 1), ("c", log(), 2)):
        with watched(GAUSSIAN, answer=always(3)) as draws:
            options = DesignOptions(rank=12, public_points=1000, seed=seed)
            fit(data, sqlite(tmp_path, name), options=options)
        found.append([draw.argument for draw in draws])
    assert found[0] != found[1]
    assert found[0] != found[2]


def test_columns_may_have_other_names_and_others_are_not_touched(tmp_path: Path) -> None:
    class Untouchable(list[str]):
        def __iter__(self) -> Any:
            raise AssertionError("a column that is not needed was read")

    with watched(GAUSSIAN, answer=always(3)) as draws:
        fit(log(), sqlite(tmp_path, "a"))
        renamed = log() | {"diary": Untouchable("abc")}
        renamed["amount"] = renamed.pop("dose")
        renamed["outcome"] = renamed.pop("reward")
        run = RunOptions(columns={"dose": "amount"})
        fit(renamed, sqlite(tmp_path, "b"), reward="outcome", run=run)
    assert draws[0].argument == draws[2].argument
    assert draws[1].argument == draws[3].argument


def test_it_is_what_one_would_do_by_hand(tmp_path: Path) -> None:
    """Design, statistic and refine give the same policy on the same ledger: the requests are
    theirs."""
    table = log()
    options = DesignOptions(rank=12, public_points=1000, seed=5)
    once = fit(table, sqlite(tmp_path), options=options, run=RunOptions(request="mine"))
    design = Design.build(dosing(), horizon=ROWS, budget=BUDGET, rng=5, options=options)
    ledger = Ledger.open(sqlite(tmp_path))
    first = design.statistic().add(table, table, table["reward"])
    policy = first.release(ledger=ledger, request="mine/pass 1")
    second = tacit.refine(policy).statistic().add(table, table, table["reward"])
    assert weights(second.release(ledger=ledger, request="mine")) == weights(once)
    again = release_passes(
        design,
        lambda design: design.statistic().add(table, table, table["reward"]),
        release_on(ledger, "mine"),
    )
    assert weights(again) == weights(once)
    assert charges(sqlite(tmp_path)) == ["mine/pass 1", "mine"]


# -- what is spent --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "a path"])
def test_the_same_call_returns_the_same_policy_and_each_pass_is_charged_once(
    tmp_path: Path, kind: str
) -> None:
    data = (CONTAINERS | FILES)[kind](log(), tmp_path)
    once = fit(data, sqlite(tmp_path))
    again = fit(data, Ledger.open(sqlite(tmp_path)))
    assert weights(once) == weights(again)
    assert once.decide({"age": 30, "weight": 70, "gene": "A/A"}) == again.decide(
        {"age": 30, "weight": 70, "gene": "A/A"}
    )
    first, second = charges(sqlite(tmp_path))
    assert first == f"{second}/pass 1"
    assert second.startswith("fit-")


@pytest.mark.parametrize("kind", ["a dict of arrays", "a path"])
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_any_number_of_passes_spends_the_budget_and_no_more(
    tmp_path: Path, kind: str, passes: int
) -> None:
    data = (CONTAINERS | FILES)[kind](log(), tmp_path)
    policy = fit(data, sqlite(tmp_path), passes=passes)
    ledger = Ledger.open(sqlite(tmp_path))
    assert len(ledger.charges()) == passes
    assert ledger.spent <= BUDGET.gaussian
    assert ledger.spent == pytest.approx(BUDGET.gaussian, rel=1e-6)
    assert policy.private
    assert policy.guarantee.epsilon == pytest.approx(1.0, abs=1e-5)
    assert policy.guarantee.unit == "record"


class Unreadable:
    """A column that may be counted and not read."""

    dtype = np.dtype(float)
    ndim = 1

    def __len__(self) -> int:
        return ROWS

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        raise AssertionError("private data was read")


def test_a_ledger_without_room_fails_before_anything_is_read(tmp_path: Path) -> None:
    table = log() | {"reward": Unreadable(), "dose": Unreadable()}
    with pytest.raises(AssertionError, match="was read"):  # it would be noticed
        fit(table, sqlite(tmp_path, "enough.db"))
    Ledger.create(sqlite(tmp_path), Budget(rho=0.99 * BUDGET.zcdp))
    with pytest.raises(BudgetError, match="does not cover"):
        fit(table, sqlite(tmp_path))
    assert charges(sqlite(tmp_path)) == []


def test_a_request_that_was_made_with_fewer_passes_is_refused(tmp_path: Path) -> None:
    Ledger.create(sqlite(tmp_path), Budget(rho=3 * BUDGET.gaussian))
    fit(log(), sqlite(tmp_path), passes=1, run=RunOptions(request="mine"))
    with pytest.raises(RequestConflictError, match="made before with fewer passes"):
        fit(log(), sqlite(tmp_path), run=RunOptions(request="mine"))
    assert charges(sqlite(tmp_path)) == ["mine"]


def test_more_rounds_may_be_planned_than_there_are_and_never_fewer(tmp_path: Path) -> None:
    for horizon, planned in ((1000, 1000), (3, ROWS)):
        policy = fit(
            log(), sqlite(tmp_path, f"{horizon}.db"), run=RunOptions(horizon=horizon), passes=1
        )
        assert policy.releases[-1].design.horizon == planned


# -- private cells --------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [None, "secret", float("inf"), float("nan"), "", b"\xff", [1, 2]])
def test_odd_cells_raise_nothing_and_are_worth_nothing(tmp_path: Path, cell: Any) -> None:
    """As much as a missing cell: all of the record's columns are odd, one at a time."""
    sums: list[list[int]] = []
    for odd in (cell, None):
        table = {name: list(column) for name, column in log().items()}
        for i, name in enumerate(("dose", "age", "gene", "reward")):
            table[name][i] = odd
        with silence(), watched(GAUSSIAN, answer=always(3)) as draws:
            fit(table, sqlite(tmp_path, f"{len(sums)}.db"), passes=1)
        sums.append(draws[0].argument)
    if cell == float("inf"):  # outside of its range: projected, and clipped
        assert sums[0] != sums[1]
    else:
        assert sums[0] == sums[1]


def test_users_are_protected_as_a_whole(tmp_path: Path) -> None:
    table = log()
    table["patient"] = [f"secret-{i % 40}" for i in range(ROWS)]
    policy = fit(table, sqlite(tmp_path), user="patient")
    assert policy.guarantee.unit == "user"
    assert "secret" not in str(Ledger.open(sqlite(tmp_path)).charges())


def test_all_rounds_of_one_user_weigh_no_more_than_one_record(tmp_path: Path) -> None:
    table = log() | {"patient": [7] * ROWS}
    with watched(GAUSSIAN) as draws:
        policy = fit(table, sqlite(tmp_path, "users.db"), user="patient", passes=1)
        fit(table, sqlite(tmp_path, "records.db"), passes=1)
    norms = [np.linalg.norm(np.array(draw.argument, dtype=float)) for draw in draws]
    bound = policy.releases[-1].design.encoding.bound
    assert norms[0] <= bound < norms[1] / 10


# -- what is wrong is said ------------------------------------------------------------------------


def test_how_actions_were_played_must_be_stated(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be said: pass play="):
        tacit.fit(dosing(), log(), budget=BUDGET, ledger=sqlite(tmp_path))
    stated = dosing(play=lambda contexts, rng: 100 * rng.random(len(contexts["age"])) ** 2)
    for problem, play, says in (
        (dosing(), "greedy", "play 'greedy' is not known: pass play="),
        (dosing(), None, 'propensity="COLUMN"'),
        (dosing(), 7, "play must be a function .*, got int"),
        (stated, {"A": 1.0}, "states a play of its own"),
        (dosing(), "problem", 'pass play="uniform"'),
        (stated, "uniform", 'pass play="problem"'),
    ):
        with pytest.raises(InputError, match=says):
            fit(log(), sqlite(tmp_path), problem=problem, play=play)
    assert not (tmp_path / "study.db").exists()
    assert fit(log(), sqlite(tmp_path), problem=stated, play="problem").private


def without(name: str) -> dict[str, Any]:
    return {key: column for key, column in log().items() if key != name}


@pytest.mark.parametrize(
    ("data", "given", "says"),
    [
        (without("gene"), {}, "the data has no column 'gene': it has dose, age, weight, reward"),
        (pd.DataFrame(without("reward")), {}, "the data has no column 'reward'"),
        (log(), {"user": "patient"}, "the data has no column 'patient'"),
        (log(), {"run": RunOptions(columns={"height": "x"})}, "no column 'height' to look for"),
        (log(0), {}, "the data has no rows"),
        (pd.DataFrame(log(0)), {}, "the data has no rows"),
        (log() | {"age": [1.0]}, {}, r"must have one length, got lengths \[1, 400\]"),
        (log() | {"age": 61.0}, {}, "column 'age' of the data must be an array or a list"),
        (pl.LazyFrame(log()), {}, "data must be a pandas, polars or Arrow table"),
        (np.zeros((3, 3)), {}, "got ndarray"),
        ([{"secret": 1.0}], {}, "a list must hold paths"),
        ([], {}, "names no file"),
        ("nowhere.parquet", {}, "there is no data file"),
        (log(), {"run": RunOptions(checkpoint="kept")}, "checkpoint is for files"),
        (log(), {"run": RunOptions(engine="ray")}, "is for files"),
        (log(), {"budget": Budget(epsilon=1.0)}, "pure"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(
    tmp_path: Path, data: Any, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says) as error:
        fit(data, sqlite(tmp_path), **given)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "study.db").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"engine": "spark"}, "engine must be one of local, ray"),
        ({"workers": 2}, "those of a cluster"),
        ({"engine": "ray", "workers": 2, "address": "auto"}, "not both"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"save_every": -1.0}, "save_every must be"),
        ({"checkpoint": "no/such/folder/kept"}, "there is no folder"),
    ],
)
def test_run_options_that_make_no_sense_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        RunOptions(**given)


def test_a_kernel_of_ones_own_stays_on_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    problem = dosing(kernel=lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2)))
    with pytest.raises(InputError, match="cannot be sent to a cluster"):
        fit(
            as_parquet(log(), tmp_path),
            sqlite(tmp_path),
            problem=problem,
            run=RunOptions(engine="ray"),
        )


def test_a_public_sample_is_not_the_log(tmp_path: Path) -> None:
    table = pd.DataFrame(log())
    problem = dosing(generator=tacit.contexts.PublicSample(table))
    with pytest.raises(InputError, match="public sample"):
        fit(table, sqlite(tmp_path), problem=problem)


# -- the page -------------------------------------------------------------------------------------


def test_the_page_about_files_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.design.choices.RANK", 80)  # 500 would take its time
    (tmp_path / "logs").mkdir()
    table = log(200)
    table["amount_mg"] = table.pop("dose")
    pq.write_table(pa.table(table), tmp_path / "logs" / "1.parquet")
    names: dict[str, Any] = {"tacit": tacit, "problem": dosing(), "budget": BUDGET}
    names["ledger"] = Ledger.create(sqlite(tmp_path, "steps.db"), BUDGET)
    names["pieces"] = [log(100, seed) for seed in (1, 2)]
    names["log"] = log(200)
    once, parts, steps = python_blocks((ROOT / "docs" / "files.md").read_text())
    exec(compile(once, "docs/files.md", "exec"), names)  # noqa: S102
    assert names["policy"].private
    assert not (tmp_path / "fit.partial").exists()
    exec(compile(parts, "docs/files.md", "exec"), names)  # noqa: S102
    assert names["is_held_out"].sum() == 200 - names["policy"].facts["records"]
    assert names["account"].spent == 0
    exec(compile(steps, "docs/files.md", "exec"), names)  # noqa: S102
    assert names["policy"].guarantee.epsilon == pytest.approx(1.0, abs=1e-5)
    assert charges(sqlite(tmp_path, "steps.db")) == ["study/pass 1", "study"]


# -- names, numbers and ledgers ------------------------------------------------------------------


def test_columns_of_a_frame_may_have_numbers_for_names(tmp_path: Path) -> None:
    """`frame[0]` is a row to some libraries."""
    table = log()
    del table["diary"]
    frame = pd.DataFrame(table)
    named = fit(frame, sqlite(tmp_path))
    numbered = frame.set_axis(range(frame.shape[1]), axis=1)
    run = RunOptions(columns=dict(zip(table, numbered.columns, strict=True)))
    # the same ledger answers, because it is the same fit
    assert weights(fit(numbered, sqlite(tmp_path), run=run)) == weights(named)


@pytest.mark.parametrize("given", [{"reward": "dose"}, {"user": "reward"}])
def test_rewards_are_a_column_of_their_own(given: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the column of rewards"):
        fit(log(), sqlite(tmp_path), **given)
    assert not list(tmp_path.iterdir())


def test_a_horizon_may_be_an_integer_of_numpy(tmp_path: Path) -> None:
    policy = fit(log(), sqlite(tmp_path), run=RunOptions(horizon=np.int64(500)))  # type: ignore[arg-type]
    assert policy.facts["horizon"] == 500
    policy.save(tmp_path / "policy")


def test_a_plain_release_is_not_taken_for_another(tmp_path: Path) -> None:
    """A plain design and one without counts have the same landmarks and whitening, and write rows
    of different lengths."""
    plain = DesignOptions(rank=12, public_points=1000, plain=True)
    uncounted = DesignOptions(rank=12, public_points=1000, context_share=0.0)
    fit(log(), sqlite(tmp_path), options=plain, passes=1)
    with pytest.raises(BudgetError):
        fit(log(), sqlite(tmp_path), options=uncounted, passes=1)


def test_a_second_pass_is_not_charged_to_another_ledger(tmp_path: Path) -> None:
    """Each of two ledgers would hold a part of what was spent, and let the rest be spent again."""
    path = as_parquet(log(), tmp_path)

    def stop(what: str, done: int, total: int) -> None:
        if what == "pass 2":
            raise SystemExit(9)

    kept = tmp_path / "fit.partial"
    one = f"sqlite:///{tmp_path / 'one.db'}"
    with pytest.raises(SystemExit):
        fit(path, one, run=RunOptions(checkpoint=kept, progress=stop))
    other = Ledger.create(f"sqlite:///{tmp_path / 'other.db'}", BUDGET)
    with pytest.raises(StateError, match=r"pass 1 .* was not charged to this ledger"):
        fit(path, other, run=RunOptions(checkpoint=kept))
    assert not other.charges()
    policy = fit(path, one, run=RunOptions(checkpoint=kept))
    assert policy.guarantee.rho == pytest.approx(Ledger.open(one).spent)


@pytest.mark.parametrize("horizon", [0, -1, "5", 2.5, True])
def test_an_odd_horizon_is_one_sentence(horizon: Any) -> None:
    with pytest.raises(InputError, match="horizon must be a whole number of rounds"):
        RunOptions(horizon=horizon)
