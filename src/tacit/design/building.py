"""How a design is built: regularisation, landmarks, whitening, clip, moments. Public coins only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.design.allocation import allocate, decision_moment, ridge_amplitudes
from tacit.design.choices import (
    by_ridge,
    choose_landmarks,
    default_rank,
    most_levels,
    noise_multiplier,
    tune,
)
from tacit.design.features import Features, Moments
from tacit.design.options import DesignOptions
from tacit.design.pooling import pooled_problem, prior_root
from tacit.design.public import PublicPoints, largest_influence, moments_over, second_moment
from tacit.design.tuning import influence_quantile
from tacit.numerics import linalg
from tacit.numerics.engine import engine
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.residual.target import Residual

CLIP_POINTS = 8192
GENERATOR_SAMPLE = 16_384  # contexts of the problem's generator that are kept for the decoder


class Assembly(NamedTuple):
    """The computed parts of a design."""

    features: Features
    whitening: Floats
    tau: float
    clip: float
    moments: Moments
    generator_sample: Floats | None
    moment: Floats  # E[phi phi']


def assemble(
    problem: Problem,
    horizon: int,
    budget: Budget,
    rng: Rng,
    options: DesignOptions,
    progress: Progress,
    moment: Floats | None = None,
    residual: Residual | None = None,
) -> Assembly:
    """The parts of a design whose pass spends `budget`.

    `moment` is E[phi phi'], estimated unless it is known; `residual` is what records add instead of
    their rewards.
    """
    points = PublicPoints(problem, options.public_points, rng)
    on = engine(options.device)
    progress("choosing tau and landmarks", 0, 2)
    tau = options.tau
    if tau is None:
        tau = tune(pooled_problem(problem, options.pooling), horizon, budget, options, rng)
    progress("choosing tau and landmarks", 1, 2)
    landmarks = options.landmarks
    if landmarks is None:
        rank = options.rank or default_rank(horizon, most_levels(problem))
        landmarks = choose_landmarks(problem, tau / horizon, rank, rng)
    features = Features.on(problem.k, landmarks)
    progress("choosing tau and landmarks", 2, 2)

    if moment is None:
        moment = second_moment(features, points, on, progress)
    # Weights have the covariance v P. So psi = P^(1/2) phi has weights eta ~ N(0, v I), and
    # A = V diag(a) V' P^(1/2) with the eigenvectors V of its second moment. No sign in A is free:
    # the same coins give the same design on every machine.
    variance = options.signal**2
    if options.unknown is None:
        root = prior_root(features, options.pooling)
    else:
        root = linalg.root(options.unknown)
        variance = 1.0
    d, V = linalg.eigh(moment if root is None else root @ moment @ root)
    W = V.T if root is None else V.T @ root
    if by_ridge(budget, options):
        a = ridge_amplitudes(d, horizon, tau)
    else:
        target = decision_moment(problem, features, moment, rng)
        a = allocate(
            d,
            np.vecdot(W @ target, W),
            horizon=horizon,
            multiplier=noise_multiplier(budget, options),
            variance=variance,
            mean_square=options.signal**2 + options.noise**2,
        )
    told = a > 0.0
    factors = V[:, told], a[told, None] * W[told]
    A = factors[0] @ factors[1]
    clip = options.clip
    if clip is None:
        clip = influence_quantile(features(points.take(CLIP_POINTS)) @ A.T)
    elif math.isinf(clip):
        clip = largest_influence(features, A, points)
    moments = moments_over(features, factors, clip, points, on, progress, residual)
    sample = None
    if problem.generator is not None:
        sample = problem.draw_contexts(GENERATOR_SAMPLE, rng)
    return Assembly(features, A, float(tau), float(clip), moments, sample, moment)
