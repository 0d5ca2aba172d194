"""The audit: its arithmetic is right, the shipped mechanisms pass, and it says so in the way it
promises.

Private noise has no seed, so the run of the whole audit below is a new one every time; by
construction it raises a false alarm with probability below 1e-6. What is random otherwise is
seeded.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sqlalchemy import event as sql_event
from sqlalchemy.engine import Engine
from typer.testing import CliRunner

import tacit
from helpers import ROOT, create_study, records, small_problem, sqlite
from streams import quick_noise
from tacit.audit import Effort, Finding, Report, Settings, bounds, laws, run_audit
from tacit.audit.epochs import attack_epochs
from tacit.audit.evaluations import attack_evaluation
from tacit.audit.evidence import by_likelihood, count_best_event
from tacit.audit.findings import ALARM
from tacit.audit.plot import require_plot, write_plot
from tacit.audit.released import binomial_p_value, normal_p_value
from tacit.cli import app, main
from tacit.core.budget import epsilon_of_rho
from tacit.core.events import Exponential, PermuteAndFlip
from tacit.core.selection import selection_measurement
from tacit.errors import InputError

# How accurate the policies are that the attacked studies make does not matter to any attack.
pytestmark = pytest.mark.usefixtures("coarse_fits")

# As few samples as let every attack prove 0.6 of its claim, but for a chance below 1e-8 each (see
# test_the_attacks_are_sharp). The checks have fewer still: a false alarm is no more likely for
# that, and that they see broken mechanisms is tested with samples of their own, in
# test_audit_mutants.py and in tests/core/test_broken_mechanisms.py.
SHARP = Effort(
    releases=6_000,
    duels=2_500,
    choices=8_000,
    rivals=15,
    runs=1_700,
    charged=400,
    paired=600,
    epochs=1_600,
    evaluated=1_600,
    noise=8_000,
    chosen=600,
    coordinates=8_000,
    answers=250,
    trials=300,
    every=20,
    processes=2,
)
TINY = Effort(
    releases=400,
    duels=200,
    choices=200,
    rivals=15,
    runs=20,
    charged=4,
    paired=1,
    epochs=8,
    evaluated=8,
    noise=4000,
    chosen=100,
    coordinates=1000,
    answers=100,
    trials=60,
    every=40,
    processes=0,
)


# -- the arithmetic -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p"), [(20, 0.1), (50, 0.5), (200, 0.97)])
@pytest.mark.parametrize("risk", [0.05, 1e-7])
def test_rates_are_bounded_with_the_stated_risk_exactly(n: int, p: float, risk: float) -> None:
    """The sum over all outcomes of a binomial: no chance involved."""
    k = np.arange(n + 1)
    mass = stats.binom.pmf(k, n, p)
    assert mass[bounds.at_least(k, n, risk) > p].sum() <= risk
    assert mass[bounds.at_most(k, n, risk) < p].sum() <= risk


def test_every_measure_recovers_its_claim_from_exact_rates() -> None:
    lo = np.array(0.5)
    hi = np.array(0.5 * math.exp(-1.5))
    assert bounds.PURE.of(lo, hi) == pytest.approx(1.5)
    sigmoid = 1 / (1 + math.exp(-0.75))
    assert bounds.RANGE.of(np.array(sigmoid), np.array(1 - sigmoid)) == pytest.approx(1.5)
    assert bounds.GAUSSIAN.of(
        np.array(stats.norm.cdf(0.7)), np.array(stats.norm.cdf(-0.8))
    ) == pytest.approx(1.5)
    assert (
        bounds.ZCDP.of(np.array(stats.norm.cdf(0.7)), np.array(stats.norm.cdf(-0.8))) <= 1.5**2 / 2
    )


def test_the_gaussian_profile_is_exact_and_below_the_conversion_from_rho() -> None:
    assert bounds.gaussian_epsilon(1.0, 1e-6) == pytest.approx(4.8866, abs=1e-4)
    for mu, delta in ((0.2, 1e-6), (1.0, 1e-9), (5.0, 1e-5)):
        epsilon = bounds.gaussian_epsilon(mu, delta)
        assert bounds.gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)
        assert epsilon < epsilon_of_rho(mu**2 / 2, delta)
    assert bounds.gaussian_epsilon(0.0, 1e-6) == 0.0


def test_permute_and_flip_follows_its_law_by_enumeration() -> None:
    scores = [3, 0, 3, 1]
    delta = 2
    epsilon = 1.3
    accept = [math.exp(epsilon * (score - 3) / (2 * delta)) for score in scores]
    law = np.zeros(4)
    for order in permutations(range(4)):
        left = 1.0
        for candidate in order:
            law[candidate] += left * accept[candidate] / 24
            left *= 1 - accept[candidate]
    assert laws.choice_law(scores, PermuteAndFlip(epsilon), delta) == pytest.approx(law, abs=1e-12)
    assert laws.choice_law([5] * 64, PermuteAndFlip(1.0), 1) == pytest.approx(
        np.full(64, 1 / 64), abs=1e-12
    )


def test_composed_epsilon_is_exact_for_one_draw_and_below_basic_composition_for_many() -> None:
    p = 0.7
    q = 0.2
    delta = 1e-3
    assert laws.composed_epsilon(p, q, 1, delta) == pytest.approx(math.log((p - delta) / q))
    assert 0 < laws.composed_epsilon(p, q, 10, delta) < 10 * math.log(p / q)
    assert laws.composed_epsilon(0.5001, 0.5, 1, 0.1) == 0.0


def test_the_laws_of_released_vectors_and_choices_are_exact() -> None:
    """Tests of the tests. Seeded: of 2000 runs with right noise about 5 % or fewer have a p-value
    below 0.05."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0.0, 1e6, size=(2000, 40, 5)).astype(np.int64)
    low = np.mean([normal_p_value(rows, 1e6) < 0.05 for rows in noise])
    assert 0.02 < low < 0.06
    law = np.array([0.6, 0.3, 0.1])
    chosen = rng.multinomial(200, law, size=2000)
    assert 0.01 < np.mean([binomial_p_value(counts, law) < 0.05 for counts in chosen]) < 0.06


