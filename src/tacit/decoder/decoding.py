"""From releases to the posterior of the reward function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._typing import Floats
from tacit.decoder.averaging import Belief, mixture, over_scales
from tacit.decoder.context_law import (
    ContextCounts,
    main_effects,
    misplacement,
    moments_given,
    with_usable_records,
)
from tacit.decoder.drift import AS_LIKELY, CHANGED, MOST_RETAINED, RETENTIONS, Prior, over_epochs
from tacit.decoder.evidence import Level, candidates
from tacit.decoder.kinds import kinds
from tacit.decoder.observations import (
    GroupObservation,
    LinearObservation,
    WhitenedObservation,
)
from tacit.decoder.parts import CLEARLY, ReleaseParts, pooled
from tacit.decoder.posterior import Posterior
from tacit.design import Design, Release
from tacit.errors import InputError
from tacit.kernels import Kernel
from tacit.kernels.ard import action_lengthscales, lengthscales, spread, with_lengthscales
from tacit.numerics import linalg
from tacit.problem import Problem

# The prior variance of the level of rewards in [-1, 1]: it says nothing that a release does not
# say better.
LEVEL_VARIANCE = 1.0
# Where only advantages are learned: the prior variance of what no action changes, as a share of
# that of what records add.
MAIN_EFFECT = 0.5
# Columns of real tables depend on each other, and one histogram for each does not show it. Effects
# of columns that rise together then show more than once. By how much is tried, where it is not
# known who comes: each must explain the release better by so many nats than the one before.
GAINS = (2.0, 4.0, 8.0, 16.0)
CLEARLY_BETTER = 3.0
# Kinds of kernels that explain the release worse than the best by so many nats are left out.
UNLIKELY = 3.0
# Points where reward functions that are sums of bumps have them.
BUMPS = 2048


def decode(releases: Sequence[Release], prior: Prior | None = None) -> Posterior:
    """The Gaussian posterior given all releases, which observe the same weights, and what earlier
    epochs of the same study have left.

    Passes over the same people share the noise of who they are; those over others are independent.
    With a `prior` of the reward function, kernel and scale are not chosen by the evidence.
    """
    _require_same_weights(releases)
    design = releases[-1].design
    people = by_people(releases)
    groups = [
        GroupObservation(each.observation, each.features, has_gain=not each.is_prior)
        for each in design.earlier
    ]
    groups += [observe(passes) for passes in people]
    retentions = [each.retention for each in design.earlier[1:]]
    if len(groups) > 1:
        retentions.append(1.0)
    stacked = _Stacked(design, groups, retentions)
    posterior = stacked.posterior(added_square(people[-1][-1]), prior)
    if design.earlier or any(not parts.adds_rewards for passes in people for parts in passes):
        # Residuals from an earlier policy say how large effects are.
        posterior = replace(posterior, understated=1.0)
    return stacked.drifted(posterior, people[-1]) if design.earlier else posterior


@dataclass(frozen=True, eq=False)
class _Stacked:
    """What groups of different people say together, one epoch after the other."""

    design: Design
    groups: Sequence[GroupObservation]
    retentions: Sequence[float]  # lambda between each epoch and the next
    prior: Prior | None = None  # of a new reward function, where some lambda is below 1

    def seen(self, gain: float = 1.0) -> WhitenedObservation:
        """In as many rows as there are weights."""
        groups = [group.at(gain) for group in self.groups]
        return over_epochs(groups, self.retentions, self.prior)

    def best(self) -> tuple[WhitenedObservation, float]:
        """The same with the gain that explains the releases best, and that gain."""
        seen = self.seen()
        best_gain = 1.0
        problem = self.design.problem
        if problem.generator is not None or problem.contexts.dimension <= 1:
            return seen, best_gain
        evidence = _evidence(self.design, seen)
        for gain in GAINS:
            other = self.seen(gain)
            found = _evidence(self.design, other)
            if found < evidence + CLEARLY_BETTER:
                break
            seen = other
            best_gain = gain
            evidence = found
        return seen, best_gain

    def posterior(self, mean_square: float, prior: Prior | None = None) -> Posterior:
        seen, gain = self.best()
        return replace(_posterior(self.design, seen, mean_square, prior), understated=gain)

    def drifted(self, posterior: Posterior, passes: Sequence[ReleaseParts]) -> Posterior:
        """The posterior with the lambda between the last two epochs that explains the releases
        best, given one without a change.

        It is 1 unless the last epoch shows a change by itself: residuals that are clearly larger
        than expected, or another mean reward. Releases of several epochs may contradict each other
        in other ways in a world that stays, where the model of one is not quite right.
        """
        features = self.design.features
        problem = self.design.problem
        own = spread(problem.k, problem.dimension)
        kernel = with_lengthscales(own, list(posterior.lengthscales))
        prior = Prior.of(kernel, posterior.scale, features.U, features.L)
        changed = replace(self, prior=prior)
        possible: Sequence[float] = [1.0]
        known: Prior | None = prior
        if any(parts.surprising for parts in passes):
            possible = [each for each in RETENTIONS if each < MOST_RETAINED]
            known = None  # what was learned without a change is wrong, kernel and scale included
        elif changed._expected_mean(passes).contradicted_by(passes[0]):
            possible = RETENTIONS
        tried = []
        for retention in possible:
            one = replace(changed, retentions=[*self.retentions[:-1], retention])
            evidence = _evidence(self.design, one.seen(), known)
            tried.append((evidence - (CHANGED if retention < 1.0 else 0.0), retention, one))
        best = max(evidence for evidence, _, _ in tried)
        likely = [each for each in tried if each[0] >= best - (0.0 if known else AS_LIKELY)]
        _, retention, changed = min(likely, key=lambda each: each[1])
        if all(each == 1.0 for each in changed.retentions):
            return posterior
        return replace(changed.posterior(posterior.mean_square, known), retention=retention)

    def _expected_mean(self, passes: Sequence[ReleaseParts]) -> ExpectedMean:
        """The mean reward of the last epoch, as the epochs before it expect it."""
        assert self.prior is not None
        design = self.design
        groups = [group.at() for group in self.groups[:-1]]
        seen = over_epochs(groups, self.retentions[:-1], self.prior)
        L = design.features.L
        M = linalg.solve_upper(L, seen.A[:, :-1].T).T
        level = Level(seen.A[:, -1], LEVEL_VARIANCE)
        belief = _given(self.prior, design.features.U, M, seen.z, level)
        cross = moments_given(passes[0].design, ContextCounts.pooled(passes)).cross[-1]
        h = linalg.solve_upper(L, cross[:-1] / cross[-1])  # E[g] = h' g(U) over those who came
        mean = belief.level + float(h @ belief.mean)
        variance = float(h @ belief.covariance @ h + 2.0 * h @ belief.level_covariance)
        return ExpectedMean(mean, max(variance + belief.level_variance, 0.0))


@dataclass(frozen=True)
class ExpectedMean:
    """What earlier epochs say of the mean reward of the next one."""

    mean: float
    variance: float

    def contradicted_by(self, parts: ReleaseParts) -> bool:
        """Whether the released mean is clearly another one. It is read where records add rewards:
        elsewhere residuals tell."""
        if parts.sums.mean is None or not parts.adds_rewards:
            return False
        noise = parts.block_noise("mean") / parts.records
        sampling = max(parts.mean_square - parts.mean**2, 0.0) / parts.records
        std = (self.variance + noise**2 + sampling) ** 0.5
        return abs(parts.mean - self.mean) > CLEARLY * std


def is_curved(parts: ReleaseParts) -> bool:
    """Whether a pass is no straight line in the reward function: its records add residuals, some of
    which are clipped. Those of another world are read as `ReleaseParts` says."""
    residual = parts.design.residual
    if residual is None or parts.adds_rewards or parts.surprising:
        return False
    return not residual.response.is_whole


def observe(passes: Sequence[ReleaseParts], posterior: Posterior | None = None) -> GroupObservation:
    """What the passes over the same people say, whatever the gain is.

    What clipping leaves of residuals is read around a posterior that has learned from them (later
    epochs do), or else around what was expected of them.
    """
    group = _Group(passes, posterior)
    return GroupObservation.of(group.observations(0.0), group.observations(1.0))


def added_square(parts: ReleaseParts) -> float:
    """The mean square of what records add in a pass, in units of half the reward range."""
    residual = parts.design.residual
    clip = 1.0 if residual is None else residual.residual_clip
    return clip**2 * parts.mean_square


class _Group:
    """Passes over the same people, and the laws of what they add under the contexts that came: all
    of them counted the same people."""

    def __init__(self, passes: Sequence[ReleaseParts], posterior: Posterior | None = None) -> None:
        counts = ContextCounts.pooled(passes)
        self._passes = passes
        self._moments = [
            moments_given(
                parts.design, counts, posterior.belief if posterior and is_curved(parts) else None
            )
            for parts in passes
        ]
        self._leaks = [
            parts.records * main_effects(parts.design, counts)
            for parts in passes
            if parts.design.problem.advantage
        ]
        self._misplaced = [
            misplacement(parts.design, counts) if parts.added_mean else None for parts in passes
        ]

    def observations(self, gain: float = 1.0) -> list[LinearObservation]:
        """Linear observations, in which the reward function shows `gain` times as much as it would
        if columns did not depend on each other."""
        found = []
        for i, parts in enumerate(self._passes):
            cross = self._moments[i].cross.copy()
            cross[:-1, :-1] *= gain
            seen = parts.observation(replace(self._moments[i], cross=cross))
            if self._leaks:
                leak = self._leaks[i][: len(seen.b)]
                N = seen.N + MAIN_EFFECT * seen.variance * leak @ leak.T
                seen = replace(seen, N=N)
            misplaced = self._misplaced[i]
            if misplaced is not None:
                off = parts.records * parts.added_mean * misplaced[: len(seen.b)]
                seen = replace(seen, N=seen.N + off @ off.T)
            found.append(seen)
        return found


def _evidence(design: Design, seen: WhitenedObservation, prior: Prior | None = None) -> float:
    """How well an observation is explained by a prior, or else by the problem's own kernel."""
    L = design.features.L
    M = linalg.solve_upper(L, seen.A[:, :-1].T).T
    level = Level(seen.A[:, -1], LEVEL_VARIANCE)
    if prior is None:
        found = over_scales(L @ L.T, M, seen.z, level)
    else:
        found = _given(prior, design.features.U, M, seen.z, level)
    return found.evidence - 0.5 * seen.rest


