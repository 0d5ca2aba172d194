"""The law of contexts given noisy counts of them, and the moments of a statistic under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tacit._typing import Floats
from tacit.contexts.pairs import Dependence, correlated
from tacit.decoder.parts import ReleaseParts, averaged
from tacit.decoder.users import shrunk
from tacit.design import Design, Moments
from tacit.design.cube import WellSpread, evenly
from tacit.design.features import clipped, with_one
from tacit.design.played import PlayCheck
from tacit.design.public import Belief, PublicPoints, moments_over
from tacit.kernels import Separable
from tacit.numerics import linalg
from tacit.numerics.engine import NUMPY
from tacit.progress import silent

POINTS = 32_768
# The weight of contexts that only the counts know of, against those of the generator, before all
# of them are fitted to the counts.
ELSEWHERE = 0.1
CLEARLY = 4.0  # standard deviations by which counts must say that records were not usable
MAIN_CONTEXTS = 128
MAIN_ACTIONS = 32
FEW = 0.02  # of the records are taken for usable at least
# Places of values in their bins (see `misplacement`): so many, and points that they are tried on.
PLACEMENTS = 24
PLACED_POINTS = 2048


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Released counts of contexts in the cells of the layout, and the noise in one of them."""

    counts: Floats
    noise: float
    records: float
    dependence: Dependence | None = None  # of the columns on each other, where it was released

    @classmethod
    def pooled(cls, passes: Sequence[ReleaseParts]) -> ContextCounts | None:
        """The counts of several passes over the same people, weighted by their precision. None if
        no pass counted."""
        told = _in_units_of_the_last(passes, "contexts")
        if not told:
            return None
        return cls(*averaged(told), passes[-1].records, _dependence(passes))

    @property
    def known(self) -> Any:
        """What points depend on, to be compared."""
        columns = self.dependence
        told = None if columns is None else (columns.covariances.tobytes(), columns.noise)
        return self.counts.tobytes(), self.noise, self.records, told


def _dependence(passes: Sequence[ReleaseParts]) -> Dependence | None:
    """What the passes over the same people say of how columns depend on each other."""
    found = []
    for parts in passes:
        pairs = parts.design.layout.pairs
        if pairs is not None and parts.sums.pairs is not None:
            noise = parts.block_noise("pairs")
            found.append(pairs.dependence(parts.sums.pairs, noise, parts.records))
    return Dependence.pooled(found)


def _in_units_of_the_last(passes: Sequence[ReleaseParts], name: str) -> list[tuple[Floats, float]]:
    """A block of counts in each pass that has it, and the noise in an entry, as if every pass
    counted as many records as the last: users are shrunk in each by as much as they add there."""
    found = []
    for parts in passes:
        block: Floats | None = getattr(parts.sums, name)
        if block is not None:
            scale = passes[-1].records / parts.records
            found.append((scale * block, scale * parts.block_noise(name)))
    return found


def with_usable_records(passes: Sequence[ReleaseParts]) -> list[ReleaseParts]:
    """The passes over the same people, with as many records as their counts stand for."""
    if passes[-1].design.unit == "user":
        return shrunk(passes)
    usable = usable_records(passes)
    return [replace(parts, records=usable) for parts in passes]


def usable_records(passes: Sequence[ReleaseParts]) -> float:
    """How many records the counts of contexts say were usable: all of them, unless it is clear that
    some were not."""
    records = passes[-1].records
    counts = ContextCounts.pooled(passes)
    if counts is None:
        return records
    cells = passes[-1].design.layout.cells
    assert cells is not None
    counted = float(counts.counts.sum()) / cells.columns
    noise = counts.noise * np.sqrt(cells.size) / cells.columns
    if counted > records - CLEARLY * noise:
        return records
    return max(counted, FEW * records, 1.0)


def play_check(passes: Sequence[ReleaseParts]) -> PlayCheck | None:
    """What counts of played actions, in all passes over the same people, say about the stated play.

    None if none were released.
    """
    design = passes[-1].design
    cells = design.layout.play
    told = _in_units_of_the_last(passes, "play")
    if cells is None or not told:
        return None
    counts, noise = averaged(told)
    return cells.check(counts, noise, _joint_points(design, ContextCounts.pooled(passes)))


def _joint_points(design: Design, counts: ContextCounts | None) -> Floats:
    """Joint points like those of the records, as far as is known."""
    points = None
    if counts is not None and design.layout.cells is not None:
        points = points_given(design, counts)
    if points is None:
        points = design.problem.public_points(POINTS, np.random.default_rng(0))
    return points


