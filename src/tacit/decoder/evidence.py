"""Hyperparameters by the evidence of the released vector: scale, lengthscales and kind of kernel,
at no privacy cost.

With landmarks fixed, another kernel k' is another prior covariance of f on the landmarks. In
whitened coordinates

    z = N^-1/2 bhat = a l + M g(U) + unit noise,   M = N^-1/2 G L^-1,   g(U) ~ N(0, v k'(U, U))

where the level `l` of the rewards has a variance `o` of its own, so that it is not mistaken for a
large scale `v`. Only the few directions of z in which the design's own kernel has a signal can tell
kernels apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit._typing import Floats
from tacit.kernels import Kernel
from tacit.kernels.ard import lengthscales, with_lengthscales
from tacit.kernels.slopes import with_slopes
from tacit.numerics import linalg

SIGNAL_FLOOR = (
    1e-3  # directions with less signal than this (in units of the noise variance) are left out
)
DIRECTIONS = 512  # and so many tell all there is to tell about a handful of numbers
# v is log-normal around 0.1: rewards are in [-1, 1]. It is wide, because effects on rare rewards
# are small. Measured (docs/coverage.md): with half of this width intervals are wider everywhere;
# with more of it, or with a lump at 0, they miss weak effects.
SCALE_GUESS = 0.1
SCALE_WIDTH = 4.0
LENGTH_WIDTH = 0.35  # and each lengthscale around the design's, on a log scale too
LENGTH_REACH = float(np.log(12.0))  # at most so far from it
STRETCH = float(
    np.log(4.0)
)  # where else to begin: actions, or contexts, that matter less than the design thinks
STEPS = 40
FEW_STEPS = 12
# another kind of kernel must explain the release better than the problem's own by so many nats
PREFERENCE = 2.0
# Lengthscales of bumps, as multiples of those of the draws that explain the release best: a sum of
# bumps changes more slowly than a draw with the same lengthscales.
SHORTER = 0.8


@dataclass(frozen=True, eq=False)
class Fit:
    """The prior that explains the released vector best: draws from a kernel at some scale, or sums
    of its bumps at the points `bumps`."""

    kernel: Kernel
    scale: float
    evidence: float  # log density of the release and of the hyperparameters, up to a constant
    bumps: Floats | None = None

    def covariance(self, U: Floats) -> Floats:
        """Of the reward function on `U`, up to the scale."""
        if self.bumps is None:
            return np.asarray(self.kernel(U, U))
        return bump_covariance(self.kernel, U, self.bumps)


def bump_covariance(kernel: Kernel, U: Floats, P: Floats) -> Floats:
    """The covariance on `U` of f = sum_j a_j k(., p_j) with independent a_j, scaled to a mean
    variance of 1.

    Such an f lies in the space of functions of the kernel, as USCA assumes of rewards, and draws
    from the kernel do not: it is smoother, and varies less near the ends of the domain, beyond
    which there are no bumps.
    """
    k = np.asarray(kernel(U, P))
    K = k @ k.T
    # Where no bump reaches any of `U`, nothing varies.
    return K / max(float(np.mean(np.diag(K))), np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Level:
    """How the level of rewards shows in the released vector, and its prior variance."""

    a: Floats
    variance: float

    @property
    def covariance(self) -> Floats:
        """What it adds to that of the released vector."""
        return self.variance * np.outer(self.a, self.a)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the released vector says about kernels on the landmarks `U`."""

    U: Floats
    M: Floats
    z: Floats
    level: Level

    @classmethod
    def of(cls, kernel: Kernel, U: Floats, M: Floats, z: Floats, level: Level) -> Evidence:
        """Rotated to the directions that carry signal under the design's kernel; the rest is noise
        under any."""
        # the smallest first
        signal, V = linalg.eigh(M @ kernel(U, U) @ M.T + level.covariance)
        told = min(DIRECTIONS, max(1, int(np.sum(signal > SIGNAL_FLOOR))))
        V = V[:, -told:]
        return cls(U, V.T @ M, V.T @ z, replace(level, a=V.T @ level.a))

    def fit(self, kernel: Kernel, start: Floats | None = None, steps: int = STEPS) -> Fit:
        """Maximises the evidence over the scale and the lengthscales, whose prior is centred at the
        kernel's own.

        `start` is a point to search from, as logarithms.
        """
        from scipy.optimize import minimize  # late: serving a policy does not need it

        centre = np.log([SCALE_GUESS, *lengthscales(kernel)])
        width = np.array([SCALE_WIDTH] + [LENGTH_WIDTH] * (len(centre) - 1))

        def loss(x: Floats) -> tuple[float, Floats]:
            value, slope = self._negative(kernel, x)
            penalty, pull = _prior((x - centre) / width)
            return value + penalty, slope + pull / width

        reach = np.array([4 * SCALE_WIDTH] + [LENGTH_REACH] * (len(centre) - 1))
        bounds = list(zip(centre - reach, centre + reach, strict=True))
        bounds[0] = (bounds[0][0], 0.0)  # rewards are in [-1, 1]
        first = centre if start is None else start
        best = minimize(
            loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
        )
        return Fit(
            with_lengthscales(kernel, np.exp(best.x[1:]).tolist()),
            float(np.exp(best.x[0])),
            -float(best.fun),
        )

    def fit_bumps(self, kernel: Kernel, lengths: Floats, P: Floats) -> Fit:
        """Sums of bumps with these lengthscales, whose prior is centred at those of `kernel`; of
        the scales the one that explains the release best."""
        from scipy.optimize import minimize_scalar  # late: serving a policy does not need it

        bump = with_lengthscales(kernel, lengths.tolist())
        S = self.M @ bump_covariance(bump, self.U, P) @ self.M.T
        fixed = self.level.covariance + np.eye(len(S))
        off = np.log(lengths / np.array(lengthscales(kernel))) / LENGTH_WIDTH

        def loss(log_scale: float) -> float:
            R = linalg.cholesky(np.exp(log_scale) * S + fixed)
            u = linalg.solve_lower(R, self.z)
            penalty, _ = _prior(np.append((log_scale - np.log(SCALE_GUESS)) / SCALE_WIDTH, off))
            return 0.5 * float(u @ u) + float(np.log(np.diag(R)).sum()) + penalty

        lowest = np.log(SCALE_GUESS) - 4 * SCALE_WIDTH
        best = minimize_scalar(loss, bounds=(lowest, 0.0), options={"xatol": 0.05})
        return Fit(bump, float(np.exp(best.x)), -float(best.fun), P)

    def _negative(self, kernel: Kernel, x: Floats) -> tuple[float, Floats]:
        """-log N(z; 0, C), C = I + v M K M' + o a a', and its gradient in log v and the log
        lengthscales.

        d/dx = 1/2 sum(W * v dK/dx),   W = M'(C^-1 - C^-1 z z' C^-1) M
        """
        v = float(np.exp(x[0]))
        K, slopes = with_slopes(with_lengthscales(kernel, np.exp(x[1:]).tolist()), self.U)
        C = v * (self.M @ K @ self.M.T) + self.level.covariance
        C[np.diag_indices_from(C)] += 1.0
        R = linalg.cholesky(C)
        half = linalg.solve_lower(R, self.M)
        u = linalg.solve_lower(R, self.z)
        a = half.T @ u
        W = half.T @ half - np.outer(a, a)
        slope = 0.5 * v * np.array([np.vdot(W, K), *slopes(W)])
        return 0.5 * float(u @ u) + float(np.log(np.diag(R)).sum()), slope


