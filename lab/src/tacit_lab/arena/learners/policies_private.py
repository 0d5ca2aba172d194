"""Elimination of policies in batches, in the central, the local and the shuffled model."""

from __future__ import annotations

from typing import ClassVar

from tacit._typing import Floats
from tacit_lab.arena.learners.arms_private import SENSITIVITY
from tacit_lab.arena.learners.policies import PolicyElimination
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, laplaces, noise_rho


class PoliciesPrivate(PolicyElimination):
    """The same, with Laplace noise of scale 2 / epsilon in the sum of each policy and batch. A
    reward is in one sum; pure, so delta is not used.

    The paper protects rewards from whoever sees all actions, and has no contexts at first; its
    journal version says that it holds for contexts of a known law, by the reduction that
    `PolicyElimination` is. There a context leaves its person through their own action and reward
    only, since policies are judged by public features; so others learn of a person what one reward
    in one noisy sum tells, and context and reward are protected together. Where the law of contexts
    is wrong, decisions are worse and privacy is not. Verified: abstracts and introduction. From
    memory: batches that grow geometrically, a core set in each, noise in the sums; the paper's
    noise and widths could not be read.
    """

    name: ClassVar[str] = "Private policy elimination"
    source: ClassVar[str] = (
        "Hanna, Girgis, Fragouli, Diggavi 2024, "
        "Differentially Private Stochastic Linear Bandits: (Almost) for Free"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "policy-elimination"

    def sum_variance(self) -> float:
        return 2.0 * (SENSITIVITY / self.setting.epsilon) ** 2

    def release(self, sums: Floats) -> Floats:
        return sums + laplaces(len(sums), self.setting.epsilon, SENSITIVITY, self.rng)


class PoliciesLocal(PoliciesPrivate):
    """The local model of the same paper: each user is told a policy, acts by it at home and sends
    the reward with Laplace noise of scale 2 / epsilon; the action stays at home. Pure."""

    name: ClassVar[str] = "Local policy elimination"
    trust: ClassVar[str] = "local"

    def reward_variance(self) -> float:
        return super().reward_variance() + 2.0 * (SENSITIVITY / self.setting.epsilon) ** 2

    def sum_variance(self) -> float:
        return 0.0

    def observe(self, rewards: Floats) -> Floats:
        noise = laplaces(len(rewards), self.setting.epsilon, SENSITIVITY, self.rng)
        return super().observe(rewards) + noise

    def release(self, sums: Floats) -> Floats:
        return sums


class PoliciesShuffled(PoliciesPrivate):
    """The shuffled model of the same paper: the server sees the noisy sums and nothing else. As in
    `LinearShuffled`, each has the Gaussian noise that it needs, of which every user adds a share;
    this takes secure summation, where the paper's users are shuffled."""

    name: ClassVar[str] = "Shuffled policy elimination"
    trust: ClassVar[str] = "shuffled"
    gaussian: ClassVar[bool] = True

    @property
    def sigma(self) -> float:
        return gaussian_sigma(SENSITIVITY, noise_rho(self.setting))

    def sum_variance(self) -> float:
        return self.sigma**2

    def release(self, sums: Floats) -> Floats:
        return sums + gaussian(len(sums), self.sigma, self.rng)
