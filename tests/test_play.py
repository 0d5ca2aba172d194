"""Play laws: how actions were chosen, given contexts; what a problem does with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from helpers import BUDGET, SMALL, build_design, records, small_problem, sqlite, unit_problem
from tacit import Box, Categories, Design, InputError, Mixed, Policy, Problem, StateError, refine
from tacit.contexts import PublicSample
from tacit.decoder.context_law import ContextCounts, points_given
from tacit.decoder.parts import ReleaseParts
from tacit.play import (
    Committee,
    EpsilonGreedy,
    Fixed,
    PlayLaw,
    Probabilities,
    Stated,
    Uniform,
    as_law,
    load_law,
)

N = 4000
ALARM = 5.0  # standard deviations: a false alarm in 1.7 million runs
ARMS = Problem(Categories(["A", "B", "C"], "arm"), Box([0.0], [1.0], ["c"]))


def rule(contexts: Any, rng: Any) -> Any:
    """Follows the context, with a little noise."""
    return 0.8 * contexts["c"] + 0.1 * rng.random(len(contexts["c"]))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def policy() -> Policy:
    design = build_design(small_problem(), horizon=300, budget=BUDGET, **SMALL)
    return design.statistic().add(*records(300)).simulate_release(rng())


def share(found: Any, expected: float) -> None:
    deviation = np.sqrt(expected * (1 - expected) / N)
    assert abs(np.mean(found) - expected) <= ALARM * deviation


# -- drawing --------------------------------------------------------------------------------------


def test_actions_follow_the_contexts_that_they_are_drawn_in() -> None:
    points = unit_problem(play=rule).public_points(N, rng())
    assert np.all(points[:, 0] >= 0.8 * points[:, 1] - 1e-12)
    assert np.all(points[:, 0] <= 0.8 * points[:, 1] + 0.1 + 1e-12)
    uniform = unit_problem().public_points(N, rng())
    assert abs(np.mean((uniform[:, 0] - 0.5) * (uniform[:, 1] - 0.5))) < 0.01


def test_a_law_is_shown_columns_in_the_users_units_under_their_names() -> None:
    seen: list[Any] = []

    def law(contexts: Any, rng: Any) -> Any:
        seen.append(contexts)
        return {"dose": contexts["age"]}

    people = Mixed.of(age=(18, 95), gene=["G/G", "A/A"])
    problem = Problem(Box.of(dose=(0, 100)), people, play=law)
    points = problem.public_points(50, rng())
    assert set(seen[0]) == {"age", "gene"}
    assert set(seen[0]["gene"]) == {"G/G", "A/A"}
    assert np.allclose(100 * points[:, 0], 18 + 77 * points[:, 1])


def test_epsilon_greedy_explores_with_probability_epsilon() -> None:
    problem = replace(ARMS, play=EpsilonGreedy(Fixed("A"), 0.27))
    arms = problem.actions.decode(problem.public_points(N, rng())[:, :1])["arm"]
    share(arms == "A", 0.73 + 0.09)
    share(arms == "C", 0.09)


def test_probabilities_and_a_mapping_are_one_law() -> None:
    table = {"A": 0.8, "B": 0.15, "C": 0.05}
    points = [
        replace(ARMS, play=play).public_points(N, rng()) for play in (table, Probabilities(table))
    ]
    assert np.array_equal(points[0], points[1])
    share(points[0][:, 0] == 0.5, 0.15)
    assert replace(ARMS, play={"A": 1}).public_points(9, rng())[:, 0].tolist() == [0.0] * 9


def test_a_committee_plays_each_round_by_one_of_its_laws() -> None:
    laws = [Fixed("A"), {"B": 1.0}, lambda contexts, rng: ["C"] * len(contexts["c"]), Uniform()]
    points = replace(ARMS, play=laws).public_points(N, rng())
    for place in (0.0, 0.5, 1.0):
        share(points[:, 0] == place, 1 / 4 + 1 / 12)
    alone = replace(ARMS, play=Committee([Fixed("B")])).public_points(5, rng())
    assert alone[:, 0].tolist() == [0.5] * 5


def test_a_policy_plays_its_decisions_and_marks_the_problem_if_it_is_simulated(
    policy: Policy, tmp_path: Path
) -> None:
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    problem = small_problem()
    contexts = problem.draw_contexts(40, rng())
    for play in (policy, loaded, [policy], Committee([loaded])):
        stated = replace(problem, play=play)
        assert np.allclose(stated.draw_actions(contexts, rng()), policy.decide_points(contexts))
        assert not stated.private
    assert replace(problem, play=rule).private
    long = [Fixed([50.0])] * 80
    assert replace(problem, play=long).private
    assert not replace(problem, play=[*long, EpsilonGreedy(policy, 0.5)]).private


def test_a_law_that_does_not_look_at_contexts_may_be_sampled() -> None:
    class Low:
        def sample(self, n: int, rng: Any) -> Any:
            return rng.uniform(0.0, 0.25, n)

    for play in (Low(), PublicSample(np.linspace(0.0, 0.25, 50))):
        points = unit_problem(play=play).public_points(N, rng())
        assert points[:, 0].max() <= 0.25
        share(points[:, 0] < 0.125, 0.5)


def test_points_given_counts_have_actions_of_their_contexts() -> None:
    problem = unit_problem(play=rule)
    design = build_design(problem, horizon=500, budget=BUDGET, **SMALL)
    points = problem.public_points(500, rng())
    points[:, 1] **= 3
    statistic = design.statistic()
    statistic.add_points(points, np.zeros(500))
    policy = statistic.simulate_release(rng())
    counts = ContextCounts.pooled([ReleaseParts.of(release) for release in policy.releases])
    assert counts is not None
    given = points_given(design, counts)
    assert given is not None
    assert np.all(given[:, 0] >= 0.8 * given[:, 1] - 1e-12)
    assert np.all(given[:, 0] <= 0.8 * given[:, 1] + 0.1 + 1e-12)


# -- what is no law -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("play", "says"),
    [
        ("uniform", r"play must be a function \(contexts, rng\)"),
        (7, "got int"),
        (np.array([31.4]), "got ndarray"),
        (pd.DataFrame({"arm": ["A"]}), "got DataFrame"),
        (pd.Series(["A"]), "got Series"),
        ([31.4], "got float"),
        ([], "at least one law"),
        ({"A": 0.5, "B": 0.4}, "add up to 1, got 0.9"),
        ({"A": 1.5, "B": -0.5}, "from 0 to 1"),
        ({"A": [31.4]}, "numbers from 0 to 1"),
        ({"A": 0.5, "D": 0.5}, "a probability for 'D', which is none of the actions"),
        (Fixed("D"), "fixed action must be one action"),
        (Fixed(["A", "B"]), "fixed action must be one action"),
    ],
    ids=repr,
)
def test_what_is_no_law_is_refused_and_not_repeated(play: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        replace(ARMS, play=play)
    assert "31.4" not in str(caught.value)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (lambda contexts, rng: ["A"], "asked for the actions of 9 contexts and returned 1"),
        (lambda contexts, rng: ["A"] * 8 + [None], "missing or unknown actions"),
        (lambda contexts, rng: ["D"] * 9, "missing or unknown actions"),
        (lambda contexts, rng: {"other": ["A"] * 9}, "the table of play"),
    ],
)
def test_a_law_must_return_a_complete_action_for_every_context(law: Any, says: str) -> None:
    for play in (law, [law], EpsilonGreedy(law, 0.0)):
        with pytest.raises(InputError, match=says):
            replace(ARMS, play=play).public_points(9, rng())


def test_probabilities_need_finite_actions() -> None:
    with pytest.raises(InputError, match="finite actions"):
        unit_problem(play={"A": 1.0})


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), "0.1"])
def test_epsilon_is_a_probability(epsilon: Any) -> None:
    with pytest.raises(InputError, match="epsilon of play"):
        EpsilonGreedy(Uniform(), epsilon)


def test_a_law_that_draws_from_all_actions_must_know_them() -> None:
    with pytest.raises(StateError, match=r"law\.on\(actions\)"):
        Uniform()({"c": np.zeros(3)}, rng())
    assert len(Uniform().on(ARMS.actions)({"c": np.zeros(3)}, rng())["arm"]) == 3


# -- names, files and designs ---------------------------------------------------------------------


def test_laws_without_functions_are_written_and_read() -> None:
    table = {"A": 0.8, "B": 0.2}
    law = EpsilonGreedy(Committee([Fixed("A"), Uniform(), Probabilities(table)]), 0.1)
    read = load_law(json.loads(json.dumps(law.spec())))
    assert read == law
    assert read.description == "epsilon-greedy (0.1) around a committee of 3 laws"
    points = [replace(ARMS, play=play).public_points(30, rng()) for play in (law, read)]
    assert np.array_equal(points[0], points[1])
    with pytest.raises(InputError, match="cannot be written"):
        EpsilonGreedy(rule, 0.1).spec()
    with pytest.raises(InputError, match="law of play"):
        load_law({"type": "thompson"})


LAWS: dict[str, Any] = {
    "a rule": rule,
    "another rule": lambda contexts, rng: 0.5 * contexts["c"],
    "around a rule": EpsilonGreedy(rule, 0.1),
    "further around it": EpsilonGreedy(rule, 0.2),
    "one action": Fixed([0.5]),
    "another action": Fixed([0.6]),
    "a sample": PublicSample([0.1, 0.2]),
}


def test_every_law_has_a_digest_of_its_own_that_does_not_change(policy: Policy) -> None:
    facts = [unit_problem(play=law).play_facts for law in LAWS.values()]
    facts += [
        replace(small_problem(), play=play).play_facts for play in (policy, policy.sample(rng()))
    ]
    digests = [each["digest"] for each in facts if each is not None]
    assert len(set(digests)) == len(LAWS) + 2
    assert [unit_problem(play=law).play_facts for law in LAWS.values()] == facts[: len(LAWS)]
    assert unit_problem().play_facts is None
    assert as_law(rule).description == "the function rule"
    assert as_law(LAWS["another rule"]).description == "a function"


def test_a_law_with_randomness_of_its_own_is_refused_before_anything_is_charged(
    tmp_path: Path,
) -> None:
    """It would be another law, and so another request that is charged, each time it is named."""
    own = np.random.default_rng(0)

    def careless(contexts: Any, rng: Any) -> Any:
        return own.random(len(contexts["c"]))

    log = {"x": [0.5] * 20, "c": [0.5] * 20, "reward": [0.5] * 20}
    for play in (careless, EpsilonGreedy(careless, 0.1)):
        problem = unit_problem(play=play)
        with pytest.raises(
            InputError, match=r"careless\) chooses other actions .* rng\.random\(\)"
        ):
            build_design(problem, horizon=100, budget=BUDGET, rng=0, rank=8)
        with pytest.raises(InputError, match="draw all of its randomness from the rng"):
            tacit.fit(
                problem,
                log,
                reward="reward",
                play="problem",
                budget=BUDGET,
                ledger=sqlite(tmp_path),
            )
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_design_changes_with_its_play_even_on_the_same_landmarks() -> None:
    landmarks = unit_problem().public_points(6, rng())
    plays = [None, *LAWS.values()]
    names = set()
    for play in plays:
        design = build_design(
            unit_problem(play=play),
            horizon=100,
            budget=BUDGET,
            landmarks=landmarks,
            **SMALL | {"public_points": landmarks, "clip": 1.0},
        )
        names.add(design.fingerprint)
    assert len(names) == len(plays)


def test_a_design_is_restored_with_its_own_play_or_not_at_all() -> None:
    problem = unit_problem(play=rule)
    design = build_design(problem, horizon=300, budget=BUDGET, passes=2, **SMALL)
    facts = json.loads(json.dumps(design.facts()))
    again = Design.restore(problem, facts, design.arrays())
    assert again.fingerprint == design.fingerprint
    for other in (None, LAWS["another rule"]):
        with pytest.raises(InputError, match=r"another play \(the function rule\)"):
            Design.restore(unit_problem(play=other), facts, design.arrays())
    uniform = build_design(unit_problem(), horizon=300, budget=BUDGET, **SMALL)
    with pytest.raises(InputError, match=r"another play \(uniform\)"):
        Design.restore(problem, uniform.facts(), uniform.arrays())


def test_a_design_whose_law_was_not_kept_counts_and_cannot_be_decoded() -> None:
    design = build_design(unit_problem(play=rule), horizon=300, budget=BUDGET, passes=2, **SMALL)
    stated = Stated(**design.facts()["play"])
    kept = Design.restore(unit_problem(play=stated), design.facts(), design.arrays())
    assert kept.fingerprint == design.fingerprint
    points = design.problem.public_points(300, rng())
    sums = []
    for either in (design, kept):
        statistic = either.statistic()
        statistic.add_points(points, np.zeros(300))
        sums.append(statistic._sum._value())
    assert np.array_equal(sums[0], sums[1])
    with pytest.raises(StateError, match="not kept in files"):
        refine(statistic.simulate_release(rng()))


def test_every_law_is_one_of_the_base_class() -> None:
    assert all(isinstance(as_law(law), PlayLaw) for law in LAWS.values())
