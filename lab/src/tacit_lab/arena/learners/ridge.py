"""Uniform play and ridge regression on the features of the linear learners: what private regression
is measured against."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import MOST, lightest, principal
from tacit_lab.arena.learners.menu import UniformPlay
from tacit_lab.arena.learners.posterior import PRIOR
from tacit_lab.arena.protocol import Setting


class Ridge(UniformPlay):
    """Plays uniformly at random, then regresses the rewards on the kernel's principal features:

        theta = (sum phi phi' + ridge I)^-1 sum phi y,   ridge = s^2 / v.

    `uniform-posterior` is the same on up to 200 landmarks; here there are at most 32 features, as
    for the linear learners, and fewer where the noise of a private subclass leaves no room.
    """

    name: ClassVar[str] = "Uniform + ridge"
    source: ClassVar[str] = (
        "Hoerl, Kennard 1970, Ridge Regression: Biased Estimation for Nonorthogonal Problems"
    )

    def __init__(self, setting: Setting, rng: Rng) -> None:
        super().__init__(setting, rng)
        floor = lightest(self.response_sigma, setting.horizon)
        self.phi = principal(setting.problem, rng, MOST, floor)
        self._theta: Floats | None = None

    @property
    def response_sigma(self) -> float:
        """The noise in a released sum of phi y. Public, and known before the first round."""
        return 0.0

    @property
    def ridge(self) -> float:
        """Noise variance over prior variance."""
        return self.noise**2 / PRIOR

    def fit(self, Phi: Floats, y: Floats) -> Floats:
        """The coefficients, from all rounds. What a private subclass lets out is private here."""
        return self.solve(Phi.T @ Phi, Phi.T @ y)

    def solve(self, G: Floats, u: Floats) -> Floats:
        return np.asarray(np.linalg.solve(G + self.ridge * np.eye(len(G)), u))

    def mean(self, points: Floats) -> Floats:
        if self._theta is None:  # one release, whatever is decided with it
            W, y = self.data
            self._theta = self.fit(self.phi(W), y)
        return np.asarray(self.phi(points) @ self._theta)
