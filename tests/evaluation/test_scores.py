"""What rounds say about policies: right on average, within public bounds whatever they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from evaluated import NOW, design, learned, mean_reward, rounds, rule, truth
from helpers import BUDGET, small_problem
from mutation import Mutant, failure_under
from tacit import EvaluationOptions, InputError
from tacit.core import simulate_gaussian
from tacit.core.sums import PrivateSum
from tacit.evaluation import EvaluationDesign, ScoreSum, as_candidates
from tacit.evaluation.estimates import Estimate, deviations
from tacit.evaluation.windows import Window
from tacit.play import EpsilonGreedy, Fixed

POLICY = learned()
BLEND = POLICY.blend(NOW, share=0.25)
PLENTY = tacit.Budget(1000.0, 1e-6)  # next to no noise


def scores(asked: EvaluationDesign, log: Any, p: Any = None) -> Any:
    problem = asked.scorer.problem
    X = problem.actions.encode({"dose": log["dose"]})
    C = problem.contexts.encode({"age": log["age"], "weight": log["weight"]})
    return asked.scorer.scores(X, C, problem.scale_reward(log["reward"]), p)


# -- right on average -----------------------------------------------------------------------------


def test_scores_are_right_on_average() -> None:
    """False-alarm rate below 1e-6: five standard errors, and 0.01 for what windows blur."""
    n = 20_000
    asked = design(
        {"learned": POLICY, "rule": rule, "blend": BLEND, "now": NOW, "random": "uniform"}, n
    )
    psi, usable = scores(asked, rounds(n, seed=1))
    assert usable.all()
    ages = np.linspace(18, 95, 400)
    chosen = POLICY.decide({"age": ages, "weight": np.full(400, 90.0)})["dose"]
    values = [
        truth(lambda age: np.interp(age, ages, chosen)),
        truth(lambda age: 90 - age / 2),
        0.0,
        truth(lambda age: 30.0),
        truth(lambda age: np.random.default_rng(3).uniform(0, 100, len(age))),
    ]
    values[2] = 0.25 * values[0] + 0.75 * values[3]
    found = (psi.mean(axis=0) + 1) / 2
    error = psi.std(axis=0) / 2 / np.sqrt(n)
    assert (np.abs(found - values) <= 5 * error + 0.012).all()


def test_other_play_is_weighed_by_its_law() -> None:
    law = EpsilonGreedy(Fixed({"dose": 60.0}), 0.5)
    problem = tacit.Problem(
        small_problem().actions, small_problem().contexts, small_problem().kernel, play=law
    )
    n = 20_000
    rng = np.random.default_rng(4)
    log = rounds(n, seed=2)
    log["dose"] = np.where(rng.random(n) < 0.5, 60.0, log["dose"])
    log["reward"] = mean_reward(log["dose"], log["age"])
    asked = design({"rule": rule, "sixty": {"dose": 60.0}}, n, problem=problem)
    psi, _ = scores(asked, log)
    found = (psi.mean(axis=0) + 1) / 2
    error = psi.std(axis=0) / 2 / np.sqrt(n)
    values = [0.9, truth(lambda age: 60.0)]
    assert (np.abs(found - values) <= 5 * error + 0.03).all()
    assert asked.layout.bounds[1].weight < 2.1  # half of all rounds are at sixty


def test_a_law_that_is_a_function_is_drawn_from() -> None:
    def law(contexts: Any, rng: np.random.Generator) -> Any:
        return {"dose": 100 * rng.beta(2, 2, len(contexts["age"]))}

    problem = tacit.Problem(
        small_problem().actions, small_problem().contexts, small_problem().kernel, play=law
    )
    n = 400
    log = rounds(n, seed=2)
    log["dose"] = 100 * np.random.default_rng(0).beta(2, 2, n)
    asked = design({"fifty": {"dose": 50.0}, "now": NOW}, n, problem=problem)
    window = asked.scorer.window.width
    inside = np.random.default_rng(1).beta(2, 2, 100_000)
    expected = 1 / np.mean(np.abs(inside - 0.5) <= window / 2)
    assert np.isclose(asked.layout.bounds[0].weight, expected, rtol=0.15)
    assert scores(asked, log)[1].all()


def test_propensities_weigh_rounds() -> None:
    n = 20_000
    rng = np.random.default_rng(6)
    log = rounds(n, seed=3)
    low = rng.random(n) < 0.8  # most doses are in the lower half
    log["dose"] = np.where(low, log["dose"] / 2, 50 + log["dose"] / 2)
    log["reward"] = mean_reward(log["dose"], log["age"])
    p = np.where(log["dose"] < 50, 0.8, 0.2) / 50
    p[:10] = [0.0, -1.0, np.nan, np.inf, 0.0, -5.0, np.nan, np.inf, 0.0, -np.inf]
    asked = design({"rule": rule, "now": NOW}, n, propensity=True)
    psi, usable = scores(asked, log, p)
    assert not usable[:10].any()
    assert usable[10:].all()
    found = (psi[10:].mean(axis=0) + 1) / 2
    error = psi.std(axis=0) / 2 / np.sqrt(n)
    assert (np.abs(found - [0.9, truth(lambda age: 30.0)]) <= 5 * error + 0.03).all()


# -- bounds ---------------------------------------------------------------------------------------


def longest(asked: EvaluationDesign, rng: np.random.Generator, n: int = 3000) -> float:
    """The longest row of rounds that do their worst: at the edges of windows, extreme rewards."""
    C = rng.random((n, 2))
    X = rng.random((n, 1))
    centres = [
        rule.actions(C, asked.scorer.problem.contexts)
        for candidate in asked.scorer.candidates
        for rule in candidate.rules
    ]
    near = np.stack(centres)[rng.integers(len(centres), size=n), np.arange(n)]
    step = asked.scorer.window.width * rng.choice([0.0, 0.499, -0.499, 0.51, 0.99], size=(n, 1))
    X = np.where(rng.random((n, 1)) < 0.9, np.clip(near + step, 0, 1), X)
    y = rng.choice([-1.0, 1.0, 1e300, np.nan], size=n, p=[0.45, 0.45, 0.05, 0.05])
    psi, usable = asked.scorer.scores(X, C, np.clip(y, -1, 1), None)
    group = None if asked.groups is None else asked.groups.of(C)
    return float(np.linalg.norm(asked.rows(psi, usable, group), axis=1).max())


def test_no_round_writes_a_row_longer_than_the_bound() -> None:
    rng = np.random.default_rng(0)
    several = {"learned": POLICY, "careful": POLICY.cautious(NOW), "now": NOW}
    for asked in (
        design({"learned": POLICY, "now": NOW}, 1000),
        design({"other": {"dose": 70.0}, "now": NOW}, 1000, options=EvaluationOptions(window=0.05)),
        design(several, 1000),
        design({"a": POLICY, "b": NOW}, 1000, options=EvaluationOptions(by={"age": [40, 60]})),
    ):
        # The core would shrink a longer row: privacy does not rest on this, unbiasedness does.
        assert longest(asked, rng) <= 1.0


def test_a_weight_above_its_bound_would_be_seen(tmp_path: Any) -> None:
    mutant = Mutant(
        "weights are not bounded",
        "tacit.evaluation.layout.Layout.mix",
        "MARGIN / float",
        "2 * MARGIN / float",
        test_no_round_writes_a_row_longer_than_the_bound,
    )
    failure_under(mutant, tmp_path)


def test_a_longer_row_is_shrunk_exactly_by_the_core() -> None:
    asked = design({"learned": POLICY, "now": NOW}, 1)
    total = PrivateSum(asked.encoding)
    total.add(np.full((1, asked.encoding.size), 7.0), 1)
    value: list[int] = [int(each) for each in total._value()]
    assert sum(v**2 for v in value) <= asked.encoding.bound**2


def test_bad_cells_raise_nothing_and_add_nothing() -> None:
    log: dict[str, Any] = rounds(300)
    asked = design({"learned": POLICY, "now": NOW}, 300)
    bad = {name: column.astype(object) for name, column in log.items()}
    odd: list[Any] = [None, np.nan, "x", b"\xff", np.inf, [1, 2], {}, 1e400]
    for i, value in enumerate(odd):
        for j, name in enumerate(bad):
            bad[name][10 * i + j] = value
    total = ScoreSum(asked)
    total.add(bad, bad["reward"])
    found = total.simulate_release(np.random.default_rng(0))
    assert np.isfinite(found.values["learned"].value)
    assert repr(total) == "ScoreSum(<private>, policies=2)"
    with pytest.raises(tacit.StateError, match="not pickled"):
        total.__reduce_ex__(2)


def test_values_are_means_over_usable_rounds() -> None:
    n = 4000
    log = rounds(n)
    half = log | {"reward": np.where(np.arange(n) % 2, log["reward"], np.nan)}
    asked = design({"learned": POLICY, "now": NOW}, n, budget=PLENTY)
    found = []
    for each in (log, half):
        total = ScoreSum(asked)
        total.add(each, each["reward"])
        found.append(total.simulate_release(np.random.default_rng(0)))
    whole, part = found
    assert np.isclose(whole.facts["usable"], n, rtol=0.01)
    assert np.isclose(part.facts["usable"], n / 2, rtol=0.01)
    for name in ("learned", "now"):
        assert abs(whole.values[name].value - part.values[name].value) < 0.05
        assert np.isclose(
            part.values[name].sampling / whole.values[name].sampling, 2**0.5, rtol=0.1
        )


def test_a_function_sees_one_context_at_a_time_and_may_fail() -> None:
    seen: list[int] = []

    def odd(contexts: Any) -> Any:
        seen.append(len(contexts["age"]))
        if contexts["age"][0] > 94.9:
            raise ValueError("somebody's age")
        return {"dose": np.full(len(contexts["age"]), 50.0)}

    problem = small_problem()
    (candidate,) = as_candidates({"odd": odd}, problem)
    chosen = candidate.rules[0].actions(np.array([[0.5, 0.5], [1.0, 0.5]]), problem.contexts)
    assert set(seen) == {1}
    assert np.isnan(chosen[:, 0]).tolist() == [False, True]


class OwnBox(tacit.Box):
    """A box of somebody's own, which may do anything."""


