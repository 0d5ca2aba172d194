"""How far the draws of Thompson sampling are spread around the posterior mean.

Draws that are spread as the posterior is explore most where least is known: in small studies of
many coordinates they cost as much as uniform actions, and teach less. Where much is known they
explore little, and the policy that a study ends with is better if they are spread wider. So an
epoch is played with the widest spread whose expected price is small:

    r(s) <= max(0.2,  r(0) + 0.03 (1 + later)),     the bracket at most 7,
    r(s) <= max(0.12, r(0) + 0.012)                 in the last epoch,

where r(s) is the expected regret of draws of spread s, as a share of uniform play's, if the truth
is a draw from the posterior, r(0) that of the policy's own decisions, and `later` how many rounds
follow the epoch, for each of its own: they profit from what it learns. Where r(0) > 0.8 hardly
anything is known, and what Thompson sampling would play explores once more, except in the last
epoch, after which nobody would profit. All of it is public.

The numbers were chosen among a few others on the arena's environments, with 3,000 to 30,000 rounds
and one to fourteen seeds; what `later` adds on two seeds of the pricing problem, and those of the
last epoch on six to ten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tacit._typing import Floats, Rng
from tacit.epochs.play import EPOCH_CANDIDATES, Learned, Shares
from tacit.numerics.engine import NUMPY
from tacit.policy import Policy
from tacit.policy.deciding import Decider
from tacit.policy.visitors import spread as spread_points

SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)  # 1 is that of the posterior
PRICE = 0.2
MORE = 0.03
MOST_LATER = 6.0
PRICE_LAST = 0.12
MORE_LAST = 0.012
UNKNOWN = 0.8
TRUTHS = 16  # draws that stand for the truth; the others of a committee play
VISITORS = 96


def learn_from(
    policy: Policy, shares: Shares, rng: Rng, later: float = 0.0
) -> tuple[Learned, Shares]:
    """What the epoch after a policy is played by: draws that are spread as they should be, and
    shares without any where too little is known. `later` rounds follow each of its own."""
    learned = Learned.of(policy.posterior, rng)
    chosen = choose_spread(expected_regrets(policy, learned, rng), later)
    if chosen is None:
        return learned, shares.exploring()
    return learned.spread(chosen), shares


def rounds_later(sizes: Sequence[int], epoch: int) -> float:
    """How many rounds follow an epoch, numbered from 1, for each of its own."""
    return sum(sizes[epoch:]) / sizes[epoch - 1]


def choose_spread(regret: Callable[[float], float], later: float = 0.0) -> float | None:
    """The spread for an expected regret, as a function of it, in shares of uniform play's."""
    least = regret(0.0)
    if later and least > UNKNOWN:
        return None
    price = max(PRICE_LAST, least + MORE_LAST)
    if later:
        price = max(PRICE, least + MORE * (1.0 + min(later, MOST_LATER)))
    for spread in reversed(SPREADS):
        if regret(spread) <= price:
            return spread
    return 0.0


def expected_regrets(policy: Policy, learned: Learned, rng: Rng) -> Callable[[float], float]:
    """The expected regret of play as a function of its spread: some members of the committee are
    taken for the truth, and the others play."""
    problem = policy.problem
    visitors = policy.visitors
    if visitors is None:
        visitors = spread_points(problem.contexts, VISITORS)
    C = visitors[:VISITORS]
    n = len(C)
    truths = learned.committee[:TRUTHS]
    players = learned.committee[TRUTHS:][rng.integers(len(learned.committee) - TRUTHS, size=n)]
    decider = Decider(
        problem.actions, problem.k, learned.landmarks, learned.weights, EPOCH_CANDIDATES, NUMPY
    )

    def rewards(actions: Floats) -> Floats:
        """Of one action for each visitor, in every world: (visitors, worlds)."""
        rows = problem.k(np.hstack([actions, C]), learned.landmarks)
        return np.asarray(rows @ truths.T)

    best = np.empty((n, len(truths)))
    for j, truth in enumerate(truths):
        best[:, j] = rewards(decider.decide(C, np.tile(truth, (n, 1))))[:, j]
    uniform = float(np.mean(best - rewards(problem.actions.sample_points(n, rng))))

    def regret(spread: float) -> float:
        drawn = learned.weights + spread * (players - learned.weights)
        lost = float(np.mean(best - rewards(decider.decide(C, drawn))))
        return lost / uniform if uniform > 0.0 else 0.0

    return regret
