"""What one round says about the value of a policy.

    psi = m(pi(c), c) + w (y - m(x, c)),      w = 1{x in window around pi(c)} / P(window | c)

`m` is a public prediction of the reward: that of a learned policy, clipped to a public band, or 0.
Whatever it is, psi is right on average, up to how much y - m changes within a window; the better
the prediction, the less psi varies. Rewards are in units of half their range, so y is in [-1, 1].

The weight is between -N and W, which are public, and m is in [a, b]. So psi is, for a reward y,

    at least  a - max(W (b - y)+, N (y - a)+)   and at most  b + max(W (y - a)+, N (b - y)+).

The residual y - m is never clipped to less than its range: a policy is chosen where m is too high,
and clipping what contradicts it would hide that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit._typing import Floats
from tacit.errors import InputError
from tacit.evaluation.candidates import Candidate, Rule
from tacit.evaluation.propensities import inverse_probability
from tacit.evaluation.windows import LEAST_RATIO, Window, parts_of
from tacit.kernels.rows import sees_batches
from tacit.play import PlayLaw
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.quiet import quiet

BAND = (0.1, 0.9)  # quantiles of the predictions near a policy's decisions
STEPS = 8  # points of a window at which predictions are looked at
ROWS = 2048  # predicted at a time, always so many


@dataclass(frozen=True, eq=False)
class Bounds:
    """The public range of psi for one policy: predictions in [low, high], weights from `-negative`
    to `weight`, and the `prior` guess of the value."""

    low: float
    high: float
    weight: float
    prior: float
    negative: float = 0.0

    def least(self, y: float) -> float:
        """The smallest psi where the reward is y."""
        below = max(self.high - y, 0.0)
        above = max(y - self.low, 0.0)
        return self.low - max(self.weight * below, self.negative * above)

    def most(self, y: float) -> float:
        """The largest psi where the reward is y."""
        below = max(self.high - y, 0.0)
        above = max(y - self.low, 0.0)
        return self.high + max(self.weight * above, self.negative * below)


@dataclass(frozen=True, eq=False)
class Scorer:
    """Turns rounds into psi. All of it is public.

    `law` is how the log was played, None for uniformly; with `max_ratio` rounds have propensities
    instead, and weigh at most so many times as much as under uniform play.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    window: Window
    bounds: tuple[Bounds, ...]
    model: Policy | None = None
    law: PlayLaw | None = None
    max_ratio: float | None = None

    def scores(
        self, X: Floats, C: Floats, y: Floats, p: Floats | None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """psi of each round and policy, and which rounds can be used. Rounds that cannot have 0."""
        usable = _finite(np.hstack([X, C, y[:, None]]))
        ratio = np.ones(len(y))
        if self.max_ratio is not None:
            assert p is not None
            ratio = self._ratios(p)
            usable = usable & _finite(ratio[:, None])
        X = np.where(usable[:, None], X, 0.5)
        C = np.where(usable[:, None], C, 0.5)
        if not self.problem.actions.continuous:
            X = self.problem.actions.project_points(X)
        C = self.problem.contexts.project_points(C)
        y = np.where(usable, y, 0.0)
        expected = predictions(self.model, X, C)
        columns = []
        for candidate, bounds in zip(self.candidates, self.bounds, strict=True):
            psi = np.zeros(len(y))
            for rule in candidate.rules:
                psi = psi + rule.share * self._score(rule, bounds, X, C, y, ratio, expected)
            columns.append(np.clip(psi, bounds.least(-1.0), bounds.most(1.0)))
        found = np.column_stack(columns)
        usable = usable & _finite(found)
        return np.where(usable[:, None], found, 0.0), usable

    def _score(
        self,
        rule: Rule,
        bounds: Bounds,
        X: Floats,
        C: Floats,
        y: Floats,
        ratio: Floats,
        expected: Floats,
    ) -> Floats:
        """psi of one rule."""
        if rule.uniform:
            return np.minimum(ratio, bounds.weight) * y
        chosen = rule.actions(C, self.problem.contexts)
        known = _finite(chosen)
        centres = np.where(known[:, None], chosen, 0.5)
        w = np.clip(self._weights(X, centres, C) * ratio, -bounds.negative, bounds.weight)
        m = np.clip(expected, bounds.low, bounds.high)
        m_chosen = np.clip(predictions(self.model, centres, C), bounds.low, bounds.high)
        return np.where(known, m_chosen + w * (y - m), np.nan)

    def _weights(self, X: Floats, centres: Floats, C: Floats) -> Floats:
        """w before it is bounded: that of the inner window, less that of the outer."""
        outer = self.window.outer(centres)
        w = np.where(self.window.inside(X, centres), self._inverse(centres, C), 0.0)
        if not outer.factor.any():
            return w
        inside = self.window.inside(X, centres, outer.ratio)
        wide = inside / self.window.uniform_share(centres, outer.ratio)
        return outer.inner_factor * w - outer.factor * wide

    def _inverse(self, centres: Floats, C: Floats) -> Floats:
        law = None if self.max_ratio is not None else self.law
        return inverse_probability(law, self.window, centres, C, self.problem.contexts)

    def _ratios(self, p: Floats) -> Floats:
        """Uniform density / propensity; NaN where that makes no sense."""
        actions = self.problem.actions
        most = np.inf if actions.continuous else 1.0
        good = (p > 0.0) & (p <= most) & (p < np.inf)  # false for NaN
        ratio = actions.uniform_density / np.where(good, p, 1.0)
        assert self.max_ratio is not None
        return np.where(good, np.minimum(ratio, self.max_ratio), np.nan)


def predictions(model: Policy | None, X: Floats, C: Floats) -> Floats:
    """m(x, c) in units of half the reward range, within [-1, 1]. Of a kernel that is not Tacit's
    own one row at a time."""
    if model is None:
        return np.zeros(len(X))
    W = np.hstack([X, C])
    height = ROWS if sees_batches(model.posterior.kernel) else 1
    found = []
    with quiet():
        for start in range(0, len(W), height):
            rows = W[start : start + height]
            padded = np.vstack([rows, np.tile(rows[-1:], (height - len(rows), 1))])
            found.append(model.posterior.reward(padded)[: len(rows)])
    return np.clip(np.concatenate(found), -1.0, 1.0)


def public_bounds(scorer: Scorer, C: Floats, most: float) -> tuple[tuple[Bounds, ...], Floats]:
    """The bounds of psi, from public contexts, with weights of at most `most` times those under
    uniform play. With them, for each policy the share of these contexts whose weights are cut."""
    found = []
    cut = []
    for candidate in scorer.candidates:
        near: list[Floats] = []
        means = 0.0
        weight = 0.0
        negative = 0.0
        over = 0.0
        for rule in candidate.rules:
            if rule.uniform:
                _require_uniform(scorer)
                near.append(np.zeros(1))
                weight = max(weight, scorer.max_ratio or 1.0)
                continue
            centres = rule.actions(C, scorer.problem.contexts)
            _require_decisions(candidate, centres)
            inverse = scorer._inverse(centres, C)
            usual = 1.0 / scorer.window.uniform_share(centres)
            if scorer.window.corrected:
                largest = _largest_weight(scorer.window, usual.max())
                own = _largest_negative(scorer.window, usual.max()) * (scorer.max_ratio or 1.0)
                negative = max(negative, own)
            elif scorer.max_ratio is not None:
                largest = float(usual.max())
            else:
                known = inverse[np.isfinite(inverse)]
                largest = float(min(known.max(initial=1.0), most * usual.max()))
                over += rule.share * float(np.mean(~(inverse <= largest * (1 + 1e-9))))
            weight = max(weight, largest * (scorer.max_ratio or 1.0))
            at = predictions(scorer.model, centres, C)
            means += rule.share * float(at.mean())
            near += [at] + [
                predictions(scorer.model, X, C) for X in scorer.window.around(centres, STEPS)
            ]
        low, high = np.quantile(np.concatenate(near), BAND)
        found.append(Bounds(float(low), float(high), weight, means, negative))
        cut.append(over)
    return tuple(found), np.array(cut)


def _finite(rows: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(axis=1))


def _largest_weight(window: Window, inverse: float) -> float:
    """Of rounds in the inner window, where the smallest outer window has the most of it."""
    d = sum(part.dimension for part, _ in parts_of(window.actions) if part.continuous)
    r = LEAST_RATIO
    return float(inverse * (r**2 - r**-d) / (r**2 - 1.0))


def _largest_negative(window: Window, inverse: float) -> float:
    """Of rounds in the outer window alone."""
    d = sum(part.dimension for part, _ in parts_of(window.actions) if part.continuous)
    r = LEAST_RATIO
    return float(inverse * r**-d / (r**2 - 1.0))


def _require_uniform(scorer: Scorer) -> None:
    if scorer.law is not None:
        raise InputError(
            "random play can be evaluated from a log of uniform play, or from one with "
            "propensities: leave it out."
        )


def _require_decisions(candidate: Candidate, actions: Floats) -> None:
    """Fails if a policy has no action for some public context."""
    if not np.isfinite(actions).all():
        raise InputError(
            f"the policy {candidate.name!r} ({candidate.description}) fails, or has no complete "
            "action, for some contexts of the problem: it must have one for every context, given "
            "as a dict of columns."
        )
