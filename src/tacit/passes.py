"""The release sequence: a release, then residual releases of the same records, one after the other.

`tacit.fit`, `Study.release`, `tacit fit`, the arena and the benchmarks all go through
`release_passes`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.core import Budget, Cohort, Ledger, release_event
from tacit.design import Design
from tacit.design.choices import pass_budgets
from tacit.errors import BudgetError, RequestConflictError, StateError
from tacit.policy import Policy
from tacit.residual.refine import refine
from tacit.statistic import Statistic


def release_passes(
    design: Design,
    collect: Callable[[Design], Statistic],
    release: Callable[[Statistic], Policy],
    following: Callable[[Policy], Design | None] = refine,
) -> Policy:
    """Spends what `design` and the passes after it are planned to spend, and returns the policy.

    `collect` adds all records to a statistic of the design that it is given: the same records in
    every pass. `release` turns it into a policy: `release_on(ledger, request)`, or
    `simulate_with(rng)`. `following` makes the design of the next pass, by default `tacit.refine`;
    it may write the design down before it is used, and returns None where no other pass can be
    paid for. `design` need not be that of the first pass: a fit that was stopped goes on with a
    later one.
    """
    policy = release(collect(design))
    while design.passes_left:
        next_design = following(policy)
        if next_design is None:
            return policy
        design = next_design
        policy = release(collect(design))
    return policy


def release_on(ledger: Ledger, request: str) -> Callable[[Statistic], Policy]:
    """Releases that spend from a ledger, each pass under its own request."""

    def release(statistic: Statistic) -> Policy:
        name = next(iter(requests(statistic.design, request)))
        return statistic.release(ledger=ledger, request=name)

    return release


def simulate_with(rng: np.random.Generator) -> Callable[[Statistic], Policy]:
    """Releases from a seeded generator: free, reproducible, and marked NOT private."""
    return lambda statistic: statistic.simulate_release(rng)


def requests(design: Design, request: str) -> dict[str, Budget]:
    """The requests of this pass and of those after it, and what each spends.

    The last one has the name that was given, so that it is the one that returns the policy.
    """
    budgets = [design.budget]
    if design.remaining_budget is not None:
        budgets += pass_budgets(design.remaining_budget, design.passes_left)
    done = len(design.previous)
    names = [_early(request, done + i) for i in range(len(budgets) - 1)]
    return dict(zip([*names, request], budgets, strict=True))


def _early(request: str, before: int) -> str:
    """The request of a pass that is not the last, after so many others."""
    return f"{request}/pass {before + 1}"


def require_room(
    ledger: Ledger, design: Design, request: str, cohort: Cohort | None = None
) -> None:
    """Fails unless the ledger, or its account of a cohort, can pay for this pass and all after it.
    What was charged already under the same requests is free.

    The passes before this one must have been charged here, too: another ledger would hold a part
    of what was spent on these records, and let the rest be spent again.
    """
    for i in range(len(design.previous)):
        if ledger.receipt(_early(request, i)) is None:
            raise StateError(
                f"pass {i + 1} of request {request!r} was not charged to this ledger: go on with "
                "the one that it was charged to."
            )
    planned = requests(design, request)
    due = _not_charged(ledger, planned)
    while True:
        if due and request not in due:
            raise RequestConflictError(
                f"request {request!r} was made before with fewer passes: ask for as many, or "
                "choose another request."
            )
        measure = ledger.account(cohort).measure
        events = [release_event(design.encoding, budget, measure) for budget in due.values()]
        try:
            ledger.require_room(*events, cohort=cohort)
            return
        except BudgetError:
            # Another process may have charged the same requests since they were looked up.
            later = _not_charged(ledger, planned)
            if later == due:
                raise
            due = later


def _not_charged(ledger: Ledger, planned: dict[str, Budget]) -> dict[str, Budget]:
    return {name: budget for name, budget in planned.items() if ledger.receipt(name) is None}
