"""AdaSSP: private ridge regression from noisy sufficient statistics, with a ridge that adapts."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.gram import noisy_gram
from tacit_lab.arena.learners.ridge import Ridge
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

# How far replacing a round can move each of the three statistics, for |phi| <= 1 and |y| <= 1.
EIGENVALUE = 1.0  # the least eigenvalue: phi phi' - psi psi' has eigenvalues in [-1, 1]
GRAM = math.sqrt(2.0)  # |phi phi' - psi psi'|^2 = 2 - 2 (phi'psi)^2 in Frobenius norm, at most
RESPONSE = 2.0  # |phi y - psi z|
SHARE = 1.0 / 3.0  # of the budget, for each
FAILURE = 0.05  # the published constant: the chance that a direction is left without enough ridge


class AdaSSP(Ridge):
    """Releases the least eigenvalue of sum phi phi', that matrix and sum phi y, each with a third
    of the budget, and solves with the ridge that the noise makes necessary:

        lambda = max(0, sigma_G sqrt(d log(2 d^2 / 0.05)) - (lambda_min, less its own noise)).

    The paper's text could not be looked up: the algorithm and its constants are written from what
    is known of it, and were not compared. Departures: noise is calibrated in zCDP for a round
    that is replaced, where the paper composes (epsilon / 3, delta / 3) mechanisms for one that is
    added or removed; to lambda the ridge s^2 / v is added, so that without privacy this is
    ridge regression and not least squares; as many principal features as the noise of sum phi y
    leaves room for (4 to 32). One release serves all decisions.
    """

    name: ClassVar[str] = "AdaSSP"
    source: ClassVar[str] = (
        "Wang 2018, Revisiting Differentially Private Linear Regression: Optimal and Adaptive "
        "Prediction & Estimation in Unbounded Domain"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "ridge"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        rho = SHARE * noise_rho(setting)
        self.eigenvalue_sigma = gaussian_sigma(EIGENVALUE, rho)
        self.gram_sigma = gaussian_sigma(GRAM, rho)
        self.sigma = gaussian_sigma(RESPONSE, rho)
        super().__init__(setting, rng)

    @property
    def response_sigma(self) -> float:
        return self.sigma

    def fit(self, Phi: Floats, y: Floats) -> Floats:
        return self.solve(self.released_gram(Phi), self.released_response(Phi, y))

    def released_gram(self, Phi: Floats) -> Floats:
        """The noisy Gram matrix, with the ridge that makes up for its noise."""
        d = Phi.shape[1]
        G = Phi.T @ Phi
        least = float(np.linalg.eigvalsh(G)[0])
        noisy = noisy_gram(G, self.gram_sigma, self.rng)
        wanted = self.gram_sigma * math.sqrt(d * math.log(2.0 * d**2 / FAILURE))
        missing = max(0.0, wanted - self.released_eigenvalue(least))
        return noisy + missing * np.eye(d)

    def released_eigenvalue(self, least: float) -> float:
        """A lower bound on the least eigenvalue, but for a chance of order delta."""
        below = self.eigenvalue_sigma * math.sqrt(math.log(6.0 / self.setting.delta))
        noise = gaussian(1, self.eigenvalue_sigma, self.rng)[0]
        return max(0.0, least + float(noise) - below)

    def released_response(self, Phi: Floats, y: Floats) -> Floats:
        u = Phi.T @ y
        return u + gaussian(len(u), self.sigma, self.rng)