def test_choosing_the_event_does_not_spend_the_confidence() -> None:
    """Both sides follow one law, so every positive bound is wrong: at most 5 % may be. Seeded."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        a, b = by_likelihood(*rng.integers(0, 64, size=(2, 400)))
        counts = count_best_event(a, b, bounds.PURE)
        wrong += counts.bound(bounds.PURE, 0.05) > 0
    assert wrong <= 15
    with pytest.raises(InputError, match="at least 4 runs"):
        count_best_event(np.zeros(1), np.zeros(1), bounds.PURE)


# -- the shipped mechanisms -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def sharp() -> Report:
    """One audit of everything, for all tests that follow. Attacks look along one direction, so
    fewer coordinates are as hard to attack, and quicker to release.

    The attack on a study in two epochs needs ten thousand vectors, more than all others together.
    How sharp it is does not depend on who draws them, so here they are NumPy's, of the same scale.
    The shipped noise is attacked by this audit in every other way, and in a study in two epochs by
    the audits of studies below and by test_a_right_study_in_epochs_passes.
    """

    def with_quick_noise(*arguments: Any, **options: Any) -> Finding:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr("tacit.core.release.discrete_gaussian", quick_noise())
            return attack_epochs(*arguments, **options)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tacit.audit.run.attack_epochs", with_quick_noise)
        return run_audit(Settings(rank=6), SHARP)


@pytest.fixture(scope="module")
def printed(sharp: Report) -> dict[str, Any]:
    """The same as `tacit audit --json` prints it."""
    printed: dict[str, Any] = json.loads(json.dumps(sharp.to_json()))
    return printed


def test_the_findings_can_be_drawn(sharp: Report, tmp_path: Path) -> None:
    write_plot(sharp, tmp_path / "audit.svg")
    assert (tmp_path / "audit.svg").read_text().startswith("<?xml")


def test_the_page_on_the_audit_shows_what_is_printed(sharp: Report) -> None:
    """The mechanisms and the checks of docs/audit.md are those of an audit, in its order. Bounds
    are of random samples, and differ from run to run."""
    page = (ROOT / "docs" / "audit.md").read_text()
    shown = re.search(r"```text\n(.*?)```", page, flags=re.DOTALL)
    assert shown is not None
    rows = re.findall(r"^│ (.*?) +│", shown[1], flags=re.MULTILINE)
    names = [finding.name for finding in sharp.findings]
    names += [check.name for check in sharp.checks]
    assert rows == names


def test_the_shipped_mechanisms_pass(printed: dict[str, Any]) -> None:
    """False alarms: below 1e-6 for the whole run (at most 20 tests at 5e-8 each)."""
    assert printed["ok"] is True
    assert all(item["ok"] for item in printed["mechanisms"] + printed["checks"])
    sampled = [item for item in printed["mechanisms"] if not item["exact"]] + printed["checks"]
    assert len(sampled) * ALARM <= 1e-6


def test_every_mechanism_is_reported_with_all_its_fields(printed: dict[str, Any]) -> None:
    wanted = {"name", "claimed_epsilon", "lower_bound", "samples", "seconds", "ok"}
    assert all(wanted <= set(item) for item in printed["mechanisms"])
    names = " ".join(item["name"] for item in printed["mechanisms"])
    for part in (
        "contribution, record",
        "contribution, user",
        "Gaussian release, record",
        "Gaussian release, user",
        "ledger",
        "odd cells, record",
        "odd questions, record",
        "odd cells, user",
        "odd questions, user",
        "permute-and-flip",
        "exponential",
        "4 exponential choices",
        "price",
    ):
        assert part in names
    checks = {item["name"] for item in printed["checks"]}
    assert {"coordinates of a release", "choices, pure ledger", "choices, zCDP ledger"} <= checks


SAMPLED = (
    "Gaussian release, record",
    "Gaussian release, user",
    "release through a ledger",
    "two cohorts, one ledger",
    "a study in two epochs",
    "an evaluation",
    "permute-and-flip",
    "exponential",
    "exponential, range",
    "4 exponential choices",
)


def test_the_attacks_are_sharp(printed: dict[str, Any]) -> None:
    """An audit that proves nothing passes everything: every lower bound reaches 0.6 of its claim.

    The sampled ones fail by chance with probability below 5e-8 each. Where the event is fixed this
    was computed from binomial laws (release through a ledger: 2e-9, two cohorts: 3e-9, a study in
    two epochs or an evaluation, which show 0.9 of their claims: 2e-8, 4 exponential choices: 4e-9);
    the others lie more than 6 standard deviations above 0.6 in simulations of the attack
    (exponential: 6.3, the others 7 and more).
    """
    mechanisms = printed["mechanisms"]
    share = {item["name"]: item["lower_bound"] / item["claimed_epsilon"] for item in mechanisms}
    sampled = {item["name"] for item in mechanisms if not item["exact"]}
    assert sampled == set(SAMPLED)
    assert min(share.values()) >= 0.6, share
    assert share["contribution, record"] > 0.999999
    assert share["contribution, user"] > 0.999999
    assert share["price, 100 exponential"] > 0.9


@pytest.mark.parametrize("candidates", [2, 64])
def test_exact_choices_stay_within_epsilon_and_permute_and_flip_attains_it(candidates: int) -> None:
    from tacit.audit.selection import neighbour_scores

    found = neighbour_scores(tacit.core.Encoding(size=2, horizon=4096), candidates=candidates)
    for event in (PermuteAndFlip(1.0), Exponential(1.0)):
        a = laws.choice_law(found.scores(0), event, found.delta)
        b = laws.choice_law(found.scores(1), event, found.delta)
        log_ratio = np.log(a[:2]) - np.log(b[:2])
        assert np.abs(log_ratio).max() <= 1.0 + 1e-9
        if isinstance(event, PermuteAndFlip):
            assert np.abs(log_ratio).max() > 0.999


# -- studies --------------------------------------------------------------------------------------


@contextmanager
def statements(url: str) -> Iterator[list[str]]:
    """Every SQL statement that anybody runs on this database meanwhile."""
    seen: list[str] = []

    def listen(connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if str(connection.engine.url) == url:
            seen.append(statement)

    sql_event.listen(Engine, "before_cursor_execute", listen)
    try:
        yield seen
    finally:
        sql_event.remove(Engine, "before_cursor_execute", listen)


@pytest.fixture(scope="module")
def once() -> Iterator[None]:
    """The attacks on a study in two epochs and on an evaluation, which depend on no settings of the
    study that is audited, are made once for all of them."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tacit.audit.run.attack_epochs", cache(attack_epochs))
        monkeypatch.setattr("tacit.audit.run.attack_evaluation", cache(attack_evaluation))
        yield


