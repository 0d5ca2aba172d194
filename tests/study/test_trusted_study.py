"""A whole study: what is played, which rounds count, what a second pass and a saved policy are made
from.

Deterministic unless a docstring states an error rate. Every test here is the guard of mutants in
`test_mutants.py`.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import tacit
from core.test_trusted_release import exact_delta
from helpers import BUDGET, build_design, create_study, records, small_problem, sqlite
from log_data import COLUMNS, log_table, total
from tacit import (
    Budget,
    Design,
    DesignOptions,
    Ledger,
    Policy,
    RequestConflictError,
    RunOptions,
    StateError,
    Study,
)
from tacit._typing import Floats
from tacit.core import release_choice
from tacit.logs import FileFit, Job
from witness import GAUSSIAN, always, watched

pytestmark = pytest.mark.usefixtures("coarse_fits")

SMALL: dict[str, Any] = {"rank": 8, "tau": 10.0, "public_points": 500, "rng": 0}
HERE = {"age": 61.0, "weight": 74.0}
ROUNDS = 20
FIRST = build_design(small_problem(), horizon=300, budget=BUDGET, passes=2, **SMALL)


def filled_study(
    tmp_path: Path,
    name: str,
    seed: int = 0,
    rounds: int = ROUNDS,
    users: Any = None,
    **options: Any,
) -> Study:
    """Some rounds; every fourth has no reward. The design and the actions are the same for every
    seed."""
    chosen: dict[str, Any] = {"horizon": 3 * ROUNDS, "budget": BUDGET} | SMALL | options
    study = create_study(sqlite(tmp_path, name), small_problem(), **chosen)
    study._rng = np.random.default_rng(5)
    _, contexts, rewards = records(rounds, seed)
    asked = study.ask_many(contexts, users=users)
    told = [i for i in range(rounds) if i % 4]
    study.tell_many([asked[i].id for i in told], [float(rewards[i]) for i in told])
    study._rng = None
    return study


def rounds_on_disk(path: Path) -> tuple[Floats, Floats]:
    """Joint points and rewards as they stand in the database's file, read without Tacit."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT action, context, reward FROM tacit_rounds ORDER BY number"
    ).fetchall()
    connection.close()
    points = np.array([np.frombuffer(action + context, dtype="<f8") for action, context, _ in rows])
    return points, np.array([np.nan if reward is None else reward for _, _, reward in rows])


def exact_sum(design: Design, path: Path, rounds: int = ROUNDS) -> list[int]:
    points, y = rounds_on_disk(path)
    statistic = design.statistic()
    with np.errstate(all="ignore"):
        statistic.add_points(points[:rounds], y[:rounds])
    return total(statistic)


def same_designs(one: Design, other: Design) -> bool:
    """To the last bit, with everything that is kept of them."""
    ours = one.arrays()
    theirs = other.arrays()
    same = ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) for name in ours
    )
    return same and one.facts() == other.facts() and one.fingerprint == other.fingerprint


# -- which rounds count ---------------------------------------------------------------------------


def test_a_release_counts_every_round_once_in_each_pass(tmp_path: Path) -> None:
    """With pages of seven rounds: the sums that OpenDP is given are those of the rounds on disk, in
    integers."""
    study = filled_study(tmp_path, "once.db")
    with mock.patch("tacit.study.store.PAGE", 7), watched(GAUSSIAN) as draws:
        study.release()
    second = study._store.design_of_pass(2)
    assert second is not None
    passes = [study.design, Design.restore(study.problem, *second)]
    expected = [exact_sum(design, tmp_path / "once.db") for design in passes]
    assert [draw.argument for draw in draws] == expected, "a round counts twice, or not at all"


def test_a_decision_counts_every_round_once(tmp_path: Path) -> None:
    study = filled_study(tmp_path, "decide.db")
    sums: list[tuple[int, list[int]]] = []

    def noted(whole: Any, *arguments: Any, **named: Any) -> int:
        sums.append((whole.records, [int(v) for v in whole._value()]))
        return release_choice(whole, *arguments, **named)

    with (
        mock.patch("tacit.study.store.PAGE", 7),
        mock.patch("tacit.single_decision.decision.release_choice", noted),
    ):
        study.release_decision(HERE, epsilon=0.01)
    assert sums == [(ROUNDS, exact_sum(study.design, tmp_path / "decide.db"))], (
        "a round counts twice, or not at all"
    )


def test_only_the_rounds_asked_for_are_read(tmp_path: Path) -> None:
    """A closed study has a number of rounds, whatever stands behind the last."""
    study = filled_study(tmp_path, "last.db")
    points, _ = rounds_on_disk(tmp_path / "last.db")
    for last in (1, 6, 7, 8, 13, ROUNDS):
        with mock.patch("tacit.study.store.PAGE", 7):
            read = np.vstack([page for page, _, _ in study._store.rounds(last)])
        assert np.array_equal(read, points[:last]), "pages of rounds overlap, or leave a round out"


