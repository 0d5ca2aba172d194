"""Generalised linear bandits by stochastic gradients, with and without local privacy."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.features import MOST, principal
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.protocol import Setting

RADIUS = 2.0  # no gradient is longer: |tanh - y| <= 2, |phi| <= 1
POOL = 4096  # public points over which the features' least mean square is taken


class GreedySGD(FeatureLearner):
    """E[y] = tanh(phi'theta). Plays argmax of phi'theta; after each round one step

        theta -= (c / (t + t0)) z,    z = (tanh(phi'theta) - y) phi.

    c = 1 / (the least mean square of a feature), t0 = c + c^2 g / v, where g is the variance of a
    coordinate of z around its mean and v the prior's: steps that fall like 1 / t, as the paper has
    them, and none so long that its noise outweighs the prior. All of it is public.
    """

    name: ClassVar[str] = "Greedy SGD"
    source: ClassVar[str] = (
        "Ding, Hsieh, Sharpnack 2021, An Efficient Algorithm for Generalized Linear Bandit"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        # As in `LinearUCB`: no feature whose sum over all rounds is lost in the noise of its steps.
        g = self.step_variance(MOST)
        floor = math.sqrt(g / setting.horizon) / (2.0 * math.sqrt(PRIOR))
        self.phi = principal(setting.problem, rng, MOST, floor)
        least = np.mean(self.phi(setting.problem.public_points(POOL, rng)) ** 2, axis=0).min()
        self.c = 1.0 / float(least)
        self.t0 = self.c + self.c**2 * self.step_variance(self.phi.size) / PRIOR
        self.theta = np.zeros(self.phi.size)
        self.round = 0

    def step_variance(self, size: int) -> float:
        """g, with so many features: their squares add up to at most 1."""
        return self.noise**2 / size

    def ask(self, context: Floats) -> Floats:
        Phi = self.phi.on_menu(self.menu, context)
        return self.answer(context, Phi, Phi @ self.theta)

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self.round += 1
        z = self.message(self.features_of(context, action), reward)
        self.theta -= self.c / (self.round + self.t0) * z

    def message(self, phi: Floats, reward: float) -> Floats:
        """What leaves the user: the gradient of their own round."""
        return (math.tanh(phi @ self.theta) - min(1.0, max(-1.0, reward))) * phi

    def mean(self, points: Floats) -> Floats:
        return np.asarray(self.phi(points) @ self.theta)


class GLMLocal(GreedySGD):
    """LDP-SGD: the same, where a user sends the gradient through `private_direction`, and nothing
    else. Nobody has to be trusted, for any two contexts and rewards; pure, so delta is not used.

    Algorithm 1 of the paper with (5) and (6) and the mechanism of Lemma 2.2, checked against its
    text. Its steps are c / t with a c of unknown constants of the contexts; c, t0, the link tanh
    (logistic for rewards of -1 and 1) and the number of features are chosen here. One parameter for
    all actions; the paper's other setting, a parameter for each arm, is not here. As for
    `LinearLocalGreedy`, nothing here promises contexts so diverse that greedy play explores.
    """

    name: ClassVar[str] = "LDP generalised linear SGD"
    source: ClassVar[str] = (
        "Han, Liang, Wang, Zhang 2021, Generalized Linear Bandits with Local Differential Privacy"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "local"
    counterpart: ClassVar[str | None] = "greedy-sgd"

    def step_variance(self, size: int) -> float:
        """A message lies on a sphere."""
        if not self.setting.private:
            return super().step_variance(size)
        return sphere_radius(size, RADIUS, self.setting.epsilon) ** 2 / size

    def message(self, phi: Floats, reward: float) -> Floats:
        gradient = super().message(phi, reward)
        return private_direction(gradient, RADIUS, self.setting.epsilon, self.rng)


def private_direction(x: Floats, radius: float, epsilon: float, rng: Rng) -> Floats:
    """A point on a sphere whose mean is x, for x of norm at most `radius`; pure epsilon-LDP (Duchi,
    Jordan and Wainwright 2018).

    x becomes a direction u: x / |x| or its opposite, so that u's mean is x / radius. The point is
    uniform on u's side of the sphere with probability e^epsilon / (1 + e^epsilon), else on the
    other.
    """
    if math.isinf(epsilon):
        return x
    norm = float(np.linalg.norm(x))
    z = rng.standard_normal(len(x))
    z *= sphere_radius(len(x), radius, epsilon) / np.linalg.norm(z)
    u = x if rng.random() < 0.5 + norm / (2.0 * radius) else -x
    near = rng.random() < 1.0 / (1.0 + math.exp(-epsilon))
    return z if (z @ u > 0) == near else -z


def sphere_radius(size: int, radius: float, epsilon: float) -> float:
    """radius sqrt(pi) coth(epsilon / 2) Gamma((d + 1) / 2) / Gamma(d / 2), in d dimensions."""
    ratio = math.exp(gammaln((size + 1) / 2.0) - gammaln(size / 2.0))
    return radius * math.sqrt(math.pi) / math.tanh(epsilon / 2.0) * ratio
