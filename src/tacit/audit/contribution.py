"""The search for a record, or a user, that moves the sum further than is claimed, in exact
integers.

A bound that holds for every record cannot be proved by trying, but a bound that does not hold is
often broken by one of the usual suspects: values that are huge, tiny or no numbers, rows on the
edge of the ball where rounding decides, encodings with the most bits that are admitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.findings import Clock, Finding, exact
from tacit.audit.settings import HORIZON
from tacit.core.contribution import Encoding
from tacit.core.sums import PrivateSum
from tacit.progress import Progress, silent

Rows = NDArray[np.floating[Any]]
Vector = list[int]
# from the rows of one record, or of one user, to what they add to the sum
Contribution = Callable[[Rows], Vector]

TINY = float(np.nextafter(0.0, 1.0))
EDGE = float(np.nextafter(1.0, 2.0))
VALUES = (0.0, 1.0, -1.0, EDGE, 0.5, TINY, 1e-9, 1e6, -1e6, 1e300, math.inf, -math.inf, math.nan)
LENGTHS = (1.0, EDGE, 1.0 + 1e-7, 1.5, 1e6)
RECORDS = (1, 2, 7, 64)  # of one user
SPELLINGS = (7, "7", 7.0)  # of one user's id
WIDTHS = (np.float64, np.float64, np.float32, np.float16)  # numbers come in all of them
KEPT = 16  # longest contributions that are improved, and compared pair by pair
STEPS = 8  # attempts to improve each of them


def attack_contribution(
    name: str = "contribution bound",
    *,
    encoding: Encoding,
    epsilon_if_moved: Callable[[float], float],
    trials: int,
    delta: float = 0.0,
    make: type[PrivateSum] = PrivateSum,
    progress: Progress = silent,
) -> Finding:
    """Claim: the sensitivity. Found: the longest way that one record (or user) could be made to
    move the sum.

    `epsilon_if_moved(ratio)` says what a release would be if records moved the sum `ratio` times as
    far as claimed.
    """
    clock = Clock()
    rng = np.random.default_rng(0)
    shapes = [encoding, *_extremes(encoding)]
    moves = []
    for i, shape in enumerate(shapes):
        blocks = adversarial_blocks(shape.size, trials, rng, block_lengths(make.unit))
        move2 = longest_move2(_adding_to(make, shape), np.negative, blocks, rng)
        moves.append((move2, shape.sensitivity))
        progress(name, i + 1, len(shapes))
    about = f"the longest way that one {make.unit} was found to move the sum, in exact integers"
    return verdict(name, moves, epsilon_if_moved, delta, clock, about, len(shapes) * trials)


def verdict(
    name: str,
    moves: list[tuple[int, int]],
    epsilon_if_moved: Callable[[float], float],
    delta: float,
    clock: Clock,
    about: str,
    tried: int,
) -> Finding:
    """`moves` holds squared lengths and the sensitivities that are claimed for them. Red by a
    single unit."""
    ok = all(move2 <= sensitivity**2 for move2, sensitivity in moves)
    ratio = max(math.sqrt(move2) / sensitivity for move2, sensitivity in moves)
    claimed = epsilon_if_moved(1.0)
    found = epsilon_if_moved(ratio)
    finding = exact(name, claimed, found, delta=delta, clock=clock, about=about, tried=tried)
    return replace(finding, ok=ok)  # in integers: `exact` allows for the rounding of doubles


def longest_move2(
    contribution: Contribution,
    opposite: Callable[[Rows], Rows],
    blocks: Iterator[Rows],
    rng: np.random.Generator,
) -> int:
    """The square of the longest way between two contributions: the longest ones, their opposites,
    and nothing."""
    longest = sorted(blocks, key=lambda rows: _norm2(contribution(rows)))[-KEPT:]
    better = [_improved(rows, contribution, rng) for rows in longest]
    ends = [contribution(rows) for block in better for rows in (block, opposite(block))]
    ends.append([0] * len(ends[0]))  # a record that adds nothing
    return max(_norm2([x - y for x, y in zip(a, b, strict=True)]) for a in ends for b in ends)


def block_lengths(unit: str) -> tuple[int, ...]:
    """How many rows one record, or one user, has."""
    return RECORDS if unit == "user" else (1,)


def adversarial_blocks(
    width: int, trials: int, rng: np.random.Generator, records: tuple[int, ...]
) -> Iterator[Rows]:
    """`trials` blocks of rows: all of one odd value, directions of many lengths, one odd value
    among good ones."""
    for trial in range(trials):
        kind = trial % 3
        turn = trial // 3
        n = records[turn % len(records)]
        rows = rng.normal(size=(n, width)) * (rng.random((n, width)) < rng.choice([0.1, 0.5, 1.0]))
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        if kind == 0:
            rows = np.full((n, width), VALUES[turn % len(VALUES)])
        elif kind == 1:
            rows = rows * LENGTHS[turn % len(LENGTHS)]
        else:
            rows[rng.integers(n), rng.integers(width)] = VALUES[turn % len(VALUES)]
        with np.errstate(over="ignore"):
            yield rows.astype(WIDTHS[rng.integers(len(WIDTHS))])


def _improved(rows: Rows, contribution: Contribution, rng: np.random.Generator) -> Rows:
    """A few steps uphill from a long contribution: nudges of the size at which rounding decides."""
    length2 = _norm2(contribution(rows))
    for step in range(STEPS):
        nudged = rows * (1.0 + 10.0 ** -(2 + step) * rng.normal(size=rows.shape))
        nudged_length2 = _norm2(contribution(nudged))
        if nudged_length2 > length2:
            rows = nudged
            length2 = nudged_length2
    return rows


def _adding_to(make: type[PrivateSum], encoding: Encoding) -> Contribution:
    def contribution(rows: Rows) -> Vector:
        total = make(encoding)
        with np.errstate(all="ignore"):
            total.add(rows, len(rows), [SPELLINGS[i % len(SPELLINGS)] for i in range(len(rows))])
        return [int(value) for value in total._value()]

    return contribution


def _extremes(encoding: Encoding) -> list[Encoding]:
    """The same kind of encoding with as many bits as are admitted at small ranks."""
    most = ((1, 30), (3, 30), (7, 29))
    return [replace(encoding, size=size, bits=bits, horizon=HORIZON) for size, bits in most]


def _norm2(vector: Vector) -> int:
    return sum(value * value for value in vector)
