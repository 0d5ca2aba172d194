"""Boosted AdaSSP: the residuals of one private regression are regressed again, and again."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.adassp import RESPONSE, SHARE, AdaSSP
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

# Of boosting. The best of 2, 3, 5, 10, 30 and 100 at epsilon = 1 and 3000 rounds: mean over branin,
# dosing, matern32-1+1 and features-33+4, seeds 100 to 102. With 100 the noise wins.
ROUNDS = 2


class BoostedAdaSSP(AdaSSP):
    """Releases the noisy Gram matrix H of AdaSSP once; then, ROUNDS times, with the residuals
    r = y - Phi theta clipped to [-1, 1],

        theta += H^-1 (Phi'r + noise - ridge theta).

    Each round takes back a part of the shrinkage that H's large ridge causes. The rounds share the
    third of the budget that AdaSSP has for sum phi y. The paper could not be read; its
    settings were looked up in the authors' published code (100 rounds, clip 1, constant steps).
    Departures, besides those of AdaSSP: the number of rounds; the term `ridge theta`, the
    gradient of the ridge's penalty, with which the rounds approach ridge regression instead of
    least squares (without privacy the first round reaches it).
    """

    name: ClassVar[str] = "Boosted AdaSSP"
    source: ClassVar[str] = (
        "Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu 2023, "
        "Improved Differentially Private Regression via Gradient Boosting"
    )
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        rho = SHARE * noise_rho(setting) / ROUNDS
        self.step_sigma = gaussian_sigma(RESPONSE, rho)
        super().__init__(setting, rng)

    def fit(self, Phi: Floats, y: Floats) -> Floats:
        H = self.released_gram(Phi)
        theta = np.zeros(Phi.shape[1])
        for _ in range(ROUNDS):
            theta = theta + self.solve(H, self.released_step(Phi, y, theta) - self.ridge * theta)
        return theta

    def released_step(self, Phi: Floats, y: Floats, theta: Floats) -> Floats:
        """The responses of the residuals of `theta`, which is public."""
        u = Phi.T @ self.residuals(Phi, y, theta)
        return u + gaussian(len(u), self.step_sigma, self.rng)

    def residuals(self, Phi: Floats, y: Floats, theta: Floats) -> Floats:
        """Clipped where there is privacy to keep; without, the clip would only make them wrong."""
        r = y - Phi @ theta
        return np.clip(r, -1.0, 1.0) if self.setting.private else r
