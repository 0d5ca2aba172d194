"""Elimination of policies in batches: a stochastic linear bandit."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy import linalg

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import principal
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.in_batches import InBatches, Labels, label_sums
from tacit_lab.arena.learners.menu import CONTEXTS, MenuLearner
from tacit_lab.arena.learners.posterior import PRIOR, Posterior
from tacit_lab.arena.protocol import Setting

POLICIES = 256
FEATURES = 16
PUBLIC = 512  # contexts over which a policy's features are averaged


class PolicyElimination(InBatches, MenuLearner):
    """A linear bandit whose actions are 256 policies, c -> argmax over x of phi(x, c)'theta with
    theta from the prior. Policy j has the features g_j = E_c[phi(x_j(c), c)], by the public law of
    contexts, and rewards of mean g_j'theta*.

    A batch plays a core of the policies that are left, nearly G-optimal, and the sum of each one's
    rewards is kept; then a policy goes whose upper bound is below the best lower bound. Batches
    double. The last decision is greedy by the posterior mean of theta, for each context. Chosen
    here: the policies; 16 principal features; bounds of 2 standard deviations, as in GP-UCB; a
    first batch in which the noise of a sum is no larger than its sampling error, of half the rounds
    at most.
    """

    name: ClassVar[str] = "Policy elimination"
    source: ClassVar[str] = (
        "Hanna, Yang, Fragouli 2023, Contexts Can Be Cheap: Solving Stochastic Contextual Bandits "
        "with Linear Bandit Algorithms"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = principal(setting.problem, rng, FEATURES)
        self.thetas = rng.standard_normal((POLICIES, self.phi.size))
        self.g = self._policy_features(setting.problem.draw_contexts(PUBLIC, rng))
        self.alive = np.arange(POLICIES)
        self.posterior = Posterior(self.phi.size, 1.0)
        core = 2 * self.phi.size
        needed = self.sum_variance() / self.reward_variance()
        self.size = min(math.ceil(core * max(2.0, needed)), math.ceil(setting.horizon / 2))

    def reward_variance(self) -> float:
        """Of a reward around the mean of its policy: contexts differ, too."""
        return self.noise**2 + PRIOR

    def sum_variance(self) -> float:
        """Of the noise in one released sum."""
        return 0.0

    def release(self, sums: Floats) -> Floats:
        """The sums of rewards of a batch's policies, as they may be looked at."""
        return sums

    def next_batch(self, left: int) -> Labels:
        rounds = left if left < 2 * self.size else self.size
        core, shares = core_set(self.g[self.alive])
        times = np.floor(shares * rounds).astype(int)
        times[: rounds - times.sum()] += 1
        return np.repeat(self.alive[core], times)

    def actions(self, labels: Labels, contexts: Floats) -> Floats:
        chunks = range(0, len(labels), CONTEXTS)
        return np.vstack(
            [self._act(labels[i:][:CONTEXTS], contexts[i:][:CONTEXTS]) for i in chunks]
        )

    def _act(self, labels: Labels, contexts: Floats) -> Floats:
        Phi = self._menu_features(contexts)
        scores = np.einsum("cmd,cd->cm", Phi, self.thetas[labels])
        return self.menu[np.argmax(scores, axis=1)]

    def _menu_features(self, contexts: Floats) -> Floats:
        return np.array([self.phi.on_menu(self.menu, context) for context in contexts])

    def _policy_features(self, contexts: Floats) -> Floats:
        Phi = self._menu_features(contexts)
        scores = self.thetas @ Phi.transpose(0, 2, 1)  # (contexts, policies, menu)
        chosen = np.argmax(scores, axis=2)
        return np.asarray(Phi[np.arange(len(Phi))[:, None], chosen].mean(axis=0))

    def learn(self, labels: Labels, rewards: Floats) -> None:
        played = np.unique(labels)
        n = np.bincount(labels, minlength=POLICIES)[played]
        sums = self.release(label_sums(labels, rewards, POLICIES)[played])
        std = np.sqrt(self.reward_variance() / n + self.sum_variance() / n**2)
        self.posterior.add_all(self.g[played] / std[:, None], sums / n / std)
        mean = self.posterior.mean(self.g[self.alive])
        width = WIDTH * self.posterior.std(self.g[self.alive])
        self.alive = self.alive[mean + width >= np.max(mean - width)]
        self.size *= 2

    def mean(self, points: Floats) -> Floats:
        return self.posterior.mean(self.phi(points))


def core_set(G: Floats) -> tuple[Labels, Floats]:
    """A few rows that span all, and how often to play each: a nearly G-optimal design.

    It begins evenly on the rows that pivoting finds most independent; as many Frank-Wolfe steps
    follow, each towards the row that is known least, of the length that suits it best (Fedorov).
    """
    rank = min(G.shape)
    pivots = linalg.qr(G.T, mode="r", pivoting=True)[1][:rank]
    shares = np.zeros(len(G))
    shares[pivots] = 1.0 / rank
    for _ in range(rank):
        V = G.T @ (shares[:, None] * G) + 1e-9 * np.eye(G.shape[1])
        unknown = np.einsum("nd,nd->n", G, np.linalg.solve(V, G.T).T)
        worst = int(np.argmax(unknown))
        if unknown[worst] <= rank:
            break
        step = (unknown[worst] / rank - 1.0) / (unknown[worst] - 1.0)
        shares *= 1.0 - step
        shares[worst] += step
    core = np.flatnonzero(shares)
    return core, shares[core]
