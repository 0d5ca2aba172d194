"""Default choices of a design: landmarks, `tau`, the layout, what each pass spends.

The planner makes the same choices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit._typing import Floats
from tacit.contexts.cells import Cells
from tacit.contexts.pairs import Pairs
from tacit.core import Budget
from tacit.design.features import Features
from tacit.design.landmarks import pivots
from tacit.design.layout import (
    CHECKING_SHARE,
    CONTEXT_SHARE,
    EARLY_SQUARE_SHARE,
    HISTOGRAM_SHARE,
    MEAN_SHARE,
    PLAY_SHARE,
    SQUARE_SHARE,
    Layout,
)
from tacit.design.options import DesignOptions
from tacit.design.played import PlayCells
from tacit.design.tuning import choose_tau
from tacit.domains import Mixed
from tacit.domains.finite import Finite
from tacit.numerics import linalg
from tacit.problem import Problem

# Landmarks: 500 up to 10^5 rounds, twice as many for ten times as many rounds, at most 1000.
RANK = 500
FEW_ROUNDS = 100_000
LARGEST_RANK = 1000
RANK_GROWTH = math.log10(2.0)
ROUNDS_PER_LEVEL = 20
COARSE_RANK = 150
TUNING_POINTS = 2048
POOL = 4096  # public points that landmarks are chosen among, at least
FIRST_OF_TWO = 0.3  # of the budget
# Pairs of columns get a share of what influences would spend for which the dependence of all
# columns on one of them shows where it explains so much of their variance; and none where even the
# largest share would show only a strong one.
EXPLAINED = 0.1
STRONGLY = 0.25
LEAST_PAIR_SHARE = 0.02
MOST_PAIR_SHARE = 0.1
MOST_PAIRED = 64  # columns


def default_rank(horizon: int, levels: int = 1) -> int:
    """How many landmarks at most. Measured: a million rounds teach more than 500 can represent.

    A label that is no landmark cannot be told from others, so there are as many as a column has
    `levels`, if there are enough rounds to learn something of each.
    """
    rank = np.clip(round(RANK * (horizon / FEW_ROUNDS) ** RANK_GROWTH), RANK, LARGEST_RANK)
    return int(max(rank, min(levels, horizon // ROUNDS_PER_LEVEL, LARGEST_RANK)))


def most_levels(problem: Problem) -> int:
    """The number of labels of the column that has most of them; 1 if there are only numbers."""
    found = [1]
    for domain in (problem.actions, problem.contexts):
        parts = domain.parts if isinstance(domain, Mixed) else (domain,)
        found += [len(part.labels) for part in parts if isinstance(part, Finite)]
    return max(found)


def pass_budget(budget: Budget, passes: int) -> Budget:
    """What the first of so many passes spends: less where more of them follow."""
    if passes == 1:
        return budget
    return replace(budget, share=FIRST_OF_TWO * 2 / passes * budget.share)


def pass_budgets(budget: Budget, passes: int) -> list[Budget]:
    """What each pass spends. Together they spend all of it."""
    found = []
    left = budget
    for count in range(passes, 0, -1):
        part = pass_budget(left, count)
        found.append(part)
        if count > 1:
            left = replace(left, share=left.share - part.share)
    return found


def noise_rho(budget: Budget) -> float:
    """The rho of the noise that a budget buys.

    A pure budget buys no Gaussian noise; its decisions are about as noisy as epsilon^2 / 8 zCDP
    would be.
    """
    if budget.pure:
        return (budget.epsilon or 0.0) ** 2 / 8
    return budget.gaussian


def by_ridge(budget: Budget, options: DesignOptions) -> bool:
    """Whether influences are those of the paper, with one ridge `tau` for all directions: where it
    is asked for, and for decisions from a pure budget, which release no sum."""
    return options.tau is not None or options.plain or budget.pure


def noise_multiplier(budget: Budget, options: DesignOptions) -> float:
    """Of the noise that a budget buys; a record counts with the largest weight at most."""
    return (options.max_weight or 1.0) / math.sqrt(2.0 * noise_rho(budget))


def tune(
    problem: Problem,
    horizon: int,
    budget: Budget,
    options: DesignOptions,
    rng: np.random.Generator,
) -> float:
    """`tau` by predicted accuracy, on a coarse set of landmarks: it hardly depends on how many
    there are."""
    features = Features.on(problem.k, choose_landmarks(problem, 1.0 / horizon, COARSE_RANK, rng))
    Phi = features(problem.public_points(TUNING_POINTS, rng))
    d, V = linalg.eigh(Phi.T @ Phi / len(Phi))
    target = None
    if problem.law is not None:
        # A policy chooses among all actions, so it should know those well that were played rarely.
        everywhere = features(replace(problem, play=None).public_points(TUNING_POINTS, rng)) @ V
        target = everywhere.T @ everywhere / len(everywhere)
    return choose_tau(
        Phi @ V,
        np.maximum(d, 0.0),
        horizon=horizon,
        multiplier=noise_multiplier(budget, options),
        signal=options.signal,
        noise=options.noise,
        target=target,
    )


def choose_layout(
    problem: Problem, landmarks: Floats, budget: Budget, options: DesignOptions, *, last: bool
) -> Layout:
    """The blocks that records write. A pure budget never releases the sum: its decisions get all.

    A pass that is not the `last` measures the rewards better, because they say how large residuals
    will be, and where they may be clipped.
    """
    rank = len(landmarks)
    if budget.pure or options.plain:
        return Layout(rank)
    context_share = options.context_share
    if context_share is None:
        context_share = CONTEXT_SHARE if problem.generator is None else CHECKING_SHARE
    return Layout(
        rank,
        Cells(problem.contexts) if context_share else None,
        context_share,
        PlayCells.among(problem.actions, landmarks[:, problem.actions.dimension :]),
        PLAY_SHARE,
        histogram_share=0.0 if last else HISTOGRAM_SHARE,
        mean_share=MEAN_SHARE,
        square_share=SQUARE_SHARE if last else EARLY_SQUARE_SHARE,
    )


def with_pairs(
    layout: Layout, laws: Sequence[Floats] | None, horizon: int, budget: Budget
) -> Layout:
    """The layout with a block for pairs of columns, given what is known of each of them, if so many
    rounds can tell which depend on each other."""
    if laws is None:
        return layout
    assert layout.cells is not None
    share = pair_share(layout.cells.columns, horizon, budget)
    if not share:
        return layout
    pairs = Pairs(layout.cells, layout.cells.middles(laws))
    return layout.for_pairs(pairs, share * layout.influence_share)


def pair_share(columns: int, horizon: int, budget: Budget) -> float:
    """What the dependence of so many columns is worth of what influences would spend in a pass; 0
    if it would not show."""
    if not 2 <= columns <= MOST_PAIRED:
        return 0.0
    # The largest eigenvalue of the noise if all of the budget were spent, and that of columns of
    # which one explains a share of all.
    length = math.sqrt(columns * (columns + 1) / 2)
    noise = length / math.sqrt(2.0 * noise_rho(budget)) / horizon
    edge = 2.0 * math.sqrt(columns) * noise
    if edge > STRONGLY * math.sqrt(MOST_PAIR_SHARE) * (columns - 1):
        return 0.0
    wanted = (edge / (EXPLAINED * (columns - 1))) ** 2
    return float(np.clip(wanted, LEAST_PAIR_SHARE, MOST_PAIR_SHARE))


def planned_multiplier(
    problem: Problem,
    rounds: int,
    budget: Budget,
    options: DesignOptions,
    *,
    first: bool = False,
    last: bool = True,
) -> float:
    """Of the privacy noise in the influences of a pass, before any data is there: the `first` pass
    over anybody has no pairs of columns."""
    anywhere = np.full((1, problem.dimension), 0.5)
    layout = choose_layout(problem, anywhere, budget, options, last=last)
    share = layout.influence_share
    if not first and problem.generator is None and layout.cells is not None:
        share *= 1.0 - pair_share(layout.cells.columns, rounds, budget)
    return 1.0 / math.sqrt(2.0 * noise_rho(budget) * share)


def planned_multipliers(
    problem: Problem, rounds: int, budget: Budget, options: DesignOptions, passes: int
) -> list[float]:
    """The same of all passes over the same people, which share the budget."""
    each = pass_budgets(budget, passes)
    return [
        planned_multiplier(problem, rounds, part, options, first=i == 0, last=i == passes - 1)
        for i, part in enumerate(each)
    ]


def choose_landmarks(problem: Problem, floor: float, rank: int, rng: np.random.Generator) -> Floats:
    """Public points until what they leave unexplained is well below `floor` = tau / T.

    A direction of the kernel with an eigenvalue below tau / T is shrunk away by the regularisation.
    Measured: error rates do not change when landmarks beyond a mean residual of 0.3 tau / T are
    left out. At least 95 % of the kernel is explained even when there are so few rounds that
    nothing can be learned.
    """
    pool = problem.public_points(max(POOL, 6 * rank), rng)
    chosen, _ = pivots(problem.k, pool, most=rank, tolerance=tolerance(floor), rng=rng)
    return pool[chosen]


def tolerance(floor: float) -> float:
    """What landmarks may leave unexplained of the kernel (see `choose_landmarks`)."""
    return min(0.3 * floor, 0.05)