def test_domains_of_ones_own_are_refused() -> None:
    own = OwnBox([18, 40], [95, 140], names=["age", "weight"])
    problem = tacit.Problem(small_problem().actions, own, small_problem().kernel)
    with pytest.raises(InputError, match="Tacit's own"):
        design({"a": NOW}, 100, problem=problem)


# -- windows --------------------------------------------------------------------------------------


def test_windows_lie_inside_and_have_the_same_share_everywhere() -> None:
    window = Window(small_problem().actions, 0.2)
    X = np.linspace(0, 1, 100_001)[:, None]
    for centre in (0.0, 0.05, 0.5, 1.0):
        share = window.inside(X, np.full_like(X, centre)).mean()
        assert np.isclose(share, 0.2, atol=1e-3)


# -- intervals ------------------------------------------------------------------------------------


def test_an_unsure_variance_widens_the_interval() -> None:
    known = Estimate(0.0, 1.0, 0.0)
    unsure = Estimate(0.0, 1.0, 0.0, unsure=0.4)
    assert unsure.half_width > 1.05 * known.half_width
    assert np.isclose(deviations(0.95, 1.0, 1.0, 0.0), 1.96, atol=1e-3)
    rng = np.random.default_rng(0)
    # The variance is estimated with a normal error: so wide an interval holds 95 % of the time.
    spread = np.sqrt(0.5 + np.maximum(0.5 + 0.25 * rng.normal(size=400_000), 0))
    held = np.abs(rng.normal(size=400_000)) <= deviations(0.95, 0.5, 0.5, 0.25) * spread
    assert abs(held.mean() - 0.95) < 0.002


