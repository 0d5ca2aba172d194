"""The advantage of the chosen action over random play, and how sure it is, from the posterior.

The advantage is linear in f, so its posterior is normal:

    a(c) = f(x, c) - mean_s f(x_s, c) = sum_i h_i f(w_i)
    mean = (h' k_U(w)) weights,     var = v h' k(w, w) h - (h' k_U(w)) reduction (h' k_U(w))'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from tacit._typing import Floats
from tacit.report.view import View

RANDOM_ACTIONS = 32
BAND_90 = 1.645  # standard deviations to either side that hold 90 % of a normal law


@dataclass(frozen=True, eq=False)
class Advantage:
    """Over random play in each of some random contexts, and on average over them."""

    mean: Floats
    std: Floats
    average: float
    average_std: float

    @property
    def probability_better(self) -> Floats:
        """In each context, the probability that the chosen action is better than random play."""
        return np.asarray(norm.cdf(self.mean / np.maximum(self.std, 1e-300)))

    @property
    def share_sure(self) -> float:
        """The share of contexts in which the 90 % band lies above zero: at least 95 % sure."""
        return float(np.mean(self.mean > BAND_90 * self.std))


def measure_advantage(view: View, C: Floats, X: Floats) -> Advantage:
    """The advantage of the chosen actions `X` in the contexts `C`."""
    W, h = _contrasts(view, C, X)
    posterior = view.policy.posterior
    rows = posterior.kernel_rows(W.reshape(-1, W.shape[2])).reshape(*W.shape[:2], -1)
    kappa = np.einsum("s,nsr->nr", h, rows)
    own, all_pairs = _prior(view, W, h)
    half_range = view.half_range
    mean = posterior.functional_mean(kappa)
    variance = posterior.functional_variance(kappa, own)
    average_variance = float(posterior.functional_variance(kappa.mean(axis=0), all_pairs))
    return Advantage(
        mean=mean * half_range,
        std=np.sqrt(variance) * half_range,
        average=float(mean.mean()) * half_range,
        average_std=float(np.sqrt(average_variance)) * half_range,
    )


def _contrasts(view: View, C: Floats, X: Floats) -> tuple[Floats, Floats]:
    """For each context its chosen action and the random ones, and their weights (1, -1/S, ...,
    -1/S)."""
    others = view.actions.spread(RANDOM_ACTIONS)
    S = len(others)
    N = len(C)
    tried = np.concatenate([X[:, None, :], np.broadcast_to(others, (N, *others.shape))], axis=1)
    W = np.concatenate([tried, np.repeat(C[:, None, :], S + 1, axis=1)], axis=2)
    return W, np.array([1.0] + [-1.0 / S] * S)


def _prior(view: View, W: Floats, h: Floats) -> tuple[Floats, float]:
    """h' k(w, w') h within each context, and on average over all pairs of contexts."""
    N, S, d = W.shape
    flat = W.reshape(N * S, d)
    k = view.policy.posterior.kernel
    blocks = np.array([(h @ np.asarray(k(points, flat))).reshape(N, S) @ h for points in W])
    return np.diag(blocks).copy(), float(blocks.mean())
