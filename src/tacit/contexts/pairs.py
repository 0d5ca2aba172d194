"""Which columns of contexts depend on each other: for every two of them, how often they lie on the
same side of their middles.

A record adds a sign for each column, and the product of signs for each two columns. Where columns
are monotone functions of correlated normal scores (a Gaussian copula), those of correlation `r`
have an expected product of (2 / pi) arcsin r, whatever their own distributions are. All entries are
-1 or 1: every record is as long as the longest, so that no budget is lost on rare ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import ndtr, ndtri

from tacit._typing import Array, Floats
from tacit.contexts.cells import Cells
from tacit.numerics import linalg

CLEARLY = 2.0  # standard deviations by which a column must be off its middle
LOPSIDED = 0.9  # mean sign, at most
STEEPEST = 1.4  # arcsine of a correlation, at most
LEAST_EIGENVALUE = 0.02  # of correlations
# What is kept of correlations. Columns of real tables are no Gaussian copula: in directions that it
# says nobody lies in there are some, whose rewards would look like enormous effects. Of 0.6, 0.8
# and 1, on two studies each of the arena's four real tables with 10,000 rounds.
KEPT = 0.6
OUTERMOST = 1e-9  # quantile


@dataclass(frozen=True, eq=False)
class Pairs:
    """Signs of columns, and products of two of them. `cuts` are the middles of the columns, in
    cells."""

    cells: Cells
    cuts: Floats

    @property
    def columns(self) -> int:
        return len(self.cuts)

    @property
    def size(self) -> int:
        """The number of entries of a record: the square of its length."""
        return self.columns * (self.columns + 1) // 2

    def marks(self, contexts: Array) -> Array:
        """One row per context: the signs, then the products."""
        xp = array_namespace(contexts)
        positions = xp.stack([part.position(contexts) for part in self.cells.parts], axis=1)
        cuts = xp.asarray(self.cuts, dtype=contexts.dtype, device=device(contexts))
        signs = 2.0 * xp.astype(positions >= cuts[None, :], contexts.dtype) - 1.0
        products = [signs[:, i][:, None] * signs[:, i + 1 :] for i in range(self.columns - 1)]
        return xp.concat([signs, *products], axis=1)

    def dependence(self, sums: Floats, noise: float, records: float) -> Dependence:
        """What the sums of so many records say. `noise` is its standard deviation in an entry."""
        m = self.columns
        std = noise / records
        means = np.clip(sums[:m] / records, -LOPSIDED, LOPSIDED)
        means[np.abs(means) < CLEARLY * std] = 0.0
        covariances = np.zeros((m, m))
        covariances[np.triu_indices(m, 1)] = sums[m:] / records
        covariances -= np.triu(np.outer(means, means), 1)
        covariances += covariances.T
        slopes = np.exp(-0.5 * ndtri((1.0 + means) / 2.0) ** 2)
        return Dependence(covariances, slopes, math.hypot(std, records**-0.5))


@dataclass(frozen=True, eq=False)
class Dependence:
    """Noisy covariances of the signs of columns. The diagonal is zero."""

    covariances: Floats
    slopes: Floats  # of each sign in its normal score; 1 where it is cut in the middle
    noise: float  # the standard deviation of an entry

    @classmethod
    def pooled(cls, found: Sequence[Dependence]) -> Dependence | None:
        """Of several copies, weighted by their precision. None of none."""
        if not found:
            return None
        precisions = np.array([each.noise**-2 for each in found])
        return cls(
            np.average([each.covariances for each in found], axis=0, weights=precisions),
            np.average([each.slopes for each in found], axis=0, weights=precisions),
            float(precisions.sum() ** -0.5),
        )

    def correlations(self) -> Floats | None:
        """Of the normal scores, a little smaller than they are found. None if nothing rises above
        the noise.

        Noise alone has eigenvalues up to 2 sqrt(m) standard deviations; larger ones are shrunk by
        what it adds to them (Gavish and Donoho, 2017).
        """
        d, V = linalg.eigh(self.covariances)
        edge = 2.0 * math.sqrt(len(d)) * self.noise
        kept = np.sign(d) * np.sqrt(np.maximum(d**2 - edge**2, 0.0))
        if not kept.any():
            return None
        angles = np.pi / 2.0 * (V * kept) @ V.T / np.outer(self.slopes, self.slopes)
        R = np.sin(np.clip(angles, -STEEPEST, STEEPEST))
        np.fill_diagonal(R, 1.0)
        d, V = linalg.eigh(R)
        R = (V * np.maximum(d, LEAST_EIGENVALUE)) @ V.T
        scale = np.sqrt(np.diag(R))
        return np.asarray(KEPT * R / np.outer(scale, scale) + (1.0 - KEPT) * np.eye(len(R)))


def correlated(cube: Floats, correlations: Floats) -> Floats:
    """Rows of independent uniform numbers to uniform numbers whose normal scores are correlated."""
    scores = ndtri(np.clip(cube, OUTERMOST, 1.0 - OUTERMOST))
    return np.asarray(ndtr(scores @ linalg.cholesky(correlations).T))
