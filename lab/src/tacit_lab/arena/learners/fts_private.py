"""Federated Thompson sampling, with and without privacy for agents."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.features import clipped
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.fourier import random_fourier
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

ROUNDS = 10  # that one agent plays
MEETINGS = 2  # of all agents: halfway and at the end
FEATURES = 64


class Agent:
    """One agent's own rounds, and draws from the posterior they give."""

    def __init__(self) -> None:
        self.Phi: list[Floats] = []
        self.y: list[float] = []

    def add(self, phi: Floats, y: float) -> None:
        self.Phi.append(phi)
        self.y.append(y)

    def sample(self, size: int, noise: float, rng: Rng) -> Floats:
        """theta ~ N(0, v I) given y = Phi theta + N(0, s^2), by correcting a draw from the prior
        (Matheron's rule):

        theta + Phi'(Phi Phi' + (s^2 / v) I)^-1 (y - e - Phi theta)
        """
        theta = math.sqrt(PRIOR) * rng.standard_normal(size)
        if not self.y:
            return theta
        Phi = np.array(self.Phi)
        missed = np.array(self.y) - noise * rng.standard_normal(len(Phi)) - Phi @ theta
        gram = Phi @ Phi.T + noise**2 / PRIOR * np.eye(len(Phi))
        return theta + Phi.T @ np.linalg.solve(gram, missed)


class FTS(FeatureLearner):
    """T / 10 agents of 10 rounds each take turns. An agent plays the best action under a draw from
    its own posterior; with probability 1 / sqrt(its turn), and once there is one, under the vector
    that all agents share.

    When agents meet, each sends such a draw, in random Fourier features that all have in common,
    and the mean is shared. They meet twice: halfway and at the end, whose vector decides.
    """

    name: ClassVar[str] = "Federated Thompson sampling"
    source: ClassVar[str] = (
        "Dai, Low, Jaillet 2020, Federated Bayesian Optimization via Thompson Sampling"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = random_fourier(setting.problem, rng, FEATURES)
        self.agents = [Agent() for _ in range(max(1, round(setting.horizon / ROUNDS)))]
        self.halfway = math.ceil(setting.horizon / len(self.agents) / MEETINGS) * len(self.agents)
        self.shared: Floats | None = None
        self.round = 0
        self._finished = False

    @property
    def turn(self) -> tuple[Agent, int]:
        """The agent whose turn it is, and the number of that turn, from 1."""
        return self.agents[self.round % len(self.agents)], 1 + self.round // len(self.agents)

    def ask(self, context: Floats) -> Floats:
        agent, turn = self.turn
        if self.shared is not None and self.rng.random() < 1.0 / math.sqrt(turn):
            theta = self.shared
        else:
            theta = agent.sample(self.phi.size, self.noise, self.rng)
        Phi = self.phi.on_menu(self.menu, context)
        return self.answer(context, Phi, Phi @ theta)

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        agent, _ = self.turn
        agent.add(self.features_of(context, action), float(np.clip(reward, -1.0, 1.0)))
        self.round += 1
        if self.round == self.halfway:
            self.meet()

    def meet(self) -> None:
        """Every agent sends a draw; the mean is shared."""
        sent = [agent.sample(self.phi.size, self.noise, self.rng) for agent in self.agents]
        self.shared = self.aggregate(np.array(sent)) / len(self.agents)

    def aggregate(self, sent: Floats) -> Floats:
        """The sum of what agents sent, one row each."""
        return np.asarray(sent.sum(axis=0))

    def decide(self, contexts: Floats) -> Floats:
        if not self._finished:
            self.meet()
            self._finished = True
        return super().decide(contexts)

    def mean(self, points: Floats) -> Floats:
        assert self.shared is not None
        return np.asarray(self.phi(points) @ self.shared)


class FTSPrivate(FTS):
    """The same, whose server clips what every agent sends and adds Gaussian noise to the sum.

    It protects an agent, that is ten rounds together: more than the others do. Neighbours differ in
    one agent, who is replaced, which moves the sum by twice the clip; the authors' noise is for one
    who joins or leaves, once the clip. In the paper all agents play at once and a new vector is
    shared after each of their rounds, from agents that are sampled at random. Chosen here: two
    meetings, in which every agent takes part, with rho split between them (sampling gains little
    when they meet so seldom); clip at the norm of a typical draw from the prior, sqrt(v M); the
    shared vector with probability 1 / sqrt(turn), where the authors' code has 1 / turn; one region,
    so no distributed exploration; 64 features.
    """

    name: ClassVar[str] = "DP federated Thompson sampling"
    source: ClassVar[str] = (
        "Dai, Low, Jaillet 2021, Differentially Private Federated Bayesian Optimization with "
        "Distributed Exploration"
    )
    protects: ClassVar[str] = "agent (ten rounds of context and reward)"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "fts"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.clip = math.sqrt(PRIOR * self.phi.size) if setting.private else math.inf
        self.sigma = gaussian_sigma(self.sensitivity, noise_rho(setting) / MEETINGS)

    @property
    def sensitivity(self) -> float:
        """How far replacing an agent can move the sum."""
        return 2.0 * self.clip

    def aggregate(self, sent: Floats) -> Floats:
        total = self.clipped_sum(sent)
        return total + gaussian(total.shape, self.sigma, self.rng)

    def clipped_sum(self, sent: Floats) -> Floats:
        return np.asarray(clipped(sent, self.clip).sum(axis=0))
