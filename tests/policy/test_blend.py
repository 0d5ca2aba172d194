"""Blends: a policy for some visitors and a baseline for the others, by a law that is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from helpers import BUDGET, build_design, create_study, sqlite
from tacit import InputError, Policy, Problem
from tacit.play import EpsilonGreedy, as_baseline, as_law
from tacit.policy import Blend, load

pytestmark = pytest.mark.usefixtures("coarse_fits")

N = 4000
ALARM = 5.0  # standard deviations: a false alarm in 1.7 million runs
C = tacit.Box.of(c=(0, 1))
ARMS = Problem(tacit.Categories(["a", "b", "c"], "arm"), C)
DOSE = Problem(tacit.Box.of(dose=(0, 10)), C)


def learned(problem: Problem, seed: int = 0, rounds: int = 1000, epsilon: float = 8.0) -> Policy:
    """A policy from a log that was played as the problem states; the right action is the
    context."""
    budget = tacit.Budget(epsilon=epsilon, delta=1e-6)
    given: dict[str, Any] = {"rng": 0, "rank": 25, "tau": 10.0, "public_points": 1000}
    design = build_design(problem, horizon=rounds, budget=budget, **given)
    W = problem.public_points(rounds, np.random.default_rng(seed))
    statistic = design.statistic()
    statistic.add_points(W, 0.8 - 1.6 * np.abs(W[:, 0] - W[:, 1]))
    return statistic.simulate_release(np.random.default_rng(seed))


@cache
def policy_of(kind: str) -> Policy:
    return learned(ARMS if kind == "arms" else DOSE)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


HIGH = {"c": np.full(N, 0.9)}  # for whom the policy chooses another action than "a", or than 1


# -- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_share_of_visitors_is_decided_for_by_the_policy(share: float) -> None:
    policy = policy_of("arms")
    blend = policy.blend("a", share)
    arms = blend.decide(HIGH, rng=rng())["arm"]
    own = policy.decide({"c": 0.9})["arm"]
    assert own != "a"
    assert set(arms) <= {"a", own}
    deviation = np.sqrt(share * (1 - share) / N)
    assert abs(np.mean(arms == own) - share) <= ALARM * deviation


def test_coins_are_those_of_the_caller_or_new_ones() -> None:
    blend = policy_of("dose").blend({"dose": 1})
    first = blend.decide(HIGH, rng=rng())["dose"]
    assert np.array_equal(blend.decide(HIGH, rng=rng())["dose"], first)
    assert not np.array_equal(blend.decide(HIGH, rng=rng(1))["dose"], first)
    coins = rng()
    assert np.array_equal(blend.decide(HIGH, rng=coins)["dose"], first)
    assert not np.array_equal(blend.decide(HIGH, rng=coins)["dose"], first)
    new = [blend.decide(HIGH)["dose"] for _ in range(2)]
    assert not np.array_equal(new[0], new[1])
    assert blend.decide_points(np.empty((0, 1))).shape == (0, 1)
    for wrong in (0, np.random.RandomState(0)):
        with pytest.raises(InputError, match="rng must be a NumPy random generator, got"):
            blend.decide(HIGH, rng=wrong)  # type: ignore[arg-type]


# -- its law --------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(["a", "b", "c"]))
def test_probabilities_of_all_actions_are_one_together(c: float, share: float, arm: str) -> None:
    policy = policy_of("arms")
    blend = policy.blend(arm, share)
    found = dict(zip("abc", blend.probability(["a", "b", "c"], {"c": c}), strict=True))
    assert sum(found.values()) == pytest.approx(1.0)
    own = policy.decide({"c": c})["arm"]
    assert found[own] == pytest.approx(1.0 if own == arm else share)
    assert found[arm] == pytest.approx(1.0 if own == arm else 1 - share)


def test_probabilities_are_the_frequencies_of_decisions() -> None:
    blend = policy_of("arms").blend(lambda contexts: np.where(contexts["c"] < 0.5, "b", "c"), 0.3)
    for c in (0.1, 0.45, 0.55, 0.95):
        arms = blend.decide({"c": np.full(N, c)}, rng=rng())["arm"]
        for arm, p in zip("abc", blend.probability(["a", "b", "c"], {"c": c}), strict=True):
            assert abs(np.mean(arms == arm) - p) <= ALARM * np.sqrt(p * (1 - p) / N)


def test_decisions_on_a_scale_are_single_actions_with_a_probability() -> None:
    policy = policy_of("dose")
    blend = policy.blend({"dose": 1}, 0.25)
    contexts = {"c": np.linspace(0.5, 1, 50)}
    chosen = policy.decide(contexts)["dose"]
    assert np.allclose(blend.probability({"dose": chosen}, contexts), 0.25)
    assert np.allclose(blend.probability({"dose": 1}, contexts), 0.75)
    assert np.allclose(blend.probability({"dose": chosen + 0.01}, contexts), 0.0)
    drawn = blend.decide(contexts, rng=rng())["dose"]
    assert set(np.round(blend.probability({"dose": drawn}, contexts), 9)) == {0.25, 0.75}
    assert np.allclose(policy.blend(policy).probability({"dose": chosen}, contexts), 1.0)


def contradicted(policy: Policy) -> bool:
    return bool(policy.facts["play_check"]["contradicted"])


def test_a_log_that_was_collected_with_it_can_be_learned_from() -> None:
    """With the law that played it, the released counts agree; with another share, or with uniform
    play, they contradict it."""
    first = policy_of("arms")
    blend = first.blend(first.cautious("b", 0.8), 0.5)
    law = EpsilonGreedy(blend, 0.3)
    played = replace(ARMS, play=law)
    policy = learned(played, rounds=N)
    assert not contradicted(policy)
    assert policy.facts["play"].startswith("epsilon-greedy (0.3) around a policy for 50 %")
    assert policy.decide({"c": [0.02, 0.5, 0.98]})["arm"].tolist() == ["a", "b", "c"]
    W = played.public_points(N, rng())
    for other in (replace(ARMS, play=EpsilonGreedy(first.blend("b", 0.05), 0.3)), ARMS):
        options: dict[str, Any] = {"rank": 25, "tau": 10.0, "public_points": 1000, "rng": 0}
        budget = tacit.Budget(epsilon=8.0, delta=1e-6)
        statistic = build_design(other, horizon=N, budget=budget, **options).statistic()
        statistic.add_points(W, 0.8 - 1.6 * np.abs(W[:, 0] - W[:, 1]))
        assert contradicted(statistic.simulate_release(rng()))


def test_two_blends_are_two_laws_and_one_is_always_the_same() -> None:
    policy = policy_of("dose")

    def rule(contexts: Any) -> Any:
        return 10 * contexts["c"]

    laws: list[Any] = [
        policy,
        policy.blend({"dose": 1}),
        policy.blend({"dose": 1}, 0.4),
        policy.blend({"dose": 2}),
        policy.blend(rule),
        policy.blend(rule, 0.4),
        policy.blend(policy.cautious({"dose": 1})),
    ]
    digests = [str((replace(DOSE, play=law).play_facts or {})["digest"]) for law in laws]
    assert len(set(digests)) == len(laws)
    again = replace(DOSE, play=policy.blend({"dose": 1})).play_facts
    assert again == {"name": laws[1].description, "digest": digests[1]}
    assert not replace(DOSE, play=laws[1]).private  # its policy was simulated
    assert as_law(laws[1]) is laws[1]


def test_it_has_coins_and_so_is_no_baseline(tmp_path: Path) -> None:
    blend = policy_of("dose").blend({"dose": 1})
    for refuse in (as_baseline, policy_of("dose").cautious, policy_of("dose").blend):
        with pytest.raises(InputError, match="without chance, got a policy for 50 %"):
            refuse(blend)
    with pytest.raises(InputError, match="without chance"):
        create_study(
            sqlite(tmp_path), DOSE, horizon=40, budget=BUDGET, epochs=2, control=0.5, baseline=blend
        )
    with pytest.raises(InputError, match="without chance"):
        policy_of("dose").report(tmp_path / "report.html", baseline=blend)


# -- files and errors -----------------------------------------------------------------------------


def test_it_survives_saving(tmp_path: Path) -> None:
    policy = policy_of("arms")
    for i, baseline in enumerate(["a", {"arm": "b"}, policy, policy.cautious("c", 0.9)]):
        blend = policy.blend(baseline, 0.3)
        loaded = load(blend.save(tmp_path / str(i)))
        assert isinstance(loaded, Blend)
        assert loaded.share == 0.3
        contexts = {"c": np.linspace(0, 1, 40)}
        for arm in "abc":
            assert np.array_equal(
                loaded.probability([arm], contexts), blend.probability([arm], contexts)
            )
        assert replace(ARMS, play=loaded).play_facts == replace(ARMS, play=blend).play_facts
    with pytest.raises(InputError, match=r"\(blend-1\): read it with tacit\.policy\.load"):
        Policy.load(tmp_path / "0")
    with pytest.raises(InputError, match="a baseline that is a function cannot be saved"):
        policy.blend(lambda contexts: ["a"] * len(contexts["c"])).save(tmp_path / "no")


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True, "half", None])
def test_a_share_is_from_zero_to_one(share: Any) -> None:
    with pytest.raises(InputError, match="share must be from 0 to 1, got"):
        policy_of("arms").blend("a", share)
