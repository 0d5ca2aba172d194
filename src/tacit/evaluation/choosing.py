"""The width of the window, and what it may be wrong by. Both follow from public numbers.

A wider window has less privacy noise (in proportion to 1 / P) and less sampling noise (to
1 / sqrt(P)), and confounds decisions with what lies beside them. By how much is known from the
posterior of the learned policy: the estimate is wrong by

    B = mean over contexts of ( mean over the window of (f - m) - (f - m)(pi(c), c) ),

which is linear in the reward function f, so its posterior is normal, around 0. Decisions are where
the prediction peaks, and there a true peak is often sharper than what a smooth kernel makes of it.
So a share of what the prediction itself bends within windows is added to the error.
"""

from __future__ import annotations

import numpy as np

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.evaluation.candidates import Candidate
from tacit.evaluation.windows import Window, parts_of
from tacit.policy import Policy

WIDTHS = (0.03, 0.04, 0.06, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4)
WIDEST = (0.2, 0.32, 0.4)  # for actions of one, two and more numbers
CONTEXTS = 32
STEPS = 8
RESIDUAL_SQUARE = 0.1  # guessed mean square of y - m, in units of half the reward range
RANGE = 1.5  # the noise of a value, in units of W and of the noise of an entry
DOUBT = 0.2  # the share of what the prediction itself bends within windows that may be wrong
UNKNOWN = 0.3  # guessed B / width^2 where nothing was learned


def choose_width(
    candidates: tuple[Candidate, ...],
    actions: Domain,
    model: tuple[Policy, Floats] | None,
    records: int,
    noise: float,
    baseline: int = 0,
) -> float:
    """The width with the smallest expected error of a value, for so many records and this noise of
    the mean of an entry. `model` is a learned policy, with public contexts."""
    if not actions.continuous:
        return 1.0
    numbers = sum(part.dimension for part, _ in parts_of(actions) if part.continuous)
    widest = WIDEST[min(numbers, len(WIDEST)) - 1]
    widths = [width for width in WIDTHS if width <= widest]
    errors = []
    for width in widths:
        window = Window(actions, width)
        weight = 1.0 / float(np.mean(window.uniform_share(actions.candidate_points(64))))
        bias = UNKNOWN * width**2
        if model is not None:
            bias = max(window_errors(candidates, window, *model, baseline))
        errors.append((RANGE * noise * weight) ** 2 + RESIDUAL_SQUARE * weight / records + bias**2)
    return widths[int(np.argmin(errors))]


def window_errors(
    candidates: tuple[Candidate, ...],
    window: Window,
    model: Policy,
    C: Floats,
    baseline: int = 0,
) -> list[float]:
    """The posterior standard deviations of B: for each policy, then for the differences of all
    others from the baseline. In units of half the reward range."""
    contexts = model.problem.contexts
    C = C[:: max(1, len(C) // CONTEXTS)][:CONTEXTS]
    points: list[Floats] = []
    weights: list[Floats] = []
    for j, candidate in enumerate(candidates):
        for rule in candidate.rules:
            if rule.uniform:
                continue
            centres = rule.actions(C, contexts)
            share = rule.share / len(C)
            terms = [(centres, -share)]
            terms += [(X, share / STEPS) for X in window.around(centres, STEPS)]
            for X, h in terms:
                points.append(np.hstack([X, C]))
                row = np.zeros((len(candidates), len(C)))
                row[j] = h
                weights.append(row)
    if not points or not window.actions.continuous:
        return [0.0] * (2 * len(candidates) - 1)
    W = np.vstack(points)
    H = np.hstack(weights)
    others = [j for j in range(len(candidates)) if j != baseline]
    H = np.vstack([H, H[others] - H[[baseline]]])
    kernel = model.posterior.kernel
    kappa = H @ np.asarray(kernel(W, model.posterior.landmarks))
    prior = np.einsum("ij,jk,ik->i", H, np.asarray(kernel(W, W)), H, optimize=True)
    variance = model.posterior.functional_variance(kappa, prior)
    bend = DOUBT * model.posterior.functional_mean(kappa)
    return [float(each) for each in np.sqrt(variance + bend**2)]
