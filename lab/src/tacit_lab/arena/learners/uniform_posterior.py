"""Uniform play and the posterior mean: what random exploration is worth without privacy."""

from __future__ import annotations

from typing import ClassVar

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import nystroem
from tacit_lab.arena.learners.menu import UniformPlay
from tacit_lab.arena.learners.posterior import Posterior
from tacit_lab.arena.protocol import Setting


class UniformPosterior(UniformPlay):
    """Plays uniformly at random, then decides by the posterior mean of all rounds.

    Its error falls with T as fast as that of the best learners, up to logarithms, where the
    kernel's eigenfunctions are bounded. The paper has no contexts; its shrinking of the domain
    serves the cumulative reward and is left out. Chosen here: prior variance 0.1, Nystroem features
    on at most 200 landmarks.
    """

    name: ClassVar[str] = "Uniform + posterior mean"
    source: ClassVar[str] = "Salgia, Vakili, Zhao 2024, Random Exploration in Bayesian Optimization"

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = nystroem(setting.problem, rng)
        self._posterior: Posterior | None = None

    def mean(self, points: Floats) -> Floats:
        if self._posterior is None:
            W, y = self.data
            Phi = self.phi(W)
            self._posterior = Posterior(self.phi.size, self.noise)
            self._posterior.add_all(Phi, y)
        return self._posterior.mean(self.phi(points))
