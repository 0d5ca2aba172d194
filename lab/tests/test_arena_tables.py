"""Environments with many columns are calibrated as they say; what policies are worth is computed
rightly; and the study of default policies measures `tacit.fit`'s own defaults."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn import datasets
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

import tacit
from arena_probes import parabola
from tacit import Design, DesignOptions
from tacit._typing import Floats
from tacit.kernels import default_kernel, with_levels
from tacit_lab.arena.environments import ENVIRONMENTS, POOLED, TABLES
from tacit_lab.arena.environments import tables as real
from tacit_lab.arena.environments.features import FEATURES, ITEMS
from tacit_lab.arena.environments.pooled import FIXED_GAIN, NOISE, OWN_GAIN
from tacit_lab.arena.environments.visitors import Visitors
from tacit_lab.arena.measure import stream
from tacit_lab.arena.protocol import Environment
from tacit_lab.arena.values import References, best_fixed, found_fixed, references, value
from tacit_lab.benchmarks import tables as benchmark

SEEDS = 2


def drawn(name: str, seed: int = 0) -> Environment:
    return ENVIRONMENTS[name](stream(name, seed, 0))


# -- calibration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pooled-1+7", "pooled-1+15-binary", "features-33+4"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_common_effect_is_large_and_personalising_is_worth_a_little(
    name: str, seed: int
) -> None:
    environment = drawn(name, seed)
    contexts = environment.draw_contexts(1000, stream(name, seed, 3))
    known = references(environment, contexts)
    slack = 0.012  # other contexts than those that it was solved for
    fixed_gain = (known.fixed - known.random) / 2
    own_gain = (known.best - known.fixed) / 2
    assert FIXED_GAIN[0] - slack <= fixed_gain <= FIXED_GAIN[1] + slack
    assert OWN_GAIN[0] - slack <= own_gain <= OWN_GAIN[1] + slack


def mattering(environment: Environment, of: Callable[[Floats], Floats]) -> int:
    """How many columns of contexts change `of` when they are shuffled."""
    contexts = environment.draw_contexts(200, np.random.default_rng(0))
    before = of(contexts)
    found = 0
    for i in range(contexts.shape[1]):
        changed = contexts.copy()
        changed[:, i] = np.random.default_rng(1).permutation(changed[:, i])
        found += not np.allclose(of(changed), before, rtol=0, atol=1e-12)
    return found


@pytest.mark.parametrize("name", list(POOLED))
def test_few_columns_matter(name: str) -> None:
    environment = drawn(name)
    columns = 15 if "15" in name else 7
    assert environment.problem.contexts.dimension == columns

    def advantage(contexts: Floats) -> Floats:
        """Of one action over another: what only moves the best action."""
        low = environment.mean(np.full((len(contexts), 1), 0.4), contexts)
        high = environment.mean(np.full((len(contexts), 1), 0.6), contexts)
        return high - low

    assert mattering(environment, advantage) in (2, 3)
    everything = mattering(environment, lambda c: environment.mean(np.full((len(c), 1), 0.5), c))
    assert 2 <= everything <= 6


def test_columns_are_numbers_and_labels_and_effects_are_bounded() -> None:
    visitors = Visitors((0, 3, 0, 2), np.random.default_rng(0))
    contexts = visitors.draw(2000, np.random.default_rng(1))
    assert [len(np.unique(column)) for column in contexts.T] == [2000, 3, 2000, 2]
    assert set(visitors.domain.decode(contexts)["c1"]) == {"A", "B", "C"}
    effect = visitors.effect(2, np.random.default_rng(2))(contexts)
    assert np.abs(effect).max() <= 1.0
    assert np.ptp(effect) > 0.5


def test_continuous_rewards_have_the_stated_spread() -> None:
    environment = drawn("pooled-1+7")
    actions = np.full((20_000, 1), 0.5)
    contexts = np.repeat(environment.draw_contexts(1, np.random.default_rng(0)), 20_000, axis=0)
    mean = environment.mean(actions[:1], contexts[:1])[0]
    rewards = environment.reward(actions, contexts, np.random.default_rng(1))
    # the variance of a Beta law is proportional to p (1 - p)
    assert rewards.std() == pytest.approx(NOISE * np.sqrt(1 - mean**2), rel=0.03)
    assert not np.any(np.abs(rewards) == 1.0)


def test_items_differ_and_few_features_count() -> None:
    environment = drawn("features-33+4")
    places = environment.problem.actions.candidate_points(1)
    assert places.shape == (ITEMS, FEATURES)
    assert len(np.unique(places, axis=0)) == ITEMS
    assert set(np.unique(places)) == {0.0, 1.0}
    context = environment.draw_contexts(1, np.random.default_rng(0))
    without = np.zeros((FEATURES + 1, FEATURES))
    without[1:] = np.eye(FEATURES)
    means = environment.mean(without, np.repeat(context, FEATURES + 1, axis=0))
    assert 10 <= np.sum(~np.isclose(means[1:], means[0])) <= 13


# -- real tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(TABLES))
def test_rows_that_play_are_never_decided_for(name: str) -> None:
    environment = drawn(name)
    assert environment.fresh_contexts is not None
    rows: real.Rows = environment.draw_contexts.__self__  # type: ignore[attr-defined]
    now = rows.nearest(environment.draw_contexts(3000, np.random.default_rng(0)))
    later = rows.nearest(environment.fresh_contexts(500, np.random.default_rng(0)))
    assert not set(now) & set(later)
    assert set(now) <= set(rows.now)
    assert len(rows.later) == -(-len(rows.contexts) // 5)


@pytest.mark.parametrize("name", list(TABLES))
def test_rewards_are_those_of_the_row_that_was_drawn(name: str) -> None:
    """Numbers are moved so little that the nearest row is the one that was moved."""
    rows: real.Rows = drawn(name).draw_contexts.__self__  # type: ignore[attr-defined]
    chosen = rows.now[:100]
    moved = rows._moved(chosen, np.random.default_rng(0))
    assert np.array_equal(rows.nearest(moved), chosen)
    assert 0 < np.abs(moved - rows.contexts[chosen]).max() <= real.JITTER


@pytest.mark.parametrize("name", list(TABLES))
def test_declared_ranges_hold_the_tables_values(name: str) -> None:
    """A value outside would be clipped to its end, and many there would be one."""
    columns, _, _ = real._loaded(name)
    contexts = drawn(name).problem.contexts
    assert set(contexts.names) == set(columns)
    decoded = contexts.decode(contexts.encode(columns))
    for column, values in columns.items():
        back = np.asarray(decoded[column], dtype=np.float64)
        assert np.allclose(back, values)


def test_digits_are_block_averages_of_the_images() -> None:
    columns, target, labels = real._loaded("digits")
    image = datasets.load_digits().images[7]
    assert columns["block01"][7] == image[0:2, 2:4].mean()
    assert columns["block30"][7] == image[6:8, 0:2].mean()
    assert labels[target[7]] == str(datasets.load_digits().target[7])


@pytest.mark.parametrize(("name", "least"), [("wine", 0.85), ("cancer", 0.9), ("digits", 0.9)])
def test_contexts_say_which_class_is_right(name: str, least: float) -> None:
    """A classifier that is told what was right finds it for rows that it has not seen."""
    environment = drawn(name)
    assert environment.fresh_contexts is not None
    menu = environment.problem.actions.candidate_points(1)
    assert environment.surface is not None
    seen = environment.draw_contexts(1500, np.random.default_rng(0))
    fresh = environment.fresh_contexts(300, np.random.default_rng(1))
    right = environment.surface(menu, seen).argmax(axis=1)
    classifier = KNeighborsClassifier(5).fit(seen, right)
    decided = menu[classifier.predict(fresh)]
    assert (1 + value(environment, decided, fresh)) / 2 >= least


# -- what policies are worth ----------------------------------------------------------------------


def test_values_of_a_parabola_are_those_of_the_formula() -> None:
    """f = 0.9 - (x - c)^2 with c uniform: random play has 0.9 - 1/6, and the best fixed action is
    the middle, with 0.9 - 1/12."""
    environment = parabola(np.random.default_rng(0))
    contexts = (np.arange(1000)[:, None] + 0.5) / 1000
    known = references(environment, contexts)
    assert known.random == pytest.approx(0.9 - 1 / 6, abs=1e-3)
    assert known.fixed == pytest.approx(0.9 - 1 / 12, abs=1e-5)
    assert known.best == pytest.approx(0.9, abs=1e-5)
    action, _ = best_fixed(environment, contexts)
    assert action == pytest.approx(0.5, abs=1e-3)
    assert value(environment, contexts, contexts) == pytest.approx(0.9)
    assert value(environment, np.full((1000, 1), 0.5), contexts) == pytest.approx(known.fixed)


@pytest.mark.parametrize("name", ["features-33+4", "hartmann4"])
def test_no_action_beats_the_best_fixed_one(name: str) -> None:
    environment = drawn(name)
    contexts = environment.draw_contexts(50, np.random.default_rng(0))
    action, best = best_fixed(environment, contexts)
    everybody = np.repeat(action[None, :], 50, axis=0)
    assert value(environment, everybody, contexts) == pytest.approx(best)
    known = references(environment, contexts)
    assert known.random < known.fixed <= known.best
    for tried in environment.problem.actions.sample_points(100, np.random.default_rng(1)):
        assert value(environment, np.repeat(tried[None, :], 50, axis=0), contexts) <= best + 1e-12


@pytest.mark.parametrize("name", ["pooled-1+7", "features-33+4", "cancer", "hartmann6"])
def test_a_long_log_without_noise_shows_the_best_fixed_action(name: str) -> None:
    environment = drawn(name)
    rng = np.random.default_rng(0)
    contexts = environment.draw_contexts(3000, rng)
    actions = environment.problem.actions.sample_points(3000, rng)
    found = found_fixed(environment.problem, actions, environment.mean(actions, contexts))
    known = references(environment, contexts[:500])
    everybody = np.repeat(found[None, :], 500, axis=0)
    assert known.share(value(environment, everybody, contexts[:500])) > 0.9


def test_the_share_is_one_for_the_best_fixed_action_and_undefined_where_none_is_better() -> None:
    known = References(random=0.1, fixed=0.3, best=0.4)
    assert known.share(0.1) == 0.0
    assert known.share(0.3) == pytest.approx(1.0)
    assert known.share(0.4) == pytest.approx(1.5)
    assert np.isnan(References(0.3, 0.3, 0.4).share(0.3))


# -- the study of default policies ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["pooled-1+7", "dosing", "features-33+4"])
def test_the_default_problem_states_columns_and_range_only(name: str) -> None:
    environment = drawn(name)
    problem = benchmark.default_problem(environment)
    default = default_kernel(problem.actions, problem.contexts)
    assert problem.kernel == with_levels(default, problem.actions, problem.contexts)
    assert problem.generator is None
    assert not problem.advantage
    assert problem.reward_range == (-1.0, 1.0)
    own = benchmark.own_problem(environment)
    assert own is not None
    assert own.generator is None
    assert own.kernel == environment.problem.kernel


def test_a_kernel_that_is_the_default_is_not_measured_twice() -> None:
    environment = parabola(np.random.default_rng(0))
    assert benchmark.own_problem(environment) is not None
    default = replace(environment, problem=replace(environment.problem, kernel=None))
    assert benchmark.own_problem(default) is None


def test_policies_are_fitted_with_the_defaults_of_fit() -> None:
    fitted = inspect.signature(tacit.fit).parameters
    built = inspect.signature(Design.build).parameters
    assert fitted["passes"].default == built["passes"].default
    assert fitted["options"].default is built["options"].default is None


def test_the_study_prints_values_between_random_play_and_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = Design.build

    def small(problem: tacit.Problem, **given: object) -> Design:
        return build(problem, **given, options=DesignOptions(rank=20))  # type: ignore[arg-type]

    monkeypatch.setattr(Design, "build", small)
    monkeypatch.setattr(benchmark, "VISITORS", 200)
    setting = benchmark.Setting("pooled-1+7", 1000, 10.0)
    studies = [benchmark.study(setting, 0)]
    result = benchmark.gathered(setting, studies)
    known = result.mean_reference()
    fixed = {"found", "found privately"}
    assert set(result.values) == {*fixed, "default", "own", "advantage"}
    assert known.random < np.mean(result.values["own"]) <= known.best
    _, again = benchmark.study(setting, 0, ["own"])
    assert set(again) == {*fixed, "own"}
    assert again["own"] == result.values["own"][0]  # the figures repeat
    row = json.loads(json.dumps(benchmark.as_row(result)))
    assert row["share"]["own"] > 0.5
    shown = benchmark.cells(result, list(benchmark.VARIANTS))
    assert len(shown) == len(benchmark.header(list(benchmark.VARIANTS)))
    assert len(benchmark.cells(result, ["default"])) == len(benchmark.HEADER)


def test_reached_counts_studies_that_lose_at_most_a_hundredth_of_the_range() -> None:
    known = References(random=0.0, fixed=0.5, best=0.6)
    values: dict[str, tuple[float, ...]] = {"default": (0.47, 0.481, 0.6), "found": (0.5,) * 3}
    values["found privately"] = (0.4,) * 3
    setting = benchmark.Setting("x", 1, 1.0)
    result = benchmark.Result(setting, (known,) * 3, values)
    assert result.reached == 2
    assert result.good
    assert not benchmark.Result(setting, (known,) * 3, values | {"found": (0.54,) * 3}).good
    flat = benchmark.Result(setting, (References(0.0, 0.01, 0.6),) * 3, values)
    assert flat.share("default") is None
    assert benchmark.cells(flat, ["default"])[9] == ""


def test_an_unknown_environment_is_refused_before_anything_is_measured() -> None:
    import typer

    command = typer.Typer()
    command.command()(benchmark.main)
    done = CliRunner().invoke(command, ["--only", "nowhere"])
    assert done.exit_code != 0
    assert "there is no environment 'nowhere'" in str(done.exception)


def test_a_stopped_run_goes_on_from_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is not measured again, unless a variant is missing."""
    store = tmp_path / "done.jsonl"
    arguments = ["--only", "branin", "--rounds", "300", "--epsilon", "1", "--workers", "1"]
    arguments += ["--no-others", "--store", str(store), "--json"]
    app = typer.Typer()
    app.command()(benchmark.main)
    first = CliRunner().invoke(app, [*arguments, "--seeds", "1"])
    assert len(store.read_text().splitlines()) == 1
    with store.open("a") as file:
        file.write('{"setting": {"environment": "branin", "rou')  # a line that was cut off
    again = CliRunner().invoke(app, [*arguments, "--seeds", "1"])
    assert json.loads(again.stdout) == json.loads(first.stdout)
    setting = benchmark.Setting("branin", 300, 1.0)
    assert set(benchmark.stored(store, ["default"])) == {(setting, 0)}
    assert not benchmark.stored(store, ["default", "advantage"])
