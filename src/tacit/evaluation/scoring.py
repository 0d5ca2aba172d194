"""What one round says about the value of a policy.

    psi = m(pi(c), c) + w (y - m(x, c)),      w = 1{x in window around pi(c)} / P(window | c)

`m` is a public prediction of the reward: that of a learned policy, clipped to a public band, or 0.
Whatever it is, psi is right on average, up to how much y - m changes within a window; the better
the prediction, the less psi varies. Rewards are in units of half their range, so y is in [-1, 1].

The weight has a public maximum W, and m is in [a, b]. So psi is, for a reward y,

    between  a - W max(b - y, 0)  and  b + W max(y - a, 0).

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
from tacit.evaluation.windows import Window
from tacit.kernels.rows import sees_batches
from tacit.play import PlayLaw
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.quiet import quiet

BAND = (0.01, 0.99)  # quantiles of the predictions near a policy's decisions
STEPS = 8  # points of a window at which predictions are looked at
ROWS = 2048  # predicted at a time, always so many


@dataclass(frozen=True, eq=False)
class Bounds:
    """The public range of psi for one policy: predictions in [low, high], weights up to `weight`,
    and the `prior` guess of the value."""

    low: float
    high: float
    weight: float
    prior: float

    def least(self, y: float) -> float:
        """The smallest psi where the reward is y."""
        return self.low - self.weight * max(self.high - y, 0.0)

    def most(self, y: float) -> float:
        """The largest psi where the reward is y."""
        return self.high + self.weight * max(y - self.low, 0.0)


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
        usable = np.isfinite(X).all(axis=1) & np.isfinite(C).all(axis=1) & np.isfinite(y)
        ratio = np.ones(len(y))
        if self.max_ratio is not None:
            assert p is not None
            ratio = self._ratios(p)
            usable = usable & np.isfinite(ratio)
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
        usable = usable & np.isfinite(found).all(axis=1)
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
        known = np.isfinite(chosen).all(axis=1)
        centres = np.where(known[:, None], chosen, 0.5)
        inverse = self._inverse(centres, C) * ratio
        w = np.where(self.window.inside(X, centres), np.minimum(inverse, bounds.weight), 0.0)
        m = np.clip(expected, bounds.low, bounds.high)
        m_chosen = np.clip(predictions(self.model, centres, C), bounds.low, bounds.high)
        return np.where(known, m_chosen + w * (y - m), np.nan)

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
            if scorer.max_ratio is not None:
                largest = float(scorer.max_ratio * usual.max())
            else:
                known = inverse[np.isfinite(inverse)]
                largest = float(min(known.max(initial=1.0), most * usual.max()))
                over += rule.share * float(np.mean(~(inverse <= largest * (1 + 1e-9))))
            weight = max(weight, largest)
            at = predictions(scorer.model, centres, C)
            means += rule.share * float(at.mean())
            near += [at] + [
                predictions(scorer.model, X, C) for X in scorer.window.around(centres, STEPS)
            ]
        low, high = np.quantile(np.concatenate(near), BAND)
        found.append(Bounds(float(low), float(high), weight, means))
        cut.append(over)
    return tuple(found), np.array(cut)


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
