"""Linear UCB in the shuffle model."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gram import SENSITIVITY, packed_size
from tacit_lab.arena.learners.linear import LinearUCB
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting


class LinearShuffled(LinearUCB):
    """Users wait for a batch; the server sees the noisy sum of the batch's messages, and nothing
    else.

    Neighbours differ in one user. Each is in one batch, so each batch has all of rho; the noise of
    the batches adds up. Batches of T^(7/10) rounds: the T^(3/5) of Chowdhury and Zhou balances a
    bound without its constants, and is worse here. Of their two protocols this is the one that sums
    vectors. There users send bits with binomial noise, of which a shuffler leaves no more than the
    sum. That noise has a constant that serves the proof; here each batch gets the Gaussian noise
    that its sum needs, of which every user adds a share: this takes secure summation, not a
    shuffler.

    The other protocol and Garcelon et al. amplify local noise, which gains nothing in batches as
    small as these: theirs must have at least 14 log(8 T / delta) rounds (Theorem 5). What their
    users send is private by itself as well, if less so; a share of the noise is not. Without
    privacy nobody has to wait: batches of one.
    """

    name: ClassVar[str] = "Shuffled linear UCB"
    source: ClassVar[str] = (
        "Chowdhury, Zhou 2022, Shuffle Private Linear Contextual Bandits; "
        "Garcelon, Chaudhuri, Perchet, Pirotta 2022, "
        "Privacy Amplification via Shuffling for Linear Contextual Bandits"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "shuffled"
    counterpart: ClassVar[str | None] = "linucb"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.sigma = gaussian_sigma(SENSITIVITY, noise_rho(setting))
        self.batch = math.ceil(setting.horizon**0.7) if setting.private else 1
        super().__init__(setting, rng)
        self.sum = np.zeros(packed_size(self.size))  # of the batches so far, with their noise
        self.waiting = np.zeros(packed_size(self.size))  # PRIVATE: of the batch that is not full
        self.batches = 0
        self.users = 0  # who wait

    @property
    def last_sigma(self) -> float:
        return self.sigma * math.sqrt(math.ceil(self.setting.horizon / self.batch))

    def collect(self, row: Floats) -> None:
        self.waiting += row
        self.users += 1
        if self.users == self.batch:
            self.shuffle()
            self.renew()

    def shuffle(self) -> None:
        """One batch goes to the server."""
        self.sum += self.waiting + gaussian(self.sum.shape, self.sigma, self.rng)
        self.waiting[:] = 0.0
        self.users = 0
        self.batches += 1

    def released(self) -> tuple[Floats, float]:
        return self.sum, self.sigma * math.sqrt(self.batches)

    def finish(self) -> None:
        """The last batch may be a smaller one."""
        if self.users:
            self.shuffle()
