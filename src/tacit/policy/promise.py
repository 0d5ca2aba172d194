"""What a policy promises to the people that it was learned from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tacit.core import Budget, Guarantee
from tacit.core.curve import gaussian_epsilon
from tacit.design import Release
from tacit.design.earlier import Earlier


def promise_of(releases: Sequence[Release], earlier: Sequence[Earlier] = ()) -> Guarantee:
    """Of everything that was released from these records so far, where rho adds up; and from the
    people of earlier epochs, where it does not: each person counts in one epoch, so the promise to
    everybody is the weakest of all."""
    own = _to_these(releases)
    others = [each.guarantee for each in earlier if not each.is_prior]
    weakest = max(others, key=lambda each: each.rho, default=own)
    if weakest.rho <= own.rho:
        return own
    return _stated(replace(own, rho=weakest.rho), own.delta)


def _to_these(releases: Sequence[Release]) -> Guarantee:
    """To the people of these releases."""
    last = releases[-1].released.guarantee
    first = releases[0]
    if len(releases) == 1 and not first.design.passes_left:
        return last
    rho = sum(release.released.guarantee.rho for release in releases)
    private = all(release.released.guarantee.private for release in releases)
    delta = first.design.total_budget.delta or first.released.guarantee.delta
    return _stated(replace(last, rho=rho, private=private), delta)


def spent_on(releases: Sequence[Release]) -> Budget:
    """What the passes so far spend: all that was planned for them, or the sum of their rho."""
    first = releases[0].design
    if len(releases) == 1:
        return first.budget
    whole = replace(first.total_budget, share=1.0)
    parts = [release.design.budget for release in releases]
    planned = all(replace(part, share=1.0) == whole for part in parts)
    if planned and math.isclose(sum(part.share for part in parts), first.total_budget.share):
        return first.total_budget
    return Budget(rho=sum(release.released.guarantee.rho for release in releases))


def _stated(promise: Guarantee, delta: float) -> Guarantee:
    """The same, at this delta."""
    return replace(promise, epsilon=gaussian_epsilon(promise.rho, delta), delta=delta)
