"""What a design is made with unless told otherwise: landmarks, `tau`, the layout, a first pass's
part of the budget.

The planner reckons with the same choices.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.contexts.cells import Cells
from tacit.core import Budget
from tacit.design.features import Features
from tacit.design.landmarks import pivots
from tacit.design.layout import (
    CHECKING_SHARE,
    CONTEXT_SHARE,
    ENERGY_SHARE,
    FIRST_ENERGY_SHARE,
    LEVEL_SHARE,
    Layout,
)
from tacit.design.tuning import choose_tau
from tacit.numerics import linalg
from tacit.problem import Problem

# landmarks at most, up to so many rounds, however many rounds
RANK = 500
FEW_ROUNDS = 100_000
LARGEST_RANK = 1000
RANK_GROWTH = math.log10(2.0)  # in between: twice as many for ten times as many rounds
COARSE_RANK = 150
TUNING_POINTS = 2048
FIRST_LOOK = 0.3  # of the budget
# expected deviations of the reward function and of rewards around it; 1 is half their range
NOISE = 0.3
SIGNAL = NOISE


def default_rank(horizon: int) -> int:
    """How many landmarks at most. Measured: a million rounds teach more than 500 of them can say."""
    return int(np.clip(round(RANK * (horizon / FEW_ROUNDS) ** RANK_GROWTH), RANK, LARGEST_RANK))


def first_part(budget: Budget) -> Budget:
    """What the first of two passes spends."""
    return replace(budget, share=FIRST_LOOK * budget.share)


def tune(
    problem: Problem,
    horizon: int,
    budget: Budget,
    *,
    signal: float,
    noise: float,
    rng: np.random.Generator,
) -> float:
    """`tau` by predicted accuracy, on a coarse set of landmarks: it hardly depends on how many
    there are."""
    features = Features.on(problem.k, choose_landmarks(problem, 1.0 / horizon, COARSE_RANK, rng))
    Phi = features(problem.public_points(TUNING_POINTS, rng))
    d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
    # A pure budget buys no Gaussian noise; its decisions are about as noisy as epsilon^2 / 8 zCDP
    # would be.
    rho = (budget.epsilon or 0.0) ** 2 / 8 if budget.pure else budget.gaussian
    multiplier = 1.0 / math.sqrt(2.0 * rho)
    return choose_tau(
        Phi @ V,
        np.maximum(d, 0.0),
        horizon=horizon,
        multiplier=multiplier,
        signal=signal,
        noise=noise,
    )


def choose_layout(
    problem: Problem,
    rank: int,
    budget: Budget,
    context_share: float | None = None,
    plain: bool = False,
    first: bool = False,
) -> Layout:
    """What records write. A pure budget never releases the sum, so its decisions get all of it.

    The `first` of two passes measures the energy of the rewards better: it says how large residuals
    will be.
    """
    if budget.pure or plain:
        return Layout(rank, None)
    if context_share is None:
        context_share = CONTEXT_SHARE if problem.generator is None else CHECKING_SHARE
    cells = Cells(problem.contexts) if context_share else None
    level_share = LEVEL_SHARE if problem.advantage else 0.0
    return Layout(
        rank, cells, context_share, FIRST_ENERGY_SHARE if first else ENERGY_SHARE, level_share
    )


def choose_landmarks(problem: Problem, floor: float, rank: int, rng: np.random.Generator) -> Floats:
    """Public points until what they leave unexplained is well below `floor` = tau / T.

    A direction of the kernel with an eigenvalue below tau / T is shrunk away by the regularisation.
    Measured: error rates do not change when landmarks beyond a mean residual of 0.3 tau / T are
    left out. At least 95 % of the kernel is explained even when there are so few rounds that
    nothing can be learned.
    """
    pool = problem.public_points(max(4096, 6 * rank), rng)
    chosen, _ = pivots(problem.k, pool, most=rank, tolerance=min(0.3 * floor, 0.05), rng=rng)
    return pool[chosen]
