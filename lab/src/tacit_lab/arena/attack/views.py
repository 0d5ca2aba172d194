"""What others see of a study: the actions of later rounds, decisions, and released numbers.

Numbers are read where a learner's class says that they may be looked at, and in a form that means
the same whatever features the learner drew: for each of the two items and both contexts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit._typing import Floats
from tacit_lab.arena.attack.neighbours import FAR, NEAR, PROBLEM, Neighbours, item_signs
from tacit_lab.arena.learners.fts_private import FTS
from tacit_lab.arena.learners.gpucb import GPUCB
from tacit_lab.arena.learners.gpucb_outsourced import GPUCBOutsourced
from tacit_lab.arena.learners.gram import unpack
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.learners.linear_agents import LinearAgents
from tacit_lab.arena.learners.menu import MenuLearner, pairs
from tacit_lab.arena.learners.robin import FederatedGreedy
from tacit_lab.arena.promise import spends_per_decision
from tacit_lab.arena.protocol import Learner

Numbers = Callable[[], Floats]

PLACES = np.array([[NEAR], [FAR]])
POINTS = pairs(PROBLEM.actions.candidate_points(2), PLACES)  # both items at each place
SIGNS = item_signs(POINTS[:, : PROBLEM.actions.dimension])
# Those who protect an agent, with all of its rounds: a short study is that of one agent, whose own
# later actions are not seen by those whom it is protected from.
OF_AGENTS = (LinearAgents, FTS, FederatedGreedy)
FIRST = 4  # later actions that are looked at one by one; of the others the mean


class View:
    """One study as others see it. `watch` is called before each answer; `numbers` is the whole."""

    def __init__(self, learner: Learner, neighbours: Neighbours, side: int) -> None:
        self.learner = learner
        self._during, self._after = released(learner, neighbours, side)
        self._seen: list[Floats] = []

    def watch(self, over: int) -> None:
        """After 1, 2, 4, 8, ... rounds: where a tree of sums finishes a node of every level."""
        if self._during is not None and over and over & (over - 1) == 0:
            self._seen.append(self._during())

    def numbers(self, actions: Floats) -> Floats:
        """All that is seen, after all rounds were played."""
        kind = type(self.learner)
        if spends_per_decision(kind):
            # One decision is what epsilon is for. The actions of rounds depend on nobody's answers,
            # or are not protected.
            return item_signs(self.learner.decide(PLACES[:1]))
        decided = item_signs(self.learner.decide(PLACES))
        seen = [*self._seen, decided]
        if self._after is not None:
            seen.append(self._after())
        if not isinstance(self.learner, OF_AGENTS):
            later = item_signs(actions[1:])
            seen += [later[:FIRST], later[FIRST:].mean(keepdims=True)]
        return np.concatenate(seen)


def released(
    learner: Learner, neighbours: Neighbours, side: int
) -> tuple[Numbers | None, Numbers | None]:
    """Numbers that can be looked at during the study, and after it. Of a learner that is not known
    here, what it calls released: its estimate, after the study."""
    if isinstance(learner, GPUCBOutsourced):
        return None, lambda: _told_apart(learner, neighbours, side)
    if isinstance(learner, LinearAgents):
        return (lambda: _of_sums(learner, learner.shared),) * 2
    if isinstance(learner, LinearUCB):
        return (lambda: _of_sums(learner, learner.released()[0]),) * 2
    if isinstance(learner, FTS):
        return (lambda: _of_estimates(learner) if learner.shared is not None else np.zeros(4),) * 2
    if isinstance(learner, GPUCB):
        return (lambda: _of_estimates(learner),) * 2
    if isinstance(learner, MenuLearner):
        return None, lambda: _of_estimates(learner)
    return None, None


def _of_estimates(learner: MenuLearner) -> Floats:
    """Of each item for each context, the second item with its sign turned."""
    return np.asarray(learner.mean(POINTS) * SIGNS)


def _of_sums(learner: LinearUCB, packed: Floats) -> Floats:
    """The same of a released response vector, phi'u; and of its Gram matrix, phi'G phi, the first
    item less the second."""
    G, u = unpack(packed, learner.size)
    Phi = learner.phi(POINTS)
    grams = np.einsum("nd,de,ne->n", Phi, G, Phi) * SIGNS
    return np.concatenate([(Phi @ u) * SIGNS, grams.reshape(len(PLACES), -1).sum(axis=1)])


def _told_apart(learner: GPUCBOutsourced, neighbours: Neighbours, side: int) -> Floats:
    """The curator's table shows every row through one linear map, which the rows of people whom the
    attacker knows give away. Which of the two contexts then explains the first row?"""
    center = learner.center
    table = learner.seen(neighbours.contexts(side)) - center
    known = neighbours.contexts(side)[1:] - center
    shown, *_ = np.linalg.lstsq(known, table[1:], rcond=None)
    missed = [
        float(np.linalg.norm(table[0] - (person.context - center) @ shown))
        for person in neighbours.pair
    ]
    return np.array([missed[1] - missed[0]])
