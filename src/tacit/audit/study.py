"""The search of `contribution.py` for the design of one study, with its kernel and its clip. The
study's data are not read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.audit.contribution import (
    Rows,
    Vector,
    adversarial_blocks,
    block_lengths,
    longest_move2,
    verdict,
)
from tacit.audit.findings import Clock, Finding
from tacit.design import Design
from tacit.progress import Progress, silent
from tacit.statistic import Statistic


def attack_records(
    name: str = "records of this study",
    *,
    design: Design,
    epsilon_if_moved: Callable[[float], float],
    trials: int,
    delta: float = 0.0,
    progress: Progress = silent,
) -> Finding:
    """The same search through the whole numeric path: points and rewards, kernel, whitening, clip,
    integers.

    A block's last column is the reward; the opposite of a record has the opposite reward. Points
    and rewards are not even projected to their ranges: the bound must hold without it.
    """
    clock = Clock()
    rng = np.random.default_rng(0)
    width = design.features.U.shape[1] + 1

    def contribution(block: Rows) -> Vector:
        made = Statistic(design)
        wide = block.astype(np.float64)
        made.add_points(wide[:, :-1], wide[:, -1], ["the one"] * len(block))
        return [int(value) for value in made._sum._value()]

    blocks = adversarial_blocks(width, trials, rng, block_lengths(design.unit))
    rewarded = (_with_full_reward(block, rng) for block in blocks)
    move2 = longest_move2(contribution, _opposite, rewarded, rng)
    progress(name, 1, 1)
    about = (
        "made-up rounds through the study's kernel and clip, in exact integers; no round was read"
    )
    moves = [(move2, design.encoding.sensitivity)]
    return verdict(name, moves, epsilon_if_moved, delta, clock, about, trials)


def _with_full_reward(block: Rows, rng: np.random.Generator) -> Rows:
    """Half of the rewards at an end of their range, where records weigh most."""
    block = block.copy()
    full = rng.random(len(block)) < 0.5
    block[full, -1] = 1.0
    return block


def _opposite(block: Rows) -> Rows:
    return np.hstack([block[:, :-1], -block[:, -1:]])
