"""One learner under attack: where to look is chosen on some studies, and counted on others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.audit.bounds import GAUSSIAN, Measure
from tacit.audit.evidence import count_best_event
from tacit.audit.findings import ALARM, RISK, ROUNDING
from tacit.core import Budget
from tacit_lab.arena.attack.neighbours import NEIGHBOURS, Neighbours
from tacit_lab.arena.attack.studies import Studies
from tacit_lab.arena.protocol import Learner

DELTA = 1e-6
# How many times the usual number of studies: fewer where they take long, more for a small leak.
STUDIES = {"tacit": 1 / 3, "tacit-epochs": 1 / 5, "linear-agents": 2.0}
# The epsilon that is claimed under attack. Noise is made by the same code at every epsilon; few
# studies tell most about Gaussian noise at a large one, and about anything else at a small one.
GAUSSIAN_EPSILON = 8.0
OTHER_EPSILON = 2.0
SILENT = 1e-9  # a standard deviation that counts as none


def _log_ratio(lo: Floats, hi: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(lo - DELTA, 1e-300)) - np.log(hi))


# P(E | a) <= e^eps P(E | b) + delta: it holds for every mechanism that is (eps, delta)-private.
PLAIN = Measure("(eps, delta)", _log_ratio, lambda epsilon, _: epsilon)


@dataclass(frozen=True)
class Effort:
    """Studies on each side: of each pair of data sets, to choose the pair; of that pair, to choose
    a direction; and to count (of which a quarter chooses the event)."""

    pilot: int = 12
    choose: int = 80
    count: int = 400

    def times(self, factor: float) -> Effort:
        """More studies, or fewer."""
        return Effort(self.pilot, round(factor * self.choose), round(factor * self.count))


@dataclass(frozen=True)
class Attack:
    """What was claimed, and what was proved with 95 % confidence. `refuted` says that the claim is
    wrong, with confidence 1 - 5e-8."""

    learner: str
    epsilon: float
    delta: float
    lower_bound: float
    refuted: bool
    measure: str
    neighbours: str
    rounds: int
    studies: int


def attack(
    name: str,
    kind: type[Learner],
    effort: Effort,
    pairs: Sequence[Neighbours] | None = None,
    delta: float = DELTA,
) -> Attack:
    """Attacks a learner, through the pair of data sets that tells its sides apart best: of these
    pairs, or of all that its promise covers."""
    measure = GAUSSIAN if kind.gaussian else PLAIN
    epsilon = GAUSSIAN_EPSILON if kind.gaussian else OTHER_EPSILON
    tried = [Studies(kind, pair, epsilon, delta) for pair in pairs or pairs_for(kind)]
    chosen = tried[0]
    if len(tried) > 1:
        pilots = [separation(*each.both(effort.pilot, "pilot")) for each in tried]
        chosen = tried[int(np.argmax(pilots))]
    towards = direction(*chosen.both(effort.choose, "choose"))
    a, b = (seen @ towards for seen in chosen.both(effort.count, "count"))
    counts = count_best_event(a, b, measure)
    claimed = epsilon
    if kind.gaussian:
        claimed = math.sqrt(2.0 * Budget(epsilon=epsilon, delta=delta).gaussian)
    return Attack(
        name,
        epsilon,
        delta,
        lower_bound=measure.epsilon(counts.bound(measure, RISK), delta),
        refuted=counts.bound(measure, ALARM) > claimed * ROUNDING,
        measure=measure.name,
        neighbours=chosen.neighbours.name,
        rounds=chosen.neighbours.horizon,
        studies=2 * ((len(tried) > 1) * len(tried) * effort.pilot + effort.choose + effort.count),
    )


def usual_effort(learner: str) -> Effort:
    """The studies that the stored table is made of."""
    return Effort().times(STUDIES.get(learner, 1.0))


def pairs_for(kind: type[Learner]) -> list[Neighbours]:
    """Pairs that the learner's promise covers: whoever protects rewards only, say, is not to hide a
    context."""
    words = kind.protects
    only_reward = "reward" in words and "context" not in words
    only_context = "context" in words and "reward" not in words
    if only_context:
        return [pair for pair in NEIGHBOURS if pair.same_reward]
    return [
        pair
        for pair in NEIGHBOURS
        if not pair.same_reward and (pair.same_context or not only_reward)
    ]


def direction(a: Floats, b: Floats) -> Floats:
    """Fisher's linear discriminant: along it the two sides are farthest apart, in standard
    deviations."""
    shift = a.mean(axis=0) - b.mean(axis=0)
    inside = np.vstack([a - a.mean(axis=0), b - b.mean(axis=0)])
    scale = np.maximum(inside.std(axis=0), SILENT)
    inside = inside / scale
    # a ridge against numbers that seem to tell by chance: more of them, fewer studies, a larger one
    covariance = (inside.T @ inside + len(scale) * np.eye(len(scale))) / len(inside)
    return np.asarray(np.linalg.solve(covariance, shift / scale) / scale)


def separation(a: Floats, b: Floats) -> float:
    """How far apart the second halves are along the direction that the first halves choose, in
    standard deviations."""
    half = len(a) // 2
    towards = direction(a[:half], b[:half])
    x = a[half:] @ towards
    y = b[half:] @ towards
    spread = math.sqrt((x.var() + y.var()) / 2.0) + SILENT
    return float((x.mean() - y.mean()) / spread)
