"""The demo: simulated patients, a real release, a report that stands alone; and the examples."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from helpers import ROOT
from tacit import Policy, Problem
from tacit.cli import app
from tacit.demo import DemoResult, dosing_problem, patients, run_demo, write_picture, write_report
from tacit.demo.study import Measured
from tacit.errors import InputError, MissingExtraError

EXAMPLES = ROOT / "examples"
NAMES = ("dosing", "pricing", "jokes")


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(rounds=5000, seed=1, patients_to_test=4000)


@pytest.fixture(scope="module")
def page(result: DemoResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(
        result, tmp_path_factory.mktemp("report") / "deep" / "report.html"
    ).read_text(encoding="utf-8")


def people(**columns: object) -> patients.Patients:
    typical = {"age": 65.0, "height": 170.0, "weight": 80.0, "vkorc1": "G/G", "cyp2c9": "*1/*1"}
    return {name: np.atleast_1d(np.asarray(value)) for name, value in (typical | columns).items()}


# -- patients -------------------------------------------------------------------------------------


def test_formula_gives_the_hand_computed_doses() -> None:
    # 5.6044 - 0.2614*6 + 0.0087*170 + 0.0128*80 = 6.5390, squared 42.758521
    assert patients.formula_dose(people())[0] == pytest.approx(42.758521, abs=1e-6)
    # 5.6044 - 0.2614*7 + 0.0087*160 + 0.0128*60 - 1.6974 - 0.9357 = 3.3015, squared 10.89990225
    small = people(age=79.9, height=160.0, weight=60.0, vkorc1="A/A", cyp2c9="*1/*3")
    assert patients.formula_dose(small)[0] == pytest.approx(3.3015**2, abs=1e-6)
    # 5.6044 - 0.2614*2 + 0.0087*180 + 0.0128*100 - 0.8677 - 0.5211 = 6.5388
    tall = people(age=20.0, height=180.0, weight=100.0, vkorc1="A/G", cyp2c9="*1/*2")
    assert patients.formula_dose(tall)[0] == pytest.approx(6.5388**2, abs=1e-6)


def test_age_counts_in_whole_decades() -> None:
    dose = patients.formula_dose({**people(), "age": np.array([60.0, 69.9, 70.0])} | _three())
    assert dose[0] == dose[1] > dose[2]


def _three() -> patients.Patients:
    return {name: np.repeat(column, 3) for name, column in people().items() if name != "age"}


def test_genotypes_are_listed_from_the_highest_dose_to_the_lowest() -> None:
    assert list(patients.VKORC1) == list(patients.VKORC1_TERM)
    assert list(patients.CYP2C9) == list(patients.CYP2C9_TERM)
    for terms in (patients.VKORC1_TERM, patients.CYP2C9_TERM):
        assert list(terms.values()) == sorted(terms.values(), reverse=True)


def test_patients_are_in_range_and_of_the_stated_population() -> None:
    n = 200_000
    came = patients.sample_patients(n, np.random.default_rng(0))
    for name, (low, high) in (
        ("age", patients.AGE),
        ("height", patients.HEIGHT),
        ("weight", patients.WEIGHT),
    ):
        assert came[name].min() >= low
        assert came[name].max() <= high
    assert np.corrcoef(came["height"], came["weight"])[0, 1] == pytest.approx(0.5, abs=0.05)
    for name, shares in (("vkorc1", patients.VKORC1), ("cyp2c9", patients.CYP2C9)):
        assert sum(shares.values()) == pytest.approx(1.0)
        for genotype, share in shares.items():
            sd = np.sqrt(share * (1 - share) / n)
            assert (
                abs((came[name] == genotype).mean() - share) < 6 * sd
            )  # seeded; 2e-9 for a fresh seed


def test_formula_errs_as_much_as_published() -> None:
    rng = np.random.default_rng(1)
    came = patients.sample_patients(200_000, rng)
    right = patients.right_dose(came, rng)
    assert np.abs(patients.formula_dose(came) - right).mean() == pytest.approx(8.6, abs=0.1)
    assert right.min() >= 0.0
    assert right.max() <= patients.LARGEST_DOSE


def test_reward_falls_from_one_to_zero() -> None:
    right = np.array([30.0, 30.0, 30.0, 30.0])
    assert patients.reward(np.array([30.0, 15.0, 60.0, 99.0]), right).tolist() == [
        1.0,
        0.5,
        0.0,
        0.0,
    ]


# -- the study ------------------------------------------------------------------------------------


def test_private_policy_beats_the_best_fixed_dose(result: DemoResult) -> None:
    # Over 40 seeds the gain was 0.0797 with standard deviation 0.0040, the smallest 0.069. From
    # these, a fresh one falls below 0.04 with probability 2e-12 (Student's t with 39 degrees of
    # freedom): well under 1e-6.
    assert result.gain.reward > 0.04
    assert result.uniform.reward < 0.3 < 0.58 < result.best_fixed.reward < result.private.reward


def test_release_is_real_charged_and_private(result: DemoResult) -> None:
    guarantee = result.policy.guarantee
    assert guarantee.private
    assert guarantee.epsilon <= 1.0 + 1e-9
    assert guarantee.delta == 1e-6
    assert result.rho_spent == pytest.approx(guarantee.rho, rel=1e-9)


def test_noise_is_fresh_where_patients_are_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.demo.study.RANK", 30)
    seen: list[str] = []
    one = run_demo(
        rounds=300,
        seed=2,
        patients_to_test=200,
        progress=lambda what, done, total: seen.append(what),
    )
    two = run_demo(rounds=300, seed=2, patients_to_test=200)
    assert {"adding records", "release and decode", "fresh patients"} <= set(seen)
    assert np.array_equal(one.tested.right, two.tested.right)
    assert not np.array_equal(one.policy.posterior.weights, two.policy.posterior.weights)


def test_figures_are_plain_data(result: DemoResult) -> None:
    figures = json.loads(json.dumps(result.to_json()))
    expected = {
        "rounds",
        "epsilon",
        "delta",
        "reward_uniform",
        "reward_best_fixed",
        "reward_formula",
        "reward_private",
    }
    assert expected | {"seconds"} <= set(figures)
    assert figures["rounds"] == 5000


def test_result_is_frozen(result: DemoResult) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.rounds = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"patients_to_test": 1}, {"rounds": 0}, {"epsilon": -1.0}]
)
def test_wrong_arguments_are_named(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong)).replace("rounds", "horizon")):
        run_demo(**wrong)  # type: ignore[arg-type]


# -- the report -----------------------------------------------------------------------------------


def test_report_stands_alone(page: str) -> None:
    assert page.startswith("<!doctype html>")
    for foreign in ("http", "src=", "@import", "<script", "<link", "<image", "<img"):
        assert foreign not in page, foreign
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', page))
    assert page.count("<svg") == 4


def test_report_says_what_is_promised_and_what_was_measured(page: str, result: DemoResult) -> None:
    assert str(result.policy.guarantee).replace("'", "&#x27;") in page
    assert "Not protected" in page
    for value in (
        f"{result.private.reward:.3f}",
        f"{result.best_fixed.reward:.3f}",
        f"{result.formula.reward:.3f}",
    ):
        assert value in page
    for value in (
        "5,000",
        f"<td>{result.rank}</td>",
        f"<td>{result.tau:.3g}</td>",
        f"<td>{result.clip:.3g}</td>",
    ):
        assert value in page
    assert "$" not in page  # every blank was filled in


def test_ids_in_the_report_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:url\(#|href="#)([^")]*)', page))
    assert used <= set(ids)


def test_report_admits_when_nothing_was_learned(result: DemoResult, tmp_path: Path) -> None:
    poor = dataclasses.replace(result, gain=Measured(reward=0.001, margin=0.002))
    assert "one dose for all does as well" in write_report(
        poor, tmp_path / "report.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "starts"), [("demo.png", b"\x89PNG"), ("demo.svg", b"<?xml")])
def test_picture_is_one_file(result: DemoResult, tmp_path: Path, name: str, starts: bytes) -> None:
    assert write_picture(result, tmp_path / "images" / name).read_bytes().startswith(starts)


def test_without_matplotlib_the_error_says_what_to_install(
    result: DemoResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for write in (write_report, write_picture):
        with pytest.raises(MissingExtraError, match=r"install 'tacit-dp\[plot\]"):
            write(result, tmp_path / "missing.svg")
    assert not list(tmp_path.iterdir())


# -- examples -------------------------------------------------------------------------------------


def load(name: str) -> tuple[dict[str, object], Problem]:
    spec = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())
    return spec, Problem.from_spec(spec)


def make_data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_data", EXAMPLES / "make_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_example_files_load(name: str) -> None:
    spec, problem = load(name)
    assert spec["horizon"] == 5000
    assert spec["budget"] == {"epsilon": 1.0, "delta": 1e-6}
    assert Problem.from_spec(problem.spec()).spec() == problem.spec()


def test_dosing_file_is_the_demo() -> None:
    assert load("dosing")[1].spec() == dosing_problem().spec()


def test_example_data_fits_the_problems(tmp_path: Path) -> None:
    written = make_data().write_all(tmp_path)
    assert all(path.stat().st_size < 300_000 for path in written)
    for name in NAMES:
        _, problem = load(name)
        log = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet")
        assert log.column_names == [*problem.actions.names, *problem.contexts.names, "reward"]
        assert log.num_rows == 5000
        reward = log["reward"].to_numpy()
        assert problem.reward_range[0] <= reward.min() < reward.max() <= problem.reward_range[1]
        for domain in (problem.actions, problem.contexts):
            assert np.isfinite(domain.encode(domain.read(log).columns)).all()


# -- the command ----------------------------------------------------------------------------------


def test_the_command_without_matplotlib_prints_its_table_and_says_how_to_get_the_report(
    result: DemoResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def already(**given: object) -> DemoResult:
        return result

    monkeypatch.setattr("tacit.demo.run_demo", already)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    command = ["demo", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0
    assert f"{result.private.reward:.3f}" in done.stdout
    assert "No report was written: figures need matplotlib" in done.stderr
    assert "install 'tacit-dp[plot]'" in done.stderr
    assert Policy.load(tmp_path / "policy").private
    assert not (tmp_path / "report.html").exists()
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert told["report"] is None
    assert told["reward_private"] == result.private.reward


def test_a_picture_that_cannot_be_drawn_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(**given: object) -> DemoResult:
        raise AssertionError("the demo was run")

    monkeypatch.setattr("tacit.demo.run_demo", never)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    command = ["demo", "--out", str(tmp_path), "--picture", str(tmp_path / "demo.png")]
    with pytest.raises(MissingExtraError, match="figures need matplotlib"):
        CliRunner().invoke(app, command, catch_exceptions=False)
