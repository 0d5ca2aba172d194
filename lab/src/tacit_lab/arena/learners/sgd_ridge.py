"""Ridge regression by noisy gradient descent with clipped gradients (DP-SGD)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.features import clipped
from tacit_lab.arena.learners.features import POOL
from tacit_lab.arena.learners.ridge import Ridge
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

# The best of 10, 30, 100 steps and clips of 0.25, 0.5, 1 at epsilon = 1 and 3000 rounds: mean over
# branin, dosing, matern32-1+1 and features-33+4, seeds 100 to 102.
STEPS = 10
CLIP = 1.0


class SGDRidge(Ridge):
    """Descends the ridge's loss in STEPS steps, each by the sum of all rounds' gradients

        phi (phi'theta - y),  each clipped to norm CLIP,

    with Gaussian noise of its own; the budget is shared equally (zCDP adds up), and the mean of the
    second half of the iterates is what is kept. Full batches: zCDP has no amplification by sampling
    that smaller ones could gain from, and a step costs one product of matrices.

    Abadi et al. sample batches, account by moments, and train networks; the choices for a ridge are
    made here: steps of 1 over the largest eigenvalue of the expected Gram matrix, which public
    points give; the number of steps and the clip, by trial; as many principal features as the noise
    of all steps together leaves room for. Without privacy steps
    cost nothing, and the limit of many is solved for.
    """

    name: ClassVar[str] = "DP-SGD ridge"
    source: ClassVar[str] = (
        "Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016, "
        "Deep Learning with Differential Privacy; Bassily, Smith, Thakurta 2014, "
        "Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds"
    )
    protects: ClassVar[str] = "context and reward"
    trust: ClassVar[str] = "central"
    counterpart: ClassVar[str | None] = "ridge"
    gaussian: ClassVar[bool] = True

    def __init__(self, setting: Setting, rng: Rng) -> None:
        self.sigma = gaussian_sigma(2.0 * CLIP, noise_rho(setting) / STEPS)
        super().__init__(setting, rng)

    @property
    def response_sigma(self) -> float:
        """Of all steps' noise together: what one step with the whole budget would have."""
        return self.sigma / STEPS**0.5

    def fit(self, Phi: Floats, y: Floats) -> Floats:
        if not self.setting.private:
            return super().fit(Phi, y)
        step = 1.0 / self.smoothness(len(y))
        theta = np.zeros(self.phi.size)
        late = np.zeros(self.phi.size)
        for i in range(STEPS):
            theta = theta - step * (self.released_gradient(Phi, y, theta) + self.ridge * theta)
            if i >= STEPS // 2:
                late += theta / (STEPS - STEPS // 2)
        return late

    def smoothness(self, rounds: int) -> float:
        """The largest curvature of the loss, as public points let one expect it."""
        Phi = self.phi(self.setting.problem.public_points(POOL, self.rng))
        return rounds * float(np.linalg.eigvalsh(Phi.T @ Phi / POOL)[-1]) + self.ridge

    def released_gradient(self, Phi: Floats, y: Floats, theta: Floats) -> Floats:
        total = self.gradient(Phi, y, theta)
        return total + gaussian(len(total), self.sigma, self.rng)

    def gradient(self, Phi: Floats, y: Floats, theta: Floats) -> Floats:
        """The sum of clipped gradients. PRIVATE."""
        each = Phi * (Phi @ theta - y)[:, None]
        return np.asarray(clipped(each, CLIP).sum(axis=0))
