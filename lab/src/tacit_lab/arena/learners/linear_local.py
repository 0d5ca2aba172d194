"""Locally private linear UCB."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gram import SENSITIVITY, packed_size
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting


class LinearLocal(LinearUCB):
    """Every user receives the current estimate, chooses at home, and sends phi phi' and phi y with
    Gaussian noise.

    Nobody has to be trusted: what leaves a user is private by itself, for any two contexts and
    rewards. The noise of T users adds up, so that it grows like sqrt(T) where the tree's grows like
    log T; the shift follows it, as in the paper. Chosen here: one Gaussian mechanism for matrix and
    vector together; the constants of the shift; the features and the confidence width of
    `LinearUCB`. Linear rewards only: the paper's method for generalised linear ones has no use
    here, where the reward is a function of the kernel's features as it is.
    """

    name: ClassVar[str] = "LDP linear UCB"
    source: ClassVar[str] = (
        "Zheng, Cai, Huang, Li, Wang 2020, Locally Differentially Private (Contextual) Bandits "
        "Learning"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "local"
    counterpart: ClassVar[str | None] = "linucb"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.sigma = gaussian_sigma(SENSITIVITY, noise_rho(setting))
        super().__init__(setting, rng)
        self.sum = np.zeros(packed_size(self.size))
        self.count = 0

    @property
    def last_sigma(self) -> float:
        return self.sigma * math.sqrt(self.setting.horizon)

    def collect(self, row: Floats) -> None:
        self.sum += row + gaussian(row.shape, self.sigma, self.rng)
        self.count += 1
        self.renew()

    def released(self) -> tuple[Floats, float]:
        return self.sum, self.sigma * math.sqrt(self.count)
