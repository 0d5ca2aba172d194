"""A catalogue with many features: 300 items with 33 features that they have or do not have, and
visitors with four columns, two numbers and two labels. They click or do not.

    f(x, c) = centre + A (sum_j a_j x_j + s sum_k b_k x_jk effect_k(c))

Ten features count for everybody, three count more for some visitors than for others, and the rest
mean nothing. Items, features, weights and visitors are drawn anew for each seed. Then `A` and `s`
are solved for, such that the best fixed item earns 0.15 to 0.25 of the reward range more than a
random one, and the best item for each visitor 0.02 to 0.05 more than that. A reward is -1 or 1 with
this mean.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from tacit._typing import Floats, Rng
from tacit.domains import Catalogue
from tacit.kernels import Linear, Separable
from tacit.problem import Problem
from tacit_lab.arena.environments.making import telling
from tacit_lab.arena.environments.pooled import FIXED_GAIN, OWN_GAIN, SAMPLED
from tacit_lab.arena.environments.visitors import Visitors
from tacit_lab.arena.protocol import Environment

ITEMS = 300
FEATURES = 33
COLUMNS = (0, 3, 0, 2)  # of a visitor: the number of labels of each, 0 for a number
COMMON = 10  # features that count for everybody
OWN = 3  # features that count more for some visitors than for others
FREQUENCY = (0.15, 0.5)  # between which lies the share of items that have a feature
LARGEST = 0.95  # of the absolute mean reward


def features(rng: Rng) -> Environment:
    visitors = Visitors(COLUMNS, rng)
    items = Catalogue(_items(rng))
    common = _few(COMMON, rng)
    own = [_few(1, rng) for _ in range(OWN)]
    effects = [visitors.effect(1, rng) for _ in range(OWN)]

    def own_weights(contexts: Floats) -> Floats:
        """What each feature is worth more to each visitor: one row per visitor."""
        return np.sum([np.outer(e(contexts), b) for b, e in zip(own, effects, strict=True)], axis=0)

    places = items.candidate_points(ITEMS)
    sampled = own_weights(visitors.draw(SAMPLED, rng))
    fixed_gain = 2.0 * rng.uniform(*FIXED_GAIN)
    own_gain = 2.0 * rng.uniform(*OWN_GAIN)

    def gains(s: float) -> tuple[float, float]:
        """Of the best fixed item over random play, and of each best item over that."""
        value = (common + s * sampled) @ places.T
        fixed = value.mean(axis=0).max()
        return float(fixed - value.mean()), float(value.max(axis=1).mean() - fixed)

    def excess(s: float) -> float:
        fixed, best = gains(s)
        return best - own_gain / fixed_gain * fixed

    s = float(brentq(excess, 0.0, 20.0, xtol=1e-4))
    # |effect| <= 1: no item is worth more than `high` or less than `low` to anybody.
    most = places @ np.abs(own).sum(axis=0)
    high = np.max(places @ common + s * most)
    low = np.min(places @ common - s * most)
    A = min(fixed_gain / gains(s)[0], 2.0 * LARGEST / (high - low))
    centre = -A * (high + low) / 2.0

    def mean(actions: Floats, contexts: Floats) -> Floats:
        return centre + A * np.sum(actions * (common + s * own_weights(contexts)), axis=1)

    def surface(actions: Floats, contexts: Floats) -> Floats:
        return np.asarray(centre + A * (common + s * own_weights(contexts)) @ actions.T)

    problem = Problem(items, visitors.domain, Separable(Linear(), visitors.kernel()), (-1.0, 1.0))
    return Environment(
        f"features-{FEATURES}+{len(COLUMNS)}",
        telling(problem, visitors.draw),
        mean,
        visitors.draw,
        noise=1.0,
        binary=True,
        surface=surface,
        unit="clicks",
    )


def _items(rng: Rng) -> Floats:
    """Which item has which feature; no two items are the same."""
    share = rng.uniform(*FREQUENCY, FEATURES)
    found = np.empty((0, FEATURES))
    while len(found) < ITEMS:
        more = (rng.random((ITEMS, FEATURES)) < share).astype(np.float64)
        found = np.unique(np.vstack([found, more]), axis=0)
    return rng.permutation(found)[:ITEMS]


def _few(number: int, rng: Rng) -> Floats:
    """Weights of features, of which so many are not zero."""
    weights = np.zeros(FEATURES)
    at = rng.choice(FEATURES, size=number, replace=False)
    weights[at] = rng.choice([-1.0, 1.0], size=number) * rng.uniform(0.3, 1.0, number)
    return weights