def make_study(url: str, **options: Any) -> tacit.Study:
    budget = options.pop("budget", tacit.Budget(epsilon=1.0, delta=1e-6))
    common: dict[str, Any] = {
        "horizon": 500,
        "rank": 12,
        "tau": 10.0,
        "public_points": 2000,
        "seed": 0,
    } | options
    return create_study(url, small_problem(), budget=budget, **common)


@pytest.mark.usefixtures("once")
def test_a_study_is_audited_by_its_settings_and_none_of_its_rounds_is_read(tmp_path: Path) -> None:
    """All mechanisms are right; false alarms below 1e-6."""
    url = sqlite(tmp_path)
    audited = make_study(url)
    asked = audited.ask_many(records(40)[1])
    audited.tell_many([decision.id for decision in asked], [0.5] * 40)
    with statements(url) as seen:
        settings = Settings.of_study(url)
        report = run_audit(settings, TINY)
    assert report.ok
    assert not any("tacit_rounds" in statement for statement in seen)
    assert settings.rank == audited.design.rank
    assert report.to_json()["settings"]["clip"] == audited.design.clip
    assert {
        "records of this study",
        "contribution, record",
        "Gaussian release, record",
    } <= names_of(report)
    assert {"odd cells, record", "odd questions, record"} <= names_of(report)
    assert f"{audited.design.encoding.size} coordinates" in next(
        check.about for check in report.checks if check.name == "coordinates of a release"
    )
    assert "contribution, user" not in names_of(report)
    assert audited.ledger.spent == 0
    with statements(url) as seen:
        assert audited.asked == 40
    assert any("tacit_rounds" in statement for statement in seen)


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("options", "has", "has_not"),
    [
        (
            {"unit": "user", "horizon": 3},
            {"contribution, user", "Gaussian release, user"},
            {"contribution, record"},
        ),
        (
            {"budget": tacit.Budget(epsilon=1.0)},
            {"choice through a ledger", "permute-and-flip"},
            {"Gaussian release, record", "4 exponential choices"},
        ),
    ],
)
def test_the_attacks_follow_the_unit_and_the_budget_of_a_study(
    tmp_path: Path, options: dict[str, Any], has: set[str], has_not: set[str]
) -> None:
    """All mechanisms are right; false alarms below 1e-6."""
    make_study(sqlite(tmp_path), **options)
    report = run_audit(Settings.of_study(sqlite(tmp_path)), TINY)
    assert report.ok
    assert has <= names_of(report)
    assert not has_not & names_of(report)


