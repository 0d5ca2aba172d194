"""Private linear UCB for several agents who learn together."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gram import SENSITIVITY, packed_size
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.mechanisms import Tree, noise_rho
from tacit_lab.arena.protocol import Setting

AGENTS = 4
MEETINGS = 4


class LinearAgents(LinearUCB):
    """Four agents take turns. Each plays by what all have shared and by its own rounds since; when
    they meet, each adds those to a tree mechanism of its own, and shares its tree's noisy sum.

    A round is to be protected from the other agents and from whoever decides in the end, not from
    its own agent. The published algorithm leaks it in two ways. Agents meet when a determinant of
    raw data has grown, which tells others about the data (Zhou and Chowdhury 2024); here they meet
    4 times, evenly, so a round lies below at most 3 nodes. And an agent plays by its own raw
    rounds: with another person in one round it plays otherwise in those that follow, and the sum
    that it shares moves by many rounds, where the noise is for one (a test shows it). It is kept as
    published, so the budget holds where one record is replaced and the others stay, not where one
    person is. The number of agents is the setting's choice, not the paper's. Without privacy they
    meet after every round.
    """

    name: ClassVar[str] = "Private linear agents"
    source: ClassVar[str] = "Dubey, Pentland 2020, Differentially-Private Federated Linear Bandits"
    protects: ClassVar[str] = "context and reward, from other agents"
    refuted_by: ClassVar[str | None] = "lab/tests/test_learners_sensitivity.py"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "linucb"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.setting = setting
        self.meetings = self.schedule()
        self.every = math.ceil(setting.horizon / self.meetings)
        super().__init__(setting, rng)
        size = packed_size(self.size)
        self.trees = [self._tree(size) for _ in range(AGENTS)]
        self.shared = np.zeros(size)
        self.own = np.zeros((AGENTS, size))  # PRIVATE to each agent
        self.round = 0

    def schedule(self) -> int:
        """How often agents meet. Public, and known before the first round."""
        horizon = self.setting.horizon
        return min(MEETINGS, horizon) if self.setting.private else horizon

    def _tree(self, size: int) -> Tree:
        return Tree(size, self.meetings, SENSITIVITY, noise_rho(self.setting), self.rng)

    @property
    def last_sigma(self) -> float:
        return self._tree(1).sigma * math.sqrt(AGENTS)

    def collect(self, row: Floats) -> None:
        self.add(row)
        self.renew()

    def add(self, row: Floats) -> bool:
        """One more round of the agent whose turn it is, and whether it ended in a meeting."""
        self.own[self.round % AGENTS] += row
        self.round += 1
        due = self.round % self.every == 0
        if due:
            self.meet()
        return due

    def meet(self) -> None:
        """Every agent adds its rounds to its tree, and shares the tree's noisy sum."""
        for tree, row in zip(self.trees, self.own, strict=True):
            tree.add(row)
        self.own[:] = 0.0
        self.shared = np.sum([tree.prefix for tree in self.trees], axis=0)

    def released(self) -> tuple[Floats, float]:
        """What the agent whose turn it is can see."""
        return self.shared + self.own[self.round % AGENTS], self._sigma

    @property
    def _sigma(self) -> float:
        return self.trees[0].sigma * math.sqrt(AGENTS * self.trees[0].nodes)

    def finish(self) -> None:
        """A last meeting if there were rounds since the one before; then the roots are read."""
        if self.round % self.every and self.trees[0].count < self.meetings:
            self.meet()
        for tree in self.trees:
            tree.close()
        self.shared = np.sum([tree.prefix for tree in self.trees], axis=0)
