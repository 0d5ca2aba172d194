"""Private kernel bandits with random projections, in the joint and in the local model."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import Map, spanned
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.learners.shrinking import Information, Shrinking
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

SENSITIVITY = 2.0  # of the sum of phi y, |phi| <= 1 and |y| <= 1, to a round that is replaced
PROJECTION = 100  # random points onto whose span the kernel's features are projected
IMAGINED = 2  # rounds of one's own for each round, to take the covariance from


class KernelProjected(Shrinking):
    """Explores at random and shrinks as `shrinking` does; of an epoch's rounds it lets out

        u = sum P phi(w_i) y_i + N(0, sigma^2 I),

    where P projects onto the span of the kernel at PROJECTION random points. The covariance G =
    n E[P phi phi'P'] comes from points that the learner draws itself: contexts from the generator,
    actions by the rule that the epoch was played by, which is public. So u is all that depends on
    people. A round is in one epoch, and every epoch has the whole budget.

    Of the paper no more than the abstract could be read: a kernel ridge regression from "private
    covariance estimation and private random projections", with regret sqrt(gamma T) + gamma /
    epsilon. How its epochs, its covariance and its projection are made is inferred from it, from
    the authors' USCA, whose covariance and generator of contexts are taken over, and from their
    random exploration with shrinking. Not verified: the number of points, the confidence widths,
    the epochs' lengths, and whether the paper's covariance also spends budget.

    Chosen here: the posterior of u = G theta + noise of variance (s^2 + 3/2 v) G + sigma^2 I, a
    ridge that differs by direction in place of one tau; v stands for not knowing the rounds' own
    covariance, and half of it for two imagined rounds for each. Actions come from the menu. Without
    privacy the covariance is the rounds' own and nothing is projected: it is `shrinking`.
    """

    name: ClassVar[str] = "JDP kernel regression, projected"
    source: ClassVar[str] = (
        "Pavlovic, Salgia, Zhao 2025, Differential Privacy in Kernelized Contextual Bandits via "
        "Random Projections"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "shrinking"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.sigma = gaussian_sigma(SENSITIVITY, noise_rho(setting))
        super().__init__(setting, rng)

    def features(self) -> Map:
        if not self.setting.private:
            return super().features()
        problem = self.setting.problem
        return spanned(problem, problem.public_points(PROJECTION, self.rng))

    def inform(self, Phi: Floats, y: Floats) -> Information:
        if not self.setting.private:
            return super().inform(Phi, y)
        n = len(y)
        own = self.imagined(IMAGINED * n)
        G = own.T @ own / IMAGINED
        spread = self.noise**2 + PRIOR * (1.0 + 1.0 / IMAGINED)
        variance = spread * G + self.released_sigma(n) ** 2 * np.eye(len(G))
        A = np.linalg.solve(variance, G)  # Sigma^-1 G, so that Q = G'Sigma^-1 G, h = G'Sigma^-1 u
        return Information(G @ A, A.T @ self.released(Phi, y))

    def released(self, Phi: Floats, y: Floats) -> Floats:
        """The noisy sum of phi y."""
        u = Phi.T @ y
        return u + gaussian(len(u), self.sigma, self.rng)

    def released_sigma(self, rounds: int) -> float:
        """The standard deviation of the noise in it."""
        return self.sigma


class KernelProjectedLocal(KernelProjected):
    """The same in the local model: users know P and what is ruled out, choose at home, and each
    sends P phi y with noise that is private by itself, for any two contexts and rewards.

    The noise of an epoch's n users adds up to sigma sqrt(n). Read and inferred as for the joint
    one; nothing else differs.
    """

    name: ClassVar[str] = "LDP kernel regression, projected"
    trust: ClassVar[str] = "local"
    gaussian: ClassVar[bool] = True

    def released(self, Phi: Floats, y: Floats) -> Floats:
        return np.asarray(self.messages(Phi, y).sum(axis=0))

    def messages(self, Phi: Floats, y: Floats) -> Floats:
        """What leaves the users, a row each."""
        return Phi * y[:, None] + gaussian(Phi.shape, self.sigma, self.rng)

    def released_sigma(self, rounds: int) -> float:
        return self.sigma * math.sqrt(rounds)
