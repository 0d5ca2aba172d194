"""Jobs, processes, results on disk: same work for all, nothing lost, nothing done twice."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import arena_probes
from arena_probes import Outside, Peeks, Probe, Unseeded, parabola
from laws_learners import LearnerLaws
from tacit.cli import app
from tacit.errors import InputError
from tacit_lab.arena.config import Config, make_jobs, parse, quick_config
from tacit_lab.arena.environments.data import VARIABLE
from tacit_lab.arena.job import Job, attempt, run_job
from tacit_lab.arena.learners.floor import BestFixed, Uniform
from tacit_lab.arena.measure import yardstick
from tacit_lab.arena.names import learner_named
from tacit_lab.arena.pool import run_jobs
from tacit_lab.arena.protocol import Learner
from tacit_lab.arena.results import FAILED, TABLE, Journal, read_results
from tacit_lab.arena.run import run

HERE = f"{Path(arena_probes.__file__).resolve()}:"
FLOOR = "tacit_lab.arena.learners.floor:"
UNIFORM = f"{FLOOR}Uniform"
COLUMNS = [
    "learner",
    "environment",
    "rounds",
    "epsilon",
    "delta",
    "seed",
    "error_rate",
    "cumulative_reward",
    "seconds",
    "peak_memory",
]


def job(
    learner: str,
    environment: str = "parabola",
    rounds: int = 20,
    epsilon: float = math.inf,
    seed: int = 0,
) -> Job:
    return Job(path_of(learner), path_of(environment), rounds, epsilon, 1e-6, seed)


def path_of(name: str) -> str:
    """A probe by its file, anything else by its own name."""
    return f"{HERE}{name}" if hasattr(arena_probes, name) else name


class TestUniform(LearnerLaws):
    @pytest.fixture
    def learner(self) -> type[Learner]:
        return Uniform


class TestBestFixed(LearnerLaws):
    @pytest.fixture
    def learner(self) -> type[Learner]:
        return BestFixed


# -- one job --------------------------------------------------------------------------------------


def test_the_best_action_has_no_error_and_uniform_play_has_the_mean_one() -> None:
    assert run_job(job("Probe"))["error_rate"] == 0.0
    uniform = run_job(job(UNIFORM))
    assert uniform["uniform_error"] == pytest.approx(1 / 6, abs=0.02)  # 400 contexts
    assert uniform["error_rate"] == pytest.approx(1 / 6, abs=0.06)  # and 400 actions; sd 0.18 / 20


def test_a_decision_between_two_points_of_the_grid_makes_no_negative_error() -> None:
    stick = yardstick(f"{HERE}parabola", 0)
    assert stick.error_rate(stick.fresh) == 0.0
    assert stick.error_rate(np.clip(stick.fresh + 0.1, 0, 1)) == pytest.approx(0.01, abs=2e-3)


def test_rewards_and_regret_add_up() -> None:
    row = run_job(job("Probe", rounds=500))
    # E (1/2 - c)^2 = 1/12, sd 0.075 over 500 rounds
    assert row["cumulative_regret"] == pytest.approx(500 / 12, rel=0.25)
    assert row["cumulative_reward"] + row["cumulative_regret"] == pytest.approx(0.9 * 500, abs=1e-3)


def test_learners_meet_the_same_contexts_and_noise_whether_one_by_one_or_at_once() -> None:
    run_job(job("Probe"))
    one_by_one = Probe.seen
    run_job(job("AtOnce"))
    assert Probe.seen == one_by_one
    run_job(job("Private", epsilon=0.1))
    assert Probe.seen == one_by_one
    run_job(job("Probe", seed=1))
    assert Probe.seen != one_by_one


def test_the_same_job_makes_the_same_row() -> None:
    wanted = job(f"{FLOOR}BestFixed", "catalogue", 100)
    first = run_job(wanted)
    second = run_job(wanted)
    for column in ("seconds", "peak_memory"):
        del first[column], second[column]
    assert first == second


def test_seconds_are_the_learners_own() -> None:
    assert run_job(job("Slow"))["seconds"] >= 0.3
    assert run_job(job("AtOnce", "sleepy"))["seconds"] < 0.3


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux forgets an earlier peak"
)
def test_memory_is_the_peak_of_this_job_alone() -> None:
    large = run_job(job("Large"))
    small = run_job(job("Probe"))
    assert large["peak_memory"] > 150
    assert small["peak_memory"] < 50


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ("Crash", "^ValueError: it broke$"),
        ("Outside", "decided actions outside the domain"),
        ("Missing", r"decided one finite action for each of 400 contexts"),
        ("Nobody", "there is no learner 'Nobody'"),
    ],
)
def test_what_goes_wrong_is_one_sentence(learner: str, sentence: str) -> None:
    failure = attempt(job(learner))["failure"]
    assert re.search(sentence, failure)
    assert "\n" not in failure


def test_missing_data_fails_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert "--data DIR" in attempt(job(UNIFORM, "warfarin"))["failure"]


# -- many jobs ------------------------------------------------------------------------------------


def test_a_job_that_raises_hangs_or_dies_stops_nobody_else() -> None:
    rows: list[dict[str, Any]] = []
    jobs = [job(name) for name in ("Crash", "Hang", "Dies", "Talks", "Probe")]
    jobs.append(job("Probe", seed=1))
    run_jobs(jobs, rows.append, processes=2, limit_seconds=5.0)
    failures = {row["learner"].rpartition(":")[2]: row.get("failure") for row in rows}
    assert len(rows) == 6
    assert failures["Crash"] == "ValueError: it broke"
    assert failures["Hang"] == "took longer than 5 s and was ended."
    assert failures["Dies"] == "its process ended with code 9: perhaps there was too little memory."
    assert failures["Talks"] is None
    assert failures["Probe"] is None


def config(n: int, learner: str = "Probe") -> Config:
    return Config(tuple(job(learner, seed=seed) for seed in range(n)))


def test_a_rerun_does_only_what_is_missing(tmp_path: Path) -> None:
    Probe.made = 0
    run(config(3), tmp_path, processes=0)
    rows, failures = run(config(5), tmp_path, processes=0)
    assert Probe.made == 5
    assert [row["seed"] for row in rows] == [0, 1, 2, 3, 4]
    assert failures == []


def test_a_row_that_was_cut_off_is_done_again_and_spoils_no_other(tmp_path: Path) -> None:
    run(config(3), tmp_path, processes=0)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-40])
    Probe.made = 0
    rows, _ = run(config(3), tmp_path, processes=0)
    assert Probe.made == 1
    assert sorted(row["seed"] for row in rows) == [0, 1, 2]
    assert len(pyarrow.parquet.read_table(tmp_path / TABLE)) == 3


def test_a_stored_table_without_a_journal_is_gone_on_from(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    run(config(2), stored, processes=0)
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / TABLE).write_bytes((stored / TABLE).read_bytes())
    Probe.made = 0
    rows, _ = run(config(3), copied, processes=0)
    assert Probe.made == 1
    assert sorted(row["seed"] for row in rows) == [0, 1, 2]
    assert len(pyarrow.parquet.read_table(copied / TABLE)) == 3


def test_failures_are_kept_apart_and_tried_again(tmp_path: Path) -> None:
    run(Config((job("Crash"), job("Probe"))), tmp_path, processes=0)
    rows, failures = read_results(tmp_path)
    assert [row["learner"] for row in rows] == [f"{HERE}Probe"]
    assert [(row["learner"], row["failure"]) for row in failures] == [
        (f"{HERE}Crash", "ValueError: it broke")
    ]
    assert "it broke" in failures[0]["trace"]
    assert Journal(tmp_path).done() == {job("Probe")}
    assert (tmp_path / FAILED).exists()


def test_the_table_is_tidy(tmp_path: Path) -> None:
    run(config(1), tmp_path, processes=0)
    table = pyarrow.parquet.read_table(tmp_path / TABLE)
    assert table.column_names[: len(COLUMNS)] == COLUMNS
    assert table.column("epsilon")[0].as_py() == math.inf


def test_an_interrupted_run_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed without warning in the middle, and run again, in this process."""
    learner = f"{HERE}Slow"
    environment = f"{HERE}parabola"
    config = [
        "seeds = 4",
        "[[runs]]",
        f'learners = ["{learner}"]',
        f'environments = ["{environment}"]',
        "rounds = [20]",
        "epsilons = [1.0]",
    ]
    (tmp_path / "c.toml").write_text("\n".join(config))
    program = "from tacit.cli import main; main()"
    options = ["arena", "--config", "c.toml", "--out", "out", "--jobs", "1", "--json"]
    command = [sys.executable, "-c", program, *options]
    journal = tmp_path / "out" / "journal.jsonl"
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if journal.exists() and journal.read_text().count("\n") >= 2:
            break
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = journal.read_text()
    assert 2 <= before.count("\n") < 4
    monkeypatch.chdir(tmp_path)
    again = CliRunner().invoke(app, options)
    assert again.exit_code == 0, again.output
    (cell,) = json.loads(again.stdout)["results"]
    assert cell["seeds"] == 4
    assert journal.read_text().startswith(before)
    assert journal.read_text().count("\n") == 4


