"""Who came, as far as released counts of contexts say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit._typing import Floats
from tacit.contexts.pairs import Dependence
from tacit.decoder.context_law import ContextCounts, points_given
from tacit.decoder.decoding import by_people
from tacit.design import Release
from tacit.domains import Domain
from tacit.domains.base import sobol

VISITORS = 1024


class UsableShare(NamedTuple):
    """The share of records that could be read, and its standard deviation by the privacy noise."""

    share: float
    std: float


def spread(domain: Domain, n: int) -> Floats:
    """`n` uniform points of a domain, well spread and always the same."""
    return domain.from_cube(sobol(n, domain.cube_dimension))


def draw_visitors(releases: Sequence[Release]) -> Floats | None:
    """Contexts in unit coordinates, distributed like those of the records as far as is known; the
    same for the same releases. The first so many of them are such a sample, too.

    They agree with the counts and with the generator of the problem. None where there is neither.
    """
    design = releases[-1].design
    counts = _counts(releases)
    sample = design.generator_sample
    points = None
    if counts is not None and design.layout.cells is not None:
        points = points_given(design, counts)
    if points is None:
        return None if sample is None else sample[:VISITORS]
    contexts = points[:, design.problem.actions.dimension :]
    if sample is None:
        return contexts[:VISITORS]  # well spread in this order
    coins = np.random.default_rng(int(design.fingerprint, 16))
    return contexts[coins.permutation(len(contexts))[:VISITORS]]


def usable_share(releases: Sequence[Release]) -> UsableShare | None:
    """A record counts once in every column if all of it could be read, and not at all otherwise.

    None where contexts were not counted. Of users neither: all that one of them adds is shrunk
    together, so that their counts do not add up to the number of records.
    """
    design = releases[-1].design
    counts = _counts(releases)
    if counts is None or design.layout.cells is None or design.unit != "record":
        return None
    last = {release.people: release.released.records for release in releases}
    records = design.layout.cells.columns * max(1, sum(last.values()))
    std = counts.noise * math.sqrt(len(counts.counts)) / records
    return UsableShare(float(counts.counts.sum()) / records, std)


def _counts(releases: Sequence[Release]) -> ContextCounts | None:
    """Of all people together: passes over the same people are pooled, those of others add up."""
    pooled = [ContextCounts.pooled(passes) for passes in by_people(releases)]
    known = [counts for counts in pooled if counts is not None]
    if not known:
        return None
    return ContextCounts(
        np.sum([counts.counts for counts in known], axis=0),
        math.sqrt(sum(counts.noise**2 for counts in known)),
        sum(counts.records for counts in known),
        Dependence.pooled([counts.dependence for counts in known if counts.dependence is not None]),
    )
