"""Contextual GP-UCB, also known as KernelUCB."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.features import nystroem
from tacit_lab.arena.learners.posterior import Posterior
from tacit_lab.arena.protocol import Setting

WIDTH = 2.0  # standard deviations of optimism


class GPUCB(FeatureLearner):
    """Plays argmax over x of  mean(x, c) + WIDTH std(x, c),  decides by the mean.

    The width that Krause and Ong prove for a function of the kernel's space grows like the root of
    the information gain and explores far longer than is useful. KernelUCB's is a constant, and its
    bound is for a variant in stages, SupKernelUCB. 2 standard deviations is the usual choice in
    practice. Nystroem features on at most 200 landmarks, prior variance 0.1.
    """

    name: ClassVar[str] = "GP-UCB"
    source: ClassVar[str] = (
        "Krause, Ong 2011, Contextual Gaussian Process Bandit Optimization; "
        "Valko, Korda, Munos, Flaounas, Cristianini 2013, Finite-Time Analysis of Kernelised "
        "Contextual Bandits"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = nystroem(setting.problem, rng)
        self.posterior = Posterior(self.phi.size, self.noise)

    def ask(self, context: Floats) -> Floats:
        Phi = self.phi.on_menu(self.menu, context)
        scores = self.posterior.mean(Phi) + self.width * self.posterior.std(Phi)
        return self.answer(context, Phi, scores)

    @property
    def width(self) -> float:
        """The standard deviations of optimism in this round."""
        return WIDTH

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self.posterior.add(self.features_of(context, action), self.observe(reward))

    def observe(self, reward: float) -> float:
        """What the learner is told of a reward."""
        return float(np.clip(reward, -1.0, 1.0))

    def mean(self, points: Floats) -> Floats:
        return self.posterior.mean(self.phi(points))