def coverage() -> float:
    """Of a difference, over 300 simulated logs."""
    n = 1000
    asked = design({"rule": {"dose": 60.0}, "now": NOW}, n, budget=BUDGET)
    right = truth(lambda age: 60.0) - truth(lambda age: 30.0)
    held = 0
    log = rounds(300 * n, seed=8)
    psi, usable = scores(asked, log)
    rng = np.random.default_rng(9)
    for start in range(0, 300 * n, n):
        total = PrivateSum(asked.encoding)
        total.add(asked.rows(psi[start : start + n], usable[start : start + n], None), n)
        found = asked.read(simulate_gaussian(total, BUDGET, rng), {}).differences["rule"]
        held += found.low <= right <= found.high
    return held / 300


def test_intervals_hold() -> None:
    """Binomial at 0.95 and 300 logs: outside of 0.88 to 0.999 with probability below 1e-6."""
    assert 0.88 <= coverage() <= 0.999


def test_a_forgotten_privacy_noise_would_be_seen(tmp_path: Any) -> None:
    mutant = Mutant(
        "intervals without privacy noise",
        "tacit.evaluation.layout.Totals._read",
        "math.sqrt(noise2), unsure",
        "0.0, 0.0",
        test_intervals_hold,
    )
    failure_under(mutant, tmp_path)


