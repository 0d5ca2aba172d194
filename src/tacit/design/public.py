"""Public points, and what the design takes from them: sums in chunks, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tacit._typing import Array, Floats
from tacit.design.cube import WellSpread
from tacit.design.features import CHUNK, Features, Moments, chunks, moments
from tacit.numerics.engine import NUMPY, Engine, to_numpy
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.residual.target import Residual

# Means and standard deviations of rewards at joint points.
Belief = Callable[[Floats], tuple[Floats, Floats]]
# How many points moments are taken over: so many for each landmark, within these bounds.
POINTS_PER_LANDMARK = 100
LEAST_POINTS = 20_000
MOST_POINTS = 200_000


class PublicPoints:
    """A supply of public points: fresh draws, or a given array walked through in order."""

    def __init__(
        self, problem: Problem, given: Floats | int | None, rng: np.random.Generator
    ) -> None:
        self._problem = problem
        self._rng = rng
        self._given = given if isinstance(given, np.ndarray) else None
        self._total = given if isinstance(given, int) else None
        self._cube: WellSpread | None = None

    def total(self, rank: int) -> int:
        if self._given is not None:
            return len(self._given)
        return self._total or public_total(rank)

    def take(self, n: int) -> Floats:
        return self._fresh(n) if self._given is None else self._given[:n]

    def _fresh(self, n: int) -> Floats:
        """Well-spread where all laws are uniform: then sums over them are far closer to the
        integrals."""
        problem = self._problem
        if problem.play is not None or problem.generator is not None:
            return problem.public_points(n, self._rng)
        at = problem.actions.cube_dimension
        if self._cube is None:
            self._cube = WellSpread(at + problem.contexts.cube_dimension, self._rng)
        u = self._cube.take(n)
        return np.hstack(
            [problem.actions.from_cube(u[:, :at]), problem.contexts.from_cube(u[:, at:])]
        )

    def stream(self, rank: int, on: Engine) -> Iterator[Array]:
        start = 0
        for n in chunks(self.total(rank), max(CHUNK, on.rows)):
            yield on.put(self._fresh(n) if self._given is None else self._given[start : start + n])
            start += n


def public_total(rank: int) -> int:
    """How many public points: the relative error of a rank x rank covariance from M points is about
    sqrt(rank / M)."""
    return int(np.clip(POINTS_PER_LANDMARK * rank, LEAST_POINTS, MOST_POINTS))


def second_moment(
    features: Features, points: PublicPoints, on: Engine, progress: Progress
) -> Floats:
    """E[phi phi'] in chunks: memory rank^2 whatever the number of points."""
    phi = features.map.on(on)
    total = on.put(np.zeros((features.rank, features.rank)))
    done = 0
    for chunk in points.stream(features.rank, on):
        Phi = phi(chunk)
        total += Phi.T @ Phi
        done += chunk.shape[0]
        progress("covariance of public points", done, points.total(features.rank))
    return to_numpy(total) / done


def moments_over(
    features: Features,
    factors: tuple[Floats, Floats],
    clip: float,
    points: PublicPoints,
    on: Engine,
    progress: Progress,
    residual: Residual | None = None,
    belief: Belief | None = None,
) -> Moments:
    """The moments of clipped influences over the public points, in chunks. What clipping leaves of
    residuals follows from a `belief` about rewards, or else from what was expected of them.

    A is of low rank where little can be learned: `factors` are A = B C with orthonormal columns in
    B. With phi = R' k_U the sums are over clip(C phi) and k_U, and B and R come in once.
    """
    rank = features.rank
    B, C = factors
    R = features.map.R
    U = on.put(features.U)
    influence = on.put(np.ascontiguousarray(R @ C.T))
    weights = None
    if residual is not None and not residual.rewards:
        weights = on.put(residual.weights)
    size = C.shape[0] + 1
    cross = on.put(np.zeros((size, rank + 1)))
    square = on.put(np.zeros((size, size)))
    mean = on.put(np.zeros(size))
    shift = on.put(np.zeros(size))
    done = 0
    for chunk in points.stream(rank, on):
        k_U = features.kernel(chunk, U)
        response = None
        if residual is not None and weights is not None:
            prediction = residual.level + to_numpy(k_U @ weights)
            slope, value = residual.response.at(prediction)
            if belief is not None:
                expected, std = belief(to_numpy(chunk))
                slope, value = residual.response.line(prediction, expected - prediction, std)
            response = (on.put(slope), on.put(value))
        part = moments(k_U, k_U @ influence, clip, response)
        n = chunk.shape[0]
        cross += n * part.cross
        square += n * part.square
        mean += n * part.mean
        shift += n * part.shift
        done += n
        progress("law of the statistic", done, points.total(rank))
    left = _with_unit(B)
    return Moments(
        cross=left @ to_numpy(cross) @ _with_unit(R) / done,
        square=left @ to_numpy(square) @ left.T / done,
        mean=left @ to_numpy(mean) / done,
        shift=left @ to_numpy(shift) / done,
    )


def _with_unit(M: Floats) -> Floats:
    """M, and a 1 at the end of its diagonal."""
    found = np.zeros((M.shape[0] + 1, M.shape[1] + 1))
    found[:-1, :-1] = M
    found[-1, -1] = 1.0
    return found


def largest_influence(features: Features, A: Floats, points: PublicPoints) -> float:
    """No clip in effect: above every influence seen, and above what a unit feature could have."""
    seen = max(
        float(np.linalg.norm(features(chunk) @ A.T, axis=1).max())
        for chunk in points.stream(features.rank, NUMPY)
    )
    return max(seen, float(np.linalg.norm(A, 2)))
