"""Well-spread uniform numbers: for integrals over public laws, where plain random draws would be
the largest error."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats

BLOCK = 2048
MOST = 21_201  # dimensions that SciPy has Sobol numbers for


class WellSpread:
    """A scrambled Sobol sequence, taken in pieces of any size; plain random numbers for too many
    columns."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        from scipy.stats import qmc  # takes a second to load

        self._rng = rng
        self._dimension = dimension
        self._engine = qmc.Sobol(dimension, rng=rng) if 0 < dimension <= MOST else None
        self._left = np.empty((0, dimension))

    def take(self, n: int) -> Floats:
        if self._engine is None:
            return self._rng.random((n, self._dimension))
        while len(self._left) < n:
            self._left = np.vstack([self._left, self._engine.random(BLOCK)])
        drawn = self._left[:n]
        self._left = self._left[n:]
        return drawn


def evenly(weights: Floats) -> Any:
    """As many rows as there are weights, each as often as its weight says, up to rounding."""
    above = np.cumsum(weights)
    at = (np.arange(len(weights)) + 0.5) * (above[-1] / len(weights))
    return np.searchsorted(above, at, side="right")
