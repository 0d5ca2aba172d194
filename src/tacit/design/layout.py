"""What one record writes: blocks of one vector, so that one sum and one release carry them all.

    [ sqrt(a) q_s(w) y / s  |  sqrt(h / p) onehot(context)  |  sqrt(m) y  |  sqrt(e) y^2 ]

with shares a + h + m + e = 1.

The first block is USCA's statistic. The second counts contexts, one cell in each of `p` columns, so
that the decoder learns who really came. The third measures the mean reward, where only
advantages are learned and nothing else would; the last the mean square of the rewards, which sets
the decoder's noise. Each block has norm at most the root of its share, so the row has norm at most
1 and the trusted core's bound holds without a new argument. Splitting the norm is splitting the
budget: a share of `h` costs `h rho`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from tacit._typing import Array, Floats
from tacit.contexts.cells import Cells

CONTEXT_SHARE = 0.15  # where nothing is known of who comes
CHECKING_SHARE = 0.05  # where a generator says who comes, and may be wrong
MEAN_SHARE = 0.02
SQUARE_SHARE = 0.01
EARLY_SQUARE_SHARE = 0.05  # in a pass that others follow


class Blocks(NamedTuple):
    """A sum of rows, taken apart. What has no share is None."""

    influences: Floats  # sum of q_s y / s
    counts: Floats | None  # of contexts in each cell
    rewards: float | None  # sum of y
    squares: float | None  # sum of y^2


@dataclass(frozen=True, eq=False)
class Layout:
    """Which blocks a row has: `rank` influences, and what has a share of the others."""

    rank: int
    cells: Cells | None
    context_share: float = 0.0
    square_share: float = 0.0
    mean_share: float = 0.0

    @property
    def size(self) -> int:
        """The number of entries of a row."""
        cells = self.cells.size if self.cells is not None else 0
        return self.rank + cells + bool(self.mean_share) + bool(self.square_share)

    @property
    def influence_share(self) -> float:
        return 1.0 - self.context_share - self.mean_share - self.square_share

    def rows(self, q: Array, weight: Array, y: Array, contexts: Array, known: Array) -> Array:
        """Rows for influences `weight * q` of norm at most 1; `known` is 0 for records that add
        nothing."""
        xp = array_namespace(q)
        blocks = [q * (math.sqrt(self.influence_share) * weight * y)[:, None]]
        if self.cells is not None:
            blocks.append(self.cells.onehot(contexts) * (self._count_weight * known)[:, None])
        if self.mean_share:
            blocks.append((math.sqrt(self.mean_share) * y)[:, None])
        if self.square_share:
            blocks.append((math.sqrt(self.square_share) * y**2)[:, None])
        return xp.concat(blocks, axis=1)

    def split(self, values: Floats) -> Blocks:
        """The inverse of `rows`, for a sum of rows."""
        influences = values[: self.rank] / np.sqrt(self.influence_share)
        rest = values[self.rank :]
        counts = None
        rewards = None
        squares = None
        if self.cells is not None:
            counts = rest[: self.cells.size] / self._count_weight
        if self.mean_share:
            rewards = float(rest[-2]) / math.sqrt(self.mean_share)
        if self.square_share:
            squares = float(rest[-1]) / math.sqrt(self.square_share)
        return Blocks(influences, counts, rewards, squares)

    @property
    def _count_weight(self) -> float:
        if self.cells is None:
            return 0.0
        return float(np.sqrt(self.context_share / self.cells.columns))

    def count_noise(self, noise: float) -> float:
        """The standard deviation of the noise in a count, given that in an entry of the vector."""
        return noise / self._count_weight