def test_the_rounds_of_a_user_together_stay_in_the_ball(tmp_path: Path) -> None:
    """From the question to the sum that OpenDP is given, through the database."""
    study = filled_study(tmp_path, "user.db", unit="user", users=["somebody"] * ROUNDS)
    with watched(GAUSSIAN) as draws:
        study.release()
    for draw in draws:
        norm2 = sum(value**2 for value in draw.argument)
        assert norm2 <= study.design.encoding.bound**2, (
            "one user moves the sum by more than the bound"
        )


# -- what is played -------------------------------------------------------------------------------


def played(study: Study, contexts: Any) -> list[float]:
    return [decision.action["dose"] for decision in study.ask_many(contexts)]


def test_actions_do_not_depend_on_contexts(tmp_path: Path) -> None:
    """The same coins play the same actions whoever comes, and what is played is what is written
    down."""
    study = create_study(
        sqlite(tmp_path, "played.db"), small_problem(), horizon=1000, budget=BUDGET, **SMALL
    )
    _, contexts, _ = records(50)
    found = []
    for shown in (
        contexts,
        contexts[::-1],
        np.tile([18.0, 40.0], (50, 1)),
        np.full((50, 2), np.nan),
    ):
        study._rng = np.random.default_rng(5)
        found.append(played(study, shown))
    assert all(actions == found[0] for actions in found), "an action depends on a context"
    points, _ = rounds_on_disk(tmp_path / "played.db")
    assert np.allclose(100.0 * points[:50, 0], found[0], rtol=0, atol=1e-9)


def test_every_question_has_fresh_coins(tmp_path: Path) -> None:
    """From the operating system, each time, so also after a fork. They are uniform; a false alarm
    has probability 1e-10."""
    study = create_study(
        sqlite(tmp_path, "coins.db"), small_problem(), horizon=3000, budget=BUDGET, **SMALL
    )
    make = np.random.default_rng
    seeds: list[tuple[Any, ...]] = []

    def noted(*seed: Any) -> np.random.Generator:
        seeds.append(seed)
        return make(*seed)

    with mock.patch.object(np.random, "default_rng", noted):
        once, again = (played(study, np.tile([61.0, 74.0], (1000, 1))) for _ in range(2))
    assert seeds == [(), ()], "coins are seeded, or kept from one question to the next"
    assert not set(once) & set(again), "two questions were answered with the same coins"
    assert len(set(once)) == 1000
    assert stats.kstest(np.array(once + again) / 100, "uniform").pvalue > 1e-10


# -- a second pass --------------------------------------------------------------------------------


def test_a_study_designs_its_second_pass_from_the_first_release_alone(tmp_path: Path) -> None:
    """Studies with other people in them, whose first release came out the same, go on with the same
    design."""
    designs = []
    for seed in (0, 1):
        study = filled_study(tmp_path, f"second-{seed}.db", seed)
        with watched(GAUSSIAN, answer=always(3)) as draws:
            study.release()
        assert len(draws) == 2
        kept = study._store.design_of_pass(2)
        assert kept is not None
        designs.append((Design.restore(study.problem, *kept), draws[0].argument))
    assert designs[0][1] != designs[1][1]
    assert same_designs(designs[0][0], designs[1][0]), "the second design depends on private rounds"


def test_a_fit_designs_its_second_pass_from_the_first_release_alone(tmp_path: Path) -> None:
    designs = []
    for seed in (0, 1):
        path = tmp_path / f"{seed}.parquet"
        pq.write_table(log_table(50, seed), path)
        run = RunOptions(horizon=300)
        job = Job(small_problem(), COLUMNS, BUDGET, options=DesignOptions(rank=8), run=run)
        fit = FileFit(job, [path])
        with watched(GAUSSIAN, answer=always(3)) as draws:
            fit.release(sqlite(tmp_path, f"fit-{seed}.db"))
        assert len(draws) == 2
        designs.append(fit.work.design)
    assert designs[0].previous
    assert same_designs(*designs), "the second design depends on private rounds"


def test_two_passes_together_keep_what_the_budget_promises(tmp_path: Path) -> None:
    """By the exact curve of the Gaussian mechanism, composed: mu^2 adds up. The policy promises no
    more than that."""
    study = filled_study(tmp_path, "both.db")
    with watched(GAUSSIAN) as draws:
        policy = study.release()
    mu = math.sqrt(sum((study.design.encoding.sensitivity / draw.scale) ** 2 for draw in draws))
    assert len(draws) == 2
    assert exact_delta(1.0, mu) <= 1e-6, "two passes spend more than the budget"
    assert exact_delta(policy.guarantee.epsilon, mu) <= policy.guarantee.delta, (
        "a policy promises too much"
    )


