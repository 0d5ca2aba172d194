"""From releases to the posterior of the reward function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit._typing import Floats
from tacit.decoder.context_law import ContextCounts, moments_given
from tacit.decoder.evidence import choose
from tacit.decoder.kinds import kinds
from tacit.decoder.observations import (
    LinearObservation,
    WhitenedObservation,
    combined,
    innovations,
)
from tacit.decoder.parts import ReleaseParts
from tacit.decoder.posterior import Posterior
from tacit.design import Design, Release
from tacit.errors import InputError
from tacit.kernels.ard import action_lengthscales, lengthscales
from tacit.numerics import linalg

OFFSET = 0.25  # the variance of the mean of rewards in [-1, 1]: its standard deviation is 1/2


def decode(releases: Sequence[Release]) -> Posterior:
    """The Gaussian posterior given all releases, which observe the same weights.

    Passes over the same people share the noise of who they are; those over others are independent.
    """
    _require_same_weights(releases)
    groups = by_people(releases)
    observed = [observations(passes) for passes in groups]
    independent = [each for passes in observed for each in innovations(passes)]
    seen = combined(independent)
    mean_square = observed[-1][-1].mean_square
    return _posterior(releases[-1].design, seen, mean_square, _mean_reward(groups))


def by_people(releases: Sequence[Release]) -> list[list[ReleaseParts]]:
    """The releases of each group of people, in order."""
    groups: dict[str, list[ReleaseParts]] = {}
    for release in releases:
        groups.setdefault(release.people, []).append(ReleaseParts.of(release))
    return list(groups.values())


def observations(passes: Sequence[ReleaseParts]) -> list[LinearObservation]:
    """Linear observations under the contexts that came: all passes counted the same people."""
    counts = ContextCounts.pooled(passes)
    return [parts.observation(moments_given(parts.design, counts)) for parts in passes]


def usca_weights(release: Release) -> Floats:
    """USCA's own estimate mubar(w) = q(w)' bhat as weights on k_U(w): there is no prior in it."""
    design = release.design
    blocks = design.layout.split(release.released.values / 2**release.released.bits)
    return np.asarray(design.influence_map.T @ (design.clip * blocks.influences))


def _require_same_weights(releases: Sequence[Release]) -> None:
    if not releases:
        raise InputError("there is nothing to decode: pass at least one release.")
    landmarks = releases[0].design.features.U
    for release in releases[1:]:
        if not np.array_equal(release.design.features.U, landmarks):
            raise InputError(
                "releases are decoded together only if their designs have the same landmarks: make "
                "later designs from earlier ones, with tacit.refine."
            )


def _mean_reward(groups: Sequence[Sequence[ReleaseParts]]) -> float:
    """The mean reward of all people, weighted by precision. Only the first pass over a group sums
    rewards; later ones sum residuals."""
    first = [passes[0] for passes in groups]
    weights = [parts.mean_noise**-2 if parts.mean_noise else 0.0 for parts in first]
    if not any(weights):
        return 0.0
    return float(np.average([parts.mean_reward for parts in first], weights=weights))


def _posterior(
    design: Design, seen: WhitenedObservation, mean_square: float, mean_reward: float
) -> Posterior:
    """The posterior of f = phi' theta with the prior that explains the observation best."""
    U = design.features.U
    L = design.features.L
    problem = design.problem
    M = linalg.solve_upper(L, seen.A.T).T  # z = M f(U) + noise, because f(U) = L theta
    z = seen.z
    offset = 0.0 if problem.advantage else OFFSET
    kernels = kinds(problem.k, problem.dimension)
    actions = action_lengthscales(kernels[0], problem.actions.dimension)
    best = choose(kernels, U, M, z, offset, actions)
    v = best.scale
    K = v * best.kernel(U, U) + offset
    # f(U) ~ N(0, K), z = M f(U) + noise:  E[f(U)] = K M' (I + M K M')^-1 z
    # weights = Kuu^-1 E[f(U)]
    S = linalg.cholesky(np.eye(len(z)) + M @ K @ M.T)
    half = linalg.solve_lower(S, M @ K)
    mean = half.T @ linalg.solve_lower(S, z)
    inverse = linalg.solve_upper(L, linalg.solve_lower(L, np.eye(len(L))))  # Kuu^-1
    covariance = K - half.T @ half
    return Posterior(
        kernel=problem.k,
        landmarks=U,
        weights=inverse @ mean,
        reduction=v * inverse - inverse @ covariance @ inverse,
        scale=v,
        mean_square=mean_square,
        lengthscales=tuple(lengthscales(best.kernel)),
        mean_reward=mean_reward,
    )
