"""How the entries of a record are mixed before noise is added, so that what is asked for is least
noisy.

A record adds entries z, of which only a public list of extreme cases is known. The sum of A (z - c)
over all records is released with noise that is the same in all directions, as strong as the longest
A (z - c). An answer a' z then has noise of variance a' (A'A)^-1 a. The best mix minimises the sum
of these over the answers, while every extreme case stays in the unit ball:

    min over M = A'A of  trace(C M^-1)   such that  z' M z <= 1 for all extreme z,   C = sum of a a'

For weights p on the extreme cases and S = sum_i p_i z_i z_i', the best M with trace(M S) <= 1 is

    M = S^-1/2 (S^1/2 C S^1/2)^1/2 S^-1/2 / trace (S^1/2 C S^1/2)^1/2,

whose trace(C M^-1) is a lower bound of what any mix can reach, because it only keeps an average of
the cases in the ball. The best weights are found by multiplying each with z_i' M z_i: once none is
above 1 + t, the mix is within a factor 1 + t of the best.

The centre c costs nothing, because the number of records is public: n c is added afterwards. For
weights p the best centre is the mean of the cases, so that S is their covariance. The mix is
public: it depends on the extreme cases alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats

ROUNDS = 600
TOLERANCE = 5e-3
RIDGE = 1e-9  # on what is asked for, so that the mix can be inverted
POWER = 0.9  # of the steps of the weights: a full step may overshoot


@dataclass(frozen=True, eq=False)
class Mix:
    """The matrix A, which can be inverted, and the centre c."""

    matrix: Floats
    centre: Floats

    def rows(self, entries: Floats) -> Floats:
        """A (z - c) for each record, one row of entries each."""
        return (entries - self.centre) @ self.matrix.T

    def scaled(self, length: float) -> Mix:
        """The same mix with rows so many times as long."""
        return Mix(length * self.matrix, self.centre)


def best_mix(extremes: Floats, answers: Floats, centred: bool = True) -> Mix:
    """The mix for extreme cases (cases, entries) and answers (answers, entries): no A (z - c) is
    longer than 1. Without `centred` the centre is 0."""
    scale = np.abs(extremes).max(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    cases = extremes / scale
    goal = (answers * scale).T @ (answers * scale)
    goal = goal + RIDGE * np.trace(goal) * np.eye(len(goal))
    weights = np.full(len(cases), 1.0 / len(cases))
    centre = np.zeros(len(scale))
    for _ in range(ROUNDS):
        if centred:
            centre = weights @ cases
        apart = cases - centre
        metric = _best_metric(apart.T * weights @ apart, goal)
        lengths = np.sum((apart @ metric) * apart, axis=1)
        if lengths.max() <= 1.0 + TOLERANCE:
            break
        weights = weights * lengths**POWER
        weights = weights / weights.sum()
    return Mix(_root(metric / lengths.max()) / scale, centre * scale)


def answer_noise(mix: Mix, answers: Floats) -> Floats:
    """The covariance of the noise in answers, where every entry of the mix has variance 1."""
    spread = np.linalg.solve(mix.matrix.T, answers.T)
    return spread.T @ spread


def _best_metric(second: Floats, goal: Floats) -> Floats:
    """The M above, for S and C."""
    second = second + RIDGE * np.trace(second) * np.eye(len(second))
    root = _root(second)
    inverse = np.linalg.inv(root)
    middle = _root(root @ goal @ root)
    return inverse @ middle @ inverse / np.trace(middle)


def _root(matrix: Floats) -> Floats:
    """The symmetric root of a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
