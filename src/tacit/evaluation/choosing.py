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
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tacit._typing import Floats
from tacit.domains import Domain
from tacit.evaluation.candidates import Candidate
from tacit.evaluation.scoring import HEIGHTS
from tacit.evaluation.windows import Window, parts_of
from tacit.policy import Policy
from tacit.policy.visitors import spread

WIDEST = (0.2, 0.32, 0.4)  # for actions of one, two and more numbers
NARROWEST = 0.03
TRIED = 32  # widths from the widest to the narrowest
CONTEXTS = 32
STEPS = 8
SPREAD = 256  # public points at which the mean square of predictions is taken
RESIDUAL_SQUARE = 0.1  # guessed mean square of y - m where nothing was learned
LEAST_SQUARE = 0.005
# The largest error of a window, in standard errors without it: intervals with room for it hold a
# truth without it in 97.2 % of all logs, and one that is off by 1.4 times as much in 93 %.
MOST_BIAS = 0.5
DOUBT = 0.2  # the share of what the prediction itself bends within windows that may be wrong
UNKNOWN = 0.3  # guessed B / width^2 where nothing was learned


def widths(actions: Domain) -> list[float]:
    """Those that are thought of, from the widest to the narrowest. Labels have none: 1."""
    if not actions.continuous:
        return [1.0]
    numbers = sum(part.dimension for part, _ in parts_of(actions) if part.continuous)
    widest = WIDEST[min(numbers, len(WIDEST)) - 1]
    return [float(width) for width in np.geomspace(widest, NARROWEST, TRIED).round(3)]


def choose_width(
    candidates: tuple[Candidate, ...],
    actions: Domain,
    model: tuple[Policy, Floats] | None,
    records: int,
    noise: Floats,
    baseline: int = 0,
) -> float:
    """The width with the smallest expected error, among those whose windows are wrong by at most
    `MOST_BIAS` standard errors, for so many records. Actions have numbers. `noise` are the
    standard deviations of the privacy noise in values and differences with the widest window: it
    grows as weights do. `model` is a learned policy, with public contexts."""
    tried = widths(actions)
    residuals = None if model is None else _Residuals.of(candidates, *model, baseline)
    least = _weight(Window(actions, tried[0]))
    best = math.inf
    chosen = 0.0
    for width in tried:
        window = Window(actions, width)
        weight = _weight(window)
        squares = np.full(len(noise), RESIDUAL_SQUARE)
        errors = np.full(len(noise), UNKNOWN * width**2)
        if model is not None and residuals is not None:
            squares = residuals.squares(window)
            errors = np.array(window_errors(candidates, window, *model, baseline))
        variances = (noise * weight / least) ** 2 + squares * weight / records
        total = float(np.max(variances + errors**2))
        if total >= best:
            break  # narrower ones have more noise
        chosen = width
        if np.all(errors <= MOST_BIAS * np.sqrt(variances)):
            best = total
    return chosen


def _weight(window: Window) -> float:
    """Of rounds inside a window, under uniform play."""
    return 1.0 / float(np.mean(window.uniform_share(window.actions.candidate_points(64))))


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


@dataclass(frozen=True, eq=False)
class _Residuals:
    """What is expected of w (y - m), where w is the weight of a round and m its prediction.

    `shares` has a row for each policy, then one for the difference of each other from the baseline,
    and a column for each rule; `centres` are actions of the rules in public contexts (None for
    uniform play), and `roots` those of the mean squares of y - m.
    """

    shares: Floats
    centres: list[Floats | None]
    roots: Floats

    @classmethod
    def of(
        cls, candidates: tuple[Candidate, ...], model: Policy, C: Floats, baseline: int
    ) -> _Residuals:
        C = _some(C)
        owned = [(j, rule) for j, each in enumerate(candidates) for rule in each.rules]
        shares = np.zeros((len(candidates), len(owned)))
        centres: list[Floats | None] = []
        for r, (j, rule) in enumerate(owned):
            shares[j, r] = rule.share
            centres.append(None if rule.uniform else rule.actions(C, model.problem.contexts))
        others = [j for j in range(len(candidates)) if j != baseline]
        shares = np.vstack([shares, shares[others] - shares[[baseline]]])
        roots = np.sqrt([_square_at(each, model, C) for each in centres])
        return cls(shares, centres, roots)

    def squares(self, window: Window) -> Floats:
        """The mean squares of w (y - m), in units of the weight inside a window.

        Rules see the same rounds where their windows overlap, so that a difference varies the less
        the more its two policies agree.
        """
        together = self._overlaps(window) * np.outer(self.roots, self.roots)
        return np.asarray(np.einsum("ir,rs,is->i", self.shares, together, self.shares))

    def _overlaps(self, window: Window) -> Floats:
        """How much of the window of one rule is in that of another, on average over contexts. A
        window is a small share of all actions, which is what uniform play has of it."""
        found = np.full((len(self.centres), len(self.centres)), 1.0 / _weight(window))
        for r, one in enumerate(self.centres):
            around = [] if one is None else window.around(one, STEPS)
            for s, other in enumerate(self.centres):
                if around and other is not None:
                    found[r, s] = np.mean([window.inside(X, other) for X in around])
        return (found + found.T) / 2


def _square_at(centres: Floats | None, model: Policy, C: Floats) -> float:
    """The mean square of y - m around these actions; for uniform play a bound of that of y.

    Predictions at decisions are clipped in `scoring`: what is cut from them stays in y - m.
    """
    if centres is None:
        return 1.0
    at = model.posterior.reward(np.hstack([centres, C]))
    cut = at - np.clip(at, *np.quantile(at, HEIGHTS))
    value = min(max(float(at.mean()), -1.0), 1.0)
    return residual_square(model, value) + float(np.mean(cut**2))


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
