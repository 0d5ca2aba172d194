"""The law of contexts given noisy counts of who came, and the moments of a statistic under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit._typing import Floats
from tacit.decoder.parts import ReleaseParts
from tacit.design import Design, Moments
from tacit.design.cube import WellSpread, evenly
from tacit.design.public import PublicPoints, moments_over
from tacit.numerics.engine import NUMPY
from tacit.progress import silent

POINTS = 32_768
# The weight of contexts that only the counts know of, against those of the generator, before all
# of them are fitted to the counts.
ELSEWHERE = 0.1


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Released counts of contexts in the cells of the layout, and the noise in one of them."""

    counts: Floats
    noise: float
    records: int

    @classmethod
    def pooled(cls, passes: Sequence[ReleaseParts]) -> ContextCounts | None:
        """The counts of several passes over the same people, weighted by their precision. None if
        no pass counted."""
        counts = []
        precisions = []
        for parts in passes:
            if parts.counts is not None:
                counts.append(parts.counts)
                precisions.append(parts.count_noise**-2)
        if not counts:
            return None
        weights = np.array(precisions)
        pooled = sum(w * c for w, c in zip(weights, counts, strict=True)) / weights.sum()
        return cls(pooled, float(weights.sum() ** -0.5), passes[-1].records)


def moments_given(design: Design, counts: ContextCounts | None) -> Moments:
    """The moments of the design's statistic over the contexts that came, as far as counts say."""
    if counts is None or design.layout.cells is None:
        return design.moments
    points = points_given(design, counts)
    if points is None:
        return design.moments
    supply = PublicPoints(design.problem, points, np.random.default_rng(0))
    return moments_over(design.features, design.whitening, design.clip, supply, NUMPY, silent)


def points_given(design: Design, counts: ContextCounts) -> Floats | None:
    """Joint points like those of the records, given counts of their contexts; the same public
    coins every time.

    Where the problem has a generator, its contexts are weighted to agree with the counts, together
    with some that only the counts know of. None where the generator agrees with the counts already.
    """
    problem = design.problem
    cells = design.layout.cells
    sample = design.generator_sample
    assert cells is not None
    prior = None
    if sample is not None:
        prior = cells.onehot(sample).mean(axis=0)
    laws = cells.column_probabilities(counts.counts, counts.noise, counts.records, prior)
    if prior is not None and np.allclose(np.concatenate(laws), prior):
        return None
    rng = np.random.default_rng(int(design.fingerprint, 16))
    cube = WellSpread(cells.columns + problem.actions.cube_dimension, rng).take(POINTS)
    contexts = cells.from_cube(laws, cube[:, : cells.columns])
    if sample is not None:
        contexts[: len(sample)] = sample
        weights = np.where(np.arange(POINTS) < len(sample), 1.0, ELSEWHERE)
        contexts = contexts[evenly(cells.fitted(contexts, weights, laws))]
    if problem.play is None:
        actions = problem.actions.from_cube(cube[:, cells.columns :])
    else:
        actions = problem.draw_actions(contexts, rng)
    return np.hstack([actions, contexts])
