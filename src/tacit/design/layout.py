"""What one record writes: blocks of one vector, so that one sum and one release carry them all.

    [ sqrt(a) q_s(w) y / s  |  sqrt(h / p) onehot(context)  |  sqrt(l) y  |  sqrt(e) y^2 ]        a
    + h + l + e = 1

The first block is USCA's statistic. The second counts contexts, one cell per column (there are `p`
columns), so that the decoder learns who really came. The third measures the level of the rewards,
where only advantages are learned and nothing else would; the last their energy, which sets the
decoder's noise level. Each block has norm at most the root of its share, so the row has norm at
most 1 and the trusted core's bound holds without a new argument. Splitting the norm is splitting
the budget: a share of `h` costs `h rho`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from tacit._typing import Array, Floats
from tacit.contexts.cells import Cells

# where nothing is known of who comes, and where a generator may be wrong
CONTEXT_SHARE = 0.15
CHECKING_SHARE = 0.05
LEVEL_SHARE = 0.02
ENERGY_SHARE = 0.01
FIRST_ENERGY_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Layout:
    """The blocks: `rank` influences, the cells of the contexts, the level and the energy, each if
    it has a share."""

    rank: int
    cells: Cells | None
    context_share: float = 0.0
    energy_share: float = 0.0
    level_share: float = 0.0

    @property
    def size(self) -> int:
        return (
            self.rank
            + (self.cells.size if self.cells else 0)
            + bool(self.level_share)
            + bool(self.energy_share)
        )

    @property
    def influence_share(self) -> float:
        return 1.0 - self.context_share - self.level_share - self.energy_share

    def rows(self, q: Array, weight: Array, y: Array, contexts: Array, known: Array) -> Array:
        """Rows for influences `weight * q` of norm at most 1; `known` is 0 for records that add
        nothing."""
        xp = array_namespace(q)
        blocks = [q * (math.sqrt(self.influence_share) * weight * y)[:, None]]
        if self.cells is not None:
            blocks.append(self.cells.onehot(contexts) * (self._count_weight * known)[:, None])
        blocks += [
            (math.sqrt(share) * told)[:, None]
            for share, told in ((self.level_share, y), (self.energy_share, y**2))
            if share
        ]
        return xp.concat(blocks, axis=1)

    def split(self, values: Floats) -> tuple[Floats, Floats | None, float | None, float | None]:
        """A sum of rows, back to (sum q_s y / s, counts of contexts, sum of y, sum of y^2)."""
        b = values[: self.rank] / np.sqrt(self.influence_share)
        rest = values[self.rank :]
        counts = rest[: self.cells.size] / self._count_weight if self.cells is not None else None
        level = float(rest[-2]) / math.sqrt(self.level_share) if self.level_share else None
        return (
            b,
            counts,
            level,
            float(rest[-1]) / math.sqrt(self.energy_share) if self.energy_share else None,
        )

    @property
    def _count_weight(self) -> float:
        return (
            float(np.sqrt(self.context_share / self.cells.columns))
            if self.cells is not None
            else 0.0
        )

    def count_noise(self, noise: float) -> float:
        """The standard deviation of the noise in one count, given that of one entry of the vector."""
        return noise / self._count_weight
