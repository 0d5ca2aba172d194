"""Linear observations of the weights `theta` of the reward function f = phi' theta.

Both the decoder (released vectors) and the planner (vectors that could be released) use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._typing import Floats
from tacit.numerics import linalg

# Correlations of the noise of two passes are kept below this: the covariance stays positive.
MOST_CORRELATED = 0.98


@dataclass(frozen=True, eq=False)
class WhitenedObservation:
    """z = A theta + noise of unit covariance. `z` may have several columns."""

    A: Floats
    z: Floats

    def __add__(self, other: WhitenedObservation) -> WhitenedObservation:
        """Two independent observations in as many rows as there are weights: noise of unit
        covariance may be rotated."""
        Q, R = np.linalg.qr(np.vstack([self.A, other.A]))
        return WhitenedObservation(R, Q.T @ np.concatenate([self.z, other.z]))


@dataclass(frozen=True, eq=False)
class LinearObservation:
    """b = G theta + e, Cov e = N. `b` may have several columns: one for each of several worlds.

    A part `mean_square * sampling` of N comes from who happened to come and how noisy their rewards
    were: `mean_square` is that of what records add, and `sampling` is n E[q_s q_s'].
    """

    b: Floats
    G: Floats
    N: Floats
    sampling: Floats
    mean_square: float

    def whitened(self) -> WhitenedObservation:
        R = linalg.cholesky(self.N)
        return WhitenedObservation(linalg.solve_lower(R, self.G), linalg.solve_lower(R, self.b))


def innovations(passes: Sequence[LinearObservation]) -> list[LinearObservation]:
    """What each pass over the same people says beyond those before it, with independent errors.

    The passes share the noise of who came, so their own errors are not (`shared_noise`). With
    b = G theta + e of the passes so far, Cov e = N, and Cov(e, e2) = X, it is b2 - X' N^-1 b.

    Correlations of passes that are further apart are products of those of neighbours. They are what
    `correlation` says of such a pair where residuals become smaller from pass to pass. Where
    estimates of their mean squares do not, correlations pair by pair can be those of no
    covariance at all, which cannot be inverted; products always belong to one.
    """
    b = passes[0].b
    G = passes[0].G
    N = passes[0].N
    found = [passes[0]]
    correlations: list[float] = []  # of the shared noise of a pass and of each one before it
    for i, following in enumerate(passes[1:], start=1):
        step = correlation(passes[i - 1], following)
        correlations = [step * before for before in correlations] + [step]
        shares = zip(passes[:i], correlations, strict=True)
        X = np.vstack([shared_noise(earlier, following, share) for earlier, share in shares])
        R = linalg.cholesky(N)
        half = linalg.solve_lower(R, X)
        beyond = replace(
            following,
            b=following.b - half.T @ linalg.solve_lower(R, b),
            G=following.G - half.T @ linalg.solve_lower(R, G),
            N=following.N - half.T @ half,
        )
        found.append(beyond)
        b = np.concatenate([b, following.b])
        G = np.vstack([G, following.G])
        N = np.block([[N, X], [X.T, following.N]])
    return found


def combined(observations: Sequence[LinearObservation]) -> WhitenedObservation:
    """Several observations with independent errors as one."""
    found = observations[0].whitened()
    for observation in observations[1:]:
        found += observation.whitened()
    return found


def correlation(first: LinearObservation, second: LinearObservation) -> float:
    """Of what records add in two passes, `y1` and `y2`: E[y1 y2] over the root of E[y1^2] E[y2^2].

    E[y1 y2] is the mean square of the second, which is a residual: what is left of the first.
    """
    return min(math.sqrt(second.mean_square / first.mean_square), MOST_CORRELATED)


def shared_noise(first: LinearObservation, second: LinearObservation, correlation: float) -> Floats:
    """The covariance of the errors of two passes over the same people: E[y1 y2] n E[q1 q2'].

    Influences of both passes have the same eigenvectors, up to clipping, and then the second factor
    is the product of the roots of their own second moments.
    """
    square = correlation * math.sqrt(first.mean_square * second.mean_square)
    return square * linalg.root(first.sampling) @ linalg.root(second.sampling)
