"""From releases to the posterior of the reward function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.decoder.averaging import over_scales
from tacit.decoder.context_law import (
    ContextCounts,
    main_effects,
    moments_given,
    with_usable_records,
)
from tacit.decoder.evidence import Level, choose
from tacit.decoder.kinds import kinds
from tacit.decoder.observations import (
    LinearObservation,
    WhitenedObservation,
    combined,
    innovations,
)
from tacit.decoder.parts import ReleaseParts, pooled
from tacit.decoder.posterior import Posterior
from tacit.design import Design, Release
from tacit.errors import InputError
from tacit.kernels.ard import action_lengthscales, lengthscales
from tacit.numerics import linalg

# The prior variance of the level of rewards in [-1, 1]: it says nothing that a release does not
# say better.
LEVEL_VARIANCE = 1.0
# Where only advantages are learned: the prior variance of what no action changes, as a share of
# that of what records add.
MAIN_EFFECT = 0.5


def decode(releases: Sequence[Release]) -> Posterior:
    """The Gaussian posterior given all releases, which observe the same weights.

    Passes over the same people share the noise of who they are; those over others are independent.
    """
    _require_same_weights(releases)
    groups = by_people(releases)
    observed = [observations(passes) for passes in groups]
    independent = [each for passes in observed for each in innovations(passes)]
    seen = combined(independent)
    return _posterior(releases[-1].design, seen, observed[-1][-1].mean_square)


def by_people(releases: Sequence[Release]) -> list[list[ReleaseParts]]:
    """The releases of each group of people, in order, with as many records as were usable."""
    groups: dict[str, list[ReleaseParts]] = {}
    for release in releases:
        groups.setdefault(release.people, []).append(ReleaseParts.of(release))
    return [pooled(with_usable_records(passes)) for passes in groups.values()]


def observations(passes: Sequence[ReleaseParts]) -> list[LinearObservation]:
    """Linear observations under the contexts that came: all passes counted the same people."""
    counts = ContextCounts.pooled(passes)
    found = []
    for parts in passes:
        seen = parts.observation(moments_given(parts.design, counts))
        if parts.design.problem.advantage:
            leak = parts.records * main_effects(parts.design, counts)[: len(seen.b)]
            N = seen.N + MAIN_EFFECT * seen.variance * leak @ leak.T
            seen = replace(seen, N=N)
        found.append(seen)
    return found


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


def _posterior(design: Design, seen: WhitenedObservation, mean_square: float) -> Posterior:
    """The posterior of f = l + phi' theta with the prior that explains the observation best."""
    U = design.features.U
    L = design.features.L
    problem = design.problem
    a = seen.A[:, -1]
    M = linalg.solve_upper(L, seen.A[:, :-1].T).T  # z = a l + M g(U) + noise: g(U) = L theta
    z = seen.z
    kernels = kinds(problem.k, problem.dimension)
    actions = action_lengthscales(kernels[0], problem.actions.dimension)
    best = choose(kernels, U, M, z, Level(a, LEVEL_VARIANCE), actions)
    level = Level(a, LEVEL_VARIANCE)
    found = over_scales(best.kernel(U, U), M, z, level)
    inverse = linalg.solve_upper(L, linalg.solve_lower(L, np.eye(len(L))))  # Kuu^-1
    return Posterior(
        kernel=problem.k,
        landmarks=U,
        weights=inverse @ found.mean,
        reduction=found.scale * inverse - inverse @ found.covariance @ inverse,
        scale=found.scale,
        mean_square=mean_square,
        lengthscales=tuple(lengthscales(best.kernel)),
        level=found.level,
        level_variance=found.level_variance,
        level_covariance=inverse @ found.level_covariance,
        advantage=problem.advantage,
    )