# -- configurations -------------------------------------------------------------------------------


def test_learners_without_privacy_run_once_and_slow_ones_stop_at_their_cap() -> None:
    private = f"{HERE}Private"
    plain = f"{HERE}Probe"
    jobs = make_jobs(
        [private, plain], ["branin"], [100, 1000], [0.5, 1.0], [0, 1], caps={private: 500}
    )
    assert {(j.rounds, j.epsilon) for j in jobs if j.learner == private} == {(100, 0.5), (100, 1.0)}
    assert {(j.rounds, j.epsilon) for j in jobs if j.learner == plain} == {
        (100, math.inf),
        (1000, math.inf),
    }
    assert {j.seed for j in jobs} == {0, 1}


def test_a_study_runs_seed_by_seed() -> None:
    spec = one_run(UNIFORM, "branin")
    spec["runs"][0]["rounds"] = [10, 20]
    jobs = parse(spec | {"seeds": [7, 3]}, "here").jobs
    assert [(j.seed, j.rounds) for j in jobs] == [(3, 10), (3, 20), (7, 10), (7, 20)]


def one_run(learner: str, environment: str) -> dict[str, Any]:
    run = {"rounds": [1], "epsilons": [1]}
    return {"runs": [run | {"learners": [learner], "environments": [environment]}]}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({}, "asks for nothing"),
        ({"sedes": 3}, "has sedes, but may have only"),
        ({"runs": [{"environments": ["branin"], "rounds": [10]}]}, "has no epsilons"),
        (one_run(UNIFORM, "x"), "no environment"),
        (one_run("x", "branin"), "no learner 'x'"),
        (one_run("math:pi", "branin"), "subclass"),
    ],
)
def test_a_wrong_config_is_refused_in_one_sentence(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse(spec, "here")


def test_the_quick_run_has_every_learner() -> None:
    from tacit_lab.arena.names import known_learners

    assert {j.learner for j in quick_config().jobs} == set(known_learners())


# -- the learners' laws can fail ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "learner"),
    [
        ("test_it_plays_and_decides_inside_the_domain", Outside),
        ("test_asked_one_by_one_it_stays_inside_too", Outside),
        ("test_it_sees_one_reward_per_round_in_order", Peeks),
        ("test_the_same_seed_plays_and_decides_the_same", Unseeded),
    ],
)
def test_each_law_refuses_what_breaks_it(law: str, learner: type[Learner]) -> None:
    environment = parabola(np.random.default_rng(0))
    with pytest.raises(AssertionError):
        getattr(LearnerLaws(), law)(learner, environment)


def test_names_lead_to_learners_of_ones_own() -> None:
    assert learner_named(UNIFORM) is Uniform
    assert learner_named(f"{HERE}Probe").__name__ == "Probe"
