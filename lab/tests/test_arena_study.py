"""Statistics, the theory's rate, figures and the study's text: what the table says, and nothing
else."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

import tacit_lab.arena.study
from tacit.errors import InputError
from tacit.paper import information_gain
from tacit_lab.arena.attack import Attack, read_attacks
from tacit_lab.arena.figures import FIGURES, draw_all
from tacit_lab.arena.job import Row
from tacit_lab.arena.measure import yardstick
from tacit_lab.arena.promise import Promise
from tacit_lab.arena.rate import POINTS, gamma, rate, rate_slope
from tacit_lab.arena.results import FAILURES, RESULTS, read_results, write_table
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import Cells, Track, interval, paired, ranking, slope
from tacit_lab.arena.study import Study, make_page, make_tables, write_study
from tacit_lab.arena.study.claims import FINAL, WHILE_LEARNING, duels, rivals, slopes
from tacit_lab.arena.study.shares import shared_means

ROOT = Path(__file__).parents[2]
STORED = ROOT / "lab" / "arena" / "study"
PAGE = ROOT / "docs" / "study.md"
TABLES = ROOT / "docs" / "study-tables.md"
# (a, b): the error is a (T / 100)^-b of uniform play's
PRIVATE = {"tacit": (0.9, 0.5), "usca": (1.5, 0.35), "linucb-tree": (1.2, 0.1)}
OPEN = {"uniform": (1.0, 0.0), "best-fixed": (0.5, 0.1), "gpucb": (0.4, 0.5)}
ROUNDS = (300, 1000, 3000)


def row(
    learner: str, environment: str, rounds: int, epsilon: float, seed: int, error: float
) -> Row:
    return {
        "learner": learner,
        "environment": environment,
        "rounds": rounds,
        "epsilon": epsilon,
        "delta": 1e-6,
        "seed": seed,
        "error_rate": error,
        "cumulative_reward": 0.1 * rounds,
        "seconds": rounds / 1000,
        "peak_memory": 10.0,
        "cumulative_regret": 0.4 * rounds,
        "uniform_error": 0.4,
        "menu_error": 0.001,
        "scale": 2.0,
        "actions": 1,
        "contexts": 1,
        "version": "test",
    }


def made_up(**changed: tuple[float, float]) -> list[Row]:
    """Errors that follow power laws, with a little noise that all learners share within a seed."""
    rows = []
    for seed in range(4):
        luck = float(np.exp(0.05 * np.random.default_rng(seed).normal()))
        for learner, (a, b) in (PRIVATE | OPEN | changed).items():
            for environment in ("matern52-1+1", "matern52-2+2", "branin"):
                for rounds in ROUNDS:
                    for epsilon in (0.3, 1.0, 3.0) if learner in PRIVATE else (math.inf,):
                        cost = epsilon**-0.3 if learner in PRIVATE else 1.0
                        error = 0.4 * luck * min(1.0, a * cost * (rounds / 100) ** -b)
                        rows.append(row(learner, environment, rounds, epsilon, seed, error))
        rows += [
            row("tacit", f"branin@{variant}", 3000, 1.0, seed, 0.2 * luck)
            for variant in ("none", "wrong")
        ]
        rows += [row("usca", "hartmann4", 50, epsilon, seed, 0.25) for epsilon in (0.1, 10.0)]
    return rows


def page_of(rows: list[Row]) -> str:
    return make_page(Study(rows))


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(made_up())


# -- statistics -----------------------------------------------------------------------------------


def test_intervals_are_students() -> None:
    values = [1.0, 2.0, 4.0, 4.5]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    found = interval(values)
    assert found.ends == pytest.approx([low, high])
    assert interval([1.0]).ends is None


def test_pairing_takes_out_what_a_seed_does_to_both() -> None:
    a = {seed: 10.0 * seed + 1.0 for seed in range(5)}
    b = {seed: 10.0 * seed for seed in range(4)} | {9: 0.0}
    gap = paired(a, b)
    assert (gap.mean, gap.low, gap.high, gap.seeds) == (1.0, 1.0, 1.0, 4)
    assert interval(list(a.values())).low < 5.0


def test_a_power_law_has_its_slope_and_noise_widens_the_interval() -> None:
    exact = {T: dict.fromkeys(range(5), 3.0 * T**-0.5) for T in ROUNDS}
    assert slope(exact).mean == pytest.approx(-0.5)
    assert slope(exact).margin == pytest.approx(0.0, abs=1e-9)
    rng = np.random.default_rng(0)
    noisy = {
        T: {seed: 3.0 * T**-0.5 * float(np.exp(0.3 * rng.normal())) for seed in range(5)}
        for T in ROUNDS
    }
    assert slope(noisy).low < -0.5 < slope(noisy).high
    assert slope(noisy).margin > 0.01


def test_ranking_compares_learners_only_where_all_of_them_played() -> None:
    rows = [
        row(name, e, 100, math.inf, s, 0.2)
        for name in ("a", "b")
        for e in ("x", "y")
        for s in (0, 1)
    ]
    rows += [row("c", "x", 100, math.inf, s, 0.1) for s in (0, 1)]
    rows += [row("d", "z", 100, math.inf, s, 0.0) for s in (0, 1)]  # met nobody
    places = ranking(Cells(rows), Track(100, 1.0, ["x", "y", "z"]))
    assert [place.learner for place in places] == ["c", "a", "b"]
    assert {place.environments for place in places} == {1}
    assert places[0].left.mean == pytest.approx(0.25)
    assert [place.place for place in places] == [1.0, 2.0, 2.0]


# -- the theory's rate ----------------------------------------------------------------------------


def test_gamma_is_the_information_gain_of_points_as_they_are_played() -> None:
    """With T = n points it is exactly 1/2 log det(I + K / tau)."""
    problem = yardstick("matern52-1+1", 0).environment.problem
    points = problem.public_points(POINTS, np.random.default_rng(0))
    assert gamma("matern52-1+1", POINTS) == pytest.approx(
        information_gain(problem.k, points, 1.0), rel=1e-6
    )


def test_the_rate_is_the_papers() -> None:
    g = gamma("matern52-1+1", 1000)
    assert rate("matern52-1+1", 1000, 0.5) == pytest.approx(math.sqrt(g / 1000) + g / 500)
    assert rate("matern52-1+1", 1000, math.inf) == pytest.approx(math.sqrt(g / 1000))
    assert -0.5 < rate_slope("matern52-1+1", ROUNDS, 1.0) < -0.2


# -- what the table says --------------------------------------------------------------------------


def changed(rows: list[Row], wanted: dict[str, Any], **values: Any) -> list[Row]:
    """The same rows, with other values where all of `wanted` is so."""
    return [
        row | values if all(row[name] == value for name, value in wanted.items()) else row
        for row in rows
    ]


def test_claims_that_hold_are_said_to_hold(page: str) -> None:
    assert "what does not hold" not in page
    claim = "`tacit` has a lower mean error than all of the other learners with joint privacy"
    assert claim in page
    assert "in every one of 9 settings with at least 3,000 rounds" in page
    assert page.index("## What holds") < page.index("## Who is best")


def test_a_claim_that_does_not_hold_comes_first_with_where_and_by_how_much() -> None:
    lost = {"learner": "usca", "environment": "matern52-2+2", "rounds": 3000}
    page = page_of(changed(made_up(), lost, error_rate=0.001))
    first, rest = page.split("## Who is best")
    assert "## First: what does not hold" in first
    assert "does not always have a lower error than the other learners with joint" in first
    assert "in 3 of 9 settings" in first
    assert "| `matern52-2+2` | 3,000 | 1 | `usca` | 0.001 ± 0.000 |" in first
    assert "does not hold" not in rest


def test_a_slope_that_is_too_flat_is_said_first() -> None:
    page = page_of(made_up(usca=(0.9, 0.1)))
    assert "are flatter than the theory's by more than 0.1" in page.split("## Who is best")[0]
    assert all(
        s.holds == (s.learner == "tacit") for s in slopes(Selection(made_up(usca=(0.9, 0.1))))
    )


def test_duels_are_against_the_best_other_private_learner_at_equal_epsilon() -> None:
    met = duels(Selection(made_up()), FINAL, ["usca", "linucb-tree"])
    assert {(duel.environment, duel.rounds) for duel in met} == {
        ("matern52-1+1", 3000),
        ("matern52-2+2", 3000),
        ("branin", 3000),
    }
    assert {duel.rival for duel in met} == {"usca"}
    assert {duel.epsilon for duel in met} == {0.3, 1.0, 3.0}


def with_others() -> list[Row]:
    """Learners with a weaker promise, and with one that is refuted, both better than all others."""
    rows = made_up()
    ours = [entry for entry in rows if entry["learner"] == "tacit"]
    rows += [entry | {"learner": "gpucb-outsourced", "error_rate": 1e-4} for entry in ours]
    rows += [entry | {"learner": "linear-local", "error_rate": 1e-3} for entry in ours]
    return rows


def test_learners_that_promise_less_are_compared_apart_and_refuted_ones_not_at_all() -> None:
    assert rivals(Selection(made_up()), Promise.JOINT) == ["linucb-tree", "usca"]
    first = page_of(with_others()).split("## Who is best")[0]
    assert "than learners with a weaker or another promise**: in 9 of 9 settings" in first
    assert "in every one of 9 settings" in first.split("## What holds")[1]
    assert "| `gpucb-outsourced`" not in first


def test_no_learner_stands_in_the_ranking_of_another_promise() -> None:
    page = page_of(with_others())
    best = page.split("## Who is best")[1].partition("\n## ")[0]
    assert "The best learner with joint privacy is `tacit`" in best
    joint, rest = best.split("**A weaker or another promise**")
    other, none = rest.split("**No privacy, or a claim that is refuted here**")
    ranked = [set(re.findall(r"^\| `([a-z-]+)`", part, re.M)) for part in (joint, other, none)]
    assert ranked == [
        {"tacit", "usca", "linucb-tree"},
        {"linear-local"},
        {"gpucb-outsourced", "gpucb", "uniform", "best-fixed"},
    ]


def finding(learner: str, lower_bound: float, refuted: bool) -> Attack:
    words = ("(eps, delta)", "another reward")
    return Attack(learner, 2.0, 1e-6, lower_bound, refuted, *words, rounds=8, studies=10)


def test_each_private_row_shows_its_claim_and_what_was_proved() -> None:
    attacks = {"tacit": finding("tacit", 0.7, False)}
    page = make_page(Study(made_up(), attacks=attacks))
    assert "| `tacit` | context and reward | 2 | at least 0.70 |" in page
    assert "| `usca` | context and reward; epsilon for each decision | not attacked |" in page
    assert "## Is it private?" in page
    assert "No attack proved more than the claim of 1 private learner" in page


def test_an_attack_that_refutes_a_promise_is_said_first() -> None:
    attacks = {"tacit": finding("tacit", 3.0, True)}
    first = make_page(Study(made_up(), attacks=attacks)).split("## Who is best")[0]
    assert "## First: what does not hold" in first
    assert "**An attack proved more than was claimed**: `tacit`" in first


def test_regret_is_a_track_of_its_own() -> None:
    rows = [
        row(name, "branin", 10_000, 1.0, seed, 0.1) | {"cumulative_regret": regret}
        for name, regret in (("tacit-epochs", 900.0), ("tacit", 4000.0), ("linucb-tree", 800.0))
        for seed in range(3)
    ]
    page = page_of(made_up() + rows)
    first = page.split("## Who is best")[0]
    assert "**`tacit-epochs` does not always have a lower regret than the other learners" in first
    assert "After 10,000 rounds at `eps = 1` the least among learners with joint privacy" in page
    (met,) = duels(Selection(rows), WHILE_LEARNING, ["linucb-tree"])
    assert met.gap.mean == 100.0


def test_shares_are_averaged_over_what_all_have_played() -> None:
    rows = [row("a", "x", 100, 1.0, 0, 0.2), row("a", "y", 100, 1.0, 0, 0.4)]
    rows += [row("b", "x", 100, 1.0, 0, 0.1), row("b", "x", 100, 1.0, 1, 0.1)]
    keys = {name: [(name, place, 100, 1.0) for place in ("x", "y")] for name in ("a", "b")}
    means = shared_means(Selection(rows), keys)
    assert means["a"] == {0: pytest.approx(0.5)}
    assert means["b"] == {0: pytest.approx(0.25)}


def test_the_tables_show_failures_variants_published_figures_and_useless_learners() -> None:
    rows = changed(made_up(), {"learner": "linucb-tree"}, error_rate=0.41)
    failure = {"learner": "usca", "failure": "took longer than 600 s and was ended."}
    tables = make_tables(Study(rows, [failure, failure]))
    assert "| `usca` | took longer than 600 s and was ended. | 2 |" in tables
    assert "| `linucb-tree` | +0.010" in tables.split("Not clearly better than uniform play")[1]
    assert "| `tacit` | `branin` | a wrong law | 3,000 |" in tables
    assert "| 0.1 | 1.056 | 0.500 ± 0.000 | 4 seeds |" in tables  # 0.25, times the scale


def test_the_pages_change_with_the_table() -> None:
    rows = [
        entry
        | {
            "error_rate": 0.5 * entry["error_rate"],
            "uniform_error": 0.9 * entry["uniform_error"],
        }
        for entry in made_up()
    ]
    numbers = [
        re.findall(r"\d\.\d+", make_page(Study(table)) + make_tables(Study(table)))
        for table in (made_up(), rows)
    ]
    assert np.mean([a == b for a, b in zip(*numbers, strict=False)]) < 0.5


@pytest.mark.parametrize("left_out", ["tacit", "usca", "uniform", "gpucb", "linucb-tree"])
def test_a_table_without_some_learner_has_its_pages_too(left_out: str, tmp_path: Path) -> None:
    rows = [entry for entry in made_up() if entry["learner"] != left_out]
    written = write_study(Study(rows), tmp_path / "study.md")
    assert written[0].read_text().startswith("# The study")


ALLOWED = ("[-1, 1]", "95 %", "1/2", "log(1 + T", "are at 1 by design")


def typed_numbers(source: str) -> list[str]:
    """Digits in the words of a module: what would be printed whatever the table says."""
    words = [
        n.value
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    for allowed in ALLOWED:
        words = [word.replace(allowed, "") for word in words]
    formats = re.compile(r"^[+,]?\.\d+[f%]$|T = 50|utf-8|^\$\|")
    return [word for word in words if re.search(r"\d", word) and not formats.search(word)]


def test_no_number_of_the_page_is_typed() -> None:
    for path in Path(tacit_lab.arena.study.__file__).parent.glob("*.py"):
        assert typed_numbers(path.read_text()) == [], path.name


def test_the_test_would_see_a_typed_number() -> None:
    assert typed_numbers('x = f"an error of 0.03 at {rounds}"') == ["an error of 0.03 at "]


# -- figures and files ----------------------------------------------------------------------------


def test_every_figure_is_drawn_from_the_table(tmp_path: Path) -> None:
    written = draw_all(Selection(made_up()), tmp_path / "deep")
    assert [path.stem for path in written] == list(FIGURES)
    for path in written:
        drawn = ElementTree.fromstring(path.read_text())
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert "nan" not in path.read_text()


def test_what_is_too_small_to_measure_is_drawn_too(tmp_path: Path) -> None:
    nothing = {"error_rate": 0.0, "cumulative_regret": 0.0}
    written = draw_all(Selection([row | nothing for row in made_up()]), tmp_path)
    assert {path.stem for path in written} == set(FIGURES)


def test_a_small_table_has_fewer_figures(tmp_path: Path) -> None:
    rows = [
        row("tacit", "branin", 100, 1.0, 0, 0.1),
        row("uniform", "branin", 100, math.inf, 0, 0.3),
    ]
    assert [path.stem for path in draw_all(Selection(rows), tmp_path)] == ["ranking", "breaks"]
    assert "## Who is best" in page_of(rows)
    assert "## Cost" in make_tables(Study(rows))


def test_results_are_read_from_a_folder_or_a_file(tmp_path: Path) -> None:
    write_table(made_up(), tmp_path / "results.parquet", RESULTS)
    assert read_results(tmp_path)[0] == read_results(tmp_path / "results.parquet")[0] == made_up()
    assert read_results(tmp_path)[1] == []
    failed: dict[str, Any] = dict.fromkeys(FAILURES.names)
    write_table([failed], tmp_path / "failures.parquet", FAILURES)
    assert read_results(tmp_path)[1] == [failed]
    with pytest.raises(InputError, match="is not there: make it with tacit arena"):
        read_results(tmp_path / "elsewhere")


def test_the_committed_study_is_made_from_the_stored_tables() -> None:
    source = STORED.relative_to(ROOT).as_posix()
    study = Study(*read_results(STORED), read_attacks(STORED), source)
    assert make_page(study) == PAGE.read_text(encoding="utf-8")
    assert make_tables(study) == TABLES.read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in STORED.iterdir()) < 1_000_000
