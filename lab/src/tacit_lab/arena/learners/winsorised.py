"""Private winsorised means of vectors that lie close together.

Feldman and Steinke 2017 find the range of a coordinate; Levy, Sun, Amin, Kale, Kulesza, Mohri and
Suresh 2021 clip to it after a rotation that spreads vectors evenly over coordinates.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import ortho_group

from tacit._typing import Floats, Rng
from tacit_lab.arena.mechanisms import gaussian, gaussian_sigma, gumbel

BOUND = 1.0  # of a coordinate


def winsorised_mean(sent: Floats, radius: float, rho: float, rng: Rng) -> Floats:
    """The mean of rows, private for each row: rotated, clipped to private ranges, with noise."""
    size = sent.shape[1]
    U = ortho_group.rvs(size, random_state=rng) if size > 1 else np.eye(1)
    rotated = np.clip(sent @ U.T, -BOUND, BOUND)
    # The exponential mechanism of pure epsilon costs epsilon^2 / 8 in zCDP.
    epsilon = math.sqrt(8.0 * rho / 2.0 / size)
    centres = np.array([private_range(y, radius, epsilon, rng) for y in rotated.T])
    total = clipped_sum(rotated, centres, radius)
    sigma = gaussian_sigma(range_sensitivity(size, radius), rho / 2.0)
    return np.asarray((total + gaussian(size, sigma, rng)) / len(sent) @ U)


def clipped_sum(rows: Floats, centres: Floats, radius: float) -> Floats:
    """The sum of rows, each coordinate clipped to within 2 radii of its centre."""
    return np.asarray(np.clip(rows, centres - 2 * radius, centres + 2 * radius).sum(axis=0))


def range_sensitivity(size: int, radius: float) -> float:
    """How far replacing one row can move `clipped_sum`: 4 radii in each coordinate."""
    return 4.0 * radius * math.sqrt(size)


def private_range(values: Floats, radius: float, epsilon: float, rng: Rng) -> float:
    """The middle of a bin of width 2 radius, most likely that of the median."""
    bins = max(1, math.ceil(BOUND / radius))
    middles = radius * (2.0 * np.arange(bins, dtype=np.float64) + 1.0 - bins)
    scores = range_scores(values, middles)
    return float(middles[np.argmax(scores + gumbel((bins,), epsilon, 1.0, rng))])


def range_scores(values: Floats, middles: Floats) -> Floats:
    """Minus the larger of the numbers of values in bins below and above: one value replaced moves
    each by at most 1."""
    nearest = np.argmin(np.abs(values[:, None] - middles), axis=1)
    counts = np.bincount(nearest, minlength=len(middles))
    upto = np.cumsum(counts)
    return -np.maximum(upto - counts, len(values) - upto).astype(np.float64)
