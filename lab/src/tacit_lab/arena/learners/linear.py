"""Linear UCB on kernel features, which the private linear learners share."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from scipy import linalg

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.featured import FeatureLearner
from tacit_lab.arena.learners.features import MOST, Map, lightest, principal
from tacit_lab.arena.learners.gpucb import WIDTH
from tacit_lab.arena.learners.gram import contribution, packed_size, shift_for, unpack
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.protocol import Setting


class LinearUCB(FeatureLearner):
    """Plays argmax of  phi'theta + b |phi|_{V^-1},  V = G + (shift + ridge) I,  theta = V^-1 u;
    decides by phi'theta.

    ridge = s^2 / v, noise variance over prior variance; b = WIDTH sqrt(s^2 + v shift), since a
    shift pulls theta towards 0 like a ridge of that strength. Subclasses say how (G, u) is
    collected and how much noise is in it.
    """

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.phi = self.features(lightest(self.last_sigma, setting.horizon))
        self.size = self.phi.size
        self._factor: Floats | None = None  # lower, of V
        self._theta = np.zeros(self.size)
        self._width = 0.0
        self._finished = False

    def features(self, floor: float) -> Map:
        """A public feature map with |phi| <= 1, without features of a mean square below `floor`."""
        return principal(self.setting.problem, self.rng, MOST, floor)

    @property
    @abstractmethod
    def last_sigma(self) -> float:
        """The standard deviation of the noise in the last released sum. Public, and known before
        the first round."""

    @abstractmethod
    def collect(self, row: Floats) -> None:
        """Takes one round's contribution, and calls `renew` where the next round is played by
        another estimate."""

    @abstractmethod
    def released(self) -> tuple[Floats, float]:
        """The packed sum that may be looked at, and the standard deviation of the noise in each of
        its numbers."""

    def finish(self) -> None:
        """After the last round, before the first decision."""

    def renew(self) -> None:
        """The estimate that the next rounds are played by."""
        packed, sigma = self.released()
        G, u = unpack(packed, self.size)
        shift = shift_for(sigma, self.size)
        ridge = self.noise**2 / PRIOR
        self._factor = _cholesky(G + (shift + ridge) * np.eye(self.size), shift / 10.0 + ridge)
        self._theta = linalg.cho_solve((self._factor, True), u, check_finite=False)
        self._width = WIDTH * math.sqrt(self.noise**2 + PRIOR * shift)

    def ask(self, context: Floats) -> Floats:
        if self._factor is None:
            self.renew()
        Phi = self.phi.on_menu(self.menu, context)
        whitened = linalg.solve_triangular(self._factor, Phi.T, lower=True, check_finite=False)
        scores = Phi @ self._theta + self._width * np.sqrt(np.sum(whitened**2, axis=0))
        return self.answer(context, Phi, scores)

    def tell(self, context: Floats, action: Floats, reward: float) -> None:
        self.collect(contribution(self.features_of(context, action), reward))

    def decide(self, contexts: Floats) -> Floats:
        if not self._finished:
            self.finish()
            self.renew()
            self._finished = True
        return super().decide(contexts)

    def mean(self, points: Floats) -> Floats:
        return np.asarray(self.phi(points) @ self._theta)


def _cholesky(V: Floats, floor: float) -> Floats:
    """The lower factor; where the noise won over the shift, of V with its eigenvalues raised to
    `floor`."""
    try:
        return np.asarray(linalg.cholesky(V, lower=True, check_finite=False))
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(V)
        raised = (vectors * np.maximum(values, floor)) @ vectors.T
        return np.asarray(linalg.cholesky(raised, lower=True))


class LinUCB(LinearUCB):
    """The same without privacy, on the kernel's 32 principal features: what the private ones
    become."""

    name: ClassVar[str] = "LinUCB"
    source: ClassVar[str] = (
        "Abbasi-Yadkori, Pal, Szepesvari 2011, Improved Algorithms for Linear Stochastic Bandits"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        self.sum = np.zeros(packed_size(self.size))

    @property
    def last_sigma(self) -> float:
        return 0.0

    def collect(self, row: Floats) -> None:
        self.sum += row
        self.renew()

    def released(self) -> tuple[Floats, float]:
        return self.sum, 0.0
