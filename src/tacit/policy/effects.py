"""Whether actions have an effect at all, and whether it depends on the context: two tests.

A policy maximises the posterior mean, so what it expects to gain is positive even if no action
matters, and the more so the more contexts it chooses for. So effects are tested on contrasts of
actions that do not depend on what was released: those to which the prior gives the most variance.
In coordinates where they have prior variance 1 and posterior variance `e`, their posterior means
are

    N(0, 1 - e) under the prior,      N(0, e (1 - e)) if there is no effect,

because the mean shrinks a noisy measurement by 1 - e. The sum of squares in units of the second
variance is then chi-square, whatever the scale of the prior is. Where the prior was wider than the
decoder's own, which is not kept in all detail, the sum is smaller: the test errs on the safe side.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import chdtrc

from tacit._typing import Floats
from tacit.decoder import Posterior
from tacit.kernels import Kernel
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.numerics import linalg
from tacit.policy.comparison import Play

DIRECTIONS = 16  # contrasts at most: a few tell what there is, more would only add noise
INFORMED = 0.5  # of the prior variance: where more is left over, the release says too little
LEAST_PRIOR = 1e-6  # of the largest: contrasts with less have no effect to speak of
LEAST_LEFT = 1e-8  # of the prior variance: less than that is rounding


class Effects:
    """The effects of some actions in some contexts, all of them in all, in unit coordinates."""

    def __init__(self, posterior: Posterior, C: Floats, X: Floats) -> None:
        self._posterior = posterior
        self._contexts = len(C)
        self._actions = len(X)
        self._points = Play.of_all(X).points(C).reshape(-1, X.shape[1] + C.shape[1])

    @cached_property
    def p_none(self) -> float:
        """The probability of as much as was released, or more, if no action had an effect."""
        return self._p_value(np.eye(self._contexts))

    @cached_property
    def p_same(self) -> float:
        """The same if every action had the same effect in all contexts."""
        return self._p_value(_centred(self._contexts))

    def _p_value(self, between: Floats) -> float:
        H = np.kron(between, _centred(self._actions))
        if not len(H):
            return 1.0  # nothing can differ
        prior, posterior = self._covariances
        values, V = linalg.eigh(H @ prior @ H.T)
        kept = values[-DIRECTIONS:] > LEAST_PRIOR * values[-1]
        root = V[:, -DIRECTIONS:][:, kept] / np.sqrt(values[-DIRECTIONS:][kept])
        to = H.T @ root  # contrasts with prior variance 1
        e, turn = linalg.eigh(to.T @ posterior @ to)  # the best known first
        told = int(np.sum(e < INFORMED))
        if not told:
            return 1.0
        e = np.clip(e[:told], LEAST_LEFT, 1.0)
        z = turn[:, :told].T @ (to.T @ self._mean) / np.sqrt(e * (1.0 - e))
        return float(chdtrc(told, float(z @ z)))

    @cached_property
    def _rows(self) -> Floats:
        return self._posterior.kernel_rows(self._points)

    @cached_property
    def _mean(self) -> Floats:
        return self._posterior.functional_mean(self._rows)

    @cached_property
    def _covariances(self) -> tuple[Floats, Floats]:
        """Of the rewards at all points, before and after the release."""
        posterior = self._posterior
        W = self._points
        v = posterior.scale
        explained = self._rows @ posterior.reduction @ self._rows.T
        after = v * np.asarray(posterior.kernel(W, W)) - explained
        return v * np.asarray(_found(posterior, W.shape[1])(W, W)), after


def _centred(n: int) -> Floats:
    """An orthonormal basis of what adds up to zero, as rows."""
    Q, _ = np.linalg.qr(np.hstack([np.ones((n, 1)), np.eye(n)[:, : n - 1]]))
    return np.asarray(Q[:, 1:].T)


def _found(posterior: Posterior, columns: int) -> Kernel:
    """The problem's kernel with the lengthscales that the evidence found."""
    own = spread(posterior.kernel, columns)
    if len(lengthscales(own)) != len(posterior.lengthscales):
        return posterior.kernel
    return with_lengthscales(own, list(posterior.lengthscales))
