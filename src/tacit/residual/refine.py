"""The design of another pass over the same records, made from what was released of them so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit._typing import Floats, Rng
from tacit.core import Budget
from tacit.decoder.context_law import ContextCounts
from tacit.decoder.decoding import by_people
from tacit.decoder.parts import ReleaseParts
from tacit.design import Design, DesignOptions
from tacit.design.options import SIGNAL
from tacit.errors import InputError, StateError
from tacit.numerics.engine import Engine
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.progress import Progress, silent
from tacit.residual.clipping import ClippedResiduals, clip_residuals
from tacit.residual.expected import Expected, expect
from tacit.residual.target import Residual

LEAST_ERROR = 1e-6
POINTS = 4096


def refine(
    policy: Policy,
    *,
    budget: Budget | None = None,
    rng: np.random.Generator | int | None = None,
    device: str | Engine | None = None,
    progress: Progress = silent,
) -> Design:
    """The design of the next pass over the records that `policy` was released from. Public.

    In that pass records add what the policy got wrong (see `tacit.residual`). Add all of the same
    records to its statistic and release it: both releases are charged to the ledger, and the
    decoder uses them together. It spends `budget`, by default what `Design.build(..., passes=2)`
    kept for it. Its coins follow from the design before it unless `rng` is given.

    >>> design = tacit.Design.build(problem, horizon=2000, budget=budget, rng=7, passes=2)
    >>> first = design.statistic().add(log, log, log["reward"])
    >>> policy = first.release(ledger="sqlite:///passes.db", request="spring/pass 1")
    >>> second = tacit.refine(policy).statistic().add(log, log, log["reward"])
    >>> policy = second.release(ledger="sqlite:///passes.db", request="spring")
    >>> policy.facts["passes"]
    2
    """
    if not policy.releases:
        raise StateError(
            "another pass follows a release: pass the policy that a release returned, not one from "
            "a file."
        )
    last = policy.releases[-1]
    design = last.design
    if not design.layout.square_share:
        raise InputError(
            "a plain design says nothing of the noise of rewards: build it without plain=True for "
            "another pass."
        )
    spend = budget or design.next_budget
    if spend is None:
        raise InputError(
            "nothing is left for another pass: build the design with more passes, or pass a budget."
        )
    coins = np.random.default_rng(int(design.fingerprint, 16) if rng is None else rng)
    target = residual_target(policy, design.problem, design.horizon, spend, coins)
    return design.build_next(
        policy.releases,
        target.residual,
        budget=spend,
        rng=coins,
        options=DesignOptions(
            signal=target.signal,
            noise=target.noise,
            device=device,
            columns=columns_of(policy),
        ),
        progress=progress,
    )


def columns_of(policy: Policy) -> list[Floats] | None:
    """The probabilities of the cells of each column of contexts, where they are counted and no
    generator says more."""
    design = policy.releases[-1].design
    counts = ContextCounts.pooled(by_people(policy.releases)[-1])
    if counts is None or design.layout.cells is None or design.generator_sample is not None:
        return None
    return design.layout.cells.column_probabilities(counts.counts, counts.noise, counts.records)


class Target(NamedTuple):
    """What records add in a residual pass, and the standard deviations to design for: of what is
    not learned yet, and of the noise of rewards."""

    residual: Residual
    signal: float
    noise: float


def residual_target(
    policy: Policy, problem: Problem, horizon: int, budget: Budget, rng: Rng
) -> Target:
    """What `horizon` records should add that are played as `problem` says, given a policy. The
    release of them spends `budget`."""
    expected = expect(policy, problem, rng)
    passes = by_people(policy.releases)[-1]
    clipped = None
    if not passes[-1].surprising:  # otherwise the world has changed, and nothing can be relied on
        clipped = _clipped(expected, passes, horizon, budget)
    posterior = policy.posterior
    if clipped is None:
        signal = expected.signal
        residual = Residual.rewards_of(posterior.rank)
    else:
        signal = expected.error
        residual = Residual(
            posterior.weights,
            posterior.level,
            clipped.residual_clip,
            clipped.response,
            expected.error,
            max(law.deviation for law in expected.laws),
        )
    clip = residual.residual_clip
    # A release that has learned nothing expects nothing to be left. A design that believed it would
    # spend all it has on a few directions, and learn nothing once more.
    return Target(residual, max(signal / clip, SIGNAL), expected.noise / clip)


def _clipped(
    expected: Expected, passes: Sequence[ReleaseParts], horizon: int, budget: Budget
) -> ClippedResiduals | None:
    """Where the next pass clips residuals, as far as the releases so far say what they are like.

    Influences are whitened, so that the sampling noise in their sum hardly depends on the number of
    records; the clip of influences, and with it the privacy noise, is smaller with more of them.
    """
    last = passes[-1]
    sampling = last.records * last.design.moments.square[:-1, :-1]  # without that of the mean
    typical = float(np.sum(sampling**2) / np.trace(sampling))
    cheaper = last.design.budget.gaussian / budget.gaussian
    privacy = cheaper * last.influence_noise**2 * last.design.horizon / horizon
    return clip_residuals(expected.laws, expected.rewards_square, typical, privacy)
