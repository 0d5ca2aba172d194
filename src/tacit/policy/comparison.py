"""By how much one way of playing is better than another, and how sure that is, from the posterior.

The difference is linear in f, so its posterior is normal:

    a(c) = mean_s f(x_s, c) - mean_t f(y_t, c) = sum_i h_i f(w_i)
    mean = (h' k_U(w)) weights,     var = v h' k(w, w) h - (h' k_U(w)) reduction (h' k_U(w))'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from tacit._typing import Floats
from tacit.decoder import Posterior
from tacit.kernels import Kernel, Separable

BAND_90 = 1.645  # standard deviations to either side that hold 90 % of a normal law
ROWS = 2048  # contexts at a time, so that memory does not grow with their number,
PAIRS = 64  # and pairs of points whose kernel is the diagonal of a small matrix
ROUNDING = 1e-12  # of the prior variance: less is known of no difference than that


@dataclass(frozen=True, eq=False)
class Play:
    """Actions in unit coordinates: one for each context, or some that are played equally often in
    `every` context."""

    actions: Floats
    every: bool

    @classmethod
    def of_each(cls, actions: Floats) -> Play:
        """One action for each context."""
        return cls(actions, every=False)

    @classmethod
    def of_all(cls, actions: Floats) -> Play:
        """The same actions in every context: one of them, or random play among several."""
        return cls(actions, every=True)

    def averaged(self, values: Floats) -> Floats:
        """Values by action (rows), averaged to rows that stand for contexts: one row for all of
        them where the same is played in every context."""
        return values.mean(axis=0, keepdims=True) if self.every else values

    def points(self, C: Floats) -> Floats:
        """Joint points, `(contexts, actions, dimension)`."""
        own = self.actions[None, :, :] if self.every else self.actions[:, None, :]
        shape = (len(C), own.shape[1])
        X = np.broadcast_to(own, (*shape, own.shape[2]))
        return np.concatenate([X, np.broadcast_to(C[:, None, :], (*shape, C.shape[1]))], axis=2)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The difference of two plays in each of some contexts, and on average over them, in the user's
    units."""

    mean: Floats
    std: Floats
    average: float
    average_std: float

    @property
    def probability_better(self) -> Floats:
        """In each context, the probability that the first play is better than the second."""
        return np.asarray(ndtr(self.mean / np.maximum(self.std, 1e-300)))

    @property
    def share_sure(self) -> float:
        """The share of contexts in which the 90 % band lies above zero: at least 95 % sure."""
        return float(np.mean(self.mean > BAND_90 * self.std))


class Comparer:
    """Compares plays in the same contexts, which are looked at once."""

    def __init__(self, posterior: Posterior, C: Floats, unit: float) -> None:
        self.C = C
        self._posterior = posterior
        self._unit = unit  # so much in the user's units is 1 in the posterior's

    def compare(self, first: Play, second: Play) -> Comparison:
        """The first play less the second."""
        posterior = self._posterior
        kappa = self._kernel_rows(first) - self._kernel_rows(second)
        both = self._prior(first, second)
        blocks = self._prior(first, first) - both - both.T + self._prior(second, second)
        mean = self._unit * posterior.functional_mean(kappa)
        variance = posterior.functional_variance(kappa, np.diag(blocks))
        average = posterior.functional_variance(kappa.mean(axis=0), float(blocks.mean()))
        return Comparison(
            mean=mean,
            std=self._unit * np.sqrt(variance),
            average=float(mean.mean()),
            average_std=self._unit * float(np.sqrt(average)),
        )

    def _kernel_rows(self, play: Play) -> Floats:
        """In each context, k_U averaged over its actions."""
        kernel = self._posterior.kernel
        if isinstance(kernel, Separable):
            own = self._posterior.landmarks[:, : kernel.at]
            actions = np.asarray(kernel.actions(play.actions, own))
            return play.averaged(actions) * self._context_rows
        W = play.points(self.C)
        rows = self._posterior.kernel_rows(W.reshape(-1, W.shape[2]))
        return rows.reshape(*W.shape[:2], -1).mean(axis=1)

    def _prior(self, first: Play, second: Play) -> Floats:
        """k averaged over the actions of both plays, for every pair of contexts."""
        kernel = self._posterior.kernel
        if isinstance(kernel, Separable):
            actions = np.asarray(kernel.actions(first.actions, second.actions))
            return second.averaged(first.averaged(actions).T).T * self._context_pairs
        W = second.points(self.C)
        N, S, d = W.shape
        flat = W.reshape(N * S, d)
        rows = [np.asarray(kernel(points, flat)).mean(axis=0) for points in first.points(self.C)]
        return np.array(rows).reshape(N, N, S).mean(axis=2)

    @cached_property
    def _context_rows(self) -> Floats:
        """k_C(c, u) of a kernel that is a product."""
        kernel = self._posterior.kernel
        assert isinstance(kernel, Separable)
        return np.asarray(kernel.contexts(self.C, self._posterior.landmarks[:, kernel.at :]))

    @cached_property
    def _context_pairs(self) -> Floats:
        """k_C(c, c') of a kernel that is a product."""
        kernel = self._posterior.kernel
        assert isinstance(kernel, Separable)
        return np.asarray(kernel.contexts(self.C, self.C))


class Differences(NamedTuple):
    """The reward of one action less that of another, for each of some contexts, in units of half
    the reward range."""

    mean: Floats
    std: Floats

    @property
    def probability_better(self) -> Floats:
        """For each context, the probability that the first action is better."""
        return np.asarray(ndtr(self.mean / np.maximum(self.std, 1e-300)))


def compare_actions(posterior: Posterior, first: Floats, second: Floats, C: Floats) -> Differences:
    """One action less another for each context, all of them rows in unit coordinates.

    What it costs grows with the number of rows, where `Comparer` visits every pair of them.
    """
    means = []
    variances = []
    for start in range(0, max(1, len(C)), ROWS):
        rows = slice(start, start + ROWS)
        A = np.hstack([first[rows], C[rows]])
        B = np.hstack([second[rows], C[rows]])
        kernel = posterior.kernel
        kappa = posterior.kernel_rows(A) - posterior.kernel_rows(B)
        own = np.asarray(kernel.diagonal(A)) + np.asarray(kernel.diagonal(B))
        prior = own - 2.0 * _paired(kernel, A, B)
        means.append(posterior.functional_mean(kappa))
        variances.append(posterior.functional_variance(kappa, prior))
    variance = np.concatenate(variances) + ROUNDING * posterior.scale
    return Differences(np.concatenate(means), np.sqrt(variance))


def _paired(kernel: Kernel, A: Floats, B: Floats) -> Floats:
    """k(a_i, b_i)"""
    found = []
    for start in range(0, max(1, len(A)), PAIRS):
        rows = slice(start, start + PAIRS)
        found.append(np.diagonal(np.asarray(kernel(A[rows], B[rows]))))
    return np.concatenate(found)
