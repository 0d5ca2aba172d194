"""Information-weighted private linear regression in epochs."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit._typing import Floats, Rng
from tacit_lab.arena.learners.features import MOST, Map, lightest, principal
from tacit_lab.arena.learners.shrinking import Information, Shrinking
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, noise_rho
from tacit_lab.arena.protocol import Setting

# A round adds a unit vector times (phi, y), of norm at most sqrt(2). Two of them can be opposite:
# vectors that U turns apart may still be close themselves.
SENSITIVITY = 2.0 * math.sqrt(2.0)
IMAGINED = 1024  # rounds of one's own, to take the weights from
ITERATIONS = 30  # of the fixed point; each takes the square root of what is wrong in scale


class LinearWeighted(Shrinking):
    """Explores at random and shrinks as `shrinking` does, in the kernel's principal features. Of an
    epoch's n rounds it lets out, with Gaussian noise,

        M = sum e phi',   b = sum e y,   e = U phi / |U phi|,

    so b = M theta but for noise: least squares in which a round weighs 1 / |U phi|. U solves
    U E[phi phi' / |U phi|] U + lambda U = I, so that M is near n U^-1 and the error of phi'theta
    near |U phi| sigma / n, whose mean is at most the number of features times sigma / n, however
    unevenly they are spread. Ordinary private regression pays for the rare directions.

    Of the paper no more than the abstract could be read ("re-weighted regression", sqrt(T) + 1 /
    epsilon); the weights are written from what is known of it, and could not be compared with
    its text. Departures, known or likely: the paper learns U by a private iteration, here it is
    solved for from points drawn by the epoch's own rule, which costs nothing and leaves the
    whole budget to M and b; lambda = 2 sigma sqrt(d) / n; uniform play among what is left, where
    the paper plans its exploration; widths from the posterior given (M, b), with |theta| <= 1 for
    the noise in M; linear rewards only, not generalised ones. As many features as the noise leaves
    room for (4 to 32). Without privacy all weights are 1 and nothing limits the features.
    """

    name: ClassVar[str] = "Information-weighted regression"
    source: ClassVar[str] = (
        "Chen, Li, Rakhlin, Simchi-Levi 2025, Near-Optimal Private Learning in Linear Contextual "
        "Bandits"
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
        floor = lightest(self.sigma, self.setting.horizon)
        return principal(self.setting.problem, self.rng, MOST, floor)

    def inform(self, Phi: Floats, y: Floats) -> Information:
        if not self.setting.private:
            return super().inform(Phi, y)
        n, d = Phi.shape
        released = self.released(Phi, y, self.weighting(2.0 * self.sigma * math.sqrt(d) / n))
        M = released[:, :d]
        # of b - M theta: noise in b, noise in M times theta, and that of n rewards along d vectors
        variance = 2.0 * self.sigma**2 + self.noise**2 * n / d
        return Information(M.T @ M / variance, M.T @ released[:, d] / variance)

    def released(self, Phi: Floats, y: Floats, U: Floats) -> Floats:
        """(M, b) side by side, with noise."""
        total = weighted_sum(Phi, y, U)
        return total + gaussian(total.shape, self.sigma, self.rng)

    def weighting(self, shrink: float) -> Floats:
        """U, from rounds that the learner draws itself."""
        return fixed_point(self.imagined(IMAGINED), shrink)


def weighted_sum(Phi: Floats, y: Floats, U: Floats) -> Floats:
    """(M, b) side by side. PRIVATE."""
    E = Phi @ U
    length = np.linalg.norm(E, axis=1, keepdims=True)
    E = E / np.where(length > 0, length, 1.0)  # phi = 0 says nothing
    return np.asarray(E.T @ np.hstack([Phi, y[:, None]]))


def fixed_point(Phi: Floats, shrink: float) -> Floats:
    """U with U A U + shrink U = I, A = mean phi phi' / |U phi|: for a given A the eigenvectors are
    A's, and a u^2 + shrink u = 1."""
    U = np.eye(Phi.shape[1])
    for _ in range(ITERATIONS):
        length = np.maximum(np.linalg.norm(Phi @ U, axis=1), 1e-12)
        a, V = np.linalg.eigh(Phi.T @ (Phi / length[:, None]) / len(Phi))
        u = 2.0 / (shrink + np.sqrt(shrink**2 + 4.0 * np.maximum(a, 0.0)))
        U = (V * u) @ V.T
    return np.asarray(U)
