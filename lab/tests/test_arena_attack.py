"""The attack on whole learners: it leaves right claims alone, and sees red where there is a tenth
of the noise or a claim that is refuted elsewhere.

A claim that holds is called wrong with probability at most 5e-8 in each attack.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit._typing import Rng
from tacit.audit.bounds import gaussian_epsilon
from tacit_lab.arena.attack import Attack, Effort, attack, read_attacks, usual_effort, write_attack
from tacit_lab.arena.attack.attack import PLAIN, direction, pairs_for, separation
from tacit_lab.arena.attack.neighbours import NEIGHBOURS, PROBLEM, World, item_signs
from tacit_lab.arena.attack.studies import Studies
from tacit_lab.arena.attack.views import View
from tacit_lab.arena.learners import LEARNERS
from tacit_lab.arena.learners.fts_private import FTSPrivate
from tacit_lab.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit_lab.arena.learners.gpucb_private_rewards import GPUCBPrivateRewards
from tacit_lab.arena.learners.linear_agents import LinearAgents
from tacit_lab.arena.learners.linear_local import LinearLocal
from tacit_lab.arena.learners.linucb_tree import LinUCBTree
from tacit_lab.arena.learners.robin import Robin
from tacit_lab.arena.learners.tacit_release import TacitPure
from tacit_lab.arena.promise import Promise, promise_of, protection
from tacit_lab.arena.protocol import Learner, Setting

STORED = Path(__file__).parents[1] / "arena" / "study"
SMALL = Effort(pilot=0, choose=16, count=140)
REWARD = NEIGHBOURS[:1]


class LouderTree(LinUCBTree):
    """A tenth of the noise."""

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.tree.sigma /= 10.0


class LouderPure(TacitPure):
    """A hundredth of the noise in its choices."""

    def __init__(self, setting: Setting, rng: Rng) -> None:
        loud = Setting(setting.problem, setting.horizon, 100.0 * setting.epsilon, setting.delta)
        super().__init__(loud, rng)


def test_a_claim_that_holds_is_left_alone() -> None:
    found = attack("right", LinUCBTree, SMALL, REWARD)
    assert not found.refuted
    assert found.lower_bound < found.epsilon


def test_a_tenth_of_the_noise_is_seen() -> None:
    found = attack("wrong", LouderTree, SMALL, REWARD)
    assert found.refuted
    assert found.lower_bound > found.epsilon


def test_decisions_with_too_little_noise_are_seen() -> None:
    found = attack("wrong", LouderPure, Effort(pilot=0, choose=24, count=200), REWARD)
    assert found.refuted


def test_the_outsourced_table_of_contexts_is_seen_through() -> None:
    """Whoever claims epsilon = 2 is told apart with probability at most e^2 / (1 + e^2) on average;
    in all of these studies, below 1e-6."""
    (pair,) = pairs_for(GPUCBOutsourced)
    one, two = Studies(GPUCBOutsourced, pair, 2.0, 1e-6).both(56, "test")
    table = one.shape[1] - 6  # before it stand decisions, after it later actions
    assert np.all(one[:, table] > 0.0)
    assert np.all(two[:, table] < 0.0)


def test_agents_who_follow_their_own_raw_rounds_are_told_apart() -> None:
    """The stored attack proves more than the claim; here, that the leak is seen at all: what others
    see is farther apart than the noise of one record allows."""
    (followed,) = [pair for pair in NEIGHBOURS if pair.name.endswith("followed")]
    studies = Studies(LinearAgents, followed, 8.0, 1e-6)
    apart = separation(*studies.both(16, "test"))
    assert gaussian_epsilon(apart, 1e-6) > 8.0


@pytest.mark.parametrize("kind", [LinearAgents, FTSPrivate, Robin])
def test_an_agent_is_not_attacked_by_its_own_later_actions(kind: type[Learner]) -> None:
    """Others do not see them, and with them the claims of two learners would be called refuted."""
    pair = NEIGHBOURS[0]
    learner = kind(Setting(PROBLEM, pair.horizon, 2.0, 1e-6), np.random.default_rng(0))
    world = World(pair, 0, lambda _: None)
    actions = learner.play(pair.contexts(0), world.reward)
    view = View(learner, pair, 0)
    seen = view.numbers(actions)
    assert np.array_equal(seen, view.numbers(1.0 - actions))


# -- the pieces -----------------------------------------------------------------------------------


def test_neighbours_differ_in_the_first_round_and_nowhere_else() -> None:
    for pair in NEIGHBOURS:
        one, two = pair.contexts(0), pair.contexts(1)
        assert np.array_equal(one[1:], two[1:])
        assert pair.same_context == np.array_equal(one[0], two[0])
        items = np.zeros((pair.horizon, 1))
        answers = [World(pair, side, lambda _: None).reward(items, one) for side in (0, 1)]
        assert np.array_equal(answers[0][1:], answers[1][1:])
        assert pair.same_reward == (answers[0][0] == answers[1][0])


def test_answers_are_the_same_one_by_one_and_at_once() -> None:
    pair = NEIGHBOURS[0]
    items = np.zeros((pair.horizon, 1))
    at_once = World(pair, 1, lambda _: None).reward(items, pair.contexts(1))
    world = World(pair, 1, lambda _: None)
    one_by_one = [world.reward(items[:1], pair.contexts(1)[:1])[0] for _ in range(pair.horizon)]
    assert at_once.tolist() == one_by_one
    assert item_signs(np.array([[0.0], [1.0]])).tolist() == [1.0, -1.0]


def test_only_what_is_promised_is_attacked() -> None:
    assert all(pair.same_context for pair in pairs_for(GPUCBPrivateRewards))
    assert all(pair.same_reward for pair in pairs_for(GPUCBOutsourced))
    assert any(not pair.same_context for pair in pairs_for(LinUCBTree))


def test_the_direction_finds_what_tells_among_noise() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400, 10))
    a[:, 3] += 2.0
    towards = direction(a, b)
    assert int(np.argmax(np.abs(towards))) == 3
    assert separation(a, b) == pytest.approx(2.0, abs=0.5)


def test_the_plain_bound_is_that_of_epsilon_and_delta() -> None:
    proved = float(PLAIN.of(np.array(0.5), np.array(0.1)))
    assert proved == pytest.approx(math.log((0.5 - 1e-6) / 0.1))


def test_studies_of_one_side_differ_and_repeat() -> None:
    studies = Studies(LinearLocal, NEIGHBOURS[0], 8.0, 1e-6)
    seen = studies.seen(0, 3, "test")
    assert len({row.tobytes() for row in seen}) == 3
    again = Studies(LinearLocal, NEIGHBOURS[0], 8.0, 1e-6)
    assert np.array_equal(seen, again.seen(0, 3, "test"))
    assert not np.array_equal(seen, studies.seen(0, 3, "other"))


# -- the table ------------------------------------------------------------------------------------


def finding(**changed: Any) -> Attack:
    values: dict[str, Any] = {
        "learner": "usca", "epsilon": 2.0, "delta": 1e-6, "lower_bound": 0.5, "refuted": False,
        "measure": "(eps, delta)", "neighbours": "another reward", "rounds": 8, "studies": 10,
    }  # fmt: skip
    return Attack(**values | changed)


def test_findings_are_kept_and_replaced_by_learner(tmp_path: Path) -> None:
    assert read_attacks(tmp_path) == {}
    table = tmp_path / "attacks.parquet"
    write_attack(finding(), table)
    write_attack(finding(learner="tacit"), table)
    write_attack(finding(lower_bound=0.7), table)
    assert read_attacks(tmp_path) == read_attacks(tmp_path / "results.parquet")
    assert [each.learner for each in read_attacks(tmp_path).values()] == ["tacit", "usca"]
    assert read_attacks(tmp_path)["usca"].lower_bound == 0.7


@pytest.mark.parametrize("name", sorted(read_attacks(STORED)))
def test_stored_attacks_refute_what_is_said_to_be_refuted_and_nothing_else(name: str) -> None:
    found = read_attacks(STORED)[name]
    assert found.refuted == (LEARNERS[name].refuted_by is not None)
    assert found.refuted or found.lower_bound <= found.epsilon


# -- promises -------------------------------------------------------------------------------------


def test_promises_are_of_three_kinds() -> None:
    kinds = {name: promise_of(kind) for name, kind in LEARNERS.items()}
    joint = {"tacit", "tacit-epochs", "tacit-pure", "usca", "linucb-tree", "gpucb-jdp"}
    assert all(kinds[name] is Promise.JOINT for name in joint)
    other = {"bo-final", "gpucb-private-rewards", "linear-local", "linear-shuffled", "fts-private"}
    assert all(kinds[name] is Promise.OTHER for name in other)
    none = {"gpucb-outsourced", "linear-agents", "gpucb", "uniform"}
    assert all(kinds[name] is Promise.NONE for name in none)


def test_a_note_does_not_weaken_a_promise_and_a_refutation_ends_it() -> None:
    class Noted(LinUCBTree):
        protects = "context and reward (rounds of one day)"

    class Refuted(LinUCBTree):
        refuted_by = "lab/tests/test_arena_attack.py"

    assert promise_of(Noted) is Promise.JOINT
    assert promise_of(Refuted) is Promise.NONE
    assert protection(LEARNERS["usca"]).endswith("epsilon for each decision")


@pytest.mark.parametrize("name", [n for n, kind in LEARNERS.items() if kind.refuted_by])
def test_what_refutes_a_claim_is_a_test_of_this_repository(name: str) -> None:
    refuted_by = LEARNERS[name].refuted_by
    assert refuted_by is not None
    assert (Path(__file__).parents[2] / refuted_by).is_file()


def test_slow_learners_are_attacked_with_fewer_studies() -> None:
    assert usual_effort("tacit-epochs").count < usual_effort("linucb-tree").count