@pytest.mark.usefixtures("once")
def test_a_study_in_epochs_is_audited_by_the_design_of_the_present_one(tmp_path: Path) -> None:
    """In its second epoch, with a ledger that is divided. All mechanisms are right; false alarms
    below 1e-6."""
    url = sqlite(tmp_path)
    audited = make_study(url, horizon=60, epochs=[20, 40])
    audited.tell_many(audited.ask_many(records(20)[1]), [0.5] * 20)
    audited.advance()
    spent = audited.ledger.spent
    with statements(url) as seen:
        settings = Settings.of_study(url)
        report = run_audit(settings, TINY)
    assert report.ok
    assert not any("tacit_rounds" in statement for statement in seen)
    assert settings.design is not None
    assert settings.design.clip == audited.design.clip
    assert "records of this study" in names_of(report)
    assert audited.ledger.spent == spent


def names_of(report: Report) -> set[str]:
    return {finding.name for finding in report.findings}


# -- the command ----------------------------------------------------------------------------------


def fake(ok: bool) -> Report:
    good = Finding("good", 2.0, 1.5, 100, 0.1, True, 0.0, False, "as it should be")
    other = Finding("other", 1.0, 0.5 if ok else 1.8, 100, 0.1, ok, 0.0, True, "half the noise")
    return Report((good, other), (), Settings(), 0.2)


@pytest.mark.parametrize(
    ("ok", "code", "says"), [(True, 0, "No claim was refuted"), (False, 1, "REFUTED")]
)
def test_the_exit_code_tells_whether_a_claim_was_refuted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ok: bool, code: int, says: str
) -> None:
    monkeypatch.setattr("tacit.audit.run_audit", lambda *_: fake(ok))
    done = CliRunner().invoke(app, ["audit", "--quick", "--plot", str(tmp_path / "a.png")])
    assert done.exit_code == code
    assert says in done.output
    assert (tmp_path / "a.png").stat().st_size > 10_000
    said = json.loads(CliRunner().invoke(app, ["audit", "--quick", "--json"]).stdout)
    assert said["ok"] is ok


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--plot", "a.jpeg"], "choose one of these endings"),
        (["--plot", "nowhere/a.png"], "does not exist"),
        (["--study", "nonsense"], "expected a database URL"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process: another one would take seconds to start."""
    monkeypatch.setattr(sys, "argv", ["tacit", "audit", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert says in " ".join(capsys.readouterr().err.split())


def test_without_matplotlib_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(sys, "argv", ["tacit", "audit", "--plot", "a.png"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "pip install 'tacit-dp[plot]'" in " ".join(capsys.readouterr().err.split())


def test_help_states_both_confidences() -> None:
    shown = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "100"}).stdout
    said = " ".join(shown.replace("│", " ").split())
    assert "95 %" in said
    assert "1 - 5e-8" in said


def test_a_plot_needs_a_known_ending_and_a_folder(tmp_path: Path) -> None:
    require_plot(tmp_path / "a.SVG")
    write_plot(fake(False), tmp_path / "a.svg")
    with pytest.raises(InputError, match="endings"):
        require_plot(tmp_path / "a.txt")
    with pytest.raises(InputError, match="folder"):
        require_plot(tmp_path / "no" / "a.png")


def test_the_measurement_that_is_attacked_is_the_one_that_noisy_max_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The inner loop builds it once instead of once per draw; nothing else differs."""
    from tacit.core import selection

    built = []

    def spy(size: int, event: Any, delta: int) -> Any:
        built.append((size, event, delta))
        return selection_measurement(size, event, delta)

    monkeypatch.setattr(selection, "selection_measurement", spy)
    assert selection.noisy_max(np.array([0, 10**6]), Exponential(1.0), 10) == 1
    assert built == [(2, Exponential(1.0), 10)]