def test_a_second_pass_after_a_simulated_one_is_not_private(tmp_path: Path) -> None:
    first = FIRST.statistic().add(*records(50)).simulate_release(np.random.default_rng(0))
    second = tacit.refine(first)
    ledger = Ledger.create(sqlite(tmp_path, "mark.db"), Budget(rho=1.0))
    policy = second.statistic().add(*records(50)).release(ledger=ledger)
    assert not policy.private
    assert str(policy.guarantee).startswith("NOT PRIVATE")


# -- a saved policy -------------------------------------------------------------------------------


def saved(tmp_path: Path, seed: int) -> tuple[Policy, Path, Ledger, list[int]]:
    """A policy of other records for every seed, with the same released vector, and the exact sum
    behind it."""
    template = tmp_path / "template.db"
    if not template.exists():
        # What is in the file alone, without its log, once no connection is open.
        Ledger.create(f"sqlite:///{template}", Budget(rho=1.0))._engine.dispose()
    shutil.copy(template, tmp_path / f"ledger-{seed}.db")  # the same ledger, by name
    ledger = Ledger.open(sqlite(tmp_path, f"ledger-{seed}.db"))
    statistic = FIRST.statistic().add(*records(290, seed))
    with watched(GAUSSIAN, answer=always(4)):
        policy = statistic.release(ledger=ledger, request="fit")
    return policy, policy.save(tmp_path / f"policy-{seed}"), ledger, total(statistic)


def test_a_saved_policy_depends_on_records_through_the_release_alone(tmp_path: Path) -> None:
    """Byte for byte in its files, and in whatever it and the ledger show."""
    (one, here, bill, values), (other, there, bills, others) = (
        saved(tmp_path, seed) for seed in (0, 1)
    )
    assert values != others
    for name in sorted(path.name for path in here.iterdir()):
        assert (here / name).read_bytes() == (there / name).read_bytes(), (
            f"{name} depends on the exact sum"
        )
    assert (one.facts, one.receipt, repr(one)) == (other.facts, other.receipt, repr(other))
    shown = [
        [(charge.request, charge.kind, charge.parameters) for charge in each.charges()]
        for each in (bill, bills)
    ]
    assert shown[0] == shown[1], "the ledger shows the exact sum"


def test_a_saved_policy_holds_no_number_of_the_exact_sum(tmp_path: Path) -> None:
    """Neither as integers nor in units of a record, with or without the weights of the layout."""
    _, folder, _, values = saved(tmp_path, 2)
    large = np.array([value for value in values if abs(value) > 10**5], dtype=np.float64)
    assert len(large) > FIRST.rank
    unit = FIRST.encoding.bound
    layout = FIRST.layout
    roots = [
        1.0,
        *(
            math.sqrt(s)
            for s in (layout.influence_share, layout.context_share, layout.square_share)
        ),
    ]
    numbers = list(_numbers(json.loads((folder / "policy.json").read_text())))
    with np.load(folder / "policy.npz") as arrays:
        numbers += [float(v) for name in arrays.files for v in arrays[name].ravel()]
    held = np.sort(np.abs(np.array(numbers)))
    for root in roots:
        for wanted in (large, large / unit, large / root, large / unit / root):
            at = np.clip(np.searchsorted(held, np.abs(wanted) * (1 - 1e-12)), 0, len(held) - 1)
            assert not np.isclose(held[at], np.abs(wanted), rtol=1e-11, atol=0).any(), (
                "a file holds the exact sum"
            )


def _numbers(value: Any) -> Any:
    """Every number in a JSON value."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield float(value)


# -- requests and errors --------------------------------------------------------------------------


def test_a_decision_is_not_given_to_another_visitor(tmp_path: Path) -> None:
    study = filled_study(tmp_path, "visitor.db")
    study.release_decision(HERE, epsilon=0.01, request="who")
    with pytest.raises(RequestConflictError):
        study.release_decision({"age": 20.0, "weight": 50.0}, epsilon=0.01, request="who")


def test_an_error_about_a_round_shows_no_reward(tmp_path: Path) -> None:
    study = filled_study(tmp_path, "errors.db", rounds=3)
    asked = study.ask(HERE).id
    study.tell(asked, 0.5)
    said = []
    for reward in (0.0, 0.31337, float("nan")):
        for name in (asked, "nobody"):
            with pytest.raises(StateError) as caught:
                study.tell(name, reward)
            said.append(str(caught.value))
    assert len(set(said)) == 2, "an error depends on a reward"
