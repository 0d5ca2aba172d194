"""Cautious policies: another action than the baseline's only where it is surely better."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from typer.testing import CliRunner

import tacit
from helpers import BUDGET, build_design, create_study, sqlite
from tacit import InputError, Policy, Problem
from tacit._typing import Floats
from tacit.charts.formatting import percent
from tacit.cli import app
from tacit.policy import Cautious, load
from tacit.policy.comparison import Comparer, Differences, Play, compare_actions
from tacit.report import Findings
from tacit.report.sentences import against_others

pytestmark = pytest.mark.usefixtures("coarse_fits")

N = 1500
ALARM = 4.9  # standard errors: a false alarm in two million runs
AGE = tacit.Box.of(age=(18, 95))
PROBLEMS: dict[str, tuple[Problem, Any]] = {
    "box": (Problem(tacit.Box.of(dose=(0, 100)), AGE, tacit.Matern(2.5, 0.4)), {"dose": 30}),
    "averaged": (Problem(tacit.Box.of(dose=(0, 100)), AGE), {"dose": 30}),
    "advantage": (Problem(tacit.Box.of(dose=(0, 100)), AGE, advantage=True), {"dose": 30}),
    "joint": (
        Problem(tacit.Box.of(dose=(0, 100)), AGE, tacit.Joint(tacit.Matern(2.5, 0.5))),
        {"dose": 30},
    ),
    "labels": (Problem(tacit.Categories(["a", "b", "c"], "arm"), AGE), "b"),
    "items": (
        Problem(tacit.Catalogue([[0.0], [1.0], [3.0]], ids=["a", "b", "c"]), AGE),
        {"item": "b"},
    ),
}


def released(problem: Problem, reward: Callable[[Floats], Floats], seed: int = 0) -> Policy:
    """A policy from uniform play, with rewards from -1 to 1 at joint points."""
    return next(studies(problem, lambda rng: reward, [seed], 4.0))


def studies(
    problem: Problem, world: Callable[[Any], Any], seeds: Any, epsilon: float, rounds: int = N
) -> Iterator[Policy]:
    """Policies of one design, each in a world of its own."""
    budget = tacit.Budget(epsilon=epsilon, delta=1e-6)
    given: dict[str, Any] = {"rng": 0, "rank": 25, "tau": 10.0, "public_points": 1000}
    design = build_design(problem, horizon=rounds, budget=budget, **given)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        reward = world(rng)
        W = problem.public_points(rounds, rng)
        statistic = design.statistic()
        statistic.add_points(W, np.clip(reward(W) + 0.2 * rng.normal(size=rounds), -1.0, 1.0))
        yield statistic.simulate_release(rng)


def rising(W: Floats) -> Floats:
    """The right action rises with age."""
    return 0.8 - 1.6 * np.abs(W[:, 0] - W[:, -1])


@cache
def policy_of(kind: str) -> Policy:
    return released(PROBLEMS[kind][0], rising)


def people(n: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).random((n, 1))


# -- what is decided ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_decision_is_that_of_the_policy_or_of_the_baseline(kind: str) -> None:
    policy = policy_of(kind)
    careful = policy.cautious(PROBLEMS[kind][1])
    n = 30 if kind == "joint" else 200
    contexts = AGE.decode(people(n))
    changed = careful.changed(contexts)
    assert 0.2 < changed.mean() < 0.95
    C = people(n)
    decided = careful.decide_points(C)
    assert np.array_equal(decided[changed], policy.decide_points(C)[changed])
    assert np.array_equal(decided[~changed], careful.baseline_points(C)[~changed])
    name = policy.problem.actions.names[0]
    answered = policy.problem.actions.encode({name: careful.decide(contexts)[name]})
    assert np.allclose(answered, decided, atol=1e-9)
    # It pays: the reward that is gained is that of the changes.
    both = [rising(np.hstack([X, C])).mean() for X in (decided, careful.baseline_points(C))]
    assert both[0] > both[1] + 0.02


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_how_sure_it_is_follows_from_the_difference_of_both(kind: str) -> None:
    """Against the comparison of all pairs, and against the posterior covariance of both rewards."""
    policy = policy_of(kind)
    C = people(20)
    first = policy.decide_points(C)
    second = policy.problem.actions.sample_points(20, np.random.default_rng(2))
    found = compare_actions(policy.posterior, first, second, C)
    known = Comparer(policy.posterior, C, 1.0).compare(Play.of_each(first), Play.of_each(second))
    assert np.allclose(found.mean, known.mean, atol=1e-9)
    assert np.allclose(found.std, known.std, atol=1e-5)
    A = np.hstack([first, C])
    B = np.hstack([second, C])
    v = policy.posterior.scale
    both = policy.posterior.kernel_rows(np.vstack([A, B]))
    covariance = v * np.asarray(policy.posterior.kernel(np.vstack([A, B]), np.vstack([A, B])))
    covariance -= both @ policy.posterior.reduction @ both.T
    i = np.arange(20)
    direct = covariance[i, i] + covariance[20 + i, 20 + i] - 2 * covariance[i, 20 + i]
    assert np.allclose(found.std**2, direct, atol=1e-9)


def separately(careful: Cautious, C: Floats) -> Floats:
    """A wrong probability: as if both rewards were known apart from each other."""
    posterior = careful.policy.posterior
    A = np.hstack([careful.policy.decide_points(C), C])
    B = np.hstack([careful.baseline_points(C), C])
    std = np.sqrt(posterior.reward_variance(A) + posterior.reward_variance(B))
    return np.asarray(ndtr((posterior.mean(A) - posterior.mean(B)) / std))


def test_what_is_not_known_of_both_alike_cancels_out() -> None:
    """Nobody knows where rewards lie, and the same actions are changed. With separate intervals
    none would be."""
    policy = policy_of("box")
    unsure = replace(policy.posterior, level_variance=policy.posterior.level_variance + 4.0)
    vague = replace(policy, posterior=unsure).cautious({"dose": 30})
    careful = policy.cautious({"dose": 30})
    contexts = AGE.decode(people(200))
    assert np.array_equal(vague.changed(contexts), careful.changed(contexts))
    assert careful.changed(contexts).sum() > 50
    assert not np.any(separately(vague, people(200)) >= 0.95)
    apart = separately(careful, people(200)) >= 0.95
    assert apart.sum() != careful.changed(contexts).sum()


@given(st.floats(18, 95), st.floats(0, 100), st.floats(0.51, 0.999), st.floats(0.51, 0.999))
def test_a_surer_policy_changes_less(age: float, dose: float, first: float, second: float) -> None:
    policy = policy_of("box")
    low, high = (
        bool(policy.cautious({"dose": dose}, level).changed({"age": age})[0])
        for level in sorted([first, second])
    )
    assert low or not high


@given(st.floats(18, 95), st.floats(0, 100), st.floats(0, 100))
def test_either_of_two_actions_is_better(age: float, dose: float, other: float) -> None:
    policy = policy_of("averaged")
    C = AGE.encode({"age": np.array([age])})
    X = np.array([[dose / 100]])
    Y = np.array([[other / 100]])
    one = compare_actions(policy.posterior, X, Y, C).probability_better
    two = compare_actions(policy.posterior, Y, X, C).probability_better
    assert one + two == pytest.approx(1.0)
    same = compare_actions(policy.posterior, X, X, C).probability_better
    assert same == pytest.approx(0.5)


# -- what is promised -----------------------------------------------------------------------------


# Short lengthscales: the visitors of one study are rather different.
VARIED = Problem(tacit.Box.of(dose=(0, 100)), AGE, tacit.Matern(2.5, 0.2))


def random_world(rng: Any) -> Callable[[Floats], Floats]:
    """A draw from the prior of the reward function."""
    U = VARIED.public_points(120, rng)
    K = VARIED.k(U, U) + 1e-8 * np.eye(120)
    drawn = np.linalg.cholesky(K) @ rng.normal(size=120)
    weights = np.sqrt(0.1) * np.linalg.solve(K, drawn)
    return lambda W: np.asarray(VARIED.k(W, U) @ weights)


class Known(NamedTuple):
    """What one study says of some visitors, and what is true."""

    policy: Policy
    contexts: Floats
    differences: Differences  # the policy's action less the baseline's
    gain: Floats  # the same in truth


def random_studies(n: int) -> Iterator[Known]:
    """Studies of random worlds that say little."""
    for seed, policy in enumerate(studies(VARIED, random_world, range(n), 0.5, 1000)):
        C = people(200, seed)
        chosen = policy.decide_points(C)
        usual = policy.cautious({"dose": 30}).baseline_points(C)
        truth = random_world(np.random.default_rng(seed))
        gain = truth(np.hstack([chosen, C])) - truth(np.hstack([usual, C]))
        yield Known(policy, C, compare_actions(policy.posterior, chosen, usual, C), gain)


def excess(known: Known, level: float, narrower: float = 1.0) -> float:
    """The share of visitors who are worse off for a change, less what is promised at most. Narrower
    deviations than those of the posterior are a mistake."""
    found = known.differences
    changed = found._replace(std=narrower * found.std).probability_better >= level
    if narrower == 1.0:
        careful = known.policy.cautious({"dose": 30}, level)
        assert np.array_equal(changed, careful.changed(AGE.decode(known.contexts)))
    return float(np.mean(changed & (known.gain <= 0)) - (1 - level) * np.mean(changed))


def standard_errors(values: list[float]) -> float:
    """How far a mean is above zero."""
    return float(np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values))))


@pytest.mark.usefixtures("shipped_fits")
def test_who_gets_another_action_is_better_off_as_often_as_is_promised() -> None:
    """In 70 studies of random worlds; a mean is off by `ALARM` of its standard errors in one of two
    million runs. With deviations ten times too small the promise is broken, and that is seen."""
    every = list(random_studies(70))
    sure = [np.mean(known.differences.probability_better >= 0.7) for known in every]
    assert np.mean(sure) > 0.2
    for level in (0.7, 0.9):
        assert standard_errors([excess(known, level) for known in every]) < ALARM
    broken = [excess(known, 0.9, narrower=0.1) for known in every]
    assert standard_errors(broken) > ALARM


def test_nothing_is_changed_where_nothing_is_better() -> None:
    """The baseline is the best action for everybody, or no action matters. 6 studies of each, in
    which the policy itself would change nearly everything."""
    problem, baseline = PROBLEMS["averaged"]

    def best(rng: Any) -> Callable[[Floats], Floats]:
        return lambda W: 0.5 - 2.0 * (W[:, 0] - 0.3) ** 2

    def nothing(rng: Any) -> Callable[[Floats], Floats]:
        return lambda W: 0.5 * np.sin(6.0 * W[:, 1])

    for world in (best, nothing):
        shares = []
        others = []
        for policy in studies(problem, world, range(6), 2.0):
            careful = policy.cautious(baseline)
            shares.append(careful.share_changed)
            chosen = policy.decide_points(people(100))
            others.append(np.mean(np.abs(chosen - 0.3) > 0.01))
        assert np.mean(shares) <= 0.05
        assert np.mean(others) > 0.6


def test_typical_visitors_are_those_who_came() -> None:
    policy = policy_of("averaged")
    careful = policy.cautious({"dose": 30})
    assert policy.visitors is not None
    some = AGE.decode(policy.visitors[:512])
    assert careful.share_changed == np.mean(careful.changed(some))
    middle = replace(policy, visitors=np.full((50, 1), 0.3)).cautious({"dose": 30})
    assert middle.share_changed == 0.0
    unknown = replace(policy, visitors=None).cautious({"dose": 30})
    assert 0.2 < unknown.share_changed < 0.95
    with pytest.warns(tacit.PolicyWarning, match="NOTHING LEARNED"):
        released(policy.problem, lambda W: 0.0 * W[:, 0]).cautious({"dose": 30}).decide({"age": 50})


# -- baselines ------------------------------------------------------------------------------------


def test_a_baseline_is_an_action_a_policy_or_a_function() -> None:
    policy = policy_of("box")
    young = released(policy.problem, lambda W: 0.5 - np.abs(W[:, 0] - 0.3), seed=3)
    alike = {"age": [20.0, 50.0, 90.0]}
    fixed = policy.cautious({"dose": 30})
    functions: list[Any] = [
        lambda contexts: np.full(len(contexts["age"]), 30.0),
        lambda contexts, rng: {"dose": np.full(len(contexts["age"]), 30.0)},
    ]
    for function in functions:
        assert np.allclose(
            policy.cautious(function).probability_better(alike), fixed.probability_better(alike)
        )
    beside = policy.cautious(young, 0.99)
    usual = beside.baseline_points(AGE.encode({"age": np.array(alike["age"])}))
    assert np.allclose(usual[:, 0] * 100, young.decide(alike)["dose"])
    assert beside.decide({"age": 90.0})["dose"] > 60
    # The policy itself is never better than itself.
    assert not policy.cautious(policy, 0.51).changed(alike).any()
    assert not policy.cautious(fixed).changed(alike)[0]


@pytest.mark.parametrize("level", [0.5, 1.0, 0.0, -3, float("nan"), True, "high", None])
def test_a_level_is_between_one_half_and_one(level: Any) -> None:
    with pytest.raises(InputError, match=r"level must be between 0\.5 and 1, got"):
        policy_of("box").cautious({"dose": 30}, level)


@pytest.mark.parametrize(
    ("baseline", "says"),
    [
        ({"price": 30}, "dose"),
        ({"dose": None}, "must be one action of the problem"),
        (None, "got NoneType"),
        (tacit.play.Uniform(), "without chance, got uniform"),
        (lambda contexts: [1.0, 2.0, 3.0], "returned 3: return one for each row"),
    ],
    ids=["a name", "nothing in it", "nothing", "chance", "too many"],
)
def test_what_is_no_baseline_is_refused(baseline: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        policy_of("box").cautious(baseline).decide({"age": 50})


def test_values_that_cannot_be_read_are_refused_where_that_is_asked() -> None:
    careful = policy_of("box").cautious({"dose": 30})
    with pytest.raises(InputError, match="'age' in row 1 of contexts cannot be read"):
        careful.decide({"age": None}, strict=True)
    assert careful.decide({"age": None}) == careful.decide({"age": (18 + 95) / 2})
    assert careful.decide_points(np.empty((0, 1))).shape == (0, 1)


# -- wherever a policy goes -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["box", "labels", "items"])
def test_it_survives_saving(kind: str, tmp_path: Path) -> None:
    policy = policy_of(kind)
    action = PROBLEMS[kind][1]
    contexts = AGE.decode(people(100))
    for i, baseline in enumerate([action, policy, policy.cautious(action, 0.9)]):
        careful = policy.cautious(baseline, 0.8)
        loaded = load(careful.save(tmp_path / str(i)))
        assert isinstance(loaded, Cautious)
        assert loaded.level == 0.8
        assert np.array_equal(loaded.changed(contexts), careful.changed(contexts))
        name = policy.problem.actions.names[0]
        assert np.array_equal(loaded.decide(contexts)[name], careful.decide(contexts)[name])
        assert loaded.private is False
    policy.save(tmp_path / "plain")
    assert isinstance(load(tmp_path / "plain"), Policy)
    with pytest.raises(InputError, match=r"beside a baseline \(cautious-1\): read it with"):
        Policy.load(tmp_path / "0")


def test_a_function_as_baseline_is_not_saved(tmp_path: Path) -> None:
    def rule(contexts: Any) -> Any:
        return contexts["age"]

    with pytest.raises(InputError, match="a baseline that is the function rule cannot be saved"):
        policy_of("box").cautious(rule).save(tmp_path / "careful")
    assert not (tmp_path / "careful").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"level": 2.0},
        {"level": None},
        {"policy": {}},
        {"policy": None},
        {"baseline": None},
        {"baseline": {}},
        {"baseline": {"policy": {"schema": 3}}},
        {"baseline": {"action": {"price": 3}}},
    ],
    ids=repr,
)
def test_a_damaged_folder_is_one_sentence(change: dict[str, Any], tmp_path: Path) -> None:
    folder = policy_of("box").cautious({"dose": 30}).save(tmp_path)
    about = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(about | change))
    with pytest.raises(InputError) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_it_is_a_law_of_play_and_two_of_them_are_two_laws() -> None:
    policy = policy_of("box")
    careful = policy.cautious({"dose": 30})
    stated = replace(policy.problem, play=careful)
    C = people(50)
    drawn = stated.draw_actions(C, np.random.default_rng(0))
    assert np.allclose(drawn, careful.decide_points(C))
    assert not stated.private  # its policy was simulated
    laws: list[Any] = [policy, careful, lambda contexts: contexts["age"]]
    laws += [policy.cautious({"dose": 30}, 0.9), policy.cautious({"dose": 40})]
    facts = [replace(policy.problem, play=law).play_facts for law in laws]
    assert len({str(each and each["digest"]) for each in facts}) == 5
    assert facts[1] == replace(policy.problem, play=policy.cautious({"dose": 30})).play_facts
    assert facts[1] is not None
    assert facts[1]["name"] == "a cautious policy (95 % sure)"


def test_it_is_a_baseline_of_studies_and_reports(tmp_path: Path) -> None:
    policy = policy_of("box")
    careful = policy.cautious({"dose": 30})
    small = {"rank": 8, "tau": 10.0, "public_points": 500, "rng": 0}
    url = sqlite(tmp_path)
    study = create_study(
        url,
        policy.problem,
        horizon=40,
        budget=BUDGET,
        epochs=[20, 20],
        control=0.5,
        baseline=careful,
        **small,
    )
    decisions = study.ask_many({"age": np.linspace(18, 95, 20)})
    control = [each for each in decisions if each.mode == "control"]
    assert control
    for each in control:
        assert each.propensity == pytest.approx(0.5)
    with pytest.raises(InputError, match="a cautious policy"):
        tacit.Study.open(url)
    assert tacit.Study.open(url, baseline=careful).problem.actions == policy.problem.actions
    found = Findings.of(policy, careful)
    assert found.gains.over_baseline is not None
    assert 0 <= found.gains.over_baseline.average < found.gains.over_fixed.average + 1.0
    assert found.gains.over_fixed.share_sure == pytest.approx(
        policy.cautious(found.fixed).share_changed, abs=0.01
    )
    share = percent(found.gains.over_fixed.share_sure)
    assert f"at least 95 % sure, {share} of the people in the data get another" in " ".join(
        against_others(found)
    )


# -- the command line -----------------------------------------------------------------------------


def typed(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_tacit_decide_keeps_to_an_action(tmp_path: Path) -> None:
    policy = policy_of("box")
    policy.save(tmp_path / "policy")
    visitors = tmp_path / "visitors.csv"
    visitors.write_text("age\n40\n90\n")
    command = ("decide", tmp_path / "policy", visitors, "--cautious", "dose=30")
    done = typed(*command)
    header, young, old = done.stdout.splitlines()
    assert header == '"age","dose","expected_reward","std","changed"'
    assert young.startswith("40,30,")
    assert young.endswith("false")
    assert old.endswith("true")
    assert "1 of 2 rows get another action than the baseline's" in done.stderr
    assert "95 % sure" in done.stderr
    told = json.loads(typed(*command, "--level", 0.9, "--json").stdout)
    assert told["rows_changed"] == 1
    careful = policy.cautious({"dose": 30}, 0.9)
    assert [row["dose"] for row in told["decisions"]] == pytest.approx(
        careful.decide({"age": [40, 90]})["dose"]
    )
    careful.save(tmp_path / "careful")
    saved = json.loads(typed("decide", tmp_path / "careful", visitors, "--json").stdout)
    assert saved == told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--level", 0.9], "--level goes with --cautious"),
        (["--cautious", "price=3"], "--cautious takes one NAME=VALUE for each of dose"),
        (["--cautious", "dose=300"], "--cautious must be one of the actions"),
        (["--cautious", "dose=30", "--level", 0.4], r"level must be between 0\.5 and 1"),
    ],
)
def test_wrong_options_are_one_sentence(options: list[Any], says: str, tmp_path: Path) -> None:
    policy_of("box").save(tmp_path / "policy")
    (tmp_path / "visitors.csv").write_text("age\n40\n")
    with pytest.raises(InputError, match=says):
        typed("decide", tmp_path / "policy", tmp_path / "visitors.csv", *options)
    policy_of("box").blend({"dose": 30}).save(tmp_path / "blend")
    with pytest.raises(InputError, match="--cautious takes the folder of a learned policy"):
        typed("decide", tmp_path / "blend", tmp_path / "visitors.csv", "--cautious", "dose=3")
