"""What one record writes: blocks of one vector, so that one sum and one release carry them all.

    [ sqrt(a) q_s(w) y / s | sqrt(h / p) onehot(context) | sqrt(2 c / p(p + 1)) pairs of columns
      | sqrt(g / d) onehot(action and context) | sqrt(l) hat(y) | sqrt(m) y | sqrt(e) y^2
      | sqrt(r) arms ]

with shares a + h + c + g + l + m + e + r = 1.

| block | what it is for |
|---|---|
| influences | USCA's statistic |
| contexts | one cell in each of `p` columns: the decoder learns who really came |
| pairs | of columns, where earlier counts tell their middles: which depend on each other? (see
| | `tacit.contexts.pairs`) |
| play | one cell for each of `d` columns of the actions: were they played as it is stated? |
| histogram | of the rewards, in a pass that others follow: where may their residuals be clipped? |
| mean | of the rewards, also in residual passes: their level |
| square | the mean square of the rewards, which sets the decoder's noise |
| arms | of rounds that a coin gave to the policy or to the baseline: what each of them earns (see
| | `tacit.evaluation.arms`, which makes these entries) |

Each block has norm at most the root of its share, so the row has norm at most 1 and the trusted
core's bound holds without a new argument. Splitting the norm is splitting the budget: a share of
`h` costs `h rho`. A record's weight multiplies everything but what it tells of contexts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from array_api_compat import array_namespace, device

from tacit._typing import Array, Floats
from tacit.contexts.cells import Cells
from tacit.contexts.pairs import Pairs
from tacit.design.played import PlayCells
from tacit.numerics.histogram import NODES, hat

CONTEXT_SHARE = 0.15  # where nothing is known of who comes
CHECKING_SHARE = 0.05  # where a generator says who comes, and may be wrong
PLAY_SHARE = 0.01
MEAN_SHARE = 0.02
SQUARE_SHARE = 0.01
# In a pass that others follow:
HISTOGRAM_SHARE = 0.03
EARLY_SQUARE_SHARE = 0.03
# In epochs that play a policy, or a baseline, to see what it is worth: of what is left of the above
ARM_SHARE = 0.1
ARM_ENTRIES = 6  # three for each of two arms


class Blocks(NamedTuple):
    """A sum of rows, taken apart. What has no share is None."""

    influences: Floats  # sum of q_s y / s
    contexts: Floats | None  # counts in each cell
    play: Floats | None  # counts in each cell of actions
    histogram: Floats | None  # of y on the nodes
    mean: float | None  # sum of y
    square: float | None  # sum of y^2
    arms: Floats | None = None  # sums of the entries of both arms
    pairs: Floats | None = None  # sums of signs of columns, and of products of two of them


@dataclass(frozen=True, eq=False)
class Layout:
    """Which blocks a row has: `rank` influences, and what has a share of the others."""

    rank: int
    cells: Cells | None = None
    context_share: float = 0.0
    play: PlayCells | None = None
    play_share: float = 0.0
    histogram_share: float = 0.0
    mean_share: float = 0.0
    square_share: float = 0.0
    arm_share: float = 0.0
    pairs: Pairs | None = None
    pair_share: float = 0.0

    @property
    def size(self) -> int:
        """The number of entries of a row."""
        return self.rank + sum(self._sizes.values())

    @property
    def _sizes(self) -> dict[str, int]:
        """The numbers of entries after the influences."""
        return {
            "contexts": 0 if self.cells is None else self.cells.size,
            "pairs": 0 if self.pairs is None else self.pairs.size,
            "play": 0 if self.play is None else self.play.size,
            "histogram": len(NODES) if self.histogram_share else 0,
            "mean": int(self.mean_share > 0),
            "square": int(self.square_share > 0),
            "arms": ARM_ENTRIES if self.arm_share else 0,
        }

    @property
    def _weights(self) -> dict[str, float]:
        """What an entry of a block is multiplied with."""
        columns = 1 if self.cells is None else self.cells.columns
        actions = 1 if self.play is None else self.play.columns
        return {
            "contexts": math.sqrt(self.context_share / columns),
            "pairs": 0.0 if self.pairs is None else math.sqrt(self.pair_share / self.pairs.size),
            "play": math.sqrt(self.play_share / actions),
            "histogram": math.sqrt(self.histogram_share),
            "mean": math.sqrt(self.mean_share),
            "square": math.sqrt(self.square_share),
            "arms": math.sqrt(self.arm_share),
        }

    @property
    def influence_share(self) -> float:
        others = (
            self.context_share,
            self.pair_share,
            self.play_share,
            self.histogram_share,
            self.mean_share,
            self.square_share,
            self.arm_share,
        )
        return 1.0 - sum(others)

    def rows(
        self,
        q: Array,
        shrink: Array,
        y: Array,
        points: Array,
        known: Array,
        weight: Array,
        rewards: Array | None = None,
    ) -> Array:
        """Rows for influences `shrink * q` of norm at most 1 at joint points.

        `known` is 0 for records that add nothing. `weight` is at most 1. `y` are residuals where
        `rewards` are given. The entries of arms are 0: `with_arms` writes them.
        """
        xp = array_namespace(q)
        weights = self._weights
        told = weight * y
        blocks = [q * (math.sqrt(self.influence_share) * shrink * told)[:, None]]
        if self.cells is not None:
            contexts = points[:, points.shape[1] - self.cells.domain.dimension :]
            blocks.append(self.cells.onehot(contexts) * (weights["contexts"] * known)[:, None])
            if self.pairs is not None:
                blocks.append(self.pairs.marks(contexts) * (weights["pairs"] * known)[:, None])
        if self.play is not None:
            blocks.append(self.play.onehot(points) * (weights["play"] * known * weight)[:, None])
        if self.histogram_share:
            blocks.append(hat(y) * (weights["histogram"] * known * weight)[:, None])
        if self.mean_share:
            mean = told if rewards is None else weight * rewards
            blocks.append((weights["mean"] * mean)[:, None])
        if self.square_share:
            blocks.append((weights["square"] * told**2)[:, None])
        if self.arm_share:
            shape = (points.shape[0], ARM_ENTRIES)
            blocks.append(xp.zeros(shape, dtype=points.dtype, device=device(points)))
        return xp.concat(blocks, axis=1)

    def for_pairs(self, pairs: Pairs, share: float) -> Layout:
        """The same with a block of pairs, whose share is taken from the influences."""
        return replace(self, pairs=pairs, pair_share=share)

    def for_arms(self) -> Layout:
        """The same with a block of arms, whose share is taken from the influences."""
        return replace(self, arm_share=ARM_SHARE * replace(self, arm_share=0.0).influence_share)

    def with_arms(self, rows: Array, entries: Array) -> Array:
        """These rows with the entries of arms, which have norm at most 1 for each record."""
        xp = array_namespace(rows)
        own = rows[:, : self.size - ARM_ENTRIES]
        return xp.concat([own, self._weights["arms"] * entries], axis=1)

    def split(self, values: Floats) -> Blocks:
        """The inverse of `rows`, for a sum of rows."""
        found: dict[str, Floats | None] = {}
        start = self.rank
        for name, size in self._sizes.items():
            block = values[start : start + size]
            found[name] = block / self._weights[name] if size else None
            start += size
        mean = found["mean"]
        square = found["square"]
        return Blocks(
            influences=values[: self.rank] / math.sqrt(self.influence_share),
            contexts=found["contexts"],
            play=found["play"],
            histogram=found["histogram"],
            mean=None if mean is None else float(mean[0]),
            square=None if square is None else float(square[0]),
            arms=found["arms"],
            pairs=found["pairs"],
        )

    def block_noise(self, name: str, noise: float) -> float:
        """The standard deviation of the noise in an entry of a block, given that in an entry of the
        vector; 0 for a block that is not there."""
        if not self._sizes[name]:
            return 0.0
        return noise / self._weights[name]
