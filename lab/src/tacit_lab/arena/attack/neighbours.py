"""Two data sets that differ in one round, and the small problem in which they are played.

Two items are offered and contexts have one column. The person of the first round likes one item and
dislikes the other, in one data set this way round and in the other that way round: whatever is
played, the answers are as far apart as rewards can be, and both push the same decision the same
way. What all other people answer is known to the attacker, and the same in both data sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit import Box, Matern, Problem
from tacit._typing import Floats
from tacit.domains import Categories
from tacit.kernels import Categorical, Separable

ITEMS = Categories(["one", "two"], "item")
# A lengthscale at which four features carry nearly all of the kernel, and yet people at the two
# ends of the column say little about each other.
PROBLEM = Problem(
    ITEMS,
    Box([0.0], [1.0], ["column"]),
    Separable(Categorical(0.0), Matern(2.5, 0.7)),
    (-1.0, 1.0),
)
NEAR = 0.0
FAR = 1.0
Watch = Callable[[int], None]  # called with the number of rounds that are over


@dataclass(frozen=True)
class Person:
    """Where somebody stands, and whether the first item is liked (1) or the second (-1)."""

    context: float
    likes: float


@dataclass(frozen=True)
class Neighbours:
    """Two data sets: in each one of the pair comes first, then the same others."""

    name: str
    horizon: int
    pair: tuple[Person, Person]
    others_at: float  # the context of all others
    others_say: float  # their reward, whatever they are given

    @property
    def same_context(self) -> bool:
        return self.pair[0].context == self.pair[1].context

    @property
    def same_reward(self) -> bool:
        return self.pair[0].likes == self.pair[1].likes

    def contexts(self, side: int) -> Floats:
        """One row a round."""
        found = np.full((self.horizon, 1), self.others_at)
        found[0] = self.pair[side].context
        return found


NEIGHBOURS = (
    Neighbours("another reward", 8, (Person(NEAR, 1.0), Person(NEAR, -1.0)), FAR, 0.0),
    Neighbours("another context and reward", 8, (Person(NEAR, 1.0), Person(FAR, -1.0)), FAR, 0.0),
    Neighbours("another context", 8, (Person(NEAR, 1.0), Person(FAR, 1.0)), FAR, 0.0),
    # Others are rewarded for whatever they get, so that a learner which follows the first answer
    # goes on in its direction.
    Neighbours("another reward, followed", 128, (Person(NEAR, 1.0), Person(NEAR, -1.0)), NEAR, 0.5),
)


class World:
    """Answers as one of two data sets says, in the order of rounds."""

    def __init__(self, neighbours: Neighbours, side: int, watch: Watch) -> None:
        self.neighbours = neighbours
        self.side = side
        self.watch = watch
        self.over = 0

    def reward(self, actions: Floats, contexts: Floats) -> Floats:
        self.watch(self.over)
        found = np.full(len(actions), self.neighbours.others_say)
        if self.over == 0:
            found[0] = self.neighbours.pair[self.side].likes * item_signs(actions[:1])[0]
        self.over += len(actions)
        return found


def item_signs(actions: Floats) -> Floats:
    """1 for the first item, -1 for the second."""
    return 1.0 - 2.0 * ITEMS.nearest(actions)
