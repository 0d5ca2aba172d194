"""How the entries of a record are mixed before noise is added, so that what is asked for is least
noisy.

A record adds entries z, of which only a public list of extreme cases is known: whatever the record
is, z is a convex combination of them. The sum of A z is released with noise that is the same in all
directions, as strong as the longest A z. An answer a' z then has noise of variance a' (A'A)^-1 a,
so the best mix minimises the sum of these over the answers, while every extreme case stays in the
unit ball:

    min over M = A'A of  trace(C M^-1)   such that  z' M z <= 1 for all extreme z,   C = sum of a a'

For weights p on the extreme cases and S = sum_i p_i z_i z_i', the best M with trace(M S) <= 1 is

    M = S^-1/2 (S^1/2 C S^1/2)^1/2 S^-1/2 / trace (S^1/2 C S^1/2)^1/2,

and the best weights are found by multiplying each with z_i' M z_i until none is above 1. The mix is
public: it depends on the extreme cases alone.
"""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats

ROUNDS = 2000
TOLERANCE = 1e-3
RIDGE = 1e-9  # on what is asked for, so that the mix can be inverted


def best_mix(extremes: Floats, answers: Floats) -> Floats:
    """The matrix A for extreme cases (cases, entries) and answers (answers, entries).

    No A z is longer than 1, and A is square and can be inverted.
    """
    scale = np.abs(extremes).max(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    cases = extremes / scale
    wanted = answers * scale
    goal = wanted.T @ wanted
    goal = goal + RIDGE * np.trace(goal) * np.eye(len(goal))
    weights = np.full(len(cases), 1.0 / len(cases))
    for _ in range(ROUNDS):
        metric = _best_metric(cases.T * weights @ cases, goal)
        lengths = np.einsum("ij,jk,ik->i", cases, metric, cases)
        if lengths.max() <= 1.0 + TOLERANCE:
            break
        weights = weights * lengths
        weights = weights / weights.sum()
    metric = metric / lengths.max()
    return _root(metric) / scale


def answer_noise(mix: Floats, answers: Floats) -> Floats:
    """The covariance of the noise in answers, where every entry of the mix has variance 1."""
    spread = np.linalg.solve(mix.T, answers.T)
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
