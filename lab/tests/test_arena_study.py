"""Statistics, the theory's rate, figures and the study's text: what the table says, and nothing
else."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tacit_lab.arena.study
from tacit.errors import InputError
from tacit.paper import information_gain
from tacit_lab.arena.figures import FIGURES, draw_all
from tacit_lab.arena.job import Row
from tacit_lab.arena.measure import yardstick
from tacit_lab.arena.rate import POINTS, gamma, rate, rate_slope
from tacit_lab.arena.results import FAILURES, RESULTS, read_results, write_table
from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import Cells, interval, paired, ranking, slope
from tacit_lab.arena.study import make_study
from tacit_lab.arena.study.claims import duels, on_rkhs, others, slopes

ROOT = Path(__file__).parents[2]
STORED = ROOT / "lab" / "arena" / "study"
PAGE = ROOT / "docs" / "study.md"
# (a, b): the error is a (T / 100)^-b of uniform play's
PRIVATE = {"tacit": (0.9, 0.5), "usca": (1.5, 0.35), "slow-private": (1.2, 0.1)}
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


@pytest.fixture(scope="module")
def page() -> str:
    return make_study(made_up(), [], "somewhere")


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
    places = ranking(Cells(rows), 100, 1.0, ["x", "y", "z"])
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


def test_claims_that_hold_are_said_to_hold(page: str) -> None:
    assert "what does not hold" not in page
    claim = "has a lower mean error than all private learners that protect context and reward"
    assert f"On functions of a known kernel Tacit's release (`tacit`) {claim}" in page
    assert "in every one of 6 settings with `T >= 3000`" in page
    assert page.index("## What holds") < page.index("## Setting")


def test_a_claim_that_does_not_hold_comes_first_with_where_and_by_how_much() -> None:
    rows = made_up()
    for entry in rows:
        if (
            entry["learner"] == "usca"
            and entry["environment"] == "matern52-2+2"
            and entry["rounds"] == 3000
        ):
            entry["error_rate"] = 0.001
    page = make_study(rows, [], "somewhere")
    first, rest = page.split("## Setting")
    assert "## First: what does not hold" in first
    assert (
        "is not always better than private learners that protect context and reward**: in 3 of 6 "
        "settings" in first
    )
    assert "| `matern52-2+2` | 3,000 | 1 | `usca` | 0.001 ± 0.000 |" in first
    assert "does not hold" not in rest


def test_a_slope_that_is_too_flat_is_said_first() -> None:
    page = make_study(made_up(usca=(0.9, 0.1)), [], "somewhere")
    assert "are flatter than the theory's by more than 0.1" in page.split("## Setting")[0]
    assert all(
        s.holds == (s.learner == "tacit") for s in slopes(Selection(made_up(usca=(0.9, 0.1))))
    )


def test_duels_are_against_the_best_other_private_learner_at_equal_epsilon() -> None:
    met = duels(Selection(made_up()), "tacit", on_rkhs, ["usca", "slow-private"])
    assert {(duel.environment, duel.rounds) for duel in met} == {
        ("matern52-1+1", 3000),
        ("matern52-2+2", 3000),
    }
    assert {duel.rival for duel in met} == {"usca"}
    assert {duel.epsilon for duel in met} == {0.3, 1.0, 3.0}


def test_learners_that_protect_less_are_compared_apart() -> None:
    assert others(Selection(made_up())) == (["slow-private", "usca"], [])
    rows = made_up()
    rows += [
        entry | {"learner": "gpucb-outsourced", "error_rate": 1e-3}
        for entry in rows
        if entry["learner"] == "tacit"
    ]
    first = make_study(rows, [], "somewhere").split("## Setting")[0]
    assert (
        "is not always better than learners that protect less, or only claim to**: in 6 of 6"
        in first
    )
    assert "in every one of 6 settings" in first.split("## What holds")[1]


def test_the_page_shows_failures_variants_published_figures_and_useless_learners() -> None:
    rows = made_up()
    for entry in rows:
        if entry["learner"] == "slow-private":
            entry["error_rate"] = 0.41
    failure = {"learner": "usca", "failure": "took longer than 600 s and was ended."}
    page = make_study(rows, [failure, failure], "somewhere")
    assert "| `usca` | took longer than 600 s and was ended. | 2 |" in page
    assert "| `slow-private` | +0.010" in page.split("Not clearly better than uniform play")[1]
    assert "| `tacit` | `branin` | a wrong law | 3,000 |" in page
    assert "| 0.1 | 1.056 | 0.500 ± 0.000 | 4 seeds |" in page  # 0.25 in reward, times the scale


def test_the_page_changes_with_the_table() -> None:
    rows = made_up()
    for entry in rows:
        entry["error_rate"] *= 0.5
        entry["uniform_error"] *= 0.9
    numbers = [re.findall(r"\d\.\d+", make_study(table, [], "s")) for table in (made_up(), rows)]
    assert np.mean([a == b for a, b in zip(*numbers, strict=False)]) < 0.5


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
    formats = re.compile(r"^[+,]?(\.\d+f|\.0%)$|T = 50|utf-8|^\$\|")
    return [word for word in words if re.search(r"\d", word) and not formats.search(word)]


def test_no_number_of_the_page_is_typed() -> None:
    for path in Path(tacit_lab.arena.study.__file__).parent.glob("*.py"):
        assert typed_numbers(path.read_text()) == [], path.name


def test_the_test_would_see_a_typed_number() -> None:
    assert typed_numbers('x = f"an error of 0.03 at {rounds}"') == ["an error of 0.03 at "]


# -- figures and files ----------------------------------------------------------------------------


def test_every_figure_is_drawn_from_the_table(tmp_path: Path) -> None:
    written = draw_all(made_up(), tmp_path / "deep")
    assert [path.stem for path in written] == list(FIGURES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_what_is_too_small_to_measure_is_drawn_too(tmp_path: Path) -> None:
    nothing = {"error_rate": 0.0, "seconds": 0.0, "peak_memory": 0.0}
    written = draw_all([row | nothing for row in made_up()], tmp_path)
    assert {path.stem for path in written} == set(FIGURES)


def test_a_small_table_has_fewer_figures(tmp_path: Path) -> None:
    rows = [
        row("tacit", "branin", 100, 1.0, 0, 0.1),
        row("uniform", "branin", 100, math.inf, 0, 0.3),
    ]
    assert [path.stem for path in draw_all(rows, tmp_path)] == ["cost", "ranking"]
    assert "## Cost" in make_study(rows, [], "s")


def test_results_are_read_from_a_folder_or_a_file(tmp_path: Path) -> None:
    write_table(made_up(), tmp_path / "results.parquet", RESULTS)
    assert read_results(tmp_path)[0] == read_results(tmp_path / "results.parquet")[0] == made_up()
    assert read_results(tmp_path)[1] == []
    failed: dict[str, Any] = dict.fromkeys(FAILURES.names)
    write_table([failed], tmp_path / "failures.parquet", FAILURES)
    assert read_results(tmp_path)[1] == [failed]
    with pytest.raises(InputError, match="is not there: make it with tacit arena"):
        read_results(tmp_path / "elsewhere")


def test_the_committed_study_is_made_from_the_stored_table() -> None:
    made = make_study(*read_results(STORED), STORED.relative_to(ROOT).as_posix())
    assert made == PAGE.read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in STORED.iterdir()) < 1_000_000
