"""Were actions played as it is stated? Counts of actions in a few cells, for some groups of
contexts.

One column of actions has a handful of cells: bins of a coordinate, or groups of labels. Each is
counted for each group of contexts, so that play which follows the context shows even where every
action is played equally often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import chdtrc

from tacit._typing import Array, Floats
from tacit.contexts.cells import Cells
from tacit.domains import Domain

ACTION_CELLS = 6  # of a column of actions
GROUPS = 3  # of contexts
# Play is contradicted by counts that are this unlikely under it and this far from it.
IMPROBABLE = 1e-6
FAR = 0.1  # in total variation: so large a share of the rounds has another action


@dataclass(frozen=True)
class PlayCheck:
    """What counts of played actions say about the stated play."""

    distance: float  # between stated and counted play, in total variation
    p_value: float  # how likely counts that are so far from it are where it is true

    @property
    def contradicted(self) -> bool:
        return self.p_value < IMPROBABLE and self.distance > FAR


class PlayCells:
    """Cells of joint points: a group of contexts and, for each column of the actions, a cell."""

    def __init__(self, actions: Domain, centres: Floats) -> None:
        self._cells = Cells(actions)
        self._dimension = actions.dimension
        self._centres = centres  # the groups of contexts are those that are nearest to each

    @classmethod
    def among(cls, actions: Domain, contexts: Floats) -> PlayCells:
        """Groups around a few of these contexts that are far from each other."""
        centres = contexts[:1]
        for _ in range(GROUPS - 1):
            apart = np.min(_squared(contexts, centres), axis=1)
            if apart.max() <= 0:
                break
            centres = np.vstack([centres, contexts[np.argmax(apart)]])
        return cls(actions, centres)

    @property
    def columns(self) -> int:
        """How many cells one record counts in."""
        return self._cells.columns

    @property
    def groups(self) -> int:
        return len(self._centres)

    @property
    def size(self) -> int:
        return self.groups * sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        return [min(column.size, ACTION_CELLS) for column in self._cells.parts]

    def onehot(self, points: Array) -> Array:
        """One row per joint point, with a 1 for each column of the actions."""
        xp = array_namespace(points)
        at = self._dimension
        centres = xp.asarray(self._centres, dtype=points.dtype, device=device(points))
        group = xp.argmin(_squared(points[:, at:], centres), axis=1)
        marks = []
        for column, size in zip(self._cells.parts, self._sizes, strict=True):
            cell = (column.index(points[:, :at]) * size) // column.size
            places = xp.arange(self.groups * size, device=device(points))
            marks.append((group * size + cell)[:, None] == places[None, :])
        return xp.astype(xp.concat(marks, axis=1), points.dtype)

    def check(self, counts: Floats, noise: float, points: Floats) -> PlayCheck:
        """Compares noisy counts with joint points of the stated play.

        In every group of contexts the share of each action is compared, so that it does not matter
        how many people of a group came.
        """
        expected = self.onehot(points).mean(axis=0)
        statistic = 0.0
        freedom = 0
        distance = 0.0
        people = 0.0
        start = 0
        for size in self._sizes:
            for _ in range(self.groups):
                cells = slice(start, start + size)
                start += size
                total = float(counts[cells].sum())
                stated = float(expected[cells].sum())
                if size < 2 or stated <= 0 or total < 3.0 * noise * np.sqrt(size):
                    continue  # nobody, or too few to tell
                law = expected[cells] / stated
                gap = counts[cells] - total * law
                # Entries of the gap add up to zero: all but the last tell it.
                S = _gap_covariance(law, total, noise)[:-1, :-1]
                statistic += float(gap[:-1] @ np.linalg.solve(S, gap[:-1]))
                freedom += size - 1
                beyond = np.maximum(np.abs(gap) - noise, 0.0)
                distance += 0.5 * float(beyond.sum())
                people += total
        if not freedom:
            return PlayCheck(0.0, 1.0)
        return PlayCheck(distance / people, float(chdtrc(freedom, max(statistic, 0.0))))


def _gap_covariance(law: Floats, total: float, noise: float) -> Floats:
    """Of counts less `total` times a law of actions, where `total` is the sum of the counts.

    There is the privacy noise of all counts, and chance in who played what: weights of at most 1
    make the latter smaller.
    """
    P = np.eye(len(law)) - law[:, None]
    return noise**2 * P @ P.T + total * (np.diag(law) - np.outer(law, law))


def _squared(points: Array, centres: Array) -> Array:
    """Squared distances (points, centres)."""
    xp = array_namespace(points)
    apart = points[:, None, :] - centres[None, :, :]
    return xp.sum(apart * apart, axis=2)
