"""The designs of epochs: the first one, and those made from what was released before them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.core import Budget, Cohort
from tacit.design import Design, DesignOptions
from tacit.design.choices import choose_landmarks, default_rank, most_levels, tune
from tacit.epochs.play import EpochPlay, Mixture
from tacit.epochs.prior import as_earlier
from tacit.epochs.summary import sum_up
from tacit.play import PlayLaw
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.residual.refine import columns_of, residual_target
from tacit.residual.target import Residual

FIRST_PASSES = 2  # the first epoch has no policy to compare with, so its records are read twice


def cohort_of(number: int, first: int, rounds: int) -> Cohort:
    """The people of an epoch: so many rounds, the first of which has the number `first`."""
    return Cohort(f"epoch {number}", first, first + rounds)


def first_epoch(
    problem: Problem,
    play: EpochPlay,
    cohort: Cohort,
    *,
    horizon: int,
    budget: Budget,
    rng: np.random.Generator,
    prior: Policy | None = None,
    unit: str = "record",
    options: DesignOptions | None = None,
    progress: Progress = silent,
) -> Design:
    """The design of the first pass over the people of the first epoch. Public.

    Its landmarks are made for one release of all `horizon` rounds of the study: later epochs keep
    them. With a `prior`, the policy of another study, they are that one's.
    """
    options = options or DesignOptions()
    if prior is not None:
        options = replace(options, landmarks=prior.posterior.landmarks)
    if options.landmarks is None:
        tau = options.tau
        if tau is None:
            tau = tune(problem, horizon, budget, options, rng)
        rank = options.rank or default_rank(horizon, most_levels(problem))
        landmarks = choose_landmarks(problem, tau / horizon, rank, rng)
        options = replace(options, landmarks=landmarks)
    design = Design.build(
        problem if play.uniform else replace(problem, play=play),
        horizon=cohort.last - cohort.first,
        budget=budget,
        rng=rng,
        unit=unit,
        passes=FIRST_PASSES,
        options=options,
        progress=progress,
    )
    if _has_arms(play) and not options.plain:
        design = design.with_arms()
    earlier = () if prior is None else (as_earlier(prior),)
    return replace(design, cohort=cohort, earlier=earlier)


def next_epoch(
    policy: Policy,
    play: PlayLaw,
    cohort: Cohort,
    *,
    budget: Budget,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Design:
    """The design of one pass over the people of `cohort`, who are played by `play`. Public.

    Records add what `policy` gets wrong about them. All that was released of earlier epochs is kept
    in the design, as far as the decoder needs it.
    """
    last = policy.releases[-1].design
    problem = replace(last.problem, play=play)
    horizon = cohort.last - cohort.first
    target = residual_target(policy, problem, horizon, budget, rng)
    options = DesignOptions(
        signal=target.signal,
        noise=target.noise,
        unknown=_unknown(policy, target.residual),
        columns=columns_of(policy),
    )
    design = last.build_epoch(
        problem,
        cohort,
        (*last.earlier, sum_up(policy, rng)),
        target.residual,
        budget=budget,
        rng=rng,
        options=options,
        progress=progress,
    )
    return design.with_arms() if _has_arms(play) else design


def _unknown(policy: Policy, residual: Residual) -> Floats | None:
    """The covariance of the weights of residuals, in units of their clip: what the epochs before
    have not taught. None where records add their rewards once more.

    An epoch for which all directions were equally unknown would learn the same ones as the epochs
    before it. Another pass over the same people is not told (`tacit.refine`): with 3,000 rounds it
    made no difference that could be measured.
    """
    if residual.rewards:
        return None
    posterior = policy.posterior
    L = policy.releases[-1].design.features.L
    covariance = posterior.scale * np.eye(len(L)) - L.T @ posterior.reduction @ L
    return np.asarray((covariance + covariance.T) / 2.0 / residual.residual_clip**2)


def _has_arms(play: PlayLaw) -> bool:
    """Whether a coin gives some of the rounds to the policy or to the baseline. Of a mixture the
    last law is that of the epoch: rounds that the one before has played are of no arm."""
    if isinstance(play, Mixture):
        return _has_arms(play.laws[-1])
    return isinstance(play, EpochPlay) and play.shares.exploit + play.shares.control > 0.0