def _prior(off: Floats) -> tuple[float, Floats]:
    """-log density of the hyperparameters and its slope: the scale's is normal, the lengthscales'
    have heavy tails (Cauchy), so that a small deviation needs evidence and a large one does not
    need much more."""
    scale = off[0]
    lengths = off[1:]
    penalty = 0.5 * float(scale**2) + float(np.sum(np.log1p(lengths**2)))
    return penalty, np.concatenate([[scale], 2.0 * lengths / (1.0 + lengths**2)])


def candidates(
    kernels: Sequence[Kernel],
    U: Floats,
    M: Floats,
    z: Floats,
    level: Level,
    actions: int = 0,
    bumps: Floats | None = None,
) -> list[Fit]:
    """The best of each of several kernels with as many lengthscales, the problem's own first; then
    sums of bumps of that one, if points for them are given.

    The evidence may have several peaks, so the search for the own kernel begins at three places.
    """
    own = kernels[0]
    evidence = Evidence.of(own, U, M, z, level)
    first = max(
        (evidence.fit(own, start, STEPS) for start in _starts(own, actions)),
        key=lambda fit: fit.evidence,
    )
    found = [first]
    start = np.log([first.scale, *lengthscales(first.kernel)])
    for other in kernels[1:]:
        fit = evidence.fit(other, start, FEW_STEPS)
        found.append(replace(fit, evidence=fit.evidence - PREFERENCE))
    if bumps is not None:
        stated = np.array(lengthscales(own))
        learned = SHORTER * np.array(lengthscales(first.kernel))
        found += [evidence.fit_bumps(own, lengths, bumps) for lengths in (stated, learned)]
    return found


def _starts(kernel: Kernel, actions: int) -> list[Floats]:
    """The design's own lengthscales; those of the actions longer; those of the contexts longer."""
    centre = np.log([SCALE_GUESS, *lengthscales(kernel)])
    longer = np.zeros((3, len(centre)))
    longer[1, 1 : 1 + actions] = longer[2, 1 + actions :] = STRETCH
    return [centre + move for move in longer[: 3 if 0 < actions < len(centre) - 1 else 1]]
