"""What one round says about the value of a policy.

    psi = m(pi(c), c) + w (y - m(x, c)),      w = 1{x in window around pi(c)} / P(window | c)

`m` is a public prediction of the reward: that of a learned policy, or 0. Whatever it is, psi is
right on average, up to how much y - m changes within a window; the better the prediction, the less
psi varies. Rewards are in units of half their range, so y is in [-1, 1].

Predictions are clipped to public ranges, at the decision to [a, b], and in its window to

    m(x, c) = m(pi(c), c) + what x changes, between -d and e,

so that the shape of the prediction is kept where its height is cut. The weight is at most W, which
is public, too. So psi is, for a reward y,

    at least  min(a, b - W (b + e - y))   and at most  max(b, a + W (y - a + d)).

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

HEIGHTS = (0.3, 0.7)  # quantiles of the predictions at a policy's decisions, to which they are cut
CHANGES = (0.05, 0.95)  # the same of what changes within windows
STEPS = 8  # points of a window at which predictions are looked at
ROWS = 2048  # predicted at a time, always so many


@dataclass(frozen=True, eq=False)
class Bounds:
    """The public range of psi for one policy.

    Predictions at decisions are in [low, high], within windows they change by -down to up, weights
    are at most `weight`, and `prior` is a guess of the value.
    """

    low: float
    high: float
    down: float
    up: float
    weight: float
    prior: float

    def least(self, y: float) -> float:
        """The smallest psi where the reward is y."""
        return min(self.low, self.high - self.weight * (self.high + self.up - y))

    def most(self, y: float) -> float:
        """The largest psi where the reward is y."""
        return max(self.high, self.low + self.weight * (y - self.low + self.down))


@dataclass(frozen=True, eq=False, repr=False)
class Predicted:
    """Rounds with what is decided and predicted in them. Private.

    `expected` is the prediction at the action that was played; `chosen` and `at` hold for each rule
    its actions (NaN where it fails) and the predictions there.
    """

    X: Floats
    C: Floats
    y: Floats
    ratio: Floats
    usable: NDArray[np.bool_]
    expected: Floats
    chosen: list[Floats]
    at: list[Floats]


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
        return self.weighed(self.predicted(X, C, y, p))

    def predicted(self, X: Floats, C: Floats, y: Floats, p: Floats | None) -> Predicted:
        """Decisions and predictions in these rounds: what does not depend on the window."""
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
        contexts = self.problem.contexts
        chosen = []
        at = []
        for rule in self._rules:
            actions = rule.actions(C, contexts)
            chosen.append(actions)
            at.append(predictions(self.model, _centres(actions), C))
        return Predicted(X, C, y, ratio, usable, predictions(self.model, X, C), chosen, at)

    def weighed(self, rounds: Predicted) -> tuple[Floats, NDArray[np.bool_]]:
        """psi of each round and policy, and which rounds can be used."""
        decided = iter(zip(rounds.chosen, rounds.at, strict=True))
        columns = []
        for candidate, bounds in zip(self.candidates, self.bounds, strict=True):
            psi = np.zeros(len(rounds.y))
            for rule in candidate.rules:
                if rule.uniform:
                    score = np.minimum(rounds.ratio, bounds.weight) * rounds.y
                else:
                    score = self._score(bounds, rounds, *next(decided))
                psi = psi + rule.share * score
            columns.append(np.clip(psi, bounds.least(-1.0), bounds.most(1.0)))
        found = np.column_stack(columns)
        usable = rounds.usable & _finite(found)
        return np.where(usable[:, None], found, 0.0), usable

    @property
    def _rules(self) -> list[Rule]:
        """Those of all policies that decide."""
        return [rule for each in self.candidates for rule in each.rules if not rule.uniform]

    def _score(self, bounds: Bounds, rounds: Predicted, chosen: Floats, at: Floats) -> Floats:
        """psi of one rule, for its actions and what is predicted of them."""
        centres = _centres(chosen)
        weights = np.minimum(self._inverse(centres, rounds.C) * rounds.ratio, bounds.weight)
        w = np.where(self.window.inside(rounds.X, centres), weights, 0.0)
        height = np.clip(at, bounds.low, bounds.high)
        m = height + np.clip(rounds.expected - at, -bounds.down, bounds.up)
        return np.where(_finite(chosen), height + w * (rounds.y - m), np.nan)

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
    found = [_bounds_of(scorer, candidate, C, most) for candidate in scorer.candidates]
    return tuple(bounds for bounds, _ in found), np.array([cut for _, cut in found])


def _bounds_of(
    scorer: Scorer, candidate: Candidate, C: Floats, most: float
) -> tuple[Bounds, float]:
    heights = [np.zeros(1)]
    changes = [np.zeros(1)]
    prior = 0.0
    weight = 0.0
    cut = 0.0
    for rule in candidate.rules:
        if rule.uniform:
            _require_uniform(scorer)
            weight = max(weight, scorer.max_ratio or 1.0)
            continue
        centres = rule.actions(C, scorer.problem.contexts)
        _require_decisions(candidate, centres)
        largest, over = _largest_weight(scorer, centres, C, most)
        weight = max(weight, largest)
        cut += rule.share * over
        at = predictions(scorer.model, centres, C)
        prior += rule.share * float(at.mean())
        heights.append(at)
        around = scorer.window.around(centres, STEPS)
        changes += [predictions(scorer.model, X, C) - at for X in around]
    low, high = np.quantile(np.concatenate(heights[1:] or heights), HEIGHTS)
    down, up = np.quantile(np.concatenate(changes), CHANGES)
    return Bounds(
        float(low), float(high), max(-float(down), 0.0), max(float(up), 0.0), weight, prior
    ), cut


def _largest_weight(scorer: Scorer, centres: Floats, C: Floats, most: float) -> tuple[float, float]:
    """Of rounds in the windows around a rule's decisions, and for how large a share of contexts
    it would be more."""
    usual = float(np.max(1.0 / scorer.window.uniform_share(centres)))
    if scorer.max_ratio is not None:
        return scorer.max_ratio * usual, 0.0
    inverse = scorer._inverse(centres, C)
    known = inverse[np.isfinite(inverse)]
    largest = float(min(known.max(initial=1.0), most * usual))
    return largest, float(np.mean(~(inverse <= largest * (1 + 1e-9))))


def _centres(chosen: Floats) -> Floats:
    """Of windows; somewhere, where a rule has no action."""
    return np.where(_finite(chosen)[:, None], chosen, 0.5)


def _finite(rows: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(axis=1))


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
