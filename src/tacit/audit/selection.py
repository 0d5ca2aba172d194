"""Attacks on choices: which candidate came out, again and again, on two neighbouring sums.

Scores are computed as a study computes them: integer weights times the private sum, with the
sensitivity that the weights' diameter gives. Candidate 0 has the weight +t, its rivals -t, and the
record that differs is +v or -v with full norm, so the score of candidate 0 moves against its rivals
by twice the sensitivity: as far as is possible.

    crowd     many rivals, all alike: the more, the closer to the claim, and the rarer the event
              that tells
    duel      one rival, and 62 decoys so far behind that they never win: the event that tells is
              as likely as can be
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import PURE, ZCDP, Measure
from tacit.audit.evidence import by_likelihood, count_best_event, count_event
from tacit.audit.findings import Clock, Finding, Show, part, sampled
from tacit.audit.ledger import spent_on_choices
from tacit.core import budget
from tacit.core.contribution import Encoding
from tacit.core.events import Exponential, PermuteAndFlip, price
from tacit.core.selection import integer_weights, selection_measurement, sensitivity
from tacit.core.sums import PrivateSum
from tacit.progress import Progress, silent

Integers = NDArray[np.int64]
Choice = Exponential | PermuteAndFlip
# (candidates, event, delta) -> a function from scores to an index
Maker = Callable[[int, Choice, int], Any]

CANDIDATES = 64
SUPPORTERS = 80  # shared records that keep the decoys behind
EVERY = 256  # draws between two signs of progress


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two neighbouring sums, the candidates' weights, and the sensitivity that is claimed for their
    scores."""

    sums: tuple[PrivateSum, PrivateSum]
    theta: Integers
    delta: int

    def scores(self, side: int) -> list[int]:
        return [int(score) for score in self.theta @ self.sums[side]._value()]


def neighbour_scores(
    encoding: Encoding,
    *,
    candidates: int = CANDIDATES,
    rivals: int = 1,
    level: bool = True,
    sensitivity: Callable[[Integers, Encoding], int] = sensitivity,
) -> Neighbours:
    """`level`: candidate 0 ties with its rivals on one side; otherwise it is as far ahead as it is
    behind."""
    decoys = candidates - 1 - rivals
    q = np.array([[1.0, 0.0]] + [[-1.0, 0.0]] * rivals + [[0.0, -1.0]] * decoys)
    theta = integer_weights(q, encoding)
    shared = [[1.0 if level else 0.0, 0.0]] + [[0.0, 1.0]] * SUPPORTERS
    up = PrivateSum(encoding)
    down = PrivateSum(encoding)
    for total, sign in ((up, 1.0), (down, -1.0)):
        total.add(np.array([[sign, 0.0], *shared]), len(shared) + 1)
    return Neighbours((up, down), theta, sensitivity(theta, encoding))


def attack_choice(
    name: str,
    *,
    event: Choice,
    neighbours: Neighbours,
    samples: int,
    measure: Measure = PURE,
    make: Maker = selection_measurement,
    progress: Progress = silent,
) -> Finding:
    """Claim: the event's pure epsilon, or the same number as the exponential mechanism's range."""
    clock = Clock()
    a, b = _both(name, neighbours, event, samples, make, progress)
    counts = count_best_event(*by_likelihood(a, b), measure)
    claimed = float(price(event, budget.PURE))
    about = (
        f"one record replaced by its opposite; the set of {len(neighbours.theta)} candidates that "
        "tells most"
    )
    return sampled(
        name, claimed, counts, measure, samples=2 * samples, delta=0.0, clock=clock, about=about
    )


def attack_composition(
    name: str = "repeated choices",
    *,
    event: Exponential,
    neighbours: Neighbours,
    choices: int,
    delta: float,
    samples: int,
    make: Maker = selection_measurement,
    spent: Callable[[Exponential, int], float] = spent_on_choices,
    progress: Progress = silent,
) -> Finding:
    """Claim: the rho that a ledger charges for so many choices. The attacker calls out if candidate
    0 won most of them.

    The event is fixed beforehand, so all runs count: of two candidates that are as far ahead as
    behind, no other number of wins tells more.
    """
    clock = Clock()
    a, b = _both(name, neighbours, event, samples * choices, make, progress)
    wins_a = np.sum(a.reshape(samples, choices) == 0, axis=1).astype(np.float64)
    wins_b = np.sum(b.reshape(samples, choices) == 0, axis=1).astype(np.float64)
    counts = count_event(wins_a, wins_b, choices // 2 + 1)
    about = (
        f"{choices} choices from one sum, as a ledger priced them; whether one candidate won most "
        "of them"
    )
    charged = spent(event, choices)
    return sampled(
        name, charged, counts, ZCDP, samples=2 * samples, delta=delta, clock=clock, about=about
    )


def _both(
    name: str, neighbours: Neighbours, event: Choice, n: int, make: Maker, progress: Progress
) -> tuple[Integers, Integers]:
    choose = make(len(neighbours.theta), event, neighbours.delta)
    a = _draws(choose, neighbours.scores(0), n, part(progress, name, 0, 2))
    b = _draws(choose, neighbours.scores(1), n, part(progress, name, 1, 2))
    return a, b


def _draws(choose: Callable[[list[int]], int], scores: list[int], n: int, show: Show) -> Integers:
    """`n` independent choices. The measurement is built once; `noisy_max` would build the same one
    for every draw."""
    chosen = np.empty(n, dtype=np.int64)
    for i in range(n):
        chosen[i] = choose(scores)
        if i % EVERY == 0:
            show(i, n)
    show(n, n)
    return chosen