def test_options_are_checked() -> None:
    wrongs: list[dict[str, Any]] = [
        {"window": 0.0},
        {"window": 1.5},
        {"level": 1.0},
        {"max_weight": 0.5},
        {"group_share": 0.0},
    ]
    for wrong in wrongs:
        with pytest.raises(InputError):
            EvaluationOptions(**wrong)
    several: list[Any] = ["nobody", "age", {"age": []}, {"age": [60, 40]}, {"age": [1], "x": [2]}]
    for by in several:
        with pytest.raises(InputError):
            design({"a": POLICY, "b": NOW}, 100, options=EvaluationOptions(by=by))


# -- one person, one bound ------------------------------------------------------------------------

ODD: list[Any] = [None, np.nan, "x", b"\xff", np.inf, -np.inf, [1, 2], {}, 1e400, -1e300, 0.0, 1.0]


def moved(unit: str) -> list[int]:
    """How far one person who is replaced moves the sum, squared, for odd people."""
    log: dict[str, Any] = dict(rounds(60))
    rng = np.random.default_rng(3)
    asked = design({"learned": POLICY, "now": NOW}, 60, unit=unit)
    users = [str(i // 3) for i in range(60)] if unit == "user" else None

    def total(table: dict[str, Any]) -> Any:
        found = ScoreSum(asked)
        found.add(table, table["reward"], users=users)
        found._close()
        return found._sum._value()

    before = total(log)
    found = []
    for _ in range(12):
        table = {name: column.astype(object) for name, column in log.items()}
        mine = slice(0, 3) if unit == "user" else slice(7, 8)
        for name in table:
            table[name][mine] = [
                ODD[i] for i in rng.integers(len(ODD), size=len(table[name][mine]))
            ]
        found.append(sum(int(each) ** 2 for each in total(table) - before))
    return found


@pytest.mark.parametrize("unit", ["record", "user"])
def test_one_person_moves_the_sum_by_at_most_the_sensitivity(unit: str) -> None:
    sensitivity = design({"learned": POLICY, "now": NOW}, 60).encoding.sensitivity
    assert max(moved(unit)) <= sensitivity**2


def one_record() -> None:
    test_one_person_moves_the_sum_by_at_most_the_sensitivity("record")


def test_a_score_that_looks_at_others_would_be_seen(tmp_path: Any) -> None:
    mutant = Mutant(
        "every score looks at one record",
        "tacit.evaluation.scoring.Scorer.weighed",
        "found = np.column_stack(columns)",
        "found = np.column_stack(columns) + 50.0 * rounds.y[7]",
        one_record,
    )
    failure_under(mutant, tmp_path)
