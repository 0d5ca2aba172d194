"""Plans of studies in epochs: sizes that add up, less regret, and answers in words."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, PROBLEM, sqlite, unit_problem
from tacit import Budget, DesignOptions, InputError
from tacit.cli import app
from tacit.epochs import Shares, epoch_sizes
from tacit.kernels import Matern
from tacit.planning import EpochPlan, Plan, plan
from tacit.planning.epochs import Compared, _best

UNIT = unit_problem(kernel=Matern(2.5, 0.3), reward_range=(-1.0, 1.0))
QUICK = DesignOptions(rank=30, noise=0.1)


@pytest.fixture(autouse=True)
def few_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.planning.epochs.WORLDS", 16)
    monkeypatch.setattr("tacit.planning.epochs.COMPARED_WORLDS", 6)
    monkeypatch.setattr("tacit.planning.epochs.LEAST", 60)
    monkeypatch.setattr("tacit.planning.worlds.ONE_COLUMN", 48)
    monkeypatch.setattr("tacit.planning.playing.POINTS", 512)


@cache
def planned(horizon: int = 3000, epochs: Any = 3, **given: Any) -> EpochPlan:
    budget = given.pop("budget", BUDGET)
    return plan(UNIT, horizon=horizon, budget=budget, epochs=epochs, options=QUICK, **given)


def test_one_epoch_is_the_plan_of_ever() -> None:
    found = plan(UNIT, horizon=300, budget=BUDGET, options=replace(QUICK, rank=5), epochs=1)
    assert isinstance(found, Plan)


def test_sizes_are_those_of_the_study_and_add_up() -> None:
    assert planned().sizes == epoch_sizes(3000, 3)
    assert sum(planned().sizes) == planned().horizon == 3000
    assert [epoch.number for epoch in planned().epochs] == [1, 2, 3]
    assert planned(epochs=(1000, 2000)).sizes == [1000, 2000]


def test_the_first_epoch_plays_uniformly_and_later_ones_better_and_better() -> None:
    shares = [epoch.regret_share for epoch in planned().epochs]
    rewards = [epoch.mean_reward for epoch in planned().epochs]
    assert shares[0] == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert rewards == sorted(rewards)


def test_each_epoch_leaves_a_better_policy() -> None:
    errors = [epoch.error for epoch in planned().epochs]
    assert errors == sorted(errors, reverse=True)
    assert planned().final_error == errors[-1]


def test_epochs_lose_less_than_one_epoch_that_explores() -> None:
    assert planned().regret_share < 0.8
    assert planned(epochs=(3000,)).regret_share == pytest.approx(1.0)
    assert planned().regret == pytest.approx(
        planned().regret_share * 3000 * planned().uniform_error
    )


def test_more_rounds_and_more_epsilon_mean_less_error_and_regret() -> None:
    by_rounds = [planned(rounds) for rounds in (1000, 3000, 10_000)]
    by_epsilon = [planned(budget=Budget(epsilon, 1e-6)) for epsilon in (0.3, 1.0, 3.0)]
    for plans in (by_rounds, by_epsilon):
        errors = [each.final_error for each in plans]
        regrets = [each.regret_share for each in plans]
        assert errors == sorted(errors, reverse=True)
        assert regrets == sorted(regrets, reverse=True)


def test_a_study_of_one_epoch_agrees_with_the_plan_of_one_release() -> None:
    release = plan(UNIT, horizon=3000, budget=BUDGET, options=QUICK).forecast
    share = release.expected_error / release.uniform_error
    # 16 functions have a standard error of about 15 %: 0.6 is four of them
    assert planned(epochs=(3000,)).final_error_share == pytest.approx(share, rel=0.6)
    assert planned(epochs=(3000,)).one_epoch_error == pytest.approx(
        planned(epochs=(3000,)).final_error
    )


def test_all_traffic_that_explores_is_uniform_play() -> None:
    explored = planned(explore=1.0)
    assert explored.regret_share == pytest.approx(1.0, abs=1e-9)


def test_plans_are_repeatable() -> None:
    again = plan(UNIT, horizon=3000, budget=BUDGET, epochs=3, options=QUICK)
    assert again.epochs == planned().epochs


def test_rewards_are_in_the_users_units() -> None:
    euros = replace(UNIT, reward_range=(10.0, 50.0))
    found = plan(euros, horizon=3000, budget=BUDGET, epochs=3, options=QUICK)
    assert found.final_error == pytest.approx(20.0 * planned().final_error)
    assert found.mean_reward == pytest.approx(30.0 + 20.0 * planned().mean_reward)
    assert found.regret_share == pytest.approx(planned().regret_share)


def test_lengthscales_may_lie_in_a_range() -> None:
    longer = planned(lengthscales=(0.6, 0.6))
    assert longer.final_error_share < planned().final_error_share


def test_auto_chooses_one_of_its_plans_and_says_why() -> None:
    found = planned(epochs="auto")
    sizes = [each.sizes for each in found.compared]
    assert tuple(found.sizes) in sizes
    assert {len(each) for each in sizes} == {1, 2, 3, 4, 5, 6}
    assert all(sum(each) == 3000 for each in sizes)
    assert f"of {len(sizes)} plans from 1 to 6 epochs" in found.explain()


def test_auto_takes_the_least_regret_that_is_allowed_and_worth_another_epoch() -> None:
    one = Compared((100,), 1.0, 0.010, allowed=True)
    two = Compared((20, 80), 0.50, 0.011, allowed=True)
    blind = Compared((10, 90), 0.40, 0.013, allowed=False)
    three = Compared((10, 20, 70), 0.46, 0.011, allowed=True)
    assert _best([one, two, blind, three]) is two
    better = replace(three, regret_share=0.44)
    assert _best([one, two, blind, better]) is better
    four = Compared((5, 10, 20, 65), 0.41, 0.011, allowed=True)  # two further epochs
    assert _best([one, two, three, four]) is two
    assert _best([one, blind]) is one


def test_the_explanation_has_the_least_first_epoch() -> None:
    found = planned()
    least = found.least_first_epoch
    assert least is not None
    assert 10 < least < 3000
    assert f"A first epoch below {least:,} rounds would leave the policy no better" in (
        found.explain()
    )
    fixed = found.fixed_error / found.uniform_error
    assert found._first_share(least) <= fixed < found._first_share(least // 2)


def test_a_study_that_can_learn_nothing_is_told_so() -> None:
    found = planned(300, 2, budget=Budget(0.01, 1e-6))
    assert found.least_first_epoch is None
    assert "no better than one fixed action: collect more rounds" in found.explain()


def test_a_plan_is_plain_data() -> None:
    found = json.loads(json.dumps(planned().to_json()))
    assert found["sizes"] == planned().sizes
    assert [epoch["rounds"] for epoch in found["epochs"]] == planned().sizes
    assert found["regret_share"] == planned().regret_share


def test_shares_of_control_and_exploit_are_planned_too() -> None:
    from tacit.planning import plan_epochs

    shares = Shares(explore=0.1, exploit=0.4, control=0.5)
    found = plan_epochs(UNIT, 3000, BUDGET, 3, shares=shares, options=QUICK)
    assert found.epochs[-1].regret_share > planned().epochs[-1].regret_share


@pytest.mark.parametrize("epochs", [0, -1, True, "four", [1000, 1000], 2.5, 65, [1, 2999]])
def test_bad_epochs_are_refused(epochs: Any) -> None:
    with pytest.raises(InputError, match="epoch"):
        plan(UNIT, horizon=3000, budget=BUDGET, epochs=epochs, options=QUICK)


def test_what_a_study_in_epochs_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="need a delta"):
        plan(UNIT, horizon=3000, budget=Budget(1.0), epochs=3)
    with pytest.raises(InputError, match="max_weight"):
        plan(UNIT, horizon=3000, budget=BUDGET, epochs=3, options=DesignOptions(max_weight=3.0))
    with pytest.raises(InputError, match="share from 0 to 1"):
        plan(UNIT, horizon=3000, budget=BUDGET, epochs=3, explore=1.5)


@pytest.mark.usefixtures("coarse_tuning")
def test_a_study_is_created_with_the_sizes_of_its_plan(tmp_path: Path) -> None:
    epochs: Any = "auto"
    options = DesignOptions(rank=8)
    study = tacit.Study.create(
        sqlite(tmp_path), UNIT, horizon=600, budget=BUDGET, epochs=epochs, options=options
    )
    wanted = plan(UNIT, horizon=600, budget=BUDGET, epochs="auto", options=options)
    assert study.sizes == wanted.sizes  # type: ignore[attr-defined]
    assert np.sum(wanted.sizes) == 600


def typed(path: Path, *arguments: object) -> str:
    given = ["plan", path, "--rounds", 2000, "--epsilon", 1, "--rank", 12, *arguments]
    done = CliRunner().invoke(app, list(map(str, given)))
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_command_shows_every_epoch(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    shown = typed(path, "--epochs", "500,1500")
    assert "2,000 rounds in 2 epochs (500, 1,500)" in shown
    assert "epoch 2" in shown
    found = json.loads(typed(path, "--epochs", 2, "--explore", 0.2, "--json"))
    assert found["sizes"] == epoch_sizes(2000, 2)
    assert found["shares"]["explore"] == 0.2
    with pytest.raises(InputError, match="--epochs must be a number"):
        typed(path, "--epochs", "some")
    with pytest.raises(InputError, match="are for studies of one epoch"):
        typed(path, "--epochs", "auto", "--target", 0.1)
