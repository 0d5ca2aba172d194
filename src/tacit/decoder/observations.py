"""Linear observations of the level of rewards and of the weights `theta` of the reward function
f = phi' theta.

Both the decoder (released vectors) and the planner (vectors that could be released) use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._typing import Floats
from tacit.numerics import linalg

# Correlations of the noise of two passes are kept below this: the covariance stays positive.
MOST_CORRELATED = 0.98


@dataclass(frozen=True, eq=False)
class WhitenedObservation:
    """z = A theta + noise of unit covariance. `z` may have several columns.

    `rest` is the sum of squares of what no theta explains, which is how far observations contradict
    each other; less twice the log density of what whitening has cost.
    """

    A: Floats
    z: Floats
    rest: float = 0.0

    def __add__(self, other: WhitenedObservation) -> WhitenedObservation:
        """Two independent observations in as many rows as there are weights: noise of unit
        covariance may be rotated."""
        both = WhitenedObservation(
            np.vstack([self.A, other.A]),
            np.concatenate([self.z, other.z]),
            self.rest + other.rest,
        )
        return both.reduced()

    def reduced(self) -> WhitenedObservation:
        """The same in as many rows as there are weights."""
        Q, R = np.linalg.qr(self.A)
        z = Q.T @ self.z
        rest = max(float(np.sum(self.z**2) - np.sum(z**2)), 0.0)
        return WhitenedObservation(R, z, self.rest + rest)


@dataclass(frozen=True, eq=False)
class LinearObservation:
    """b = G t + e, Cov e = N. `b` may have several columns: one for each of several worlds.

    A part `shared` of N comes from who happened to come and how noisy their rewards were: other
    passes over the same people have it too. It is n E[q_s q_s'], which is `sampling`, times the
    mean square of what records add, less the product of their means. Both may have a row more than
    `b`, of a sum that only another pass tells. `rewards` says whether records add rewards, not
    residuals.
    """

    b: Floats
    G: Floats
    N: Floats
    sampling: Floats
    shared: Floats
    mean_square: float
    variance: float
    rewards: bool

    def whitened(self) -> WhitenedObservation:
        R = linalg.cholesky(self.N)
        return WhitenedObservation(linalg.solve_lower(R, self.G), linalg.solve_lower(R, self.b))


@dataclass(frozen=True, eq=False)
class GroupObservation:
    """What all releases about one group of people say together, for every gain `g`:

        z0 + g z1 = [g A + w m', a] (theta, level) + noise of unit covariance

    where `rows` is [A, a, w, z0, z1], rotated to a triangle, and m = `features` is the sum of the
    features of the records. The gain is by how much more influences show of the reward function
    than they would if columns did not depend on each other (see `decode`). The sum of rewards,
    which comes in by `w`, has none.
    """

    rows: Floats
    features: Floats
    has_gain: bool = True  # False for what another study has learned

    @classmethod
    def of(
        cls, without: Sequence[LinearObservation], whole: Sequence[LinearObservation]
    ) -> GroupObservation:
        """From passes over the same people, read with a gain of 0 and of 1: sums are linear in the
        gain, and their noise does not depend on it."""
        rank = whole[0].G.shape[1] - 1
        features = np.zeros(rank)
        split = []
        for nothing, all_of_it in zip(without, whole, strict=True):
            summed = np.zeros(len(all_of_it.b))
            if len(summed) > rank:
                summed[-1] = 1.0
                features = nothing.G[-1, :-1]
            G = np.column_stack([(all_of_it.G - nothing.G)[:, :-1], all_of_it.G[:, -1], summed])
            b = np.column_stack([nothing.b, all_of_it.b - nothing.b])
            split.append(replace(all_of_it, G=G, b=b))
        parts = []
        for each in innovations(split):
            R = linalg.cholesky(each.N)
            parts.append(linalg.solve_lower(R, np.hstack([each.G, each.b])))
        return cls(np.asarray(np.linalg.qr(np.vstack(parts), mode="r")), features)

    def at(self, gain: float = 1.0) -> WhitenedObservation:
        """The observation at one gain."""
        if not self.has_gain:
            gain = 1.0
        A = gain * self.rows[:, :-4] + np.outer(self.rows[:, -3], self.features)
        z = self.rows[:, -2] + gain * self.rows[:, -1]
        return WhitenedObservation(np.column_stack([A, self.rows[:, -4]]), z)


def innovations(passes: Sequence[LinearObservation]) -> list[LinearObservation]:
    """What each pass over the same people says beyond those before it, with independent errors.

    The passes share the sampling noise, so their own errors are not (`shared_noise`). With
    b = G t + e of the passes so far, Cov e = N, and Cov(e, e2) = X, it is b2 - X' N^-1 b.
    """
    b = passes[0].b
    G = passes[0].G
    N = passes[0].N
    found = [passes[0]]
    variances = nested_variances(passes)
    for i, following in enumerate(passes[1:], start=1):
        X = np.vstack(
            [
                shared_noise(earlier, following, min(variances[j], variances[i]))
                for j, earlier in enumerate(passes[:i])
            ]
        )
        R = linalg.cholesky(N)
        X *= _kept(linalg.solve_lower(R, X), following.N)
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


def _kept(half: Floats, N: Floats) -> float:
    """The share of a covariance X that is kept, so that the passes before explain at most
    `MOST_CORRELATED` of the noise `N` of the next one; `half` is R^-1 X for their noise R R'.

    It is 1 unless estimates of mean squares contradict each other: passes that add the same rewards
    have about the same, but few records say little about it.
    """
    W = linalg.solve_lower(linalg.cholesky(N), half.T)
    explained = float(np.linalg.eigvalsh(W @ W.T)[-1])
    if explained <= MOST_CORRELATED:
        return 1.0
    return float(np.sqrt(MOST_CORRELATED / explained))


def combined(observations: Sequence[LinearObservation]) -> WhitenedObservation:
    """Several observations with independent errors as one."""
    found = observations[0].whitened()
    for observation in observations[1:]:
        found += observation.whitened()
    return found


def nested_variances(passes: Sequence[LinearObservation]) -> list[float]:
    """The variance of what records add in each pass, as far as it is in all passes before it, too.

    A residual is what is left of those before, so each is kept below them, whatever the estimates
    say: covariances that are not nested could be those of no law at all, and not be inverted.
    """
    found: list[float] = []
    for observation in passes:
        variance = observation.variance
        if found and not observation.rewards:
            variance = min(variance, MOST_CORRELATED**2 * min(found))
        found.append(variance)
    return found


def shared_noise(first: LinearObservation, second: LinearObservation, variance: float) -> Floats:
    """The covariance of the errors of two passes over the same people.

    It is E[y1 y2] n E[q1 q2'] for what records add in them, `y1` and `y2`. Where both add rewards,
    all of it is shared. Otherwise a residual of this variance is. Influences of both passes have
    the same eigenvectors, up to clipping, and then the second factor is the product of the roots of
    their own second moments.
    """
    if first.rewards and second.rewards:
        X = MOST_CORRELATED * linalg.root(first.shared) @ linalg.root(second.shared)
    else:
        X = variance * linalg.root(first.sampling) @ linalg.root(second.sampling)
    return X[: len(first.b), : len(second.b)]