def moments_given(
    design: Design, counts: ContextCounts | None, belief: Belief | None = None
) -> Moments:
    """The moments of the design's statistic over the contexts that came, as far as counts say, for
    rewards as far as there is a belief about them."""
    points = None
    if counts is not None and design.layout.cells is not None:
        points = points_given(design, counts)
    if points is None and belief is None:
        return design.moments
    if points is None:
        points = _joint_points(design, None)
    supply = PublicPoints(design.problem, points, np.random.default_rng(0))
    return moments_over(
        design.features,
        linalg.thin(design.whitening),
        design.clip,
        supply,
        NUMPY,
        silent,
        design.residual,
        belief,
    )


def main_effects(design: Design, counts: ContextCounts | None) -> Floats:
    """How functions of the context alone show in the statistic, per record: a matrix H such that
    they add H t, t ~ N(0, I), for a function of the prior.

    Where only advantages are learned they are no part of the model. Influences are centred over the
    actions, so that they cancel out, but clipped influences are not quite.
    """
    problem = design.problem
    points = _joint_points(design, counts)
    rng = np.random.default_rng(int(design.fingerprint, 16))
    at = problem.actions.dimension
    contexts = points[rng.choice(len(points), MAIN_CONTEXTS), at:]
    menu = problem.actions.candidate_points(MAIN_ACTIONS)
    actions = np.tile(menu, (len(contexts), 1))
    each = np.repeat(contexts, len(menu), axis=0)
    if problem.play is not None:
        actions = problem.draw_actions(each, rng)
    Phi = design.features(np.hstack([actions, each]))
    qs = with_one(clipped(Phi @ design.whitening.T, design.clip))
    residual = design.residual
    if residual is not None and not residual.rewards:
        prediction = residual.level + Phi @ (design.features.L.T @ residual.weights)
        qs = qs * residual.response.at(prediction)[0][:, None]
    left = qs.reshape(len(contexts), len(menu), -1).mean(axis=1)
    kernel = problem.k
    assert isinstance(kernel, Separable)
    return left.T @ linalg.root(np.asarray(kernel.contexts(contexts, contexts))) / len(contexts)


def misplacement(design: Design, counts: ContextCounts | None) -> Floats | None:
    """How E[q] may be off because values need not be spread evenly within their bins: a matrix D
    such that it is off by D t, t ~ N(0, I). None where a generator says how they are spread.

    Whole numbers lie at a few places of a bin, the same ones for all records. Rewards far from the
    middle of their range multiply what that does to E[q] by their mean, which would show as an
    effect of the contexts. So all values of a bin are put to one random place in it, some times.
    """
    cells = design.layout.cells
    if counts is None or cells is None or design.problem.generator is not None:
        return None
    points = _joint_points(design, counts)[:PLACED_POINTS]
    rng = np.random.default_rng(int(design.fingerprint, 16))
    at = design.problem.actions.dimension
    spread = _mean_influence(design, points)
    found = []
    for _ in range(PLACEMENTS):
        placed = points.copy()
        placed[:, at:] = cells.concentrated(points[:, at:], rng)
        found.append(_mean_influence(design, placed) - spread)
    return np.column_stack(found) / np.sqrt(PLACEMENTS)


def _mean_influence(design: Design, points: Floats) -> Floats:
    """E[q] over these points."""
    q = design.features(points) @ design.whitening.T
    return np.asarray(with_one(clipped(q, design.clip)).mean(axis=0))


def points_given(design: Design, counts: ContextCounts) -> Floats | None:
    """Joint points like those of the records, given counts of their contexts; the same public
    coins every time.

    Where the problem has a generator, its contexts are weighted to agree with the counts, together
    with some that only the counts know of. None where the generator agrees with the counts already.
    """
    known = counts.known
    kept = _LAST_POINTS.get(design)
    if kept is None or kept[0] != known:
        kept = (known, _points_given(design, counts))
        _LAST_POINTS[design] = kept
    return kept[1]


# The last points of each design: a policy asks for the same ones several times, and actions that
# are played by a policy take long to draw.
_LAST_POINTS: WeakKeyDictionary[Design, tuple[Any, Floats | None]] = WeakKeyDictionary()


def _points_given(design: Design, counts: ContextCounts) -> Floats | None:
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
    quantiles = cube[:, : cells.columns]
    if sample is None and counts.dependence is not None:
        correlations = counts.dependence.correlations()
        if correlations is not None:
            quantiles = correlated(quantiles, correlations)
    contexts = cells.from_cube(laws, quantiles)
    if sample is not None:
        contexts[: len(sample)] = sample
        weights = np.where(np.arange(POINTS) < len(sample), 1.0, ELSEWHERE)
        contexts = contexts[evenly(cells.fitted(contexts, weights, laws))]
    if problem.play is None:
        actions = problem.actions.from_cube(cube[:, cells.columns :])
    else:
        actions = problem.draw_actions(contexts, rng)
    return np.hstack([actions, contexts])
