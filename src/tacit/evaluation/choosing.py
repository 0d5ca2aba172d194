"""The width of the window, and what it may be wrong by. Both follow from public numbers.

A wider window has less privacy noise (in proportion to 1 / P) and less sampling noise (to
1 / sqrt(P)), and confounds decisions with what lies beside them. By how much is known from the
posterior of the learned policy: the estimate is wrong by

    B = mean over contexts of ( mean over the window of (f - m) - (f - m)(pi(c), c) ),

which is linear in the reward function f, so its posterior is normal, around 0. Decisions are where
the prediction peaks, and there a true peak is often sharper than what a smooth kernel makes of it.
So a share of what the prediction itself bends within windows is added to the error.

B is the same in every log, so an interval with room for it covers a truth without B too often, and
one with a larger B too rarely. Both stay small where windows are narrow enough that B is expected
to be a fraction of the standard error (undersmoothing), as `MOST_BIAS` asks for.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.evaluation.candidates import Candidate
from tacit.evaluation.scoring import CHANGES, HEIGHTS
from tacit.evaluation.windows import Window, parts_of
from tacit.policy import Policy
from tacit.policy.visitors import spread

# From the widest to the narrowest.
WIDTHS = tuple(
    hundredths / 100
    for hundredths in (
        40,
        36,
        32,
        28,
        25,
        22.5,
        20,
        18,
        16,
        15,
        14,
        12.5,
        11,
        10,
        9,
        8,
        7,
        6,
        5,
        4,
        3,
    )
)
WIDEST = (0.2, 0.32, 0.4)  # for actions of one, two and more numbers
CONTEXTS = 32
STEPS = 8
SPREAD = 256  # public points at which the mean square of predictions is taken
RESIDUAL_SQUARE = 0.1  # guessed mean square of y - m where nothing was learned
LEAST_SQUARE = 0.005
APART = 1.2  # the variance of a difference, in units of the larger of its two
MOST_BIAS = 0.58  # the largest error of a window, in standard errors without it
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
    """The width with the smallest expected error, among those whose windows are wrong by at most
    `MOST_BIAS` standard errors, for so many records and this noise of the mean of an entry.
    `model` is a learned policy, with public contexts."""
    if not actions.continuous:
        return 1.0
    best = math.inf
    chosen = 0.0
    for width in _widths(actions):
        window = Window(actions, width)
        weight = 1.0 / float(np.mean(window.uniform_share(actions.candidate_points(64))))
        largest, square = _guesses(candidates, window, model, baseline)
        variances = (noise * weight * largest) ** 2 + square * weight / records
        errors = np.full(len(variances), UNKNOWN * width**2)
        if model is not None:
            errors = np.array(window_errors(candidates, window, *model, baseline))
        total = float(np.max(variances + errors**2))
        if total >= best:
            break  # narrower ones have more noise
        chosen = width
        if np.all(errors <= MOST_BIAS * np.sqrt(variances)):
            best = total
    return chosen


def residual_square(model: Policy, value: float) -> float:
    """The mean square of y - m where rewards have this mean, from what was released when the policy
    was learned.

    That is the mean over all actions. Rewards in [-1, 1] vary less where they are near an end of
    their range; as those of -1 or 1 do, in proportion to 1 - mean^2.
    """
    X = spread(model.problem.actions, SPREAD)
    C = spread(model.problem.contexts, SPREAD)
    turned = np.random.default_rng(0).permutation(SPREAD)
    m = np.clip(model.posterior.reward(np.hstack([X, C[turned]])), -1.0, 1.0)
    clip = model.facts.get("residual_clip")
    found = model.posterior.mean_square
    # A policy of one pass was learned from rewards, and the mean square is theirs.
    found = found - float(np.mean(m**2)) if clip is None else _unclipped(found, float(clip))
    share = (1.0 - value**2) / max(float(np.mean(1.0 - m**2)), LEAST_SQUARE)
    return min(max(found * share, LEAST_SQUARE), 1.0)


def _unclipped(square: float, clip: float) -> float:
    """The variance of a normal law whose square has this mean once it is cut at clip^2.

    For a law of variance 1 and a clip of a it is 2 Phi(a) - 1 - 2 a phi(a) + 2 a^2 (1 - Phi(a)).
    """
    a = np.geomspace(0.1, 10.0, 200)
    density = np.exp(-(a**2) / 2) / math.sqrt(2 * math.pi)
    kept = 2 * ndtr(a) - 1 - 2 * a * density + 2 * a**2 * ndtr(-a)
    at = np.interp(-square / clip**2, -kept / a**2, a)  # falls from 1 to 1 / a^2
    return float((clip / at) ** 2)


def _guesses(
    candidates: tuple[Candidate, ...],
    window: Window,
    model: tuple[Policy, Floats] | None,
    baseline: int,
) -> tuple[Floats, Floats]:
    """The largest and the mean square of y - m for each policy, then for the differences of all
    others from the baseline."""
    others = [j for j in range(len(candidates)) if j != baseline]
    if model is None:
        size = len(candidates) + len(others)
        return np.ones(size), np.full(size, RESIDUAL_SQUARE)
    policy, C = model
    found = [_residuals(each, window, policy, _some(C)) for each in candidates]
    largest = [each[0] for each in found]
    square = [each[1] for each in found]
    largest += [math.sqrt(APART) * max(largest[j], largest[baseline]) for j in others]
    square += [APART * max(square[j], square[baseline]) for j in others]
    return np.array(largest), np.array(square)


def _residuals(
    candidate: Candidate, window: Window, policy: Policy, C: Floats
) -> tuple[float, float]:
    """The largest and the mean square of y - m for a policy.

    Predictions at decisions are clipped in `scoring`: what is cut from them stays in y - m.
    """
    at = np.zeros(len(C))
    changes = np.zeros((STEPS, len(C)))
    for rule in candidate.rules:
        if not rule.uniform:
            centres = rule.actions(C, policy.problem.contexts)
            points = [np.hstack([X, C]) for X in (centres, *window.around(centres, STEPS))]
            rewards = rule.share * policy.posterior.reward(np.vstack(points)).reshape(-1, len(C))
            at += rewards[0]
            changes += rewards[1:] - rewards[0]
    value = min(max(float(at.mean()), -1.0), 1.0)
    down, up = np.quantile(changes, CHANGES)
    beyond = max(float(up if value > 0 else -down), 0.0)
    cut = at - np.clip(at, *np.quantile(at, HEIGHTS))
    return 1.0 + abs(value) + beyond, residual_square(policy, value) + float(np.mean(cut**2))


def _widths(actions: Domain) -> list[float]:
    numbers = sum(part.dimension for part, _ in parts_of(actions) if part.continuous)
    widest = WIDEST[min(numbers, len(WIDEST)) - 1]
    return [width for width in WIDTHS if width <= widest]


def _some(C: Floats) -> Floats:
    return C[:: max(1, len(C) // CONTEXTS)][:CONTEXTS]


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
    C = _some(C)
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
