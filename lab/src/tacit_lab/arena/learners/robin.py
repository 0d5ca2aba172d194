"""Greedy linear bandits of many clients, with and without user-level privacy."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.features import principal
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.posterior import Posterior
from tacit_lab.arena.learners.winsorised import winsorised_mean
from tacit_lab.arena.mechanisms import mixed_rho
from tacit_lab.arena.protocol import Setting

ROUNDS = 30  # of one client: phases of 2, 4, 8 and 16 rounds
ALONE = 14  # of these, played by each client on its own: the first three phases
RELEASES = 2  # after the rounds alone, and after the last
FEATURES = 8


class FederatedGreedy(FeatureLearner):
    """T / 30 clients of 30 rounds each take turns. A client plays 14 rounds by linear UCB on its
    own data; then all send their estimates, and the mean is shared. The other 16 rounds are played
    greedily by that mean. In the end clients send the estimates of all of their rounds, and the
    mean decides."""

    name: ClassVar[str] = "Federated greedy averaging"
    source: ClassVar[str] = (
        "Huang, Zhang, Melis, Shen, Hejazinia, Yang 2023, "
        "Federated Linear Contextual Bandits with User-level Differential Privacy; without privacy"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = principal(setting.problem, rng, FEATURES)
        clients = max(1, round(setting.horizon / ROUNDS))
        self.clients = [Posterior(self.phi.size, self.noise) for _ in range(clients)]
        self.shared: Floats | None = None
        self.round = 0
        self._finished = False

    def ask(self, context: Floats) -> Floats:
        Phi = self.phi.on_menu(self.menu, context)
        if self.shared is not None:
            return self.answer(context, Phi, Phi @ self.shared)
        client = self.clients[self.round % len(self.clients)]
        return self.answer(context, Phi, client.mean(Phi) + WIDTH * client.std(Phi))

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        client = self.clients[self.round % len(self.clients)]
        client.add(self.features_of(context, action), float(np.clip(reward, -1.0, 1.0)))
        self.round += 1
        if self.round == ALONE * len(self.clients) < self.setting.horizon:
            self.meet(ALONE)

    def meet(self, rounds: int) -> None:
        """Clients send their estimates, of so many rounds each."""
        sent = np.array([client.theta for client in self.clients])
        self.shared = self.aggregate(sent, rounds)

    def aggregate(self, sent: Floats, rounds: int) -> Floats:
        """The mean of what clients sent, one row each, from so many rounds each."""
        return np.asarray(sent.mean(axis=0))

    def decide(self, contexts: Floats) -> Floats:
        if not self._finished:
            self.meet(ROUNDS)
            self._finished = True
        return super().decide(contexts)

    def mean(self, points: Floats) -> Floats:
        assert self.shared is not None
        return np.asarray(self.phi(points) @ self.shared)


class Robin(FederatedGreedy):
    """ROBIN: the mean that is shared is a private winsorised one (`winsorised_mean`). It protects a
    client, that is all of its 30 rounds together, from whoever sees what the server shares and
    decides; a client's own actions are its own.

    Algorithms 1 to 4 were checked against the paper's text: phases of 2^p rounds, local linear UCB
    first, greedy play after, PrivateRange by the exponential mechanism in each coordinate after a
    random rotation, then noise for the clipped mean. Chosen here: 30 rounds a client, so that there
    are two releases and one greedy phase; the last release, which the paper does not have, from all
    rounds of a client, where the paper's later phases forget the earlier ones; the budget in zCDP,
    half for ranges and half for means, Gaussian instead of Laplace noise; any rotation instead of
    Hadamard's; radius 1 / sqrt(rounds), where the paper's constant serves its proof; ridge
    regression instead of pseudo-inverses; 8 features. Neighbours differ in one client, who is
    replaced.
    """

    name: ClassVar[str] = "ROBIN"
    source: ClassVar[str] = (
        "Huang, Zhang, Melis, Shen, Hejazinia, Yang 2023, "
        "Federated Linear Contextual Bandits with User-level Differential Privacy"
    )
    protects: ClassVar[str] = "client (thirty rounds of context and reward)"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "federated-greedy"

    def aggregate(self, sent: Floats, rounds: int) -> Floats:
        if not self.setting.private:
            return super().aggregate(sent, rounds)
        rho = mixed_rho(self.setting) / RELEASES
        return winsorised_mean(sent, 1.0 / math.sqrt(rounds), rho, self.rng)
