"""The posterior of a Gaussian process through finite features, kept up to date round by round."""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats

PRIOR = 0.1  # the variance of f that learners expect: rewards are in [-1, 1]


class Posterior:
    """f = phi'theta, theta ~ N(0, v I), y = f + N(0, s^2).

    With C = (sum phi phi' + (s^2 / v) I)^-1 and u = sum phi y

        mean = phi'C u,   variance = s^2 phi'C phi.
    """

    def __init__(self, size: int, noise: float) -> None:
        self.noise = noise
        self.C = np.eye(size) * (PRIOR / noise**2)
        self.u = np.zeros(size)
        self.theta = np.zeros(size)

    def add(self, phi: Floats, y: float) -> None:
        """One more record: (C^-1 + phi phi')^-1 = C - C phi phi'C / (1 + phi'C phi)."""
        Cphi = self.C @ phi
        self.C -= np.outer(Cphi, Cphi / (1.0 + phi @ Cphi))
        self.u += phi * y
        self.theta = self.C @ self.u

    def add_all(self, Phi: Floats, y: Floats) -> None:
        """Many records at once."""
        self.C = np.asarray(np.linalg.inv(np.linalg.inv(self.C) + Phi.T @ Phi), dtype=np.float64)
        self.u += Phi.T @ y
        self.theta = self.C @ self.u

    def mean(self, Phi: Floats) -> Floats:
        return np.asarray(Phi @ self.theta)

    def std(self, Phi: Floats) -> Floats:
        return self.noise * np.sqrt(np.maximum(np.einsum("nd,nd->n", Phi @ self.C, Phi), 0.0))
