"""Private linear UCB with tree-based noise."""

from __future__ import annotations

import math
from typing import ClassVar

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gram import SENSITIVITY, packed_size
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.mechanisms import Tree, noise_rho
from tacit_lab.arena.protocol import Setting


class LinUCBTree(LinearUCB):
    """Linear UCB whose (G, u) is a prefix sum of the binary tree mechanism, with fresh noise in
    every node.

    Joint privacy: neighbours differ in one round's context and reward, and others see the actions
    of all other rounds. Each is played by the noisy sums of the rounds before it, so these actions
    are post-processing of the tree. Of the paper's two kinds of noise this is the Gaussian one; the
    other is Wishart. Chosen here: noise in zCDP instead of the paper's composition theorem; y^2,
    which nobody reads, is not in the tree; the last decision reads the root alone; as many of the
    kernel's principal features as the noise leaves room for (4 to 32); the confidence width of
    `LinearUCB`.
    """

    name: ClassVar[str] = "Private LinUCB (tree)"
    source: ClassVar[str] = (
        "Shariff, Sheffet 2018, Differentially Private Contextual Linear Bandits"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "linucb"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.tree = self._tree(packed_size(self.size))

    def _tree(self, size: int) -> Tree:
        return Tree(size, self.setting.horizon, SENSITIVITY, noise_rho(self.setting), self.rng)

    @property
    def last_sigma(self) -> float:
        return self._tree(1).sigma

    def collect(self, row: Floats) -> None:
        self.tree.add(row)
        self.renew()

    def released(self) -> tuple[Floats, float]:
        return self.tree.prefix, self.tree.sigma * math.sqrt(self.tree.nodes)

    def finish(self) -> None:
        self.tree.close()
