"""How the influences of a pass share its noise among the directions of the reward function.

In the eigenbasis of E[phi phi'] = diag(d) records add q_i = a_i phi_i, and every direction gets the
same privacy noise, in proportion to the largest influence. With c_i = a_i^2 d_i, of which the sum
is fixed by the clip, a release leaves the posterior variance

    sum_i t_i / (1/v + g_i),    g_i = T^2 d_i c_i / (T R^2 c_i + p),    p = (2 m)^2, sum c_i = 1,

where `v` is the prior variance, R^2 the mean square of what records add, `m` the multiplier of the
noise, and `t_i` says what a direction matters. The best c is water-filling: directions that cannot
be learned at this noise get nothing, and the others more of it. The ridge of the paper,
c_i = d_i / (T d_i + tau), spends on all of them.

It is public, and any amplitudes are private: the clip sees to that.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._typing import Floats, Rng
from tacit.design.features import Features
from tacit.problem import Problem

# What the part of the reward function that no action changes counts beside the rest of it: it
# decides nothing, but residuals are smaller where it is known. Of 0.05, 0.25 and 1.
LEVEL_WEIGHT = 0.05
CONTEXTS = 512  # where effects of actions are looked at
ACTIONS = 16  # in each of them
HALVINGS = 200
LEAST = 1e-14  # eigenvalue: smaller ones are rounding


def allocate(
    d: Floats,
    target: Floats,
    *,
    horizon: int,
    multiplier: float,
    variance: float,
    mean_square: float,
) -> Floats:
    """Amplitudes `a` of the directions with eigenvalues `d`, which matter as `target` says.

    `variance` is v, that of weights before the release, and `mean_square` R^2, that of what records
    add. From the derivative of the posterior variance: where c_i > 0,

        (1/v + g_i) (T R^2 c_i + p) = T sqrt(p t_i d_i / mu),

    which is linear in c_i. The multiplier mu is where they add up to 1.
    """
    T = horizon
    v = variance
    R2 = mean_square
    p = (2.0 * multiplier) ** 2
    d = np.maximum(d, LEAST)
    gain = T * np.sqrt(p * np.maximum(target, 0.0) * d)
    cost = T * R2 / v + T**2 * d

    def shares(level: float) -> Floats:
        """c for level = 1 / sqrt(mu)"""
        return np.asarray(np.maximum(level * gain - p / v, 0.0) / cost)

    # No direction alone takes more than all there is.
    high = float(np.min((cost + p / v)[gain > 0.0] / gain[gain > 0.0], initial=math.inf))
    if not math.isfinite(high):  # nothing matters: no two actions differ
        return np.ones_like(d)
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if float(shares(middle).sum()) > 1.0:
            high = middle
        else:
            low = middle
    return np.asarray(np.sqrt(shares(high) / d))


def ridge_amplitudes(d: Floats, horizon: int, tau: float) -> Floats:
    """Those of the paper: A = (T E[phi phi'] + tau I)^(-1/2)."""
    return np.asarray(1.0 / np.sqrt(horizon * np.maximum(d, 0.0) + tau))


def decision_moment(problem: Problem, features: Features, moment: Floats, rng: Rng) -> Floats:
    """What directions of the reward function matter for: E[Cov(phi given c)] over uniform actions,
    which is what decisions need, and a little of E[phi phi'].

    A policy chooses among all actions, so they are uniform however they are played.
    """
    at = problem.actions.dimension
    contexts = np.repeat(problem.public_points(CONTEXTS, rng)[:, at:], ACTIONS, axis=0)
    actions = problem.actions.sample_points(len(contexts), rng)
    Phi = features(np.hstack([actions, contexts])).reshape(CONTEXTS, ACTIONS, -1)
    return mattering(effects(Phi), moment)


def mattering(effect: Floats, moment: Floats) -> Floats:
    """What matters, from the second moment of effects of actions and that of everything."""
    return effect + LEVEL_WEIGHT * moment


def effects(Phi: Floats) -> Floats:
    """E[Cov(phi given c)] from features of (contexts, actions)."""
    apart = Phi - Phi.mean(axis=1, keepdims=True)
    apart = apart.reshape(-1, Phi.shape[2])
    return np.asarray(apart.T @ apart / (len(Phi) * (Phi.shape[1] - 1)))