def _given(prior: Prior, U: Floats, M: Floats, z: Floats, level: Level) -> Belief:
    """What is believed where kernel and scale are known."""
    K = np.asarray(prior.kernel(U, U))
    return over_scales(K, M, z, level, np.array([prior.scale]))


def by_people(releases: Sequence[Release]) -> list[list[ReleaseParts]]:
    """The releases of each group of people, in order, with as many records as were usable."""
    groups: dict[str, list[ReleaseParts]] = {}
    for release in releases:
        groups.setdefault(release.people, []).append(ReleaseParts.of(release))
    return [pooled(with_usable_records(passes)) for passes in groups.values()]


def observations(passes: Sequence[ReleaseParts]) -> list[LinearObservation]:
    """Linear observations under the contexts that came."""
    return _Group(passes).observations()


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


def _everywhere(problem: Problem) -> Floats:
    """Joint points spread evenly over actions and contexts: public coins, the same every time."""
    rng = np.random.default_rng(0)
    actions = problem.actions.sample_points(BUMPS, rng)
    return np.hstack([actions, problem.contexts.sample_points(BUMPS, rng)])


def _posterior(
    design: Design, seen: WhitenedObservation, mean_square: float, prior: Prior | None = None
) -> Posterior:
    """The posterior of f = l + phi' theta with a known prior, or else with those that explain the
    observation best."""
    U = design.features.U
    L = design.features.L
    problem = design.problem
    a = seen.A[:, -1]
    M = linalg.solve_upper(L, seen.A[:, :-1].T).T  # z = a l + M g(U) + noise: g(U) = L theta
    z = seen.z
    level = Level(a, LEVEL_VARIANCE)
    if prior is None:
        kernel, found = _average(problem, U, M, z, level)
    else:
        kernel, found = prior.kernel, _given(prior, U, M, z, level)
    inverse = linalg.solve_upper(L, linalg.solve_lower(L, np.eye(len(L))))  # Kuu^-1
    return Posterior(
        kernel=problem.k,
        landmarks=U,
        weights=inverse @ found.mean,
        reduction=found.scale * inverse - inverse @ found.covariance @ inverse,
        scale=found.scale,
        mean_square=mean_square,
        lengthscales=tuple(lengthscales(kernel)),
        level=found.level,
        level_variance=found.level_variance,
        level_covariance=inverse @ found.level_covariance,
        advantage=problem.advantage,
    )


def _average(
    problem: Problem, U: Floats, M: Floats, z: Floats, level: Level
) -> tuple[Kernel, Belief]:
    """What is believed on average over the priors that explain the observation, and the kernel of
    the one that does it best."""
    kernels = kinds(problem.k, problem.dimension)
    actions = action_lengthscales(kernels[0], problem.actions.dimension)
    fits = candidates(kernels, U, M, z, level, actions, _everywhere(problem))
    best = max(fits, key=lambda fit: fit.evidence)
    likely = [fit for fit in fits if fit.evidence > best.evidence - UNLIKELY]
    beliefs = [over_scales(fit.covariance(U), M, z, level) for fit in likely]
    return best.kernel, mixture(beliefs, [fit.evidence for fit in likely])
