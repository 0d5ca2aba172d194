"""How a design is built: regularisation, landmarks, whitening, clip, moments. Public coins only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.design.choices import choose_landmarks, default_rank, most_levels, tune
from tacit.design.features import Features, Moments
from tacit.design.options import DesignOptions
from tacit.design.pooling import pooled_problem, prior_precision
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
    A = _whitening(moment, horizon, tau, prior_precision(features, options.pooling))
    clip = options.clip
    if clip is None:
        clip = influence_quantile(features(points.take(CLIP_POINTS)) @ A.T)
    elif math.isinf(clip):
        clip = largest_influence(features, A, points)
    moments = moments_over(features, A, clip, points, on, progress, residual)
    sample = None
    if problem.generator is not None:
        sample = problem.draw_contexts(GENERATOR_SAMPLE, rng)
    return Assembly(features, A, float(tau), float(clip), moments, sample)


def _whitening(moment: Floats, horizon: int, tau: float, precision: Floats | None) -> Floats:
    """A = (T E[phi phi'] + tau P^-1)^(-1/2). The symmetric root has no free signs: the same coins
    give the same design on every machine."""
    if precision is None:
        d, V = linalg.eigh(moment)
        return (V / np.sqrt(horizon * np.maximum(d, 0.0) + tau)) @ V.T
    d, V = linalg.eigh(horizon * moment + tau * precision)
    return (V / np.sqrt(np.maximum(d, tau / len(d)))) @ V.T
